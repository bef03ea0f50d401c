/** Decides which page is loaded next. The pages and their order do not depend on the number of workers. Pure. */
import { pageKey } from './address.ts';

/** A page to load. `turn` is its place in the order in which results are processed. */
export interface Candidate {
  url: URL;
  key: string;
  depth: number;
  turn: number;
}

/**
 * The outcome of a candidate: `tested` counts towards `maxPages`, `failed` is listed as untested, `disallowed` is listed too
 * but does not count as attempted, `folded` was a duplicate, `passed_through` only provided links, `skipped` would not have
 * been started by a single worker.
 */
export type Outcome = 'tested' | 'failed' | 'disallowed' | 'folded' | 'passed_through' | 'skipped';

export interface Frontier {
  /** Adds a page. Returns false if it is already known. */
  add(url: URL, depth: number): boolean;
  /** Marks a page as known, so that it is not loaded. */
  cover(key: string): void;
  covered(key: string): boolean;
  /** Returns the next page to load, or null if no page is left or the pages in progress may be sufficient. */
  take(): Candidate | null;
  /** Whether the crawl is over: enough pages were tested, or too many failed. */
  spent(): boolean;
  /** Records the outcome of a candidate. Must be called in the order of turns. */
  settle(candidate: Candidate, outcome: Outcome): void;
  /** Whether no more pages can be found, or the scan already has as many as it may test. */
  complete(): boolean;
  counts(): { tested: number; failed: number; total: number };
  /** Pages that were not started, up to the number that the scan could still have tested. */
  left(): URL[];
}

/**
 * Breadth first: pages in the order in which they were found. A page starts only while fewer than `maxPages` are tested or
 * in progress, so that the pages of a scan are always a prefix of that order.
 * @param options.maxFailed after this many failed or disallowed pages no more pages start, so that a site of dead links ends
 * @param options.maxFolded the same for duplicates
 */
export function createFrontier(options: { maxPages: number; maxFailed: number; maxFolded: number }): Frontier {
  const { maxPages, maxFailed, maxFolded } = options;
  const queue: { url: URL; key: string; depth: number }[] = [];
  const known = new Set<string>();
  const covered = new Set<string>();
  let at = 0;
  let turns = 0;
  let settled = 0;
  const outcomes: Record<Outcome, number> = { tested: 0, failed: 0, disallowed: 0, folded: 0, passed_through: 0, skipped: 0 };

  const inProgress = (): number => turns - settled;
  const spent = (): boolean =>
    outcomes.tested >= maxPages || outcomes.failed + outcomes.disallowed >= maxFailed || outcomes.folded >= maxFolded;
  function waiting(): typeof queue {
    while (at < queue.length && covered.has(queue[at]?.key ?? '')) at += 1;
    return queue.slice(at).filter(({ key }) => !covered.has(key));
  }
  const hasNext = (): boolean => {
    while (at < queue.length && covered.has(queue[at]?.key ?? '')) at += 1;
    return at < queue.length;
  };

  return {
    add(url, depth) {
      const key = pageKey(url);
      if (known.has(key)) return false;
      known.add(key);
      queue.push({ url, key, depth });
      return true;
    },
    cover(key) {
      known.add(key);
      covered.add(key);
    },
    covered: (key) => covered.has(key),
    spent,
    take() {
      if (spent() || !hasNext() || outcomes.tested + inProgress() >= maxPages) return null;
      const next = queue[at];
      if (next === undefined) return null;
      at += 1;
      return { ...next, turn: turns++ };
    },
    settle(candidate, outcome) {
      if (candidate.turn !== settled) throw new RangeError(`expected turn ${settled}, got ${candidate.turn}`);
      settled += 1;
      outcomes[outcome] += 1;
      covered.add(candidate.key);
    },
    complete: () => outcomes.tested + inProgress() + waiting().length >= maxPages || (inProgress() === 0 && (spent() || !hasNext())),
    counts() {
      const total = outcomes.failed + Math.min(maxPages, outcomes.tested + inProgress() + (spent() ? 0 : waiting().length));
      return { tested: outcomes.tested, failed: outcomes.failed, total };
    },
    left: () =>
      waiting()
        .slice(0, Math.max(0, maxPages - outcomes.tested))
        .map(({ url }) => url),
  };
}
