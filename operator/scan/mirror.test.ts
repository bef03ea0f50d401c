import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import { SCAN_ID, scanWith } from '../../test/support/scan-samples.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { ERASED } from '../../stores/scans/scans.ts';
import { finishRow } from './mirror.ts';

describe('the end of a scan whose credits are not found', () => {
  const scan = scanWith({ phase: 'done', pages: { requested: 5, reserved: 5, scanned: 3, failed: 0 } });
  for (const [what, organisation, alarms] of [
    ['raises an alarm', 'acme', 1],
    ['raises none if the scan was deleted after it was charged', ERASED, 0],
  ] as const)
    it(what, async () => {
      let raised = 0;
      const { name, namespace = '' } = scan.metadata;
      const row = scanRow({ id: SCAN_ID, organisation, phase: 'done', resource: { name, namespace } });
      const context = contextOf({
        stores: {
          scans: { find: async () => row, mirror: async () => ({ row, changed: false }) },
          credits: { settle: async () => ({ ok: false, reason: 'no_hold' }) },
        },
        metrics: { uncharged: () => void (raised += 1) },
        recorder: { event: () => undefined },
      });
      await finishRow(context, scan, SCAN_ID);
      expect(raised).to.equal(alarms);
    });
});
