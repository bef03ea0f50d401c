/** Databases for tests: on the server of MONGODB_URL, or in an embedded document store. */
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { startDocuments } from '../../local/documents/documents.ts';

export interface DatabaseServer {
  /** The address of a database that no other test uses. @param options are added to the connection string */
  newDatabase(options?: Readonly<Record<string, string>>): string;
  /** Drops the databases of `newDatabase` and stops the server if it is embedded. */
  close(): Promise<void>;
}

/**
 * Replaces the database of a connection string and adds options. `URL` cannot parse the list of hosts of a replica set.
 * A user without `authSource` is looked up in the string's database, so that name stays as the `authSource`.
 */
export function withDatabase(url: string, name: string, options: Readonly<Record<string, string>> = {}): string {
  const [, server = '', database, query] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? [];
  if (server === '') throw new Error('MONGODB_URL is not a connection string');
  const parameters = new URLSearchParams(query);
  if (database && server.includes('@') && !parameters.has('authSource')) parameters.set('authSource', database);
  for (const [option, value] of Object.entries(options)) parameters.set(option, value);
  return `${server}/${name}${parameters.size > 0 ? `?${parameters.toString()}` : ''}`;
}

/** Sets options in the connection string of a database. */
export function withOptions(url: string, options: Readonly<Record<string, string>>): string {
  const [address, given = ''] = url.split('?');
  return `${address}?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(given)), ...options }).toString()}`;
}

export async function openDatabaseServer(): Promise<DatabaseServer> {
  const given = process.env['MONGODB_URL'];
  const embedded = given ? null : await startDocuments();
  const url = given || embedded!.url;
  const names: string[] = [];
  return {
    newDatabase(options) {
      const name = `curbcut-test-${randomUUID().slice(0, 8)}`;
      names.push(name);
      return withDatabase(url, name, options);
    },
    async close() {
      if (embedded !== null) return embedded.close();
      const client = new MongoClient(withDatabase(url, 'admin'));
      for (const name of names) await client.db(name).dropDatabase();
      await client.close();
    },
  };
}
