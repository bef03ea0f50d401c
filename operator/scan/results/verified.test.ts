import { expect } from 'chai';
import type { ReportPage } from '../../../report/schema/page.ts';
import { pageVisits } from './verify.ts';

describe('page visits', () => {
  it('have an outcome and a bounded duration', () => {
    const untested = { url: 'u', final_url: null, http_status: null, tested: false, reason: 'timeout', message: '' } as const;
    const pages = [
      { tested: true, duration_ms: 1500 } as ReportPage,
      { ...untested, duration_ms: 30_000 },
      { ...untested, duration_ms: Number.MAX_SAFE_INTEGER },
    ];
    expect(pageVisits(pages)).to.deep.equal([
      { outcome: 'tested', seconds: 1.5 },
      { outcome: 'timeout', seconds: 30 },
      { outcome: 'timeout', seconds: 3600 },
    ]);
  });
});
