/** Aggregation pipelines: the stages that the product uses. */
import { CommandError } from './errors.ts';
import { evaluate } from './expressions.ts';
import { leaves, removeAt } from './paths.ts';
import { compare, copy, define, type Doc, isDoc, isOperators, keyOf } from './values.ts';
import { matcher } from './match.ts';

/** Projections: the top-level fields that are included, excluded or computed. */
const isFlag = (value: unknown): boolean => typeof value === 'boolean' || typeof value === 'number';

/** Compiles a projection. @throws CommandError if it both includes and excludes fields, or names a nested field */
export function projector(projection: Doc, now: Date): (doc: Doc) => Doc {
  const { _id: id = true, ...others } = projection;
  const fields = Object.entries(others);
  const nested = fields.find(([field]) => field.includes('.'));
  if (nested !== undefined)
    throw new CommandError(115, `The embedded document store does not project nested fields such as '${nested[0]}'.`);
  const excluded = fields.filter(([, value]) => isFlag(value) && !value).map(([field]) => field);
  const excludes = fields.length === 0 ? !id : excluded.length === fields.length;
  if (excludes) {
    const omitted = new Set(id ? excluded : [...excluded, '_id']);
    return (doc) => Object.fromEntries(Object.entries(doc).filter(([field]) => !omitted.has(field)));
  }
  if (excluded.length > 0) throw new CommandError(31254, `Cannot do exclusion on field ${excluded[0]} in inclusion projection`);
  const included = new Set(fields.filter(([, value]) => isFlag(value)).map(([field]) => field));
  if (id) included.add('_id');
  const computed = fields.filter(([, value]) => !isFlag(value));
  return (doc) => {
    const result: Doc = Object.fromEntries(Object.entries(doc).filter(([field]) => included.has(field)));
    for (const [field, expression] of computed) define(result, field, evaluate(expression, { root: doc, now }));
    return result;
  };
}

/** Finds the documents of another collection of the same database that match a filter. */
export type Find = (collection: string, filter: Doc) => Doc[];

export interface StageContext {
  now: Date;
  /** For `$lookup`. Default: other collections are empty. */
  find?: Find;
}

/** Runs a pipeline over documents without changing them. @throws CommandError */
export function runStages(docs: readonly Doc[], stages: readonly Doc[], context: StageContext): Doc[] {
  return stages.reduce<readonly Doc[]>((current, stage) => {
    const [[name, operand], ...others] = Object.entries(stage) as [[string, unknown]];
    if (others.length > 0) throw new CommandError(40323, 'A pipeline stage specification object must contain exactly one field.');
    return run(current, name, operand, context);
  }, docs) as Doc[];
}

