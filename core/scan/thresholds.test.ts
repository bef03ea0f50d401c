import { expect } from 'chai';
import fc from 'fast-check';
import { coverageOf } from './counts.ts';
import type { Outcome } from './outcome.ts';
import { checkThresholds, hasThresholds, judge, judgeWithoutResult, type Thresholds } from './thresholds.ts';

const outcomeOf = (scanned: number, failed: number, change: Partial<Outcome> = {}): Outcome => ({
  score: 95,
  violations: { total: 3, critical: 0, serious: 1, moderate: 2, minor: 0 },
  pages: { scanned, failed, total: scanned + failed },
  ...change,
});

describe('verdict', () => {
  const cases: [string, Thresholds, Outcome, boolean | null, string | null][] = [
    ['is null without thresholds', {}, outcomeOf(5, 0), null, null],
    ['states the coverage without thresholds', {}, outcomeOf(4, 1), null, 'Coverage: 80% (4 of 5 pages could be tested).'],
    ['passes if every threshold is met', { minScore: 95, maxViolations: 3, failOnSeverity: 'critical' }, outcomeOf(5, 0), true, null],
    [
      'passes at the default coverage, and states it',
      { minScore: 90 },
      outcomeOf(5, 5),
      true,
      'Coverage: 50% (5 of 10 pages could be tested).',
    ],
    [
      'does not pass below the default coverage',
      { minScore: 90 },
      outcomeOf(4, 26),
      false,
      'The coverage is 13.3%, below the minimum of 50%: 4 of 30 pages could be tested.',
    ],
    [
      'has no default coverage if one is set',
      { minScore: 90, minCoverage: 0 },
      outcomeOf(1, 29),
      true,
      'Coverage: 3.3% (1 of 30 pages could be tested).',
    ],
    [
      'checks a coverage that is the only threshold',
      { minCoverage: 100 },
      outcomeOf(999, 1),
      false,
      'The coverage is 99.9%, below the minimum of 100%: 999 of 1000 pages could be tested.',
    ],
    ['passes a coverage that is the only threshold', { minCoverage: 100 }, outcomeOf(7, 0), true, null],
    [
      'names each missed threshold, and the coverage apart from them',
      { minScore: 96, maxViolations: 0 },
      outcomeOf(2, 1),
      false,
      'The score is 95, below the minimum of 96. There are 3 violations, more than the 0 allowed. Coverage: 66.6% (2 of 3 pages could be tested).',
    ],
  ];
  for (const [name, thresholds, outcome, passed, message] of cases)
    it(name, () => expect(judge(thresholds, outcome)).to.deep.equal({ passed, message }));

  it('of a scan without a result is false with any threshold, also if it is only a coverage', () => {
    expect(judgeWithoutResult({})).to.equal(null);
    expect(judgeWithoutResult({ minCoverage: 0 })).to.equal(false);
  });

  const pages = fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(5000));
  const thresholds: fc.Arbitrary<Thresholds> = fc.record(
    {
      minScore: fc.integer({ min: 0, max: 100 }),
      maxViolations: fc.nat(6),
      failOnSeverity: fc.constantFrom('critical', 'serious', 'moderate', 'minor'),
      minCoverage: fc.integer({ min: 0, max: 100 }),
    },
    { requiredKeys: [] },
  );

  it('passes exactly if every checked threshold is met, and states every coverage below 100 %', () =>
    fc.assert(
      fc.property(thresholds, pages, (given, [scanned, failed]) => {
        const outcome = outcomeOf(scanned, failed);
        const checks = checkThresholds(given, outcome);
        const { passed, message } = judge(given, outcome);
        expect(passed).to.equal(hasThresholds(given) ? checks.every(({ met }) => met) : null);
        expect(checks.filter(({ name }) => name === 'minCoverage')).to.have.length(hasThresholds(given) ? 1 : 0);
        expect(message?.includes(`${scanned} of ${scanned + failed} page`) ?? false).to.equal(failed > 0);
        expect((message ?? '').match(/overage/g) ?? []).to.have.length(failed > 0 ? 1 : 0);
      }),
    ));

  it('compares the exact coverage with a whole or one-decimal minimum, in spite of rounding', () =>
    fc.assert(
      fc.property(pages, fc.nat(1000), ([scanned, failed], tenths) => {
        const { passed } = judge({ minCoverage: tenths / 10 }, outcomeOf(scanned, failed));
        expect(passed).to.equal(1000 * scanned >= tenths * (scanned + failed));
      }),
    ));

  it('never improves when another page fails', () =>
    fc.assert(
      fc.property(thresholds, pages, (given, [scanned, failed]) => {
        if (judge(given, outcomeOf(scanned, failed)).passed === false)
          expect(judge(given, outcomeOf(scanned, failed + 1)).passed).to.equal(false);
      }),
    ));
});

describe('coverage', () => {
  it('is 100 only if no attempted page is missing, and 0 without an attempt', () => {
    expect(coverageOf({ scanned: 0, failed: 0 })).to.equal(0);
    expect(coverageOf({ scanned: 1_000_000, failed: 1 })).to.equal(99.9);
    expect(coverageOf({ scanned: 500, failed: 0 })).to.equal(100);
  });
});
