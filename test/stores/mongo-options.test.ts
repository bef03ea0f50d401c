/** What the client asks of MongoDB: guarantees that no connection string can weaken, and options that it may set. */
import type { CommandStartedEvent, MongoClient } from 'mongodb';
import { expect } from 'chai';
import { startDocuments } from '../../local/documents/documents.ts';
import { ConfigurationError } from '../../platform/configuration.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { openStores } from '../../stores/stores.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { scanRow } from '../support/scan-rows.ts';
import { issueKey } from '../support/issue-key.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openDatabase } from './database.ts';

const READS = ['find', 'aggregate', 'count', 'distinct'];
/** Neither reads nor writes data. */
const OTHERS = ['endSessions'];
const WRITES = ['insert', 'update', 'findAndModify', 'delete', 'createIndexes', 'dropDatabase'];

/** Uses each store against the server of the tests and returns the commands that it received. */
async function commandsOfStores(): Promise<CommandStartedEvent[]> {
  const database = await openDatabase({ monitorCommands: 'true' });
  const commands: CommandStartedEvent[] = [];
  database.db.client.on('commandStarted', (event) => commands.push(event));
  const { organisations, users, sessions, keys, credits, scans, rateLimits } = openStores(database.db);
  const rule = { policy: 'key', subject: 'k', limit: 5, windowSeconds: 60 };
  await organisations.add({ id: 'acme', displayName: 'Acme', plan: 'team', namespaces: [] });
  await credits.grant('acme', 'first', 10);
  const { key, secret } = await issueKey(keys, 'acme');
  await keys.recognise(secret);
  await keys.usable([key.id]);
  await users.add({ email: 'a@example.com', organisation: 'acme', password: null, role: 'owner' });
  const started = (await sessions.start({ email: 'a@example.com', method: 'oidc', browser: 'test' }))!;
  await sessions.recognise(started.secret);
  await sessions.usable([started.session.id]);
  await keys.revoke('acme', key.id);
  const row = scanRow({ organisation: 'acme' });
  await scans.create(row);
  await credits.reserve({ organisation: 'acme', scanId: row.id, pages: 5, partial: false, deadline: new Date(Date.now() + 60_000) });
  await credits.settle('acme', row.id, 2);
  await scans.find(row.id);
  await rateLimits.admit([rule]);
  await database.db.dropDatabase();
  await database.close();
  return commands;
}

describe('client of MongoDB', () => {
  it('sends every write with majority and journal, and every read to the primary, which answers with all that it knows', async () => {
    const commands = await commandsOfStores();
    const writes = commands.filter(({ commandName }) => WRITES.includes(commandName));
    const reads = commands.filter(({ commandName }) => READS.includes(commandName));
    expect(writes).to.have.length.above(5);
    expect(reads).to.have.length.above(1);
    for (const { commandName, command } of writes) expect(command.writeConcern, commandName).to.include({ w: 'majority', j: true });
    for (const { commandName, command } of reads)
      expect(command.$readPreference?.mode ?? 'primary', commandName).to.be.oneOf(['primary', 'primaryPreferred']);
    // `majority` would hide a revocation that a new primary does not know yet to be on a majority.
    for (const { commandName, command } of reads) expect(command.readConcern?.level ?? 'local', commandName).to.equal('local');
    for (const collection of ['keys', 'sessions']) expect(reads.map(({ command }) => command.aggregate as unknown)).to.include(collection);
    expect(
      [...new Set(commands.map(({ commandName }) => commandName))].filter((name) => ![...READS, ...WRITES, ...OTHERS].includes(name)),
    ).to.deep.equal([]);
  });

  const optionsOf = async <T>(query: string, read: (client: MongoClient) => T): Promise<T> => {
    const connection = connectMongo({ url: `mongodb://user:hush@127.0.0.1:1/x${query}`, logger: silentLogger });
    try {
      return read(connection.db.client);
    } finally {
      await connection.close();
    }
  };

  it('lets the string set every other option, and has defaults for the time limits', async () => {
    const tunables = ({ options }: MongoClient) => [
      options.serverSelectionTimeoutMS,
      options.socketTimeoutMS,
      options.maxPoolSize,
      options.appName,
      options.writeConcern?.wtimeoutMS,
    ];
    expect(await optionsOf('', tunables)).to.deep.equal([2_000, 5_000, 50, 'curbcut', undefined]);
    const query = '?SERVERSELECTIONTIMEOUTMS=77&socketTimeoutMS=88&maxPoolSize=9&appName=mine&wtimeoutMS=99';
    expect(await optionsOf(query, tunables)).to.deep.equal([77, 88, 9, 'mine', 99]);
  });

  it('rejects a string that asks for weaker guarantees, or that the driver cannot use, without showing it', async () => {
    for (const query of ['?readPreference=secondaryPreferred&w=1', '?retryWrites=false', '?colour=red', '?maxPoolSize=many']) {
      const error = await optionsOf(query, () => null).then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error, query).to.be.instanceOf(ConfigurationError);
      expect((error as Error).message)
        .to.include('MONGODB_URL')
        .and.not.include('hush');
    }
    for (const password of ['p@hush', 'p%zz', 'p/hush'])
      expect(() => connectMongo({ url: `mongodb://user:${password}@db/curbcut`, logger: silentLogger }), password).to.throw(
        'must be percent-encoded',
      );
    expect(() => connectMongo({ url: 'mongodb://user:hush', logger: silentLogger })).to.throw(ConfigurationError).with.property('message').that.does.not.include('hush'); // prettier-ignore
  });

  it('works on a standalone server, and reports it once', async () => {
    const documents = await startDocuments();
    const { lines, ...logger } = createFakeLogger();
    const connection = connectMongo({ url: `${documents.url}&heartbeatFrequencyMS=500`, logger });
    await connection.ping();
    await connection.db.collection('x').insertOne({});
    await new Promise((resolve) => connection.db.client.on('serverHeartbeatSucceeded', resolve));
    expect(lines.filter(({ message }) => /standalone/.test(message))).to.have.lengthOf(1);
    await connection.close();
    await documents.close();
  });
});
