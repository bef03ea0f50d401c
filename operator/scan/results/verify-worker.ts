/**
 * Verifies one export in a worker thread, so that the operator can renew its lease at the same time. The thread is started
 * ahead and ends after one export, because a hostile export must not be able to influence the judgement of another one.
 */
import { parentPort } from 'node:worker_threads';
import { verifyExport, type Expectation, type Judgement } from './verify.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';

export interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
}

parentPort!.once('message', ({ bytes, expected }: { bytes: Uint8Array; expected: Expectation }) => {
  let visits: PageVisit[] = [];
  const judgement = verifyExport(bytes, expected, (pages) => (visits = pageVisits(pages)));
  parentPort!.postMessage({ judgement, visits } satisfies Verified);
});
