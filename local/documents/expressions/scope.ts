/** The scope of an expression: its variables, and how operators evaluate their operands. */

export interface Scope {
  /** The document, `$$ROOT`. */
  root: unknown;
  /** The server's clock at the start of the command, `$$NOW`. */
  now: Date;
  /** Variables of `$let`, `$map`, `$filter` and `$reduce`. */
  variables?: Readonly<Record<string, unknown>>;
}

/** The scope that operators receive. It includes the evaluator, which would otherwise be a circular import. */
export interface Inner extends Scope {
  evaluator: (expression: unknown, scope: Inner) => unknown;
}

export type Operator = (operand: unknown, scope: Inner) => unknown;

/** Evaluates an operand. */
export function evaluate(expression: unknown, scope: Inner): unknown {
  return scope.evaluator(expression, scope);
}
