/**
 * Aggregation expressions. Comparison, arithmetic, array, document and type operators are our own, because mingo differs
 * from MongoDB 4.4 in null, missing fields and number types. Strings, dates, sets and mathematics use mingo.
 */
import { CommandError } from '../errors.ts';
import { borrowed } from './mingo.ts';
import { ARRAY_OPERATORS } from './arrays.ts';
import { SCALAR_OPERATORS } from './operators.ts';
import type { Inner, Operator, Scope } from './scope.ts';
import { isDoc, type Doc } from '../values.ts';

const OPERATORS: Readonly<Record<string, Operator>> = { ...SCALAR_OPERATORS, ...ARRAY_OPERATORS };

/** Evaluates an expression; `undefined` if the result is missing. @throws CommandError */
export function evaluate(expression: unknown, scope: Scope): unknown {
  return inside(expression, { ...scope, evaluator: inside });
}

function inside(expression: unknown, scope: Inner): unknown {
  if (typeof expression === 'string') return expression.startsWith('$') ? reference(expression, scope) : expression;
  if (Array.isArray(expression)) return expression.map((item) => inside(item, scope) ?? null);
  if (!isDoc(expression)) return expression;
  const fields = Object.keys(expression);
  if (fields[0]?.startsWith('$')) {
    if (fields.length !== 1)
      throw new CommandError(15983, `An object representing an expression must have exactly one field: ${fields.join(', ')}`);
    return operate(fields[0], expression[fields[0]], scope);
  }
  const result: Doc = {};
  for (const field of fields) {
    const value = inside(expression[field], scope);
    if (value !== undefined) result[field] = value;
  }
  return result;
}

function operate(name: string, operand: unknown, scope: Inner): unknown {
  const own = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (own !== undefined) return own(operand, scope);
  return borrowed(name, operand, scope);
}

function reference(expression: string, scope: Inner): unknown {
  if (!expression.startsWith('$$')) return follow(scope.root, expression.slice(1).split('.'));
  const [name, ...path] = expression.slice(2).split('.');
  switch (name) {
    case 'ROOT':
      return follow(scope.root, path);
    case 'NOW':
      return follow(scope.now, path);
    case 'REMOVE':
      return undefined;
    case 'CURRENT':
      return follow(scope.root, path);
    default:
      if (scope.variables === undefined || !Object.hasOwn(scope.variables, name!))
        throw new CommandError(17276, `Use of undefined variable: ${name}`);
      return follow(scope.variables[name!], path);
  }
}

/** Follows field names; an array on the path yields the array of its documents' values. */
function follow(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return value;
  if (Array.isArray(value))
    return value
      .filter((item) => isDoc(item) || Array.isArray(item))
      .map((item) => follow(item, path))
      .filter((found) => found !== undefined);
  if (!isDoc(value) || !Object.hasOwn(value, path[0]!)) return undefined;
  return follow(value[path[0]!], path.slice(1));
}
