/** Examines one export in a thread of its own, whose memory is bounded: what a hostile pod stored can exhaust the thread, not the operator. */
import { parentPort, workerData } from 'node:worker_threads';
import { examine, type Expectation } from './examine.ts';

const { bytes, expected } = workerData as { bytes: Uint8Array; expected: Expectation };
parentPort!.postMessage(examine(bytes, expected));
