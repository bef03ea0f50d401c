/** Updates by operators, replacement or pipeline. Pure: the given document is not changed. */
import { CommandError } from './errors.ts';
import { runStages } from './stages.ts';
import { removeAt, valueAt, writeAt } from './paths.ts';
import { compare, copy, type Doc, identical, isDoc, isOperators, typeName } from './values.ts';
import { matcher } from './match.ts';

/**
 * The update operators that the product uses. Each writes to one path of a mutable document. Applies one operator to one path.
 * @throws CommandError for an unknown operator, an invalid operand, or a path that cannot be written
 */
function applyOperator(doc: Doc, name: string, dotted: string, operand: unknown, now: Date): void {
  const path = dotted.split('.');
  if (path.some((field) => field.startsWith('$')))
    throw new CommandError(115, `Positional paths such as '${dotted}' are not supported by the embedded document store.`);
  const current = valueAt(doc, path);
  switch (name) {
    case '$set':
    case '$setOnInsert':
      return writeAt(doc, path, copy(operand));
    case '$unset':
      return removeAt(doc, path);
    case '$inc':
      return writeAt(doc, path, incremented(dotted, current, operand));
    case '$max':
      if (current === undefined || compare(operand, current) > 0) writeAt(doc, path, copy(operand));
      return;
    case '$currentDate':
      return writeAt(doc, path, now);
    case '$push':
      return writeAt(doc, path, pushed(arrayAt(name, dotted, current), operand));
    case '$addToSet': {
      const array = arrayAt(name, dotted, current);
      if (!array.some((item) => compare(item, operand) === 0)) writeAt(doc, path, [...array, copy(operand)]);
      return;
    }
    case '$pull': {
      if (current === undefined) return;
      const isPulled = pulledBy(operand);
      const kept = arrayAt(name, dotted, current).filter((item) => !isPulled(item));
      return writeAt(doc, path, kept);
    }
    default:
      throw new CommandError(9, `Unknown modifier: ${name}`);
  }
}

function incremented(path: string, current: unknown, operand: unknown): number {
  if (typeof operand !== 'number')
    throw new CommandError(14, `Cannot increment with non-numeric argument: {${path}: ${typeName(operand)}}`);
  if (current === undefined) return operand;
  if (typeof current !== 'number')
    throw new CommandError(14, `Cannot apply $inc to a value of non-numeric type. The field '${path}' is of type ${typeName(current)}`);
  return current + operand;
}

function arrayAt(name: string, path: string, current: unknown): unknown[] {
  if (current === undefined) return [];
  if (!Array.isArray(current))
    throw new CommandError(2, `Cannot apply ${name} to a value that is not an array: '${path}' is of type ${typeName(current)}`);
  return current;
}

function pushed(array: readonly unknown[], operand: unknown): unknown[] {
  if (!isDoc(operand) || !('$each' in operand)) return [...array, copy(operand)];
  const { $each, $position = array.length, $slice = Infinity, $sort = {}, ...unknown } = operand;
  if (Object.keys(unknown).length > 0) throw new CommandError(2, `Unrecognized clause in $push: ${Object.keys(unknown).join(', ')}`);
  const most = $slice as number;
  const all = array.toSpliced($position as number, 0, ...(copy($each) as unknown[]));
  for (const [field, direction] of Object.entries($sort as Record<string, number>).reverse())
    all.sort((a, b) => direction * compare((a as Doc)[field], (b as Doc)[field]));
  return most < 0 ? all.slice(most) : all.slice(0, most);
}

function pulledBy(operand: unknown): (item: unknown) => boolean {
  if (isOperators(operand)) {
    const test = matcher({ item: operand });
    return (item) => test({ item });
  }
  if (!isDoc(operand)) return (item) => compare(item, operand) === 0;
  const test = matcher(operand);
  return (item) => isDoc(item) && test(item);
}

/** An update, as the client sent it. */
export type Update = Doc | Doc[];

const PIPELINE_STAGES = new Set(['$set', '$unset']);

/**
 * The document after an update.
 * @param inserting whether an upsert creates the document, so that `$setOnInsert` applies
 * @throws CommandError, also if the update would change `_id`
 */
export function updated(doc: Doc, update: Update, now: Date, inserting: boolean): Doc {
  const result = Array.isArray(update) ? throughPipeline(doc, update, now) : changed(doc, update, now, inserting);
  if (doc['_id'] !== undefined && !identical(doc['_id'], result['_id']))
    throw new CommandError(66, "Performing an update on the path '_id' would modify the immutable field '_id'");
  return result;
}

function throughPipeline(doc: Doc, pipeline: Doc[], now: Date): Doc {
  for (const stage of pipeline) {
    const name = Object.keys(stage)[0] ?? '';
    if (!PIPELINE_STAGES.has(name)) throw new CommandError(72, `${name} is not allowed to be used within an update`);
  }
  return runStages([doc], pipeline, { now })[0]!;
}

function changed(doc: Doc, update: Doc, now: Date, inserting: boolean): Doc {
  // A replacement keeps the `_id`, which comes first.
  if (!isOperators(update as unknown)) return { ...(doc['_id'] !== undefined && { _id: doc['_id'] }), ...copy(update) };
  rejectConflicts(update);
  const result = copy(doc);
  for (const [name, changes] of Object.entries(update)) {
    if (name === '$setOnInsert' && !inserting) continue;
    if (!isDoc(changes)) throw new CommandError(9, `Modifiers operate on fields but we found another type instead under ${name}`);
    for (const [path, operand] of Object.entries(changes)) applyOperator(result, name, path, operand, now);
  }
  return result;
}

function rejectConflicts(update: Doc): void {
  const paths = Object.values(update)
    .flatMap((changes) => (isDoc(changes) ? Object.keys(changes) : []))
    .sort();
  paths.forEach((path, i) => {
    for (const other of paths.slice(i + 1)) {
      if (other === path || other.startsWith(`${path}.`))
        throw new CommandError(40, `Updating the path '${other}' would create a conflict at '${path}'`);
      if (!other.startsWith(path)) break;
    }
  });
}

/** The initial document of an upsert: the equality conditions of the filter. */
export function seedOf(filter: Doc): Doc {
  const seed: Doc = {};
  const take = (conditions: Doc): void => {
    for (const [field, condition] of Object.entries(conditions)) {
      if (field === '$and') for (const inner of condition as Doc[]) take(inner);
      if (field.startsWith('$')) continue;
      const value = isOperators(condition) ? condition['$eq'] : condition;
      if (value !== undefined && !(value instanceof RegExp)) writeAt(seed, field.split('.'), copy(value));
    }
  };
  take(filter);
  return seed;
}
