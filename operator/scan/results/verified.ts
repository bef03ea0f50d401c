/** What the verification of an export gives. */
import { viewOf } from '../../../report/view/view.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';
import { verifyExport, type Expectation, type Judgement, type ResultObjects } from './verify.ts';

export interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
  /** The view of an accepted export, as JSON; otherwise null. */
  view: Uint8Array<ArrayBuffer> | null;
}

/** Verifies an export in the calling thread. Pure. */
export function verified(objects: ResultObjects, expected: Expectation): Verified {
  let visits: PageVisit[] = [];
  let view: Verified['view'] = null;
  const judgement = verifyExport(objects, expected, (report) => {
    visits = pageVisits(report.pages);
    view = new TextEncoder().encode(JSON.stringify(viewOf(report)));
  });
  return { judgement, visits, view };
}
