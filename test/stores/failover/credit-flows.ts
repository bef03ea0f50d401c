/** Flows of credits: a grant, and the settlement of a scan that is done. */
import type { Db } from 'mongodb';
import { finishRow } from '../../../operator/scan/mirror.ts';
import { dependencyIsDown } from '../../../stores/availability.ts';
import { createCredits, type Credits } from '../../../stores/credits/credits.ts';
import { createScans } from '../../../stores/scans/scans.ts';
import { contextOf } from '../../support/operator-context.ts';
import { SCAN_ID, scanWith } from '../../support/scan-samples.ts';
import { scanRow } from '../../support/scan-rows.ts';
import type { FlowOf } from './flow.ts';

/** Operations are copied to the ledger only on request. */
export const creditsOf = (db: Db): Credits => createCredits(db, { relayDelayMs: 600_000 });

/** The account of an organisation and its ledger, without times. */
export async function booksOf(healthy: Db, organisation: string): Promise<object> {
  const credits = creditsOf(healthy);
  const entries = await healthy.collection('ledger').find({ organisation }).sort({ sequence: 1 }).toArray();
  const ledger = entries.map(({ id, pages, released, balance, sequence }) => ({ id, pages, released, balance, sequence }) as unknown);
  return { ...(await credits.balance(organisation)), holds: await credits.holds(organisation), ledger };
}

export const grant: FlowOf = (db, healthy) => ({
  prepare: () => creditsOf(healthy).open('globex'),
  async attempt() {
    const credits = creditsOf(db);
    await credits.grant('acme', 'first', 20);
    await credits.relay();
  },
  isOutage: dependencyIsDown,
  end: () => booksOf(healthy, 'acme'),
});

/** As the operator ends a scan that reserved 5 pages and tested 3. */
export const settlement: FlowOf = (db, healthy) => {
  let uncharged = 0;
  const row = { id: SCAN_ID, organisation: 'acme', resource: { namespace: 'curbcut', name: `scan-${SCAN_ID}` } };
  const pages = { requested: 5, reserved: 5, scanned: 3, failed: 0 };
  return {
    async prepare() {
      const [credits, scans] = [creditsOf(healthy), createScans(healthy)];
      await credits.grant('acme', 'first', 20);
      await scans.create(scanRow(row));
      await credits.reserve({ organisation: 'acme', scanId: SCAN_ID, pages: 5, partial: false, deadline: new Date(Date.now() + 60_000) });
      await scans.accept(SCAN_ID, { pagesReserved: 5 });
    },
    async attempt() {
      const credits = creditsOf(db);
      const context = contextOf({
        stores: { scans: createScans(db), credits },
        bus: { publishStatus: () => undefined },
        metrics: { uncharged: () => void (uncharged += 1) },
      });
      await finishRow(context, scanWith({ phase: 'done', completionTime: '2026-03-02T10:00:00Z', pages }), SCAN_ID);
      await credits.relay();
    },
    isOutage: dependencyIsDown,
    async end() {
      const { phase, version, submission, pagesReserved } = (await createScans(healthy).find(SCAN_ID))!;
      return { ...(await booksOf(healthy, 'acme')), row: { phase, version, submission, pagesReserved }, uncharged };
    },
  };
};
