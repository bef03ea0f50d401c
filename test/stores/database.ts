/** A fresh database for a test file: the embedded document store's, or one of its own on the server that MONGODB_URL names. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { startDocuments } from '../../local/documents/documents.ts';
import { connectMongo, ensureIndexes } from '../../stores/mongo.ts';
import { silentLogger } from '../support/silent-logger.ts';

export interface TestDatabase {
  url: string;
  db: Db;
  /** One more client of the same database, as another replica would be. Closed with the database. */
  another(): Db;
  close(): Promise<void>;
}

/** Opens it, with every index. */
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
