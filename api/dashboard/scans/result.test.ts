import { expect } from 'chai';
import { withDefaults } from '../../../core/scan/options.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { scanResult } from './result.ts';
import { scanFacts, verdictBadge } from './words.ts';

describe('the result of a scan', () => {
  it('states a coverage that is too low once', () => {
    const pages = { scanned: 4, failed: 6, total: 10 };
    const outcome = { score: 100, violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }, pages };
    const options = withDefaults({ url: 'https://example.com/', thresholds: { minScore: 90 } });
    const text = String(scanResult(scanRow({ phase: 'done', passed: null, options, outcome }), undefined));
    expect(text).to.include('only 40% of the pages could be tested, at least 50% required');
    expect(text.match(/could be tested/g)).to.have.lengthOf(1);
  });

  it('is the violations without thresholds, in lists their worst severity, and a high score beside critical ones is explained', () => {
    const of = (score: number, critical: number, serious: number) => {
      const violations = { total: critical + serious, critical, serious, moderate: 0, minor: 0 };
      const options = withDefaults({ url: 'https://example.com/' });
      const row = scanRow({
        phase: 'done',
        passed: null,
        options,
        outcome: { score, violations, pages: { scanned: 1, failed: 0, total: 1 } },
      });
      return { text: String(scanResult(row, undefined)), badge: String(verdictBadge(row)) };
    };
    const many = of(94.2, 17, 3);
    expect(many.text).to.include('20 violations found: 17 critical violations, 3 serious violations.').and.include('id="surprise"');
    expect(many.badge).to.include('severity-critical').and.include('17 critical');
    const none = of(100, 0, 0);
    expect(none.text).to.include('No violations found.').and.not.include('surprise');
    expect([
      none.badge.includes('No violations found'),
      of(94.2, 0, 1).text.includes('surprise'),
      of(60, 2, 0).text.includes('surprise'),
    ]).to.deep.equal([true, false, false]);
  });

  it('says when the scan ended, how long it took, by whom, and of which version', () => {
    const times = {
      createdAt: new Date('2026-03-02T09:14:00Z'),
      startedAt: new Date('2026-03-02T09:14:02Z'),
      finishedAt: new Date('2026-03-02T09:14:44Z'),
    };
    const metadata = { commit: '3f2b8c1e6a4d4f0e9b7a1c2d3e4f5a6b7c8d9e0f', branch: 'main' };
    const factsOf = (more: object): string =>
      String(scanFacts(scanRow({ origin: 'api', submittedBy: 'a@b.example', ...times, ...more }), (actor) => actor)).replace(
        /<[^>]+>/g,
        '',
      );
    expect(factsOf({ metadata })).to.match(/^Ended .*9:14.AM.* · took 42 s · Dashboard: a@b\.example · main 3f2b8c1e$/);
    expect(factsOf({ finishedAt: null })).to.match(/^Submitted .* · Dashboard: a@b\.example$/);
    expect(factsOf({ finishedAt: new Date('2026-03-02T09:24:00Z') })).to.include('took 10 min');
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
