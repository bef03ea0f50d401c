/**
 * Aggregation expressions: the operators that the product uses, as MongoDB evaluates them. Any other one is an error, so that a
 * test finds it.
 */
import { CommandError } from './errors.ts';
import { compare, isDoc, isOperators, truthy, typeName, type Doc } from './values.ts';

export interface Scope {
  /** The document, `$$ROOT`. */
  root: unknown;
  /** The server's clock at the start of the command, `$$NOW`. */
  now: Date;
  /** Variables of `$map`, `$filter` and `$reduce`. */
  variables?: Readonly<Record<string, unknown>>;
}

type Operator = (operand: unknown, scope: Scope) => unknown;

/** Evaluates an expression; `undefined` if the result is missing. @throws CommandError */
export function evaluate(expression: unknown, scope: Scope): unknown {
  if (typeof expression === 'string') return expression.startsWith('$') ? reference(expression, scope) : expression;
  if (Array.isArray(expression)) return expression.map((item) => evaluate(item, scope) ?? null);
  if (!isDoc(expression)) return expression;
  const fields = Object.keys(expression);
  if (isOperators(expression)) {
    if (fields.length !== 1)
      throw new CommandError(15983, `An object representing an expression must have exactly one field: ${fields.join(', ')}`);
    const name = fields[0]!;
    const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
    if (operator === undefined) throw new CommandError(168, `Unrecognized expression '${name}'`);
    return operator(expression[name], scope);
  }
  const result: Doc = {};
  for (const field of fields) {
    const value = evaluate(expression[field], scope);
    if (value !== undefined) result[field] = value;
  }
  return result;
}

