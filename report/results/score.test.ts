import { expect } from 'chai';
import fc from 'fast-check';
import { countViolations, emptyTally, pageScore, roundScore, scanScore, sumCounts } from './score.ts';

describe('score', () => {
  it('is 100 if no rule applied', () => {
    expect(pageScore(emptyTally())).to.equal(100);
  });

  it('weights rules by their impact', () => {
    const tally = emptyTally();
    tally.critical.failed = 1;
    tally.serious.passed = 2;
    tally.minor.passed = 6;
    expect(pageScore(tally)).to.be.closeTo((100 * 20) / 30, 1e-9);
  });

  it('rounds half up to one decimal', () => {
    expect([64.25, 64.24, 64.05, 99.94, 0.05].map((score) => roundScore(score, 1))).to.deep.equal([64.3, 64.2, 64.1, 99.9, 0.1]);
  });

  it('never rounds up to 100 while a violation exists', () => {
    expect(roundScore(99.97, 1)).to.equal(99.9);
    expect(roundScore(99.97, 0)).to.equal(100);
    expect(roundScore(100, 0)).to.equal(100);
  });

  it('throws without a tested page', () => {
    expect(() => scanScore([], 0)).to.throw(RangeError);
  });

  it('is between 0 and 100, and never decreases when a failed rule is fixed', () => {
    const tally = fc.record({
      critical: fc.record({ passed: fc.nat(50), failed: fc.nat(50) }),
      serious: fc.record({ passed: fc.nat(50), failed: fc.nat(50) }),
      moderate: fc.record({ passed: fc.nat(50), failed: fc.nat(50) }),
      minor: fc.record({ passed: fc.nat(50), failed: fc.nat(50) }),
    });
    fc.assert(
      fc.property(tally, fc.constantFrom('critical', 'serious', 'moderate', 'minor'), (before, impact) => {
        const score = pageScore(before);
        if (score < 0 || score > 100) return false;
        if (before[impact].failed === 0) return true;
        const after = { ...before, [impact]: { passed: before[impact].passed + 1, failed: before[impact].failed - 1 } };
        return pageScore(after) >= score;
      }),
    );
  });

  it('counts each failing element of each rule once', () => {
    const one = countViolations([
      { impact: 'critical', nodes_total: 2 },
      { impact: 'minor', nodes_total: 1 },
    ]);
    expect(one).to.deep.equal({ total: 3, critical: 2, serious: 0, moderate: 0, minor: 1 });
    expect(sumCounts([one, one])).to.deep.equal({ total: 6, critical: 4, serious: 0, moderate: 0, minor: 2 });
  });
});
