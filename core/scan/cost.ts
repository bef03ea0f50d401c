/**
 * What a scan costs (decisions, "Scan results" and "Also over REST"): one credit per tested page of a scan that is done or was
 * canceled. A scan that failed, or that a test key submitted, costs nothing.
 */
import { ANONYMOUS } from '../organisation.ts';
import type { PageProgress } from './counts.ts';
import type { Phase } from './phases.ts';

/** Pages to charge for a scan that has ended. */
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
