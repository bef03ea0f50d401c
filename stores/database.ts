/** Opens MongoDB and all stores in it. */
import type { Logger } from '../platform/logger.ts';
import { connectMongo, ensureIndexes } from './mongo.ts';
import { openStores, type AllStores, type StoreObservers } from './stores.ts';

export interface Database {
  stores: AllStores;
  /** The same stores over a few connections of their own. */
  anonymousStores: AllStores;
  /** Checks the connection. The first successful call also creates missing indexes. @throws if the database is unavailable */
  prepare(): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions extends StoreObservers {
  logger: Logger;
  /** The number of connections for anonymous requests. Default: they share the others. */
  anonymousConnections?: number;
}

/** Connects in the background, because the database may start after this process. */
export function openDatabase(config: { MONGODB_URL: string }, options: DatabaseOptions): Database {
  const mongo = connectMongo({ url: config.MONGODB_URL, logger: options.logger });
  let indexed = false;
  const stores = openStores(mongo.db, options);
  const { anonymousConnections: poolSize } = options;
  // The other connection logs the outages of both.
  const anonymous = poolSize === undefined ? null : connectMongo({ url: config.MONGODB_URL, poolSize });
  return {
    stores,
    anonymousStores: anonymous === null ? stores : openStores(anonymous.db, options),
    async prepare() {
      if (!indexed) await ensureIndexes(mongo.db);
      indexed = true;
      await mongo.ping();
    },
    async close() {
      await stores.keys.flush();
      await Promise.all([mongo.close(), anonymous?.close()]);
    },
  };
}
