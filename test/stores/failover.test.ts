/**
 * A failover while scans are settled: no acknowledged settle is lost, and none is charged twice when it is repeated. On a
 * replica set the primary steps down; elsewhere all connections break after the server has got the commands.
 */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { expect } from 'chai';
import { dependencyIsDown } from '../../stores/availability.ts';
import { createCredits, type Settlement } from '../../stores/credits/credits.ts';
import { connectMongo, type MongoConnection } from '../../stores/mongo.ts';
import { startProxy, type Proxy } from '../runtime/proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openDatabase, type TestDatabase } from './database.ts';

const SCANS = 60;
const PAGES = 5;

describe('a failover of the database', () => {
  let database: TestDatabase;
  let proxy: Proxy | null = null;
  let connection: MongoConnection;
  before(async () => {
    database = await openDatabase();
    const { setName } = await database.db.command({ hello: 1 });
    if (setName === undefined && new URL(database.url).port !== '') {
      const { hostname, port } = new URL(database.url);
      proxy = await startProxy(hostname, Number(port));
    }
    const url = proxy === null ? database.url : database.url.replace(/:\d+\//, `:${proxy.port}/`);
    connection = connectMongo({ url, logger: silentLogger });
  });
  after(async () => {
    await connection?.close();
    await proxy?.close();
    await database?.close();
  });

  /** Lets another member become the primary, or breaks every connection. */
  async function failOver(db: Db): Promise<void> {
    if (proxy !== null) return proxy.cut();
    await db
      .admin()
      .command({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 3, force: true })
      .catch((error: unknown) => {
        if (!dependencyIsDown(error)) throw error;
      });
  }

  it('loses no settle and charges none twice', async () => {
    const { db } = connection;
    const credits = createCredits(db, { relayDelayMs: 600_000 });
    await credits.grant('acme', 'first', SCANS * PAGES);
    const ids = Array.from({ length: SCANS }, () => randomUUID());
    for (const scanId of ids)
      await credits.reserve({ organisation: 'acme', scanId, pages: PAGES, partial: false, deadline: new Date(Date.now() + 60_000) });

    let failures = 0;
    /** Settles as the operator does: repeats until the store acknowledges. */
    async function settle(scanId: string): Promise<Settlement> {
      for (;;) {
        try {
          return await credits.settle('acme', scanId, PAGES - 1);
        } catch (error) {
          if (!dependencyIsDown(error)) throw error;
          failures += 1;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    }
    const settled = Promise.all(ids.map(settle));
    await failOver(database.db);
    const outcomes = await settled;

    // On a replica set the driver repeats a retryable write by itself, so that callers may see no failure.
    if (proxy !== null) expect(failures).to.be.above(0);
    for (const outcome of outcomes)
      expect(outcome.ok || (outcome.reason === 'already_settled' && outcome.spent === PAGES - 1)).to.equal(true);
    expect(await credits.balance('acme')).to.deep.equal({ balance: SCANS, granted: SCANS * PAGES, held: 0, spent: SCANS * (PAGES - 1) });
    await credits.relay();
    const ledger = await db.collection('ledger').find({ organisation: 'acme', operation: 'settle' }).toArray();
    expect(ledger.map(({ scanId }) => scanId as string)).to.have.members(ids);
  });
});
