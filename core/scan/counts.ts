/** What a scan counts: violations and pages. */
import { ANONYMOUS } from '../organisation.ts';
import type { Phase } from './phases.ts';

/** Violations by severity. One violation is one failing element of one rule on one page; `total` is the sum of the four. */
export interface Counts {
  total: number;
  critical: number;
  serious: number;
  moderate: number;
  minor: number;
}

/**
 * The progress of a scan, in pages. `failed` pages were attempted and could not be tested. `total` is the number of pages
 * known now; it may grow during the crawl.
 */
export interface PageProgress {
  scanned: number;
  failed: number;
  total: number;
}

/**
 * Coverage (decisions, "Scan results"): tested ÷ attempted pages, in percent. It is rounded down to one decimal, so that it
 * is 100 only if no attempted page is missing. Nothing attempted is 0.
 */
export function coverageOf({ scanned, failed }: Pick<PageProgress, 'scanned' | 'failed'>): number {
  const attempted = scanned + failed;
  return attempted === 0 ? 0 : Math.floor((1000 * scanned) / attempted) / 10;
}

/**
 * What a scan costs (decisions, "Scan results" and "Also over REST"): one credit per tested page of a scan that is done or was
 * canceled. A scan that failed, or that a test key submitted, costs nothing. @returns the pages to charge
 */
export function pagesToCharge(
  { test = false }: { test?: boolean },
  phase: Phase,
  pages: Pick<PageProgress, 'scanned'> | undefined,
): number {
  return !test && (phase === 'done' || phase === 'canceled') ? (pages?.scanned ?? 0) : 0;
}

const TEST_ACCOUNT = 'test:';

/**
 * The account that holds the pages of a scan. Scans of test keys have one for each organisation that needs no credits: it only
 * counts the live ones. Its name is no organisation's ID.
 */
export const creditAccountOf = ({ organisation, test = false }: { organisation: string; test?: boolean }): string =>
  test ? TEST_ACCOUNT + organisation : organisation;

/** How many scans of the test keys of an organisation may be live. They try out a client, and cost nothing: they get no second share. */
export const LIVE_TEST_SCANS_MAX = 2;

/** How many scans of the account of a scan may be live. @param share the maximum of an organisation */
export const maxLiveOf = ({ test = false }: { test?: boolean }, share: number): number => (test ? LIVE_TEST_SCANS_MAX : share);

/** Whether an account needs no credits. */
export const isFree = (account: string): boolean => account === ANONYMOUS || account.startsWith(TEST_ACCOUNT);
