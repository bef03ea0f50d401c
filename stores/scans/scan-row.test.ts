import { expect } from 'chai';
import fc from 'fast-check';
import { isTerminal, PHASES } from '../../core/scan/phases.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { changedFields } from './scan-row.ts';
import type { ScanChange, ScanRow } from './scan-row.ts';

const row: ScanRow = scanRow({
  submission: 'accepted',
  pagesReserved: 5,
  phase: 'scanning',
  version: 7,
  pages: { scanned: 2, failed: 0, total: 5 },
});

describe('changedFields', () => {
  const table: [string, Partial<ScanRow>, ScanChange, ScanChange | null][] = [
    ['a later phase', {}, { phase: 'generating' }, { phase: 'generating' }],
    ['an earlier phase', {}, { phase: 'crawling' }, null],
    ['the current phase', {}, { phase: 'scanning' }, null],
    ['any change in a terminal phase', { phase: 'done' }, { phase: 'failed', message: 'late', passed: false }, null],
    ['higher page counts', {}, { pages: { scanned: 3, failed: 1, total: 5 } }, { pages: { scanned: 3, failed: 1, total: 5 } }],
    ['lower page counts', {}, { pages: { scanned: 1, failed: 0, total: 4 } }, null],
    ['higher and lower page counts', {}, { pages: { scanned: 1, failed: 1, total: 9 } }, { pages: { scanned: 2, failed: 1, total: 9 } }],
    [
      'an earlier phase with a higher page count',
      {},
      { phase: 'crawling', pages: { scanned: 3, failed: 0, total: 5 } },
      { pages: { scanned: 3, failed: 0, total: 5 } },
    ],
    ['current values', { message: 'as before' }, { message: 'as before', passed: null, finishedAt: null }, null],
    ['an empty change', {}, {}, null],
    ['an undefined value', {}, { message: undefined }, null],
    [
      'the end of a scan, whose Job was lost with its pages',
      {},
      { phase: 'canceled', pages: { scanned: 0, failed: 0, total: 0 } },
      { phase: 'canceled', pages: { scanned: 0, failed: 0, total: 0 } },
    ],
    ['a terminal phase', {}, { phase: 'canceled', passed: false }, { phase: 'canceled', passed: false }],
  ];
  for (const [what, now, change, expected] of table)
    it(`${what} → ${expected === null ? 'nothing' : Object.keys(expected).join(', ')}`, () =>
      expect(changedFields({ ...row, ...now }, change)).to.deep.equal(expected));

  it('never moves a scan backwards, in any sequence of changes', () => {
    const count = fc.nat({ max: 20 });
    const change = fc.record(
      {
        phase: fc.constantFrom(...PHASES),
        pages: fc.record({ scanned: count, failed: count, total: count }),
        message: fc.constantFrom(null, 'a', 'b'),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        let now: ScanRow = { ...row, phase: 'queued' };
        for (const one of changes) {
          const fields = changedFields(now, one);
          const next = { ...now, ...fields };
          if (isTerminal(now.phase)) expect(fields).to.equal(null);
          expect(PHASES.indexOf(next.phase)).to.be.at.least(PHASES.indexOf(now.phase));
          for (const count of isTerminal(next.phase) ? [] : (['scanned', 'failed', 'total'] as const))
            expect(next.pages[count]).to.be.at.least(now.pages[count]);
          expect(changedFields(next, one), 'the same change again').to.equal(null);
          now = next;
        }
      }),
    );
  });
});
