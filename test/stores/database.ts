/** A new database for a test file: in the embedded document store, or on the server at MONGODB_URL. */
import type { Db } from 'mongodb';
import { connectMongo, ensureIndexes } from '../../stores/mongo.ts';
import { openDatabaseServer } from '../support/databases.ts';
import { opened, type Hooks } from '../support/opened.ts';
import { silentLogger } from '../support/silent-logger.ts';

export interface TestDatabase {
  url: string;
  db: Db;
  /** Opens another client of the same database, like another replica. `close` closes it too. */
  another(): Db;
  close(): Promise<void>;
}

/** Opens a test database with all indexes. @param options of the connection string */
export async function openDatabase(options: Readonly<Record<string, string>> = {}): Promise<TestDatabase> {
  const server = await openDatabaseServer();
  const url = server.newDatabase(options);
  const connections = [connectMongo({ url, logger: silentLogger })];
  const { db } = connections[0]!;
  await ensureIndexes(db);
  return {
    url,
    db,
    another() {
      const connection = connectMongo({ url, logger: silentLogger });
      connections.push(connection);
      return connection.db;
    },
    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
      await server.close();
    },
  };
}

/** Opens a database for the tests of the current suite. */
export const useDatabase = (options?: Parameters<typeof openDatabase>[0], ...hooks: Hooks): TestDatabase =>
  opened(() => openDatabase(options), ...hooks);

/** A store in the database of the current suite. */
export function useStore<S extends object>(database: TestDatabase, create: (db: Db) => S): S {
  const store = {} as S;
  before(() => void Object.assign(store, create(database.db)));
  return store;
}
