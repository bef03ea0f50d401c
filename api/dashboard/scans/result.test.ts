import { expect } from 'chai';
import { withDefaults } from '../../../core/scan/options.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { scanResult } from './result.ts';

describe('the result of a scan', () => {
  it('states a coverage that is too low once', () => {
    const pages = { scanned: 4, failed: 6, total: 10 };
    const outcome = { score: 100, violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }, pages };
    const options = withDefaults({ url: 'https://example.com/', thresholds: { minScore: 90 } });
    const text = String(scanResult(scanRow({ phase: 'done', passed: null, options, outcome }), undefined));
    expect(text).to.include('only 40% of the pages could be tested, at least 50% required');
    expect(text.match(/could be tested/g)).to.have.lengthOf(1);
  });

  it('of a canceled scan is no good news, and leads to no difference', () => {
    const none = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };
    const difference = { new: 0, onNewPages: 0, fixed: 3, unchanged: 1, notTested: 9 };
    const baseline = { scanId: '3f2b8c1e-5d64-4f0a-9b7e-2c1d0e9f8a7b', optional: false, difference };
    const known = { score: 100, violations: none, matched: 1, unmatched: 0, ending: 0 };
    const outcome = { score: 100, violations: none, pages: { scanned: 1, failed: 0, total: 1 }, baseline, known };
    const of = (phase: 'done' | 'canceled') => String(scanResult(scanRow({ phase, passed: null, outcome }), undefined));
    const shown = [/good/, /Show the difference/, /Thresholds are judged/];
    expect(shown.map((one) => one.test(of('done')))).to.deep.equal([true, true, true]);
    expect(shown.map((one) => one.test(of('canceled')))).to.deep.equal([false, false, false]);
  });
});
