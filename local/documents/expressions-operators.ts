/** The expression operators that are ours, by name. */
import { ObjectId } from 'bson';
import { Refusal } from './errors.ts';
import { evaluate, truthy, type Scope } from './expressions.ts';
import { arithmetic, asDouble, compare, isDoc, numberType, toNumber, typeName, type Doc } from './values.ts';
import { convert } from './conversion.ts';

export type Operator = (operand: unknown, scope: Scope) => unknown;

const nullish = (value: unknown): value is null | undefined => value === null || value === undefined;

/** The operand's items, evaluated; nothing stays nothing. A single operand may stand without its array. */
function items(name: string, operand: unknown, scope: Scope, atLeast = 0, atMost = Infinity): unknown[] {
  const list = Array.isArray(operand) ? operand : [operand];
  if (list.length < atLeast || list.length > atMost)
    throw new Refusal(
      16020,
      `Expression ${name} takes ${atLeast === atMost ? `exactly ${atLeast}` : `at least ${atLeast} and at most ${atMost}`} arguments. ${list.length} were passed in.`,
    );
  return list.map((item) => evaluate(item, scope));
}

function list(name: string, value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Refusal(17124, `The argument to ${name} must be an array, but was of type: ${typeName(value)}`);
  return value;
}

function integer(name: string, value: unknown): number {
  if (numberType(value) === null || !Number.isInteger(toNumber(value)))
    throw new Refusal(28690, `${name} needs a value that is an integer, not ${typeName(value)}`);
  return toNumber(value);
}

const comparison =
  (name: string, accepts: (order: number) => unknown): Operator =>
  (operand, scope) => {
    const [a, b] = items(name, operand, scope, 2, 2);
    return accepts(compare(a, b));
  };

function fields(name: string, operand: unknown, ...known: string[]): Doc {
  if (!isDoc(operand)) throw new Refusal(28646, `${name} only supports an object as its argument`);
  for (const field of Object.keys(operand))
    if (!known.includes(field)) throw new Refusal(28647, `Unrecognized parameter to ${name}: ${field}`);
  return operand;
}

const bound = (scope: Scope, variables: Record<string, unknown>): Scope => ({ ...scope, variables: { ...scope.variables, ...variables } });

function number(name: string, value: unknown): unknown {
  if (numberType(value) === null) throw new Refusal(28765, `${name} only supports numeric types, not ${typeName(value)}`);
  return value;
}

/** A date plus or minus milliseconds, where one of the two is a date. */
function add(values: unknown[]): unknown {
  if (values.some(nullish)) return null;
  const dates = values.filter((value) => value instanceof Date);
  if (dates.length > 1) throw new Refusal(16612, 'only one date allowed in an $add expression');
  const sum = values
    .filter((value) => !(value instanceof Date))
    .reduce((total, value) => {
      if (numberType(value) === null) throw new Refusal(14, `$add only supports numeric or date types, not ${typeName(value)}`);
      return arithmetic('+', total, value);
    }, 0);
  return dates.length === 1 ? new Date(dates[0]!.getTime() + Math.round(toNumber(sum))) : sum;
}

function subtract([a, b]: unknown[]): unknown {
  if (nullish(a) || nullish(b)) return null;
  if (a instanceof Date && b instanceof Date) return BigInt(a.getTime() - b.getTime());
  if (a instanceof Date && numberType(b) !== null) return new Date(a.getTime() - Math.round(toNumber(b)));
  if (numberType(a) === null || numberType(b) === null) throw new Refusal(14, `can't $subtract ${typeName(b)} from ${typeName(a)}`);
  return arithmetic('-', a, b);
}

const rounded =
  (name: string, round: (value: number) => number): Operator =>
  (operand, scope) => {
    const [value, places] = items(name, operand, scope, 1, 2);
    if (nullish(value)) return null;
    number(name, value);
    if (numberType(value) === 'int' || numberType(value) === 'long') {
      if (nullish(places) || toNumber(places) >= 0) return value;
    }
    const scale = 10 ** (nullish(places) ? 0 : integer(name, places));
    return asDouble(round(toNumber(value) * scale) / scale);
  };

/** To the nearest integer, and to the even one of two that are as near. */
const halfEven = (value: number): number => {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 ? floor : rest > 0.5 ? floor + 1 : floor % 2 === 0 ? floor : floor + 1;
};

