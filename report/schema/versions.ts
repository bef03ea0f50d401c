/** Versions of what a report is computed with. Apart from the computation, so that a store can name them without loading it. */

/**
 * Increase this if the fingerprints of unchanged elements change, and `SCORE_VERSION` with it.
 * 2: computed from the element's whole HTML, its landmark and the colours of a contrast violation.
 */
export const FINGERPRINT_VERSION = 2;

/**
 * Increase this if the formula changes, if our own checks decide more or other elements, or with `FINGERPRINT_VERSION`. Scores of
 * different versions cannot be compared.
 * 3: own checks besides axe-core's (`engines.ts`).
 */
export const SCORE_VERSION = 3;
