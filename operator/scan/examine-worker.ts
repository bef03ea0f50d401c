/** Examines one export in a thread of its own: while it is parsed and counted again, the operator goes on renewing its lease. */
import { parentPort, workerData } from 'node:worker_threads';
import { examine, type Expectation } from './examine.ts';

const { bytes, expected } = workerData as { bytes: Uint8Array; expected: Expectation };
parentPort!.postMessage(examine(bytes, expected));
