/** The connection to MongoDB (4.4 and later) or an engine that speaks its protocol, and the indexes that the stores rely on. */
import { MongoClient, type CreateIndexesOptions, type Db, type IndexSpecification } from 'mongodb';
import type { Logger } from '../platform/logger.ts';

/** The database if the URL names none. */
const DEFAULT_DATABASE = 'curbcut';

export interface MongoConnection {
  db: Db;
  /** Answers if the database can be reached. @throws within a few seconds if not */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a connection in the background: the first operation waits for it, at most for the server-selection time-out.
 * A database that is down, or does not answer, makes an operation fail within 2 to 5 seconds, and is found again by itself.
 * @param url `mongodb://…` or `mongodb+srv://…`; the database is `curbcut` if it names none
 * @throws if the URL is malformed
 */
export function connectMongo({ url, logger }: { url: string; logger: Logger }): MongoConnection {
  const client = new MongoClient(url, {
    appName: 'curbcut',
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS: 2_000,
    waitQueueTimeoutMS: 2_000,
    // A server that accepts the connection and then stays silent must not hold a request forever.
    socketTimeoutMS: 5_000,
    heartbeatFrequencyMS: 2_000,
    maxPoolSize: 50,
    // Otherwise a field that is undefined would be stored as null, and read back as a value.
    ignoreUndefined: true,
  });
  let reachable = true;
  client.on('serverHeartbeatFailed', (event) => {
    if (reachable) logger.warn({ server: event.connectionId, err: event.failure }, 'database unavailable');
    reachable = false;
  });
  client.on('serverHeartbeatSucceeded', (event) => {
    if (!reachable) logger.info({ server: event.connectionId }, 'database available again');
    reachable = true;
  });
  const db = client.db(/^mongodb(?:\+srv)?:\/\/[^/]+\/[^?]/.test(url) ? undefined : DEFAULT_DATABASE);
  return {
    db,
    async ping() {
      await db.command({ ping: 1 });
    },
    async close() {
      await client.close();
    },
  };
}

/** Every index beside `_id`: collection, key, options. TTL indexes only tidy up; no answer depends on them. */
const INDEXES: readonly [collection: string, key: IndexSpecification, options: CreateIndexesOptions][] = [
  ['scans', { organisation: 1, createdAt: -1 }, {}],
  ['scans', { submission: 1, createdAt: 1 }, {}],
  ['scans', { phase: 1, updatedAt: 1 }, {}],
  ['scans', { phase: 1, finishedAt: 1 }, {}],
  ['ledger', { organisation: 1, at: -1, operation: -1 }, {}],
  ['keys', { hash: 1 }, { unique: true }],
  ['keys', { organisation: 1, createdAt: -1 }, {}],
  // An organisation without namespaces has no such field, so that a sparse index leaves it out: two empty arrays would collide.
  ['organisations', { namespaces: 1 }, { unique: true, sparse: true }],
  ['audit', { organisation: 1, at: -1 }, {}],
  ['users', { organisation: 1 }, {}],
  ['limits', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['idempotency', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
];

/** Makes the indexes that are missing. Idempotent; safe while other replicas do the same. */
export async function ensureIndexes(db: Db): Promise<void> {
  for (const [collection, key, options] of INDEXES) await db.collection(collection).createIndex(key, options);
}
