/** Opens MongoDB and all stores in it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { LiveSettings } from '../platform/setting-files.ts';
import { connectMongo, ensureIndexes, type MongoConnection } from './mongo.ts';
import { openStores, type StoreObservers } from './stores.ts';

export interface DatabaseOptions extends StoreObservers {
  logger: Logger;
  /** The current connection string. Default: that of the configuration. */
  live?: LiveSettings;
  /** The number of connections for anonymous requests. Default: they share the others. */
  anonymousConnections?: number;
}

/** Connects in the background, because the database may start after this process. */
export function openDatabase(config: { MONGODB_URL: string }, options: DatabaseOptions) {
  const mongo = connectMongo({ url: config.MONGODB_URL, logger: options.logger });
  let indexed = false;
  const stores = openStores(mongo.db, options);
  const { anonymousConnections: poolSize } = options;
  // The other connection logs the outages of both.
  const anonymous = poolSize === undefined ? null : connectMongo({ url: config.MONGODB_URL, poolSize });
  const closing = new AbortController();
  const connections = anonymous === null ? [mongo] : [mongo, anonymous];
  if (options.live !== undefined) followUrl(connections, options.live, { logger: options.logger, signal: closing.signal });
  return {
    stores,
    /** The same stores over a few connections of their own. */
    anonymousStores: anonymous === null ? stores : openStores(anonymous.db, options),
    /** Checks the connection. The first successful call also creates missing indexes. @throws if the database is unavailable */
    async prepare() {
      if (!indexed) await ensureIndexes(mongo.db);
      indexed = true;
      await mongo.ping();
    },
    async close() {
      closing.abort();
      await stores.keys.flush();
      await Promise.all([mongo.close(), anonymous?.close()]);
    },
  };
}
export type Database = ReturnType<typeof openDatabase>;

/** The pause between two attempts to use a new connection string, in milliseconds. */
const REPLACE_EVERY_MS = 5_000;

/** Replaces connections when the connection string changes. A new one that does not work (yet) is tried until it does. */
function followUrl(
  connections: readonly MongoConnection[],
  live: LiveSettings,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): void {
  const url = live.credential('MONGODB_URL');
  if (url === undefined) return;
  let used = url();
  let replacing = false;

  const replaceAll = async (): Promise<void> => {
    let reported = '';
    while (used !== url() && !signal.aborted) {
      const wanted = url();
      try {
        for (const connection of connections) await connection.replace(wanted);
        used = wanted;
        logger.info({}, 'database connections replaced');
      } catch (err) {
        if (reported !== wanted) logger.error({ err }, 'the changed MONGODB_URL does not work; the earlier one stays in use until it does');
        reported = wanted;
        // Rejected only by `close`.
        await sleep(REPLACE_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  };

  live.onChange(['MONGODB_URL'], () => {
    if (replacing) return;
    replacing = true;
    void replaceAll().finally(() => (replacing = false));
  });
}
