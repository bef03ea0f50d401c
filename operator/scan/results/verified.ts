/** What the verification of an export gives. */
import { viewObjectsOf } from '../../../report/view/view.ts';
import type { ReportPage } from '../../../report/schema/schema.ts';
import { verifyExport, type Expectation, type Judgement, type ResultObjects } from './verify.ts';

/** A page of an export, for the metrics. */
export interface PageVisit {
  /** `tested`, or the reason why the page was not tested. */
  outcome: string;
  seconds: number;
}

export interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
  /** The view of an accepted export, as JSON, and the findings to which it refers; otherwise null. */
  view: Record<'json' | 'findings', Uint8Array<ArrayBuffer>> | null;
  /** The IDs of the known issues that matched no violation. */
  unmatchedIssues: string[];
}

/** What a thread hands over instead of copying it: up to 19 MiB. */
export const handedOver = ({ view }: Verified): ArrayBuffer[] => (view === null ? [] : [view.json.buffer, view.findings.buffer]);

/** Verifies an export in the calling thread. Pure. */
export function verified(objects: ResultObjects, expected: Expectation): Verified {
  let visits: PageVisit[] = [];
  let view: Verified['view'] = null;
  let unmatchedIssues: string[] = [];
  const judgement = verifyExport(objects, expected, (report) => {
    visits = pageVisits(report.pages);
    unmatchedIssues = (report.known_issues?.issues ?? []).filter(({ elements }) => elements === 0).map(({ id }) => id);
    const { view: shown, findings } = viewObjectsOf(report);
    view = { json: new TextEncoder().encode(JSON.stringify(shown)), findings };
  });
  return { judgement, visits, view, unmatchedIssues };
}

/** Longer than any page takes, in seconds. The cap keeps forged durations from distorting the sums. */
const SECONDS_MAX = 3600;

export function pageVisits(pages: readonly ReportPage[]): PageVisit[] {
  return pages.map((page) => ({
    outcome: page.tested ? 'tested' : page.reason,
    seconds: Math.min(page.duration_ms / 1000, SECONDS_MAX),
  }));
}
