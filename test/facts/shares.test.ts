/** The shares of organisations in docs/sizing.md are those of the code. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { READ_LIMITS } from '../../api/scans/scan-views.ts';
import { COMPARISON_LIMITS } from '../../report/workers/comparisons.ts';
import { CONVERSION_LIMITS } from '../../report/workers/report-formats.ts';

describe('docs/sizing.md', () => {
  const page = readFileSync(new URL('../../docs/sizing.md', import.meta.url), 'utf8');
  for (const [work, { held, pending }] of [
    ['conversions', CONVERSION_LIMITS],
    ['comparisons', COMPARISON_LIMITS],
    ['reads', READ_LIMITS],
  ] as const)
    it(`states the limits of ${work}`, () => {
      const row = new RegExp(`^\\| ${work} [^|]*\\| (.*) \\|$`, 'm').exec(page)?.[1];
      expect(row?.split(' | ').map(Number)).to.deep.equal([held.total, held.perKey, pending.total, pending.perKey]);
    });
});
