/** Verifies one export in a worker thread, so that the operator can renew its lease at the same time. */
import { parentPort, workerData } from 'node:worker_threads';
import { verifyExport, type Expectation } from './verify.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';

const { bytes, expected } = workerData as { bytes: Uint8Array; expected: Expectation };
let visits: PageVisit[] = [];
const judgement = verifyExport(bytes, expected, (pages) => (visits = pageVisits(pages)));
parentPort!.postMessage({ judgement, visits });