function slice(values: unknown[]): unknown {
  const [array, first, second] = values;
  if (values.some(nullish)) return null;
  const source = list('$slice', array);
  if (values.length === 2) {
    const n = integer('$slice', first);
    return n >= 0 ? source.slice(0, n) : source.slice(n);
  }
  const [position, n] = [integer('$slice', first), integer('$slice', second)];
  if (n <= 0) throw new Refusal(28729, 'Third argument to $slice must be positive');
  const start = position >= 0 ? position : Math.max(0, source.length + position);
  return source.slice(start, start + n);
}

function pairs(value: unknown): Doc | null {
  if (nullish(value)) return null;
  const result: Doc = {};
  for (const item of list('$arrayToObject', value)) {
    const [k, v] = Array.isArray(item) ? (item as [unknown, unknown]) : isDoc(item) ? [item['k'], item['v']] : [undefined, undefined];
    if (typeof k !== 'string')
      throw new Refusal(40398, '$arrayToObject needs pairs [key, value] or documents {k, v} whose key is a string');
    result[k] = v ?? null;
  }
  return result;
}

const extreme =
  (name: string, better: (order: number) => boolean): Operator =>
  (operand, scope) => {
    const values = spread(items(name, operand, scope)).filter((value) => !nullish(value));
    return values.length === 0 ? null : values.reduce((best, value) => (better(compare(value, best)) ? value : best));
  };

/** A single array among the operands stands for its items. */
const spread = (values: unknown[]): unknown[] => (values.length === 1 && Array.isArray(values[0]) ? values[0] : values);

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

