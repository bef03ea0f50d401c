/** Updates by operators, replacement or pipeline. Pure: the given document is not changed. */
import { CommandError } from '../errors.ts';
import { applyOperator } from './operators.ts';
import { runStages } from '../query/stages.ts';
import { writeAt } from '../paths.ts';
import { copy, identical, isDoc, isOperators, type Doc } from '../values.ts';

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
