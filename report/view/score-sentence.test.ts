import { expect } from 'chai';
import { LOCALES } from '../../core/scan/locales.ts';
import type { Counts } from '../../core/scan/counts.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import { THRESHOLD_NAMES, type Thresholds } from '../../core/scan/thresholds.ts';
import { explainScore } from './verdict.ts';

const counts = (critical: number, minor = 0): Counts => ({ total: critical + minor, critical, serious: 0, moderate: 0, minor });
const outcome: Outcome = { score: 94.3, violations: counts(32, 1), pages: { scanned: 4, failed: 0, total: 4 } };
const pages = [counts(20, 1), counts(12), counts(0), counts(0)];
const known = { score: 97, violations: counts(2), matched: 1, unmatched: 0, ending: 0 };
const verdict = (thresholds: Thresholds, change: Partial<Outcome> = {}): string | null =>
  explainScore({ outcome: { ...outcome, ...change }, thresholds }, 'en').verdict;

describe('the sentences about a score', () => {
  it('say what it is made of, with the pages of each severity if they are known', () => {
    const score = (facts: object): string => explainScore({ outcome, thresholds: {}, ...facts }, 'en').score;
    expect(score({ pages })).to.equal(
      'The score of 94.3 is the average of 4 tested pages: 32 critical violations on 2 pages, 1 minor violation on 1 page, no violations on 2 pages.',
    );
    expect(score({})).to.equal('The score of 94.3 is the average of 4 tested pages: 32 critical violations, 1 minor violation.');
    const one = { ...outcome, pages: { scanned: 1, failed: 0, total: 1 } };
    expect(score({ outcome: one, pages: [counts(32, 1)] })).to.include('is that of the only tested page: 32 critical violations, 1 minor');
    expect(score({ outcome: { ...outcome, violations: counts(0) }, pages: [counts(0), counts(0)] })).to.include('pages: no violations.');
  });

  it('say why a scan does not pass although its score is high', () => {
    expect(verdict({ maxViolations: 0, minScore: 90 })).to.equal(
      'Did not pass: 33 violations, at most 0 allowed; the score of 94.3 meets the minimum of 90.',
    );
    expect(verdict({ failOnSeverity: 'minor' })).to.equal(
      'Did not pass: 32 critical violations, 1 minor violation, none allowed; the score of 94.3 does not decide, because no minimum is set.',
    );
  });

  it('name each kind of missed threshold', () => {
    const short = { pages: { scanned: 1, failed: 3, total: 4 } };
    expect(verdict({ minScore: 95, minCoverage: 90 }, short)).to.equal(
      'Did not pass: the score of 94.3 is below the minimum of 95; only 25% of the pages could be tested, at least 90% required.',
    );
    const difference = { new: 2, fixed: 0, unchanged: 1, onNewPages: 0, notTested: 0 };
    expect(verdict({ maxNewViolations: 1 }, { baseline: { optional: false, scanId: 'a', difference } })).to.include(
      '2 new violations, at most 1 allowed',
    );
    expect(verdict({ maxNewViolations: 1 }, { baseline: { optional: false, problem: 'not_found' } })).to.include(
      'could not be compared with a baseline',
    );
  });

  it('judge without known issues, and state that', () => {
    expect(verdict({ failOnSeverity: 'critical', minScore: 96 }, { known })).to.equal(
      'Did not pass: 2 critical violations, none allowed; the score of 97 meets the minimum of 96 (known issues not counted).',
    );
  });

  it('say that a scan passed, and nothing without thresholds', () => {
    expect(verdict({ minScore: 90 })).to.equal('Passed: all 2 thresholds are met.');
    expect(verdict({})).to.equal(null);
    expect(explainScore({ outcome, thresholds: { minScore: 90 } }, 'en').reasons).to.equal(null);
    expect(explainScore({ outcome, thresholds: { minScore: 99 } }, 'en').reasons).to.equal('The score of 94.3 is below the minimum of 99.');
  });

  for (const locale of LOCALES)
    it(`are complete in ${locale}`, () => {
      const thresholds: Thresholds = { minScore: 99, maxViolations: 0, maxNewViolations: 0, failOnSeverity: 'critical', minCoverage: 99 };
      expect(Object.keys(thresholds)).to.have.members(THRESHOLD_NAMES);
      const missed = { ...outcome, pages: { scanned: 2, failed: 2, total: 4 } };
      const said = [
        { outcome: missed, thresholds, pages },
        { outcome, thresholds: { failOnSeverity: 'minor' } as const },
      ].flatMap((facts) => Object.values(explainScore(facts, locale)));
      for (const sentence of said)
        expect(sentence)
          .to.match(/\p{L}.*\.$/u)
          .and.not.match(/\{\w*\}|undefined|null|NaN|\[object/);
    });
});