/** Our operators. Those that MongoDB has only after 4.4 are left out on purpose: what runs here must run there. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  $literal: (operand) => operand,
  $eq: comparison('$eq', (order) => order === 0),
  $ne: comparison('$ne', (order) => order !== 0),
  $gt: comparison('$gt', (order) => order > 0),
  $gte: comparison('$gte', (order) => order >= 0),
  $lt: comparison('$lt', (order) => order < 0),
  $lte: comparison('$lte', (order) => order <= 0),
  $cmp: comparison('$cmp', (order) => Math.sign(order)),
  $and: (operand, scope) => (Array.isArray(operand) ? operand : [operand]).every((item) => truthy(evaluate(item, scope))),
  $or: (operand, scope) => (Array.isArray(operand) ? operand : [operand]).some((item) => truthy(evaluate(item, scope))),
  $not: (operand, scope) => !truthy(items('$not', operand, scope, 1, 1)[0]),
  $cond: (operand, scope) => {
    if (!Array.isArray(operand)) {
      const { if: condition, then, else: otherwise } = fields('$cond', operand, 'if', 'then', 'else');
      return evaluate(truthy(evaluate(condition, scope)) ? then : otherwise, scope);
    }
    if (operand.length !== 3) throw new Refusal(16020, `Expression $cond takes exactly 3 arguments. ${operand.length} were passed in.`);
    return evaluate(truthy(evaluate(operand[0], scope)) ? operand[1] : operand[2], scope);
  },
  $ifNull: (operand, scope) => {
    if (!Array.isArray(operand) || operand.length !== 2)
      throw new Refusal(16020, 'Expression $ifNull takes exactly 2 arguments (more only after MongoDB 4.4).');
    const value = evaluate(operand[0], scope);
    return nullish(value) ? evaluate(operand[1], scope) : value;
  },
  $switch: (operand, scope) => {
    const { branches, default: otherwise } = fields('$switch', operand, 'branches', 'default');
    for (const branch of branches as { case: unknown; then: unknown }[])
      if (truthy(evaluate(branch.case, scope))) return evaluate(branch.then, scope);
    if (!Object.hasOwn(operand as Doc, 'default'))
      throw new Refusal(40066, '$switch could not find a matching branch for an input, and no default was specified');
    return evaluate(otherwise, scope);
  },
  $let: (operand, scope) => {
    const { vars, in: body } = fields('$let', operand, 'vars', 'in');
    return evaluate(
      body,
      bound(scope, Object.fromEntries(Object.entries(vars as Doc).map(([name, value]) => [name, evaluate(value, scope)]))),
    );
  },
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
    if (step === 0) throw new Refusal(34449, '$range requires a non-zero step value');
    return Array.from({ length: Math.max(0, Math.ceil((end - start) / step)) }, (_, i) => start + i * step);
  },
  $arrayToObject: (operand, scope) =>
    pairs(Array.isArray(operand) && operand.length === 1 ? evaluate(operand[0], scope) : evaluate(operand, scope)),
  $objectToArray: (operand, scope) => {
    const [value] = items('$objectToArray', operand, scope, 1, 1);
    if (nullish(value)) return null;
    if (!isDoc(value)) throw new Refusal(40390, `$objectToArray requires a document input, found: ${typeName(value)}`);
    return Object.entries(value).map(([k, v]) => ({ k, v }));
  },
  $mergeObjects: (operand, scope) => {
    const docs = spread(items('$mergeObjects', operand, scope)).filter((value) => !nullish(value));
    for (const doc of docs)
      if (!isDoc(doc)) throw new Refusal(40400, `$mergeObjects requires object inputs, but input is of type ${typeName(doc)}`);
    return Object.assign({}, ...docs) as Doc;
  },
  $add: (operand, scope) => add(items('$add', operand, scope)),
  $subtract: (operand, scope) => subtract(items('$subtract', operand, scope, 2, 2)),
  $multiply: (operand, scope) => {
    const values = items('$multiply', operand, scope);
    return values.some(nullish) ? null : values.reduce((product, value) => arithmetic('*', product, number('$multiply', value)), 1);
  },
  $divide: (operand, scope) => {
    const [a, b] = items('$divide', operand, scope, 2, 2);
    if (nullish(a) || nullish(b)) return null;
    if (toNumber(number('$divide', b)) === 0) throw new Refusal(16608, "can't $divide by zero");
    return asDouble(toNumber(number('$divide', a)) / toNumber(b));
  },
  $mod: (operand, scope) => {
    const [a, b] = items('$mod', operand, scope, 2, 2);
    if (nullish(a) || nullish(b)) return null;
    if (toNumber(number('$mod', b)) === 0) throw new Refusal(16610, "can't $mod by zero");
    const [x, y] = [numberType(number('$mod', a)), numberType(b)];
    if (x === 'double' || y === 'double') return asDouble(toNumber(a) % toNumber(b));
    return x === 'int' && y === 'int' ? (a as number) % (b as number) : BigInt(a as bigint) % BigInt(b as bigint);
  },
  $abs: (operand, scope) => {
    const [value] = items('$abs', operand, scope, 1, 1);
    return nullish(value) ? null : compare(number('$abs', value), 0) < 0 ? arithmetic('-', 0, value) : value;
  },
  $ceil: rounded('$ceil', Math.ceil),
  $floor: rounded('$floor', Math.floor),
  $round: rounded('$round', halfEven),
  $trunc: rounded('$trunc', Math.trunc),
  $sum: (operand, scope) =>
    spread(items('$sum', operand, scope))
      .filter((value) => numberType(value) !== null)
      .reduce((sum, value) => arithmetic('+', sum, value), 0),
  $avg: (operand, scope) => {
    const numbers = spread(items('$avg', operand, scope)).filter((value) => numberType(value) !== null);
    return numbers.length === 0 ? null : asDouble(numbers.reduce<number>((sum, value) => sum + toNumber(value), 0) / numbers.length);
  },
  $max: extreme('$max', (order) => order > 0),
  $min: extreme('$min', (order) => order < 0),
  $type: (operand, scope) => typeName(items('$type', operand, scope, 1, 1)[0]),
  $isNumber: (operand, scope) => numberType(items('$isNumber', operand, scope, 1, 1)[0]) !== null,
  $toBool: (operand, scope) => convert(items('$toBool', operand, scope, 1, 1)[0], 'bool'),
  $toInt: (operand, scope) => convert(items('$toInt', operand, scope, 1, 1)[0], 'int'),
  $toLong: (operand, scope) => convert(items('$toLong', operand, scope, 1, 1)[0], 'long'),
  $toDouble: (operand, scope) => convert(items('$toDouble', operand, scope, 1, 1)[0], 'double'),
  $toString: (operand, scope) => convert(items('$toString', operand, scope, 1, 1)[0], 'string'),
  $toDate: (operand, scope) => convert(items('$toDate', operand, scope, 1, 1)[0], 'date'),
  $toObjectId: (operand, scope) => {
    const [value] = items('$toObjectId', operand, scope, 1, 1);
    return nullish(value) ? null : new ObjectId(String(value));
  },
};
