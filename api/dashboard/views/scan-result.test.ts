import { expect } from 'chai';
import { withDefaults } from '../../../core/scan/options.ts';
import type { Thresholds } from '../../../core/scan/thresholds.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { scanResult } from './scan-result.ts';

describe('the result of a scan', () => {
  const textOf = (tested: number, thresholds: Thresholds): string => {
    const pages = { scanned: tested, failed: 10 - tested, total: 10 };
    const outcome = { score: 100, violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }, pages };
    const options = withDefaults({ url: 'https://example.com/', thresholds });
    return String(scanResult(scanRow({ phase: 'done', passed: null, options, outcome }), undefined));
  };
  for (const [what, tested, thresholds, sentence] of [
    ['full', 10, {}, 'Coverage 100 %: 10 of 10 pages could be tested.'],
    ['below 100 %', 8, {}, 'Coverage: 80% (8 of 10 pages could be tested).'],
    ['sufficient', 8, { minScore: 90 }, 'Coverage: 80% (8 of 10 pages could be tested).'],
    ['too low', 4, { minScore: 90 }, 'only 40% of the pages could be tested, at least 50% required'],
  ] as const)
    it(`states a coverage that is ${what} once`, () => {
      const text = textOf(tested, thresholds);
      expect(text).to.include(sentence);
      expect(text.match(/could be tested/g)).to.have.lengthOf(1);
    });
});
