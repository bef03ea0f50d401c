/** Updates by operators, replacement or pipeline. Pure: the given document is not changed. */
import { CommandError } from '../errors.ts';
import { applyOperator } from './operators.ts';
import { runStages } from '../query/stages.ts';
import { define, writeAt } from '../paths.ts';
import { copy, identical, isDoc, type Doc } from '../values.ts';

/** An update, as the client sent it. */
export type Update = Doc | Doc[];

const PIPELINE_STAGES = new Set(['$addFields', '$set', '$project', '$unset', '$replaceRoot', '$replaceWith']);

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
  const [result] = runStages([doc], pipeline, { now });
  if (!isDoc(result)) throw new CommandError(40228, 'an update pipeline must leave a document');
  return withId(doc['_id'], result);
}

function changed(doc: Doc, update: Doc, now: Date, inserting: boolean): Doc {
  const operators = Object.keys(update);
  if (!operators[0]?.startsWith('$')) return withId(doc['_id'], copy(update));
  rejectConflicts(update);
  const result = copy(doc);
  for (const name of operators) {
    if (name === '$setOnInsert' && !inserting) continue;
    const changes = update[name];
    if (!isDoc(changes)) throw new CommandError(9, `Modifiers operate on fields but we found another type instead under ${name}`);
    for (const [path, operand] of Object.entries(changes)) applyOperator(result, name, path, operand, now);
  }
  return result;
}

/** A replacement keeps the `_id`, which comes first. */
function withId(id: unknown, doc: Doc): Doc {
  if (id === undefined || doc['_id'] !== undefined) return doc;
  return { _id: id, ...doc };
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
      const operators = isDoc(condition) && Object.keys(condition)[0]?.startsWith('$') === true;
      const value = operators ? (condition as Doc)['$eq'] : condition;
      if (value === undefined || value instanceof RegExp) continue;
      if (field.includes('.')) writeAt(seed, field.split('.'), copy(value));
      else define(seed, field, copy(value));
    }
  };
  take(filter);
  return seed;
}