function run(docs: readonly Doc[], name: string, operand: unknown, { now, find = () => [] }: StageContext): readonly Doc[] {
  switch (name) {
    case '$match':
      return docs.filter(matcher(operand as Doc));
    case '$sort':
      return [...docs].sort(sorter(operand as Doc));
    case '$limit':
      return docs.slice(0, operand as number);
    case '$skip':
      return docs.slice(operand as number);
    case '$project':
      return docs.map(projector(operand as Doc, now));
    case '$unset':
      return docs.map((doc) => without(doc, operand as string | string[]));
    case '$set':
      return docs.map((doc) => withFields(doc, operand as Doc, (expression) => evaluate(expression, { root: doc, now })));
    case '$group':
      return group(docs, operand as Doc, now);
    case '$lookup':
      return lookup(docs, operand as Lookup, find);
    default:
      throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`);
  }
}

/** Compares documents by a sort specification of find or `$sort`. */
export function sorter(specification: Doc): (a: unknown, b: unknown) => number {
  const keys = Object.entries(specification).map(([field, sign]) => {
    if (sign !== 1 && sign !== -1) throw new CommandError(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
    return { path: field.split('.'), sign };
  });
  return (a, b) => {
    for (const { path, sign } of keys) {
      const order = compare(sortValue(a, path, sign), sortValue(b, path, sign));
      if (order !== 0) return sign * order;
    }
    return 0;
  };
}

/** An array is sorted by its least item in ascending and its greatest in descending order; missing sorts as null. */
function sortValue(doc: unknown, path: readonly string[], sign: number): unknown {
  const found = leaves(doc, path).flatMap((value) => (Array.isArray(value) && value.length > 0 ? (value as unknown[]) : [value]));
  if (found.length === 0) return null;
  return found.map((value) => value ?? null).reduce((best, value) => (sign * compare(value, best) < 0 ? value : best));
}

function without(doc: Doc, paths: string | string[]): Doc {
  const result = copy(doc);
  for (const path of [paths].flat()) removeAt(result, path.split('.'));
  return result;
}

/** `$set`: a document is merged into the existing one, and a missing value removes the field. */
function withFields(doc: Doc, fields: Doc, value: (expression: unknown) => unknown): Doc {
  const changes = Object.entries(fields).map(([field, expression]) => [field.split('.'), computed(expression, value)] as const);
  return changes.reduce((current, [path, change]) => merged(current, path, change) as Doc, doc);
}

/** Values that were all computed from the document as it was before the stage. */
type Computed = { value: unknown } | { fields: [string, Computed][] };

function computed(expression: unknown, value: (expression: unknown) => unknown): Computed {
  if (!isDoc(expression) || isOperators(expression) || Object.keys(expression).length === 0) return { value: value(expression) };
  return { fields: Object.entries(expression).map(([field, inner]) => [field, computed(inner, value)]) };
}

function merged(current: unknown, [field, ...rest]: readonly string[], change: Computed): unknown {
  if (field === undefined) {
    if ('value' in change) return change.value;
    return change.fields.reduce<unknown>((result, [inner, value]) => merged(result, [inner], value), isDoc(current) ? current : {});
  }
  if (Array.isArray(current)) throw new CommandError(115, 'The embedded document store does not set fields of the items of an array.');
  const result: Doc = isDoc(current) ? { ...current } : {};
  const value = merged(Object.hasOwn(result, field) ? result[field] : undefined, rest, change);
  if (value === undefined) delete result[field];
  else define(result, field, value);
  return result;
}

/** `$group` as `countDocuments` of the driver uses it: with sums only. */
function group(docs: readonly Doc[], { _id, ...sums }: Doc, now: Date): Doc[] {
  const groups = new Map<string, Doc>();
  for (const doc of docs) {
    const id = evaluate(_id, { root: doc, now }) ?? null;
    const result = groups.get(keyOf(id)) ?? { _id: id };
    groups.set(keyOf(id), result);
    for (const [field, accumulator] of Object.entries(sums)) {
      if (!isDoc(accumulator) || !('$sum' in accumulator)) throw new CommandError(15952, `unknown group operator of the field '${field}'`);
      const value = evaluate(accumulator['$sum'], { root: doc, now });
      result[field] = ((result[field] as number | undefined) ?? 0) + (typeof value === 'number' ? value : 0);
    }
  }
  return [...groups.values()];
}

interface Lookup {
  from: string;
  localField: string;
  foreignField: string;
  as: string;
}

/**
 * `$lookup` by equality. As MongoDB documents it: a missing local field matches null and missing, an array matches if one of its
 * items does, and a collection that does not exist is empty.
 */
function lookup(docs: readonly Doc[], { from, localField, foreignField, as, ...unknown }: Lookup, find: Find): Doc[] {
  if ([from, localField, foreignField, as].some((name) => typeof name !== 'string') || Object.keys(unknown).length > 0)
    throw new CommandError(9, '$lookup takes from, localField, foreignField and as');
  return docs.map((doc) => {
    const wanted = leaves(doc, localField.split('.')).flatMap((value) => (Array.isArray(value) ? (value as unknown[]) : [value ?? null]));
    return merged(doc, as.split('.'), { value: find(from, { [foreignField]: { $in: wanted } }) }) as Doc;
  });
}
