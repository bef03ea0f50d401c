/** The connection to MongoDB (4.4 and later) or an engine with the same protocol, and the indexes of the stores. */
import { MongoClient, type CreateIndexesOptions, type Db, type IndexSpecification } from 'mongodb';
import type { Logger } from '../platform/logger.ts';

/** The database if the URL does not name one. */
const DEFAULT_DATABASE = 'curbcut';

export interface MongoConnection {
  db: Db;
  /** Checks the connection. @throws within a few seconds if the database is unavailable */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects in the background. Operations wait for the connection, at most for the server-selection time-out. While the
 * database is down or does not respond, each operation fails within 2 to 5 seconds. The driver reconnects automatically.
 * @param url `mongodb://…` or `mongodb+srv://…`; the default database is `curbcut`
 * @throws if the URL is malformed
 */
export function connectMongo({ url, logger }: { url: string; logger: Logger }): MongoConnection {
  const client = new MongoClient(url, {
    appName: 'curbcut',
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS: 2_000,
    waitQueueTimeoutMS: 2_000,
    // A server that accepts the connection and never responds must not block a request forever.
    socketTimeoutMS: 5_000,
    heartbeatFrequencyMS: 2_000,
    maxPoolSize: 50,
    // Otherwise an undefined field would be stored as null.
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

/** Every index except `_id`: collection, key, options. TTL indexes only remove old documents; results do not depend on them. */
const INDEXES: readonly [collection: string, key: IndexSpecification, options: CreateIndexesOptions][] = [
  ['scans', { submission: 1, createdAt: 1 }, {}],
  ['scans', { phase: 1, updatedAt: 1 }, {}],
  ['scans', { phase: 1, finishedAt: 1 }, {}],
  ['ledger', { organisation: 1, at: -1, operation: -1 }, {}],
  ['keys', { hash: 1 }, { unique: true }],
  ['keys', { organisation: 1, createdAt: -1 }, {}],
  // Sparse, because organisations without namespaces do not have the field.
  ['organisations', { namespaces: 1 }, { unique: true, sparse: true }],
  ['audit', { organisation: 1, at: -1 }, {}],
  ['users', { organisation: 1 }, {}],
  ['limits', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
  ['idempotency', { expiresAt: 1 }, { expireAfterSeconds: 0 }],
];

/** Creates missing indexes. Idempotent, and safe while other replicas do the same. */
export async function ensureIndexes(db: Db): Promise<void> {
  for (const [collection, key, options] of INDEXES) await db.collection(collection).createIndex(key, options);
}
