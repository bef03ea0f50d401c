import { expect } from 'chai';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { dependencyIsDown } from '../../stores/availability.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { openStores } from '../../stores/stores.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openDatabase } from './database.ts';

/** A server that accepts connections and never responds. */
async function startSilentServer(): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (reason: unknown) => reason); // prettier-ignore

describe('unavailable dependencies', () => {
  it('reports the database as down if the port is closed or the server does not respond', async () => {
    const silent = await startSilentServer();
    for (const port of [1, silent.port]) {
      const connection = connectMongo({ url: `mongodb://127.0.0.1:${port}/?serverSelectionTimeoutMS=300`, logger: silentLogger });
      const { keys, credits } = openStores(connection.db);
      const errors = await Promise.all([
        failure(connection.ping()),
        failure(keys.list('acme', { limit: 1 })),
        failure(credits.settle('acme', 'scan', 1)),
      ]);
      for (const error of errors) expect(dependencyIsDown(error), String(error)).to.equal(true);
      await connection.close();
    }
    await silent.close();
  });

  it('uses the database of the URL, and `curbcut` by default', async () => {
    for (const [url, name] of [
      ['mongodb://127.0.0.1:1', 'curbcut'],
      ['mongodb://127.0.0.1:1/', 'curbcut'],
      ['mongodb://127.0.0.1:1/?directConnection=true', 'curbcut'],
      ['mongodb://user:p%2Fw@127.0.0.1:1,127.0.0.2:1/other?replicaSet=r', 'other'],
    ] as const) {
      const connection = connectMongo({ url, logger: silentLogger });
      expect(connection.db.databaseName).to.equal(name);
      await connection.close();
    }
  });

  it('does not report a bug as an outage', async () => {
    const database = await openDatabase();
    await database.db.collection('x').insertOne({});
    const error = await failure(database.db.collection('x').findOne({ $nonsense: 1 }));
    expect(error).to.be.instanceOf(Error);
    expect(dependencyIsDown(error)).to.equal(false);
    await database.close();
  });
});
