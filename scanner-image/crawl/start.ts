/** The address that a scan starts at. */
import type { ScanOptions } from '../../core/scan/options.ts';
import { FetchRefused } from '../egress/fetch.ts';
import { withoutAnchor } from './address.ts';
import { clockOf, RETRY_MS, TEMPORARY, TIMEOUT_MS, type RobotsDeps } from './robots.ts';

/** `files` judges both addresses as every request of the scan. */
export type StartDeps = Pick<RobotsDeps, 'files' | 'signal' | 'clock'>;

/**
 * Returns the URL of the options. With `httpFallback`, returns that of plain http if the host does not answer over https and
 * answers over http. A certificate that is not accepted is an answer: the page then fails to load, and says why. Both are tried as often as
 * robots.txt, so that one lost connection does not decide where the scan starts.
 * @throws the reason of the signal of `files`
 */
export async function startOf({ url, httpFallback }: Pick<ScanOptions, 'url' | 'httpFallback'>, deps: StartDeps): Promise<URL> {
  const start = new URL(withoutAnchor(url));
  if (!httpFallback || start.protocol !== 'https:' || (await answers(start, deps))) return start;
  const plain = new URL(start);
  plain.protocol = 'http:';
  return (await answers(plain, deps)) ? plain : start;
}

/** Asks for robots.txt, which the scan reads anyway, because each page is loaded once only. */
async function answers(start: URL, deps: StartDeps): Promise<boolean> {
  const clock = clockOf(deps);
  for (let tries = 0; ; tries++) {
    try {
      await deps.files.get(new URL('/robots.txt', start), { maxBytes: 1, timeoutMs: TIMEOUT_MS });
      return true;
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      if (!TEMPORARY.includes(error.kind)) return error.kind !== 'refused';
    }
    const wait = RETRY_MS[tries];
    if (wait === undefined) return false;
    await clock.sleep(wait);
  }
}
