/** The table of supported commands. */
import { ObjectId } from 'bson';
import { CommandError } from '../errors.ts';
import { type Doc, identical, isDoc, isOperators, truthy } from '../values.ts';
import type { Collection } from '../storage/collection.ts';
import { projector, runStages, sorter } from '../stages.ts';
import { readSpecification } from '../storage/indexes.ts';
import { seedOf, type Update, updated } from '../update.ts';
import type { Commands, Session } from './session.ts';
import { countOf } from './cursors.ts';

/** Commands that write: insert, update, findAndModify, delete, createIndexes and dropping. */
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

const WRITE_COMMANDS: Commands = {
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

/**
 * Commands that read: find, getMore, aggregate and the lists. The documents of a query: filtered, sorted, limited and projected.
 * findAndModify and update use it too.
 */
export function select(collection: Collection | null, query: { filter?: Doc; sort?: Doc; skip?: number; limit?: number }): Doc[] {
  if (collection === null) return [];
  const { filter = {}, sort, skip = 0, limit = 0 } = query;
  const sorted = sort !== undefined && Object.keys(sort).length > 0;
  const found = collection.find(filter, sorted || limit === 0 ? Infinity : skip + limit);
  if (sorted) found.sort(sorter(sort));
  return skip === 0 && limit === 0 ? found : found.slice(skip, limit === 0 ? undefined : skip + limit);
}

export function project(docs: Doc[], projection: unknown, now: Date): Doc[] {
  if (projection === undefined || projection === null || Object.keys(projection).length === 0) return docs;
  return docs.map(projector(projection as Doc, now));
}

function find(command: Doc, { store, cursors, now, database }: Session): Doc {
  const namespace = `${database}.${String(command['find'])}`;
  const limit = countOf(command, 'limit') ?? 0;
  const query = {
    filter: command['filter'] as Doc,
    sort: command['sort'] as Doc,
    skip: countOf(command, 'skip') ?? 0,
    limit: Math.abs(limit),
  };
  const docs = project(select(store.find(namespace), query), command['projection'], now);
  return cursors.first(namespace, docs, countOf(command, 'batchSize'), command['singleBatch'] === true || limit < 0);
}

function aggregate(command: Doc, { store, cursors, now, database }: Session): Doc {
  if (typeof command['aggregate'] !== 'string')
    throw new CommandError(115, 'Aggregations over a whole database are not supported by the embedded document store.');
  const namespace = `${database}.${command['aggregate']}`;
  const stages = command['pipeline'] as Doc[];
  // The first $match uses the collection's indexes.
  const first = stages[0] !== undefined && '$match' in stages[0] ? (stages[0]['$match'] as Doc) : null;
  const source = store.find(namespace)?.find(first ?? {}) ?? [];
  const findIn = (name: string, filter: Doc): Doc[] => store.find(`${database}.${name}`)?.find(filter) ?? [];
  const docs = runStages(source, first === null ? stages : stages.slice(1), { now, find: findIn });
  return cursors.first(namespace, docs, countOf((command['cursor'] as Doc | undefined) ?? {}, 'batchSize'));
}

function listIndexes(command: Doc, { store, cursors, database }: Session): Doc {
  const namespace = `${database}.${String(command['listIndexes'])}`;
  const collection = store.find(namespace);
  if (collection === null) throw new CommandError(26, `ns does not exist: ${namespace}`);
  return cursors.first(namespace, collection.indexes(), null);
}

function listCollections(command: Doc, { store, cursors, database }: Session): Doc {
  const all = store.namespaces(database).map((namespace) => ({ name: namespace.slice(database.length + 1), type: 'collection' }));
  return cursors.first(`${database}.$cmd.listCollections`, all, countOf((command['cursor'] as Doc | undefined) ?? {}, 'batchSize'));
}

/** A cursor's ID, which is too large for a JavaScript number. */
const idOf = (value: unknown): bigint => BigInt(String(value));

const READ_COMMANDS: Commands = {
  find,
  aggregate,
  listIndexes,
  listCollections,
  getMore: (command, { cursors }) => cursors.more(idOf(command['getMore']), countOf(command, 'batchSize')),
  killCursors: (command, { cursors }) => {
    const { killed, missing } = cursors.kill((command['cursors'] as unknown[]).map(idOf));
    return { cursorsKilled: killed, cursorsNotFound: missing, cursorsAlive: [], cursorsUnknown: [] };
  },
};

/** Wire version 9 is MongoDB 4.4. */
const hello = (_: Doc, { now, connection, replicaSet }: Session): Doc => ({
  ...(replicaSet !== null && {
    setName: replicaSet.name,
    setVersion: 1,
    hosts: [replicaSet.member],
    primary: replicaSet.member,
    me: replicaSet.member,
    secondary: false,
  }),
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16 * 1024 * 1024,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  localTime: now,
  logicalSessionTimeoutMinutes: 30,
  connectionId: connection.id,
  minWireVersion: 0,
  maxWireVersion: 9,
  readOnly: false,
});

const noTransactions = (): never => {
  // Not the real server's message: the driver would take it for an error of retryable writes.
  throw new CommandError(20, 'The embedded document store does not support transactions.');
};

const COMMANDS: Commands = {
  ...READ_COMMANDS,
  ...WRITE_COMMANDS,
  findandmodify: WRITE_COMMANDS['findAndModify']!,
  hello,
  isMaster: hello,
  ismaster: hello,
  ping: () => ({}),
  endSessions: () => ({}),
  configureFailPoint: (command, { faults }) => {
    if (faults === null) throw new CommandError(59, "no such command: 'configureFailPoint'");
    return faults.configure(command);
  },
  abortTransaction: noTransactions,
  commitTransaction: noTransactions,
};

/**
 * Runs one command. Never throws.
 * @returns the response; `ok: 0` with a code if the command failed; null if the connection must be closed instead
 */
export function answer(command: Doc, session: Session): Doc | null {
  const name = Object.keys(command)[0] ?? '';
  const { connection, faults } = session;
  // Only the first command of a connection, which is a hello, describes the client.
  connection.appName ??= ((command['client'] as Doc | undefined)?.['application'] as Doc | undefined)?.['name'];
  const fault = faults?.next(name, connection.appName) ?? null;
  if (fault === null) return execute(name, command, session);
  const executed = fault.executes ? execute(name, command, session) : {};
  return fault.response && { ...executed, ...fault.response };
}

function execute(name: string, command: Doc, session: Session): Doc {
  try {
    const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (run === undefined) throw new CommandError(59, `no such command: '${name}'`);
    if (command['startTransaction'] === true || command['autocommit'] === false) noTransactions();
    if (command['collation'] !== undefined)
      throw new CommandError(115, "The option 'collation' is not supported by the embedded document store.");
    const result = session.replicaSet === null ? run(command, session) : session.replicaSet.once(command, () => run(command, session));
    return { ...result, ok: 1 };
  } catch (error) {
    if (error instanceof CommandError)
      return { ok: 0, errmsg: error.message, code: error.code, codeName: error.codeName, ...error.details };
    return { ok: 0, errmsg: `${name}: ${(error as Error).message}`, code: 8, codeName: 'UnknownError' };
  } finally {
    session.store.settle();
  }
}
