/** Which page is loaded next. The same site gives the same pages in the same order, whatever the number of workers. Pure. */
import { pageKey } from './address.ts';

/** A page to load. `turn` is its place in the order in which results are taken in. */
export interface Candidate {
  url: URL;
  key: string;
  depth: number;
  turn: number;
}

/**
 * What became of a candidate: `tested` counts towards the scan, `failed` is listed, `folded` was another page after all,
 * `passed_through` only gave links, `skipped` would not have been started by a single worker.
 */
export type End = 'tested' | 'failed' | 'folded' | 'passed_through' | 'skipped';

export interface Frontier {
  /** Adds a page, unless it is known. @returns true if it is new */
  add(url: URL, depth: number): boolean;
  /** Marks a page as known, so that it is not loaded (any more). */
  cover(key: string): void;
  covered(key: string): boolean;
  /** The next page to load; null where none may be started now: none is left, or those under way may be enough. */
  take(): Candidate | null;
  /** True once nothing more may be started: enough was tested, or too much failed. */
  spent(): boolean;
  /** Takes a candidate's end in. Must be called in the order of turns. */
  settle(candidate: Candidate, end: End): void;
  /** True when nothing is under way and nothing may be started. */
  finished(): boolean;
  /** True once no more pages can become known, or as many are known as the scan may test. */
  complete(): boolean;
  counts(): { tested: number; failed: number; total: number };
  /** Pages that were never started, as many as the scan had still room for. */
  left(): URL[];
}

/**
 * Breadth first: pages in the order in which they were found. A page is started only while those tested and those under
 * way are fewer than `maxPages`, so that the pages of a scan are always a prefix of that order.
 * @param options.maxFailed after so many failures nothing more is started: a site of dead links must not be walked for ever
 * @param options.maxFolded likewise for pages that turn out to be others
 */
export function createFrontier(options: { maxPages: number; maxFailed: number; maxFolded: number }): Frontier {
  const { maxPages, maxFailed, maxFolded } = options;
  const queue: { url: URL; key: string; depth: number }[] = [];
  const known = new Set<string>();
  const covered = new Set<string>();
  let at = 0;
  let turns = 0;
  let settled = 0;
  const ends: Record<End, number> = { tested: 0, failed: 0, folded: 0, passed_through: 0, skipped: 0 };

  const underway = (): number => turns - settled;
  const spent = (): boolean => ends.tested >= maxPages || ends.failed >= maxFailed || ends.folded >= maxFolded;
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
      if (spent() || !hasNext() || ends.tested + underway() >= maxPages) return null;
      const next = queue[at];
      if (next === undefined) return null;
      at += 1;
      return { ...next, turn: turns++ };
    },
    settle(candidate, end) {
      if (candidate.turn !== settled) throw new RangeError(`turn ${settled} is due, not ${candidate.turn}`);
      settled += 1;
      ends[end] += 1;
      covered.add(candidate.key);
    },
    finished: () => underway() === 0 && (spent() || !hasNext()),
    complete: () => ends.tested + underway() + waiting().length >= maxPages || (underway() === 0 && (spent() || !hasNext())),
    counts() {
      const total = ends.failed + Math.min(maxPages, ends.tested + underway() + (spent() ? 0 : waiting().length));
      return { tested: ends.tested, failed: ends.failed, total };
    },
    left: () =>
      waiting()
        .slice(0, Math.max(0, maxPages - ends.tested))
        .map(({ url }) => url),
  };
}
