import { expect } from 'chai';
import { countPages } from './score.ts';
import { deriveResults, outcomeOf } from './results.ts';
import { PAGE_FAILURES, type PageFailureReason, type ReportPage } from '../schema/page.ts';
import { testedPage } from '../../test/support/tested-page.ts';

const untested = (url: string, reason: PageFailureReason): ReportPage => ({
  url,
  final_url: null,
  http_status: null,
  tested: false,
  reason,
  message: 'It could not be tested.',
  duration_ms: 1,
});

describe('page counts of a report', () => {
  it('count every failure as attempted, except addresses that robots.txt or the rules of the scan exclude, and duplicates', () => {
    const attempted = PAGE_FAILURES.filter((reason) => countPages([untested('https://x.example/', reason)]).failed === 1);
    expect(PAGE_FAILURES.filter((reason) => !attempted.includes(reason))).to.deep.equal([
      'robots_disallowed',
      'document',
      'excluded',
      'same_as',
    ]);
  });

  it('are incomplete in a partial report, which does not say that a known issue matched nothing', () => {
    const pages = [testedPage('https://x.example/a')];
    const issue = { id: 'gone', rule: 'image-alt', selector: '.gone', reason: 'Gone.', owner: 'shop', expiresAt: '2027-01-01T00:00:00Z' };
    const known = { issues: [issue], at: '2026-01-01T00:00:00.000Z', leftOut: 0 };
    expect(deriveResults(pages, {}, { known }).outcome.known).to.include({ matched: 0, unmatched: 1 });
    expect(deriveResults(pages, {}, { known, partial: true }).outcome.known).to.include({ matched: 0, unmatched: 0 });
  });

  it('are the same in the outcome, the score and the verdict', () => {
    const pages = [
      testedPage('https://x.example/a'),
      untested('https://x.example/b', 'timeout'),
      untested('https://x.example/c', 'robots_disallowed'),
    ];
    const { outcome, score, verdict } = deriveResults(pages, { minScore: 1, minCoverage: 51 });
    expect(outcome.pages).to.deep.equal({ scanned: 1, failed: 1, total: 2 });
    expect(score).to.deep.include({ pages_tested: 1, pages_attempted: 2, pages_found: 3 });
    expect(outcomeOf({ score, counts: outcome.violations })).to.deep.equal(outcome);
    expect(verdict).to.deep.equal({
      passed: false,
      message: 'The coverage is 50%, below the minimum of 51%: 1 of 2 pages could be tested.',
    });
  });
});
