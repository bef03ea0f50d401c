/** Commands that read: find, getMore, aggregate, count, distinct and the lists. */
import type { Collection } from '../storage/collection.ts';
import type { Commands, Session } from './session.ts';
import { countOf } from './cursors.ts';
import { CommandError } from '../errors.ts';
import { projector, spreadValues } from '../query/projection.ts';
import { matcher } from '../query/match.ts';
import { runStages, sorter } from '../query/stages.ts';
import { compare, keyOf, type Doc } from '../values.ts';

/** The documents of a query: filtered, sorted, limited and projected. findAndModify and update use it too. */
export function select(
  collection: Collection | null,
  query: { filter?: Doc; sort?: Doc; skip?: number; limit?: number },
  now: Date,
): Doc[] {
  if (collection === null) return [];
  const { filter = {}, sort, skip = 0, limit = 0 } = query;
  const sorted = sort !== undefined && Object.keys(sort).length > 0;
  const inOrder = sorted && limit > 0 ? collection.findInOrder(filter, sort, now, skip + limit) : null;
  if (inOrder !== null) return inOrder.slice(skip);
  const found = collection.find(filter, now, sorted || limit === 0 ? Infinity : skip + limit);
  if (sorted) found.sort(sorter(sort));
  return skip === 0 && limit === 0 ? found : found.slice(skip, limit === 0 ? undefined : skip + limit);
}

/** Applies a projection to documents. */
export function project(docs: Doc[], projection: unknown, now: Date): Doc[] {
  if (projection === undefined || projection === null || Object.keys(projection as Doc).length === 0) return docs;
  return docs.map(projector(projection as Doc, { now }));
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
  const docs = project(select(store.find(namespace), query, now), command['projection'], now);
  return cursors.first(namespace, docs, countOf(command, 'batchSize'), command['singleBatch'] === true || limit < 0);
}

function aggregate(command: Doc, { store, cursors, now, database }: Session): Doc {
  if (typeof command['aggregate'] !== 'string')
    throw new CommandError(115, 'Aggregations over a whole database are not supported by the embedded document store.');
  const namespace = `${database}.${command['aggregate']}`;
  const stages = command['pipeline'] as Doc[];
  // The first $match uses the collection's indexes.
  const first = stages[0] !== undefined && '$match' in stages[0] ? (stages[0]['$match'] as Doc) : null;
  const source = store.find(namespace)?.find(first ?? {}, now) ?? [];
  const findIn = (name: string, filter: Doc): Doc[] => store.find(`${database}.${name}`)?.find(filter, now) ?? [];
  const docs = runStages(source, first === null ? stages : stages.slice(1), { now, find: findIn });
  return cursors.first(namespace, docs, countOf((command['cursor'] as Doc | undefined) ?? {}, 'batchSize'));
}

function distinct(command: Doc, { store, now, database }: Session): Doc {
  const values = new Map<string, unknown>();
  for (const doc of select(store.find(`${database}.${String(command['distinct'])}`), { filter: command['query'] as Doc }, now))
    for (const value of spreadValues(doc, String(command['key']))) values.set(keyOf(value), value);
  return { values: [...values.values()].sort(compare) };
}

function listIndexes(command: Doc, { store, cursors, database }: Session): Doc {
  const namespace = `${database}.${String(command['listIndexes'])}`;
  const collection = store.find(namespace);
  if (collection === null) throw new CommandError(26, `ns does not exist: ${namespace}`);
  return cursors.first(namespace, collection.indexes(), null);
}

function listCollections(command: Doc, { store, cursors, now, database }: Session): Doc {
  const all = store.namespaces(database).map((namespace) => ({
    name: namespace.slice(database.length + 1),
    type: 'collection',
    ...(command['nameOnly'] === true ? {} : { options: {}, info: { readOnly: false }, idIndex: { v: 2, key: { _id: 1 }, name: '_id_' } }),
  }));
  const test = matcher((command['filter'] as Doc | undefined) ?? {}, { now });
  return cursors.first(
    `${database}.$cmd.listCollections`,
    all.filter(test),
    countOf((command['cursor'] as Doc | undefined) ?? {}, 'batchSize'),
  );
}

export const READ_COMMANDS: Commands = {
  find,
  aggregate,
  distinct,
  listIndexes,
  listCollections,
  getMore: (command, { cursors, now }) => cursors.more(BigInt(command['getMore'] as bigint), countOf(command, 'batchSize'), now.getTime()),
  killCursors: (command, { cursors }) => {
    const { killed, missing } = cursors.kill((command['cursors'] as bigint[]).map(BigInt));
    return { cursorsKilled: killed, cursorsNotFound: missing, cursorsAlive: [], cursorsUnknown: [] };
  },
  count: (command, { store, now, database }) => ({
    n: select(
      store.find(`${database}.${String(command['count'])}`),
      { filter: command['query'] as Doc, skip: countOf(command, 'skip') ?? 0, limit: Math.abs(countOf(command, 'limit') ?? 0) },
      now,
    ).length,
  }),
  listDatabases: (command, { store }) => ({
    databases: store.databases().map((name) => (command['nameOnly'] === true ? { name } : { name, sizeOnDisk: 0n, empty: false })),
  }),
};
