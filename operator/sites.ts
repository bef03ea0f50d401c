/** Keeps the list of sites: records each scan that has ended. A scan stays marked until this is done, so that a crash loses none. */
import type { Scans } from '../stores/scans/scans.ts';
import type { Sites } from '../stores/scans/sites.ts';
import type { PeriodicTask } from './runtime/controller/manager.ts';

export interface SitesTaskDeps {
  scans: Pick<Scans, 'unlisted' | 'listed'>;
  sites: Pick<Sites, 'record'>;
  /** Scans that are recorded together. */
  batch?: number;
}

const EVERY_MS = 1_000;
const BATCH = 200;

/** Creates the leader's task. */
export function createSitesTask({ scans, sites, batch = BATCH }: SitesTaskDeps): PeriodicTask {
  return {
    name: 'list sites',
    everyMs: EVERY_MS,
    async run(signal) {
      for (;;) {
        const rows = await scans.unlisted(batch);
        await sites.record(rows);
        await scans.listed(rows.map(({ id }) => id));
        if (rows.length < batch) break;
        signal.throwIfAborted();
      }
    },
  };
}
