/** Commands that read: find, getMore, aggregate and the lists. */
import type { Collection } from '../storage/collection.ts';
import type { Commands, Session } from './session.ts';
import { countOf } from './cursors.ts';
import { CommandError } from '../errors.ts';
import { projector } from '../query/projection.ts';
import { runStages, sorter } from '../query/stages.ts';
import type { Doc } from '../values.ts';

/** The documents of a query: filtered, sorted, limited and projected. findAndModify and update use it too. */
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

export const READ_COMMANDS: Commands = {
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
