/** Expression operators that compare, choose, count and convert. */
import { ObjectId } from 'bson';
import { convert } from './conversion.ts';
import { CommandError } from '../errors.ts';
import { bound, fields, integer, items, nullish, number, spread } from './operands.ts';
import { evaluate, type Operator } from './scope.ts';
import { arithmetic, asDouble, compare, numberType, toNumber, truthy, typeName, type Doc } from '../values.ts';

const comparison =
  (name: string, accepts: (order: number) => unknown): Operator =>
  (operand, scope) => {
    const [a, b] = items(name, operand, scope, 2, 2);
    return accepts(compare(a, b));
  };

/** Adds milliseconds to a date or subtracts them. */
function add(values: unknown[]): unknown {
  if (values.some(nullish)) return null;
  const dates = values.filter((value) => value instanceof Date);
  if (dates.length > 1) throw new CommandError(16612, 'only one date allowed in an $add expression');
  const sum = values
    .filter((value) => !(value instanceof Date))
    .reduce((total, value) => {
      if (numberType(value) === null) throw new CommandError(14, `$add only supports numeric or date types, not ${typeName(value)}`);
      return arithmetic('+', total, value);
    }, 0);
  return dates.length === 1 ? new Date(dates[0]!.getTime() + Math.round(toNumber(sum))) : sum;
}

function subtract([a, b]: unknown[]): unknown {
  if (nullish(a) || nullish(b)) return null;
  if (a instanceof Date && b instanceof Date) return BigInt(a.getTime() - b.getTime());
  if (a instanceof Date && numberType(b) !== null) return new Date(a.getTime() - Math.round(toNumber(b)));
  if (numberType(a) === null || numberType(b) === null) throw new CommandError(14, `can't $subtract ${typeName(b)} from ${typeName(a)}`);
  return arithmetic('-', a, b);
}

/** Rounds to the nearest integer, half to even. */
const halfEven = (value: number): number => {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest < 0.5 ? floor : rest > 0.5 ? floor + 1 : floor % 2 === 0 ? floor : floor + 1;
};

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

const extreme =
  (name: string, better: (order: number) => boolean): Operator =>
  (operand, scope) => {
    const values = spread(items(name, operand, scope)).filter((value) => !nullish(value));
    return values.length === 0 ? null : values.reduce((best, value) => (better(compare(value, best)) ? value : best));
  };

/** Without operators that are newer than MongoDB 4.4: every pipeline that runs here must run there. */
export const SCALAR_OPERATORS: Readonly<Record<string, Operator>> = {
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
    if (operand.length !== 3)
      throw new CommandError(16020, `Expression $cond takes exactly 3 arguments. ${operand.length} were passed in.`);
    return evaluate(truthy(evaluate(operand[0], scope)) ? operand[1] : operand[2], scope);
  },
  $ifNull: (operand, scope) => {
    if (!Array.isArray(operand) || operand.length !== 2)
      throw new CommandError(16020, 'Expression $ifNull takes exactly 2 arguments (more only after MongoDB 4.4).');
    const value = evaluate(operand[0], scope);
    return nullish(value) ? evaluate(operand[1], scope) : value;
  },
  $switch: (operand, scope) => {
    const { branches, default: otherwise } = fields('$switch', operand, 'branches', 'default');
    for (const branch of branches as { case: unknown; then: unknown }[])
      if (truthy(evaluate(branch.case, scope))) return evaluate(branch.then, scope);
    if (!Object.hasOwn(operand as Doc, 'default'))
      throw new CommandError(40066, '$switch could not find a matching branch for an input, and no default was specified');
    return evaluate(otherwise, scope);
  },
  $let: (operand, scope) => {
    const { vars, in: body } = fields('$let', operand, 'vars', 'in');
    return evaluate(
      body,
      bound(scope, Object.fromEntries(Object.entries(vars as Doc).map(([name, value]) => [name, evaluate(value, scope)]))),
    );
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
    if (toNumber(number('$divide', b)) === 0) throw new CommandError(16608, "can't $divide by zero");
    return asDouble(toNumber(number('$divide', a)) / toNumber(b));
  },
  $mod: (operand, scope) => {
    const [a, b] = items('$mod', operand, scope, 2, 2);
    if (nullish(a) || nullish(b)) return null;
    if (toNumber(number('$mod', b)) === 0) throw new CommandError(16610, "can't $mod by zero");
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
