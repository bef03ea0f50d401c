import { expect } from 'chai';
import { NOW, SCAN_ID, launched, scanWith } from '../../../test/support/scan-samples.ts';
import { resultStatus } from './status.ts';

describe('the status of a canceled scan with a partial report', () => {
  const stored = { bytes: 10, sha256: 'a'.repeat(64) };
  const violations = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };

  it('states a coverage below 100 % and the baseline that was not used, as that of a scan that is done', () => {
    const outcome = {
      score: 100,
      violations,
      pages: { scanned: 3, failed: 1, total: 9 },
      baseline: { optional: true, problem: 'not_found' as const },
    };
    const verdict = { passed: null, message: 'Coverage: 75% (3 of 4 pages could be tested).' };
    const found = { partial: true, outcome, verdict, export: stored, pdf: stored };
    const { message } = resultStatus(scanWith(launched(), { spec: { cancel: true } }), SCAN_ID, found, NOW);
    expect(message).to.equal(
      'The scan was canceled. The 3 pages tested until then were charged. The report is partial: it has only the pages that were tested until then. Coverage: 75% (3 of 4 pages could be tested). Baseline: no done scan matches, so new violations were not judged.',
    );
  });
});
