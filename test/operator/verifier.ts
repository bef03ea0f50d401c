/** The verifier of the operators in tests. */
import { verified } from '../../operator/scan/results/verify.ts';
import type { Verifier } from '../../operator/scan/results/verifier.ts';
import { NIGHTLY } from '../support/nightly.ts';

const inThisThread: Verifier = {
  verify: async (objects, expected) => verified(objects, expected),
  start: () => undefined,
  expect: () => undefined,
  stop: () => undefined,
};

/**
 * Verifies in the test's own thread, because starting threads takes as long as all else that an operator does for a scan. At
 * night and on a cluster it is undefined: the operator's own verifier.
 */
export const verifier: Verifier | undefined = NIGHTLY || process.env['KUBECONFIG'] ? undefined : inThisThread;
