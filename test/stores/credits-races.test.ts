import { expect } from 'chai';
import { nightly } from '../support/nightly.ts';
import { randomUUID } from 'node:crypto';
import { createCredits, type Credits } from '../../stores/credits/credits.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createScans, type ScanRow } from '../../stores/scans/scans.ts';
import { sweepOnce } from '../support/sweep-once.ts';
import { useDatabase } from './database.ts';
import { scanRow } from '../support/scan-rows.ts';

/** A seeded random generator (mulberry32), so that a failure can be reproduced. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A simulated crash of a submitter. */
class Crash extends Error {}

describe('credits with crashes, stalls and repeats', () => {
  const database = useDatabase();

  for (const seed of [...nightly([1], [1, 2, 3, 4]), Date.now() % 1_000_000])
    it(`are exact after 120 scans by two replicas (seed ${seed})`, async () => {
      const random = randomFrom(seed);
      const chance = (share: number): boolean => random() < share;
      const organisation = `race-${randomUUID().slice(0, 8)}`;
      const replicas: Credits[] = [createCredits(database.db, { relayDelayMs: 1 }), createCredits(database.another(), { relayDelayMs: 3 })];
      const either = (): Credits => replicas[Math.floor(random() * 2)]!;
      const scans = createScans(database.db);
      const organisations = createOrganisations(database.db);
      await organisations.add({ id: organisation, displayName: organisation, plan: 'test', namespaces: [] });
      const resources = new Set<string>();
      /** The expected cost of each scan. */
      const tested = new Map<string, number>();
      const stalled: Promise<unknown>[] = [];

      /** Runs a step. At random it runs twice, runs again later, or crashes before or after. */
      async function perhaps<T>(step: () => Promise<T>): Promise<T> {
        if (chance(0.05)) throw new Crash('before');
        if (chance(0.1)) {
          const wait = random() * 40;
          stalled.push(new Promise((next) => setTimeout(next, wait)).then(step).catch(() => undefined)); // prettier-ignore
        }
        const [result] = await Promise.all([step(), ...(chance(0.2) ? [step()] : [])]);
        if (chance(0.05)) throw new Crash('after');
        return result;
      }

      async function submitAndRun(): Promise<void> {
        const row: ScanRow = scanRow({ organisation, pagesRequested: 1 + Math.floor(random() * 6) });
        // Some deadlines are so near that steps miss them.
        const deadline = new Date(Date.now() + (chance(0.3) ? 15 : 20_000));
        const partial = chance(0.5);
        try {
          await scans.create(row);
          const reservation = await perhaps(() =>
            either().reserve({ organisation, scanId: row.id, pages: row.pagesRequested, partial, deadline }),
          );
          if (!reservation.ok) {
            if (reservation.reason === 'insufficient_credits') await scans.discard(row.id);
            return;
          }
          const written = !chance(0.1);
          if (written) resources.add(row.id);
          if (!written || chance(0.1)) {
            // The resource could not be written, or this is unknown.
            const abandoned = await perhaps(() => scans.abandon(row.id));
            if (abandoned.ok) return void (await perhaps(() => either().settle(organisation, row.id, 0)));
          }
          if (!(await perhaps(() => scans.accept(row.id, { pagesReserved: reservation.reserved }))).ok) return;
          const scanned = Math.floor(random() * (reservation.reserved + 1));
          const done = scanned > 0 && chance(0.85);
          const pages = { scanned, failed: 0, total: row.pagesRequested };
          const violations = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };
          await scans.mirror(
            row.id,
            done ? { phase: 'done', pages, outcome: { score: 90, violations, pages } } : { phase: 'failed', pages },
          );
          tested.set(row.id, done ? scanned : 0);
          await perhaps(() => either().settle(organisation, row.id, done ? scanned : 0));
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
        }
      }

      await either().grant(organisation, 'first', 150);
      const granting = perhaps(() => either().grant(organisation, 'second', 120)).catch(() => either().grant(organisation, 'second', 120));
      const lanes = Array.from({ length: 8 }, async () => {
        for (let turn = 0; turn < 15; turn += 1) {
          await submitAndRun();
          const { balance, held, spent, granted } = await either().balance(organisation);
          expect(balance + held + spent, 'available + held + spent').to.equal(granted);
          expect(balance).to.be.at.least(0);
        }
      });
      await Promise.all([granting, ...lanes]);
      await Promise.all(stalled);

      // Scans that have a resource but never ran fail. Then two sweepers at once repair the rest.
      for (const id of resources) await scans.mirror(id, { phase: 'failed' });
      const request = { scans, organisations, exists: (row: ScanRow) => Promise.resolve(resources.has(row.id)) };
      const everything = { ...request, pendingBefore: new Date(Date.now() + 1000), limit: 1000 };
      await Promise.all(replicas.map((credits) => sweepOnce({ ...everything, credits })));

      expect(await scans.pending(everything.pendingBefore, 1000), 'pending rows').to.deep.equal([]);
      for (const id of tested.keys()) expect((await scans.find(id))?.submission).to.equal('accepted');
      const credits = replicas[0]!;
      const due = [...tested.values()].reduce((sum, pages) => sum + pages, 0);
      expect(await credits.balance(organisation)).to.deep.equal({ balance: 270 - due, granted: 270, held: 0, spent: due });
      expect(await credits.holds(organisation)).to.deep.equal([]);

      const ledger = await credits.ledger(organisation, { limit: 10_000 });
      const sum = (operation: string, pages: 'pages' | 'released') =>
        ledger.filter((entry) => entry.operation === operation).reduce((total, entry) => total + entry[pages], 0);
      expect(new Set(ledger.map((entry) => entry.id)).size).to.equal(ledger.length);
      const moves = { grant: 'pages', reserve: 'pages', settle: 'released' } as const;
      const balances = ledger.toReversed().map((entry) => {
        const moved = entry[moves[entry.operation]];
        return [entry.sequence, entry.balance, entry.operation === 'reserve' ? -moved : moved] as const;
      });
      let balance = 0;
      expect(balances).to.deep.equal(balances.map(([, , moved], index) => [index + 1, (balance += moved), moved]));
      expect(sum('grant', 'pages')).to.equal(270);
      expect(sum('settle', 'pages')).to.equal(due);
      expect(sum('settle', 'pages') + sum('settle', 'released')).to.equal(sum('reserve', 'pages'));
    });
});
