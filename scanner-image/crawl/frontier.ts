/** Decides which page is loaded next. The pages and their order do not depend on the number of workers. Pure. */
import type { PageAddress } from './address.ts';
import { createQueue, type Added } from './queue.ts';

/** A page to load. `index` is its place in the order in which results are processed. */
export interface Candidate {
  url: URL;
  key: string;
  depth: number;
  index: number;
  /** Its place among all addresses that were chosen. It does not depend on the number of workers, as `index` may. */
  position: number;
  /** The position up to which it uses the outcomes of other pages. */
  knows: number;
}

/**
 * The outcome of a candidate:
 * - `tested`: it counts towards `maxPages`
 * - `failed`: it is listed as untested, and counts once for all spellings of an address
 * - `disallowed`: it is listed too, and does not count as attempted
 * - `left_out`: it was a duplicate or is not part of the scan
 * - `document`: it is a file
 * - `passed_through`: it only provided links
 * - `skipped`: a single worker would not have started it
 */
export type Outcome = 'tested' | 'failed' | 'disallowed' | 'left_out' | 'document' | 'passed_through' | 'skipped';

/**
 * Takes pages breadth first and from the templates of the site in turn (queue.ts). A page starts only while fewer than
 * `maxPages` are tested or in progress, so that the pages of a scan are always a prefix of that order.
 * @param options.maxFailed after this many failed or disallowed pages no more pages start, so that a site of dead links ends
 * @param options.maxLeftOut the same for pages that are left out, and for files
 * @param options.inOrder pages are taken in the order in which they were added
 */
export function createFrontier(options: { maxPages: number; maxFailed: number; maxLeftOut: number; inOrder?: boolean }) {
  const { maxPages, maxFailed, maxLeftOut, inOrder } = options;
  const queue = createQueue(maxPages + maxFailed + 2 * maxLeftOut, inOrder);
  /** The positions of the candidates, by their `index`. */
  const positions: number[] = [];
  let settled = 0;
  const outcomes: Record<Outcome, number> = {
    tested: 0,
    failed: 0,
    disallowed: 0,
    left_out: 0,
    document: 0,
    passed_through: 0,
    skipped: 0,
  };

  const inProgress = (): number => positions.length - settled;
  const spent = (): boolean =>
    outcomes.tested >= maxPages ||
    outcomes.failed + outcomes.disallowed >= maxFailed ||
    Math.max(outcomes.left_out, outcomes.document) >= maxLeftOut;
  /** The position of the page that is processed next, or was processed last. */
  const current = (): number => positions[Math.min(settled, positions.length - 1)] ?? -1;
  /** The position up to which all pages are processed. */
  const processed = (): number => (inProgress() > 0 ? current() : queue.chosen()) - 1;

  return {
    /** Adds a page that was found on the page that is processed. `isExcluded` is called only if it would be queued. */
    add: (address: PageAddress, depth: number, isExcluded?: () => boolean): Added =>
      queue.add(address, { depth, from: current(), parent: inProgress() > 0 ? queue.at(current()) : undefined, isExcluded }),
    /** Whether a link or a sitemap named a page, or the scan starts with it. */
    named: (key: string): boolean => queue.named(key),
    /** Marks a page as known, so that it is not loaded. */
    cover: (key: string): void => queue.cover(key),
    covered: (key: string): boolean => queue.covered(key),
    /** Whether the crawl is over: enough pages were tested, or too many failed. */
    spent,
    /** Returns the next page to load, or null if no page is left or the pages in progress may be sufficient. */
    take(): Candidate | null {
      if (spent() || outcomes.tested + inProgress() >= maxPages) return null;
      const entry = queue.choose(processed());
      if (entry === null) return null;
      positions.push(queue.chosen() - 1);
      const [index, position] = [positions.length - 1, queue.chosen() - 1];
      return { url: new URL(entry.address.href), key: entry.key, depth: entry.depth, index, position, knows: queue.asOf() };
    },
    /**
     * Records the outcome of a candidate. Must be called in the order of `index`.
     * @param isMissing the site says that the address leads nowhere, but another spelling may
     */
    settle(candidate: Candidate, outcome: Outcome, isMissing = false): void {
      if (candidate.index !== settled) throw new RangeError(`expected index ${settled}, got ${candidate.index}`);
      if (outcome === 'tested' || outcome === 'left_out') queue.record(current(), outcome === 'left_out');
      const wasCounted = (outcome === 'failed' || outcome === 'disallowed') && queue.tried(candidate.key);
      if (isMissing) queue.respell(candidate.key, current());
      else queue.cover(candidate.key);
      settled += 1;
      if (!wasCounted) outcomes[outcome] += 1;
    },
    /** Whether no more pages can be found, or the scan already has as many as it may test. */
    complete: (): boolean =>
      outcomes.tested + inProgress() + queue.waiting() >= maxPages || (inProgress() === 0 && (spent() || queue.waiting() === 0)),
    counts(): { tested: number; failed: number; total: number } {
      const total = outcomes.failed + Math.min(maxPages, outcomes.tested + inProgress() + (spent() ? 0 : queue.waiting()));
      return { tested: outcomes.tested, failed: outcomes.failed, total };
    },
    /** Takes the pages that were not started, at most as many as the scan could still have tested. The crawl must have ended. */
    drain(): URL[] {
      const rest: URL[] = [];
      while (!spent() && rest.length < maxPages - outcomes.tested) {
        const entry = queue.choose(processed());
        if (entry === null) break;
        rest.push(new URL(entry.address.href));
      }
      return rest;
    },
    /** The number of addresses that were found and not taken, or not settled because the crawl was stopped. */
    left: (): number => queue.left() + inProgress(),
  };
}

export type Frontier = ReturnType<typeof createFrontier>;
