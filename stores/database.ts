/** Opens MongoDB and all stores in it. */
import type { Logger } from '../platform/logger.ts';
import { connectMongo, ensureIndexes } from './mongo.ts';
import { openStores, type AllStores, type StoreObservers } from './stores.ts';

export interface Database {
  stores: AllStores;
  /** Checks the connection. The first successful call also creates missing indexes. @throws if the database is unavailable */
  prepare(): Promise<void>;
  close(): Promise<void>;
}

/** Connects in the background, because the database may start after this process. */
export function openDatabase(config: { MONGODB_URL: string }, options: StoreObservers & { logger: Logger }): Database {
  const mongo = connectMongo({ url: config.MONGODB_URL, logger: options.logger });
  let indexed = false;
  const stores = openStores(mongo.db, options);
  return {
    stores,
    async prepare() {
      if (!indexed) await ensureIndexes(mongo.db);
      indexed = true;
      await mongo.ping();
    },
    async close() {
      await stores.keys.flush();
      await mongo.close();
    },
  };
}
