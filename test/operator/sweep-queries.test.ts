/** The number of commands of a sweep, which must not grow with the number of organisations and scans. */
import { expect } from 'chai';
import { creditAccountOf } from '../../core/scan/counts.ts';
import type { SweepResult } from '../../operator/maintenance/sweep.ts';
import { createCredits } from '../../stores/credits/credits.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { recordCommands } from '../support/mongo-commands.ts';
import { scanRow } from '../support/scan-rows.ts';
import { sweepOnce } from '../support/sweep-once.ts';
import { useDatabase } from '../stores/database.ts';

describe('a sweep', () => {
  const database = useDatabase({ monitorCommands: 'true' }, beforeEach, afterEach);
  let stores: AllStores;
  let commands: string[];
  beforeEach(async () => {
    // Without a relay in the background.
    stores = { ...openStores(database.db), credits: createCredits(database.db, { relayDelayMs: 600_000 }) };
    commands = recordCommands(database.db);
  });

  /** Adds organisations, each with scans that hold credits, and whose operations are not in the ledger yet. */
  async function fill(from: number, to: number, scansEach: number): Promise<void> {
    for (let number = from; number < to; number += 1) {
      const organisation = `org-${number}`;
      await stores.credits.grant(organisation, 'first', 100);
      for (let scan = 0; scan < scansEach; scan += 1) {
        const row = await stores.scans.create(scanRow({ organisation, submission: 'accepted' }));
        await stores.credits.reserve({ organisation, scanId: row.id, pages: 5, partial: false, deadline: new Date(Date.now() + 60_000), fresh: true }); // prettier-ignore
      }
    }
  }

  const run = async (): Promise<{ swept: SweepResult; sent: string[] }> => {
    commands.length = 0;
    const { scans, credits } = stores;
    const swept = await sweepOnce({ scans, credits, exists: async () => true, pendingBefore: new Date(0), limit: 100 });
    return { swept, sent: [...commands] };
  };

  it('reads all holds, their rows and the operations to relay with one query each', async () => {
    await fill(0, 2, 1);
    const few = await run();
    expect(few.swept).to.include({ settled: 0, relayed: 4 });
    expect(few.sent).to.deep.equal(['find scans', 'find accounts', 'find scans', 'find accounts', 'insert ledger', 'update accounts']);
    await fill(2, 30, 3);
    const many = await run();
    expect(many.swept).to.include({ settled: 0, relayed: 28 * 4 });
    expect(many.sent).to.deep.equal(few.sent);
    expect((await run()).sent).to.deep.equal(['find scans', 'find accounts', 'find scans', 'find accounts']);
  });

  it('settles only the holds of scans that have ended or were removed, one command each', async () => {
    await fill(0, 3, 2);
    const [ended, removed] = await stores.credits.allHolds();
    await stores.scans.mirror(ended!.scanId, { phase: 'canceled', pages: { scanned: 2, failed: 0, total: 5 }, finishedAt: new Date() });
    await database.db.collection<{ _id: string }>('scans').deleteOne({ _id: removed!.scanId });
    const { swept, sent } = await run();
    expect(swept.settled).to.equal(2);
    expect(sent.filter((command) => command === 'findAndModify accounts')).to.have.lengthOf(2);
    expect(await stores.credits.balance(ended!.organisation)).to.include({ held: 0, spent: 2 });
    expect(await stores.credits.allHolds()).to.have.lengthOf(4);
  });

  it('ends the hold of a test scan without a charge', async () => {
    const row = await stores.scans.create(scanRow({ organisation: 'org-0', submission: 'accepted', test: true }));
    const organisation = creditAccountOf(row);
    await stores.credits.reserve({ organisation, scanId: row.id, pages: 5, partial: false, deadline: new Date(Date.now() + 60_000) });
    await stores.scans.mirror(row.id, { phase: 'canceled', pages: { scanned: 2, failed: 0, total: 5 }, finishedAt: new Date() });
    expect((await run()).swept.settled).to.equal(1);
    expect(await stores.credits.balance(organisation)).to.deep.equal({ balance: 0, granted: 0, held: 0, spent: 0 });
  });
});
