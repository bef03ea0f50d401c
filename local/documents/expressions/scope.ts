/** What an expression can see, and how operators evaluate their operands. */

export interface Scope {
  /** The document, `$$ROOT`. */
  root: unknown;
  /** The server's clock at the start of the command, `$$NOW`. */
  now: Date;
  /** Variables of `$let`, `$map`, `$filter` and `$reduce`. */
  variables?: Readonly<Record<string, unknown>>;
}

/** A scope as operators get it: the evaluator comes with it, for the operators are part of what it knows. */
export interface Inner extends Scope {
  evaluator: (expression: unknown, scope: Inner) => unknown;
}

export type Operator = (operand: unknown, scope: Inner) => unknown;

/** The value of an operand. */
export function evaluate(expression: unknown, scope: Inner): unknown {
  return scope.evaluator(expression, scope);
}
