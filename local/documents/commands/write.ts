/** Commands that write: insert, update, findAndModify, delete, createIndexes and dropping. */
import { ObjectId } from 'bson';
import { project, select } from './read.ts';
import type { Commands, Session } from './session.ts';
import type { Collection } from '../storage/collection.ts';
import { CommandError } from '../errors.ts';
import { readSpecification } from '../storage/indexes.ts';
import { seedOf, updated, type Update } from '../update/update.ts';
import { identical, isDoc, isOperators, truthy, type Doc } from '../values.ts';

const namespaceOf = (command: Doc, { database }: Session): string => `${database}.${String(Object.values(command)[0])}`;

/** Runs each statement. An error becomes a write error and stops ordered writes. */
function eachStatement<T>(statements: readonly T[], ordered: boolean, write: (statement: T, index: number) => void): Doc[] {
  const errors: Doc[] = [];
  for (const [index, statement] of statements.entries()) {
    try {
      write(statement, index);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      errors.push({ index, code: error.code, errmsg: error.message, ...error.details });
      if (ordered) break;
    }
  }
  return errors;
}

const withErrors = (answer: Doc, writeErrors: Doc[]): Doc => (writeErrors.length === 0 ? answer : { ...answer, writeErrors });

function rejectOptions(statement: Doc): void {
  for (const option of ['collation', 'arrayFilters', 'let', 'sort'])
    if (statement[option] !== undefined && !(option === 'arrayFilters' && (statement[option] as unknown[]).length === 0))
      throw new CommandError(115, `The option '${option}' is not supported by the embedded document store.`);
}

function insert(command: Doc, session: Session): Doc {
  const collection = session.store.open(namespaceOf(command, session));
  let n = 0;
  const errors = eachStatement(command['documents'] as Doc[], command['ordered'] !== false, (doc) => {
    collection.insert(doc);
    n += 1;
  });
  return withErrors({ n }, errors);
}

function upsert(collection: Collection, filter: Doc, change: Update, now: Date): Doc {
  const seed = seedOf(filter);
  const made = updated(seed, change, now, true);
  return collection.insert(made['_id'] === undefined ? { _id: new ObjectId(), ...made } : made);
}

function update(command: Doc, session: Session): Doc {
  const collection = session.store.open(namespaceOf(command, session));
  const upserted: Doc[] = [];
  let [n, nModified] = [0, 0];
  const errors = eachStatement(command['updates'] as Doc[], command['ordered'] !== false, (statement, index) => {
    rejectOptions(statement);
    const [filter, change] = [statement['q'] as Doc, statement['u'] as Update];
    const multi = statement['multi'] === true;
    if (multi && isDoc(change) && !isOperators(change))
      throw new CommandError(9, 'multi update is not supported for replacement-style update');
    const found = collection.find(filter, multi ? Infinity : 1);
    if (found.length === 0 && statement['upsert'] === true) {
      upserted.push({ index, _id: upsert(collection, filter, change, session.now)['_id'] });
      n += 1;
      return;
    }
    for (const doc of found) {
      const next = updated(doc, change, session.now, false);
      n += 1;
      if (identical(doc, next)) continue;
      collection.replace(doc, next);
      nModified += 1;
    }
  });
  return withErrors({ n, nModified, ...(upserted.length === 0 ? {} : { upserted }) }, errors);
}

function findAndModify(command: Doc, session: Session): Doc {
  const {
    query = {},
    sort,
    remove,
    update: change,
    upsert: orInsert,
    new: after,
    fields,
  } = command as Record<string, unknown> & { query?: Doc; sort?: Doc };
  rejectOptions({ ...command, sort: undefined });
  if (truthy(remove) === (change !== undefined))
    throw new CommandError(9, 'Either an update or remove=true must be specified, and not both');
  const collection = session.store.open(namespaceOf(command, session));
  const [doc] = select(collection, { filter: query, sort, limit: 1 });
  const value = (found: Doc | null): Doc | null => (found === null ? null : project([found], fields, session.now)[0]!);
  if (truthy(remove)) {
    if (doc !== undefined) collection.remove(doc);
    return { lastErrorObject: { n: doc === undefined ? 0 : 1 }, value: value(doc ?? null) };
  }
  if (doc === undefined) {
    if (!truthy(orInsert)) return { lastErrorObject: { n: 0, updatedExisting: false }, value: null };
    const made = upsert(collection, query, change as Update, session.now);
    return { lastErrorObject: { n: 1, updatedExisting: false, upserted: made['_id'] }, value: value(truthy(after) ? made : null) };
  }
  const next = updated(doc, change as Update, session.now, false);
  if (!identical(doc, next)) collection.replace(doc, next);
  return { lastErrorObject: { n: 1, updatedExisting: true }, value: value(truthy(after) ? next : doc) };
}

function remove(command: Doc, session: Session): Doc {
  const collection = session.store.find(namespaceOf(command, session));
  let n = 0;
  const errors = eachStatement(command['deletes'] as Doc[], command['ordered'] !== false, (statement) => {
    rejectOptions(statement);
    for (const doc of collection?.find(statement['q'] as Doc, statement['limit'] === 0 ? Infinity : 1) ?? []) {
      collection!.remove(doc);
      n += 1;
    }
  });
  return withErrors({ n }, errors);
}

function createIndexes(command: Doc, session: Session): Doc {
  const namespace = namespaceOf(command, session);
  const createdCollectionAutomatically = session.store.find(namespace) === null;
  const collection = session.store.open(namespace);
  const numIndexesBefore = collection.indexes().length;
  for (const given of command['indexes'] as Doc[]) collection.createIndex(readSpecification(given));
  return { createdCollectionAutomatically, numIndexesBefore, numIndexesAfter: collection.indexes().length };
}

export const WRITE_COMMANDS: Commands = {
  insert,
  update,
  findAndModify,
  delete: remove,
  createIndexes,
  drop: (command, session) => {
    const namespace = namespaceOf(command, session);
    if (!session.store.drop(namespace)) throw new CommandError(26, 'ns not found');
    return { ns: namespace };
  },
  dropDatabase: (_, { store, database }) => {
    for (const namespace of store.namespaces(database)) store.drop(namespace);
    return { dropped: database };
  },
};
