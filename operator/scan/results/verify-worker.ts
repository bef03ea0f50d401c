/** Verifies one export in a thread of its own, so that the operator can renew its lease meanwhile. */
import { parentPort, workerData } from 'node:worker_threads';
import { verifyExport, type Expectation } from './verify.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';

const { bytes, expected } = workerData as { bytes: Uint8Array; expected: Expectation };
let visits: PageVisit[] = [];
const judgement = verifyExport(bytes, expected, (pages) => (visits = pageVisits(pages)));
parentPort!.postMessage({ judgement, visits });
