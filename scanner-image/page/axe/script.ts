/** What the tests of documents are given. */
import type { EgressFailure } from '../../egress/egress-failures.ts';
import type { AxeOptions } from './source.ts';

/** The script that tests a document, and its arguments. */
export interface AxeScript {
  /** The script for our world, from `axeSource`. Frames in other processes do not get it automatically. */
  source: string;
  options: AxeOptions;
  /** From `htmlTotal`. */
  htmlTotal: number;
  /** Why the egress proxy could not reach the host of a frame. */
  egressFailureOf: (url: URL) => EgressFailure | undefined;
}
