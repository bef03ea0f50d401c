/** Expression operators over arrays and documents. */
import { CommandError } from '../errors.ts';
import { bound, fields, integer, items, list, nullish, spread } from './operands.ts';
import { evaluate, type Operator } from './scope.ts';
import { compare, isDoc, truthy, typeName, type Doc } from '../values.ts';

function slice(values: unknown[]): unknown {
  const [array, first, second] = values;
  if (values.some(nullish)) return null;
  const source = list('$slice', array);
  if (values.length === 2) {
    const n = integer('$slice', first);
    return n >= 0 ? source.slice(0, n) : source.slice(n);
  }
  const [position, n] = [integer('$slice', first), integer('$slice', second)];
  if (n <= 0) throw new CommandError(28729, 'Third argument to $slice must be positive');
  const start = position >= 0 ? position : Math.max(0, source.length + position);
  return source.slice(start, start + n);
}

function pairs(value: unknown): Doc | null {
  if (nullish(value)) return null;
  const result: Doc = {};
  for (const item of list('$arrayToObject', value)) {
    const [k, v] = Array.isArray(item) ? (item as [unknown, unknown]) : isDoc(item) ? [item['k'], item['v']] : [undefined, undefined];
    if (typeof k !== 'string')
      throw new CommandError(40398, '$arrayToObject needs pairs [key, value] or documents {k, v} whose key is a string');
    result[k] = v ?? null;
  }
  return result;
}

const place = (values: unknown[], position: number): unknown => values.at(position);

const indexOf: Operator = (operand, scope) => {
  const [array, wanted, from, to] = items('$indexOfArray', operand, scope, 2, 4);
  if (nullish(array)) return null;
  const end = nullish(to) ? undefined : integer('$indexOfArray', to);
  const start = nullish(from) ? 0 : integer('$indexOfArray', from);
  const found = list('$indexOfArray', array)
    .slice(start, end)
    .findIndex((item) => compare(item, wanted) === 0);
  return found === -1 ? -1 : found + start;
};

/** Without operators that are newer than MongoDB 4.4: every pipeline that runs here must run there. */
export const ARRAY_OPERATORS: Readonly<Record<string, Operator>> = {
  $filter: (operand, scope) => {
    const { input, as, cond } = fields('$filter', operand, 'input', 'as', 'cond');
    const value = evaluate(input, scope);
    if (nullish(value)) return null;
    return list('$filter', value).filter((item) => truthy(evaluate(cond, bound(scope, { [(as as string) ?? 'this']: item }))));
  },
  $map: (operand, scope) => {
    const { input, as, in: body } = fields('$map', operand, 'input', 'as', 'in');
    const value = evaluate(input, scope);
    if (nullish(value)) return null;
    return list('$map', value).map((item) => evaluate(body, bound(scope, { [(as as string) ?? 'this']: item })) ?? null);
  },
  $reduce: (operand, scope) => {
    const { input, initialValue, in: body } = fields('$reduce', operand, 'input', 'initialValue', 'in');
    const value = evaluate(input, scope);
    if (nullish(value)) return null;
    return list('$reduce', value).reduce(
      (sum, item) => evaluate(body, bound(scope, { value: sum, this: item })),
      evaluate(initialValue, scope),
    );
  },
  $in: (operand, scope) => {
    const [wanted, array] = items('$in', operand, scope, 2, 2);
    return list('$in', array).some((item) => compare(item, wanted) === 0);
  },
  $size: (operand, scope) => list('$size', items('$size', operand, scope, 1, 1)[0]).length,
  $isArray: (operand, scope) => Array.isArray(items('$isArray', operand, scope, 1, 1)[0]),
  $arrayElemAt: (operand, scope) => {
    const [array, position] = items('$arrayElemAt', operand, scope, 2, 2);
    return nullish(array) || nullish(position) ? null : place(list('$arrayElemAt', array), integer('$arrayElemAt', position));
  },
  $first: (operand, scope) => {
    const [array] = items('$first', operand, scope, 1, 1);
    return nullish(array) ? null : list('$first', array)[0];
  },
  $last: (operand, scope) => {
    const [array] = items('$last', operand, scope, 1, 1);
    return nullish(array) ? null : list('$last', array).at(-1);
  },
  $concatArrays: (operand, scope) => {
    const arrays = items('$concatArrays', operand, scope);
    return arrays.some(nullish) ? null : arrays.flatMap((array) => list('$concatArrays', array));
  },
  $slice: (operand, scope) => slice(items('$slice', operand, scope, 2, 3)),
  $reverseArray: (operand, scope) => {
    const [array] = items('$reverseArray', operand, scope, 1, 1);
    return nullish(array) ? null : [...list('$reverseArray', array)].reverse();
  },
  $indexOfArray: indexOf,
  $range: (operand, scope) => {
    const [start, end, step = 1] = items('$range', operand, scope, 2, 3).map((value) => integer('$range', value)) as [
      number,
      number,
      number?,
    ];
    if (step === 0) throw new CommandError(34449, '$range requires a non-zero step value');
    return Array.from({ length: Math.max(0, Math.ceil((end - start) / step)) }, (_, i) => start + i * step);
  },
  $arrayToObject: (operand, scope) =>
    pairs(Array.isArray(operand) && operand.length === 1 ? evaluate(operand[0], scope) : evaluate(operand, scope)),
  $objectToArray: (operand, scope) => {
    const [value] = items('$objectToArray', operand, scope, 1, 1);
    if (nullish(value)) return null;
    if (!isDoc(value)) throw new CommandError(40390, `$objectToArray requires a document input, found: ${typeName(value)}`);
    return Object.entries(value).map(([k, v]) => ({ k, v }));
  },
  $mergeObjects: (operand, scope) => {
    const docs = spread(items('$mergeObjects', operand, scope)).filter((value) => !nullish(value));
    for (const doc of docs)
      if (!isDoc(doc)) throw new CommandError(40400, `$mergeObjects requires object inputs, but input is of type ${typeName(doc)}`);
    return Object.assign({}, ...docs) as Doc;
  },
};