function reference(expression: string, scope: Scope): unknown {
  if (!expression.startsWith('$$')) return follow(scope.root, expression.slice(1).split('.'));
  const [name = '', ...path] = expression.slice(2).split('.');
  if (name === 'NOW') return scope.now;
  if (name === 'ROOT') return follow(scope.root, path);
  if (scope.variables === undefined || !Object.hasOwn(scope.variables, name))
    throw new CommandError(17276, `Use of undefined variable: ${name}`);
  return follow(scope.variables[name], path);
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

const isNullish = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Evaluates the operands of an operator. @param count how many it takes. Default: any number */
function operands(name: string, operand: unknown, scope: Scope, count?: number): unknown[] {
  const list = Array.isArray(operand) ? operand : [operand];
  if (count !== undefined && list.length !== count)
    throw new CommandError(16020, `Expression ${name} takes exactly ${count} arguments. ${list.length} were passed in.`);
  return list.map((item) => evaluate(item, scope));
}

function asArray(name: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new CommandError(17124, `The argument to ${name} must be an array, but was of type: ${typeName(value)}`);
  return value;
}

function asDoc(name: string, value: unknown): Doc {
  if (!isDoc(value)) throw new CommandError(40390, `${name} requires a document input, found: ${typeName(value)}`);
  return value;
}

const comparison =
  (name: string, accepts: (order: number) => boolean): Operator =>
  (operand, scope) => {
    const [a, b] = operands(name, operand, scope, 2);
    return accepts(compare(a, b));
  };

/** Adds or subtracts numbers, or milliseconds and a date. */
const sum =
  (name: string, sign: 1 | -1): Operator =>
  (operand, scope) => {
    const values = operands(name, operand, scope);
    if (values.some(isNullish)) return null;
    const wrong = values.find((value) => typeof value !== 'number' && !(value instanceof Date));
    if (wrong !== undefined) throw new CommandError(14, `${name} only supports numeric or date types, not ${typeName(wrong)}`);
    const total = values.map(Number).reduce((result, value) => result + sign * value);
    // The difference of two dates is a number.
    return values.filter((value) => value instanceof Date).length === 1 ? new Date(total) : total;
  };

/** An operator over the items of its `input`, each bound to a variable; null if there is no input. */
const overItems =
  (name: string, apply: (input: unknown[], operand: Doc, valueOf: (body: unknown, item: unknown) => unknown) => unknown): Operator =>
  (operand, scope) => {
    const given = asDoc(name, operand);
    const input = evaluate(given['input'], scope);
    if (isNullish(input)) return null;
    const variable = (given['as'] as string | undefined) ?? 'this';
    return apply(asArray(name, input), given, (body, item) =>
      evaluate(body, { ...scope, variables: { ...scope.variables, [variable]: item } }),
    );
  };

const OPERATORS: Readonly<Record<string, Operator>> = {
  $literal: (operand) => operand,
  $eq: comparison('$eq', (order) => order === 0),
  $ne: comparison('$ne', (order) => order !== 0),
  $gt: comparison('$gt', (order) => order > 0),
  $gte: comparison('$gte', (order) => order >= 0),
  $lt: comparison('$lt', (order) => order < 0),
  $lte: comparison('$lte', (order) => order <= 0),
  $and: (operand, scope) => operands('$and', operand, scope).every(truthy),
  $or: (operand, scope) => operands('$or', operand, scope).some(truthy),
  $not: (operand, scope) => !truthy(operands('$not', operand, scope, 1)[0]),
  $cond: (operand, scope) => {
    if (!Array.isArray(operand) || operand.length !== 3) throw new CommandError(16020, 'Expression $cond takes exactly 3 arguments.');
    return evaluate(truthy(evaluate(operand[0], scope)) ? operand[1] : operand[2], scope);
  },
  $ifNull: (operand, scope) => {
    const [value, otherwise] = operands('$ifNull', operand, scope, 2);
    return isNullish(value) ? otherwise : value;
  },
  $add: sum('$add', 1),
  $subtract: sum('$subtract', -1),
  $min: (operand, scope) => {
    const values = asArray('$min', operands('$min', operand, scope, 1)[0]).filter((value) => !isNullish(value));
    return values.length === 0 ? null : values.reduce((least, value) => (compare(value, least) < 0 ? value : least));
  },
  $in: (operand, scope) => {
    const [wanted, array] = operands('$in', operand, scope, 2);
    return asArray('$in', array).some((item) => compare(item, wanted) === 0);
  },
  $size: (operand, scope) => asArray('$size', operands('$size', operand, scope, 1)[0]).length,
  $concatArrays: (operand, scope) => {
    const arrays = operands('$concatArrays', operand, scope);
    return arrays.some(isNullish) ? null : arrays.flatMap((array) => asArray('$concatArrays', array));
  },
  $filter: overItems('$filter', (input, { cond }, valueOf) => input.filter((item) => truthy(valueOf(cond, item)))),
  $map: overItems('$map', (input, { in: body }, valueOf) => input.map((item) => valueOf(body, item) ?? null)),
  $reduce: (operand, scope) => {
    const { input, initialValue, in: body } = asDoc('$reduce', operand);
    const items = asArray('$reduce', evaluate(input, scope));
    return items.reduce<unknown>(
      (value, item) => evaluate(body, { ...scope, variables: { ...scope.variables, value, this: item } }),
      evaluate(initialValue, scope),
    );
  },
  $arrayToObject: (operand, scope) => {
    const pairs = asArray('$arrayToObject', operands('$arrayToObject', operand, scope, 1)[0]) as { k: string; v: unknown }[];
    return Object.fromEntries(pairs.map(({ k, v }) => [k, v ?? null]));
  },
  $objectToArray: (operand, scope) => {
    const [value] = operands('$objectToArray', operand, scope, 1);
    return isNullish(value) ? null : Object.entries(asDoc('$objectToArray', value)).map(([k, v]) => ({ k, v }));
  },
  $mergeObjects: (operand, scope) => {
    const docs = operands('$mergeObjects', operand, scope).filter((value) => !isNullish(value));
    return Object.assign({}, ...docs.map((doc) => asDoc('$mergeObjects', doc))) as Doc;
  },
};
