/** The address that a scan starts at. */
import type { ScanOptions } from '../../core/scan/options.ts';
import { FetchRefused, type FetchRefusal, type GuardedFetch } from '../egress/fetch.ts';
import { withoutAnchor } from './address.ts';

/** How long the host may take to answer, in milliseconds. */
const ANSWER_MS = 10_000;
const UNANSWERED: readonly FetchRefusal[] = ['unreachable', 'network'];

/**
 * Returns the URL of the options. With `httpFallback`, returns that of plain http if the host does not answer over https and
 * answers over http. A certificate that is not accepted is an answer: the page then fails to load, and says why.
 * @param files judges both addresses as every request of the scan @throws the reason of its signal
 */
export async function startOf(
  { url, httpFallback }: Pick<ScanOptions, 'url' | 'httpFallback'>,
  files: Pick<GuardedFetch, 'get'>,
): Promise<URL> {
  const start = new URL(withoutAnchor(url));
  if (!httpFallback || start.protocol !== 'https:' || (await answers(start, files))) return start;
  const plain = new URL(start);
  plain.protocol = 'http:';
  return (await answers(plain, files)) ? plain : start;
}

/** Asks for robots.txt, which the scan reads anyway, because each page is loaded once only. */
async function answers(start: URL, files: Pick<GuardedFetch, 'get'>): Promise<boolean> {
  try {
    await files.get(new URL('/robots.txt', start), { maxBytes: 1, larger: 'cut', timeoutMs: ANSWER_MS });
    return true;
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error;
    return error.kind !== 'refused' && !UNANSWERED.includes(error.kind);
  }
}
