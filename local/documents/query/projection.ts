/** Projections: the top-level fields that are included, excluded or computed. */
import { CommandError } from '../errors.ts';
import { evaluate } from '../expressions.ts';
import { define, type Doc } from '../values.ts';

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
