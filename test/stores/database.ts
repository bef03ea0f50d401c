/** A new database for a test file: in the embedded document store, or on the server at MONGODB_URL. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { startDocuments } from '../../local/documents/documents.ts';
import { connectMongo, ensureIndexes } from '../../stores/mongo.ts';
import { silentLogger } from '../support/silent-logger.ts';

export interface TestDatabase {
  url: string;
  db: Db;
  /** Opens another client of the same database, like another replica. `close` closes it too. */
  another(): Db;
  close(): Promise<void>;
}

/** Opens a test database with all indexes. */
export async function openDatabase(): Promise<TestDatabase> {
  const given = process.env['MONGODB_URL'];
  const embedded = given === undefined ? await startDocuments() : null;
  const url = new URL(given ?? embedded!.url);
  url.pathname = `/curbcut-test-${randomUUID().slice(0, 8)}`;
  const connections = [connectMongo({ url: url.href, logger: silentLogger })];
  const { db } = connections[0]!;
  await ensureIndexes(db);
  return {
    url: url.href,
    db,
    another() {
      const connection = connectMongo({ url: url.href, logger: silentLogger });
      connections.push(connection);
      return connection.db;
    },
    async close() {
      await db.dropDatabase();
      await Promise.all(connections.map((connection) => connection.close()));
      await embedded?.close();
    },
  };
}
