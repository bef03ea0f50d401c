/** `$group`: one document per distinct key, with accumulators. */
import { CommandError } from '../errors.ts';
import { evaluate } from '../expressions/expressions.ts';
import { arithmetic, asDouble, compare, isDoc, keyOf, numberType, toNumber, typeName, type Doc } from '../values.ts';

/** Groups documents in the order of each group's first document. @throws CommandError for an unknown accumulator */
export function group(docs: readonly Doc[], specification: Doc, now: Date): Doc[] {
  if (!Object.hasOwn(specification, '_id')) throw new CommandError(15955, 'a group specification must include an _id');
  const { _id, ...fields } = specification;
  const groups = new Map<string, { id: unknown; members: Doc[] }>();
  for (const doc of docs) {
    const id = evaluate(_id, { root: doc, now });
    const key = keyOf(id);
    const found = groups.get(key);
    if (found === undefined) groups.set(key, { id: id ?? null, members: [doc] });
    else found.members.push(doc);
  }
  return [...groups.values()].map(({ id, members }) => {
    const result: Doc = { _id: id };
    for (const [field, accumulation] of Object.entries(fields)) {
      if (!isDoc(accumulation) || Object.keys(accumulation).length !== 1)
        throw new CommandError(40234, `The field '${field}' must be an accumulator object`);
      const name = Object.keys(accumulation)[0]!;
      result[field] = accumulate(
        name,
        members.map((doc) => evaluate(accumulation[name], { root: doc, now })),
      );
    }
    return result;
  });
}

function accumulate(name: string, values: unknown[]): unknown {
  const numbers = values.filter((value) => numberType(value) !== null);
  const present = values.filter((value) => value !== undefined && value !== null);
  switch (name) {
    case '$sum':
      return numbers.reduce((sum, value) => arithmetic('+', sum, value), 0);
    case '$avg':
      return numbers.length === 0 ? null : asDouble(numbers.reduce<number>((sum, value) => sum + toNumber(value), 0) / numbers.length);
    case '$min':
      return present.length === 0 ? null : present.reduce((best, value) => (compare(value, best) < 0 ? value : best));
    case '$max':
      return present.length === 0 ? null : present.reduce((best, value) => (compare(value, best) > 0 ? value : best));
    case '$first':
      return values[0] ?? null;
    case '$last':
      return values.at(-1) ?? null;
    case '$push':
      return values.filter((value) => value !== undefined);
    case '$addToSet':
      return [...new Map(values.filter((value) => value !== undefined).map((value) => [keyOf(value), value])).values()];
    case '$mergeObjects':
      for (const value of present)
        if (!isDoc(value)) throw new CommandError(40400, `$mergeObjects requires object inputs, but input is of type ${typeName(value)}`);
      return Object.assign({}, ...present) as Doc;
    case '$stdDevPop':
    case '$stdDevSamp': {
      const degrees = numbers.length - (name === '$stdDevSamp' ? 1 : 0);
      if (degrees <= 0) return null;
      const mean = numbers.reduce<number>((sum, value) => sum + toNumber(value), 0) / numbers.length;
      return asDouble(Math.sqrt(numbers.reduce<number>((sum, value) => sum + (toNumber(value) - mean) ** 2, 0) / degrees));
    }
    default:
      throw new CommandError(15952, `unknown group operator '${name}'`);
  }
}
