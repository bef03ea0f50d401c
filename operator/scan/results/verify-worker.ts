/**
 * Verifies one export in a worker thread, so that the operator can renew its lease at the same time. The thread is started
 * ahead and ends after one export, because a hostile export must not be able to influence the judgement of another one.
 */
import { parentPort } from 'node:worker_threads';
import { type Expectation, handedOver, type ResultObjects, verified } from './verify.ts';

parentPort!.once('message', ({ objects, expected }: { objects: ResultObjects; expected: Expectation }) => {
  const message = verified(objects, expected);
  parentPort!.postMessage(message, handedOver(message));
});
