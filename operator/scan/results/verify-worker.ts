/** Examines one export in a thread of its own: while it is parsed and counted again, the operator goes on renewing its lease. */
import { parentPort, workerData } from 'node:worker_threads';
import { examine, type Expectation } from './verify.ts';
import { pageVisits, type PageVisit } from './page-visits.ts';

const { bytes, expected } = workerData as { bytes: Uint8Array; expected: Expectation };
let visits: PageVisit[] = [];
const judgement = examine(bytes, expected, (pages) => (visits = pageVisits(pages)));
parentPort!.postMessage({ judgement, visits });
