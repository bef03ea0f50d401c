/**
 * Verifies one export in a worker thread, so that the operator can renew its lease at the same time. The thread is started
 * ahead and ends after one export, because a hostile export must not be able to influence the judgement of another one.
 */
import { parentPort } from 'node:worker_threads';
import { viewOf } from '../../../report/view/view.ts';
import { verifyExport, type Expectation, type Judgement, type ResultObjects } from './verify.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';

export interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
  /** The view of an accepted export, as JSON; otherwise null. */
  view: Uint8Array<ArrayBuffer> | null;
}

parentPort!.once('message', ({ objects, expected }: { objects: ResultObjects; expected: Expectation }) => {
  let visits: PageVisit[] = [];
  let view: Verified['view'] = null;
  const judgement = verifyExport(objects, expected, (report) => {
    visits = pageVisits(report.pages);
    view = new TextEncoder().encode(JSON.stringify(viewOf(report)));
  });
  parentPort!.postMessage({ judgement, visits, view } satisfies Verified);
});
