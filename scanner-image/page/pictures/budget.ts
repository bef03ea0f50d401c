/** The pictures of a scan, one for each root cause. All workers share it. */
import type { PictureFile } from '../../../report/results/pictures.ts';
import { rootCauseFingerprint } from '../../../report/causes/root-causes.ts';
import type { ReportNode } from '../../../report/schema/schema.ts';
import type { PageFindings } from '../axe/results.ts';

/** A root cause that has no picture yet. */
export interface WantedPicture {
  fingerprint: string;
  /** Elements of the page that have it. The first one that can be seen is taken. */
  nodes: ReportNode[];
}

export interface TakenPicture extends PictureFile {
  /** Null: it shows the whole page. */
  fingerprint: string | null;
}

export interface PicturesOfPage {
  pictures: TakenPicture[];
  /** Root causes of which no element can be seen. */
  unseen: string[];
  /** Why the rest was not taken, if the page did not cooperate. Its tab may be busy and must not be used again. */
  stopped: string | null;
}

export interface PictureLimits {
  /** The maximum number of pictures. */
  perScan: number;
  /** The maximum number of pictures that one page is asked for. */
  perPage: number;
  /** The time that pictures may take in every scan, in milliseconds. */
  baseMs: number;
  /** The additional time, as a share of the time that pages take without pictures. */
  share: number;
  /** The maximum number of pictures of whole pages, and the share of the time of all pictures that they may take. */
  pages: number;
  pagesShare: number;
}

/** A picture takes 20 to 40 ms, also one of a whole page; a small page takes 60 ms. So pictures may take about the time of a few pages, and 3 % of long scans. */
export const PICTURE_LIMITS: PictureLimits = { perScan: 300, perPage: 12, baseMs: 500, share: 0.03, pages: 20, pagesShare: 1 / 3 };

/** Elements that are tried for one picture, because the first ones may be hidden. */
const CANDIDATES = 3;
/** The number of pages on which no element of a root cause can be seen until it gets no picture. */
const UNSEEN_PAGES = 3;

export interface KeptPicture extends TakenPicture {
  /** The `url` of the page in the report. */
  pageUrl: string;
}

export interface PictureBudget {
  /** Texts that no picture may show. */
  readonly words: readonly string[];
  /** Reserves the root causes of a page that have no picture yet, worst first. @param visitMs the time that the page took */
  reserve(findings: PageFindings, visitMs: number): { wanted: WantedPicture[]; ms: number };
  /** Releases what was reserved and not taken. @param ms the time that the pictures took */
  settle(wanted: readonly WantedPicture[], found: PicturesOfPage, ms: number): void;
  /** Keeps the pictures of a tested page. */
  keep(pageUrl: string, pictures: readonly TakenPicture[]): void;
  /** Releases the pictures of a page that does not count as tested, such as a duplicate. */
  release(pictures: readonly TakenPicture[]): void;
  /** Reserves the picture of a page, after those of its root causes. Returns the time that it may take, in milliseconds; 0: it gets none. */
  reservePage(): number;
  /** @param ms the time that the picture took */
  settlePage(taken: boolean, ms: number): void;
  /** The pictures by fingerprint. */
  all(): ReadonlyMap<string, KeptPicture>;
  /** The pictures of whole pages by the `url` of the page. */
  pages(): ReadonlyMap<string, KeptPicture>;
}

export function createPictureBudget(given: Partial<PictureLimits> = {}, words: () => readonly string[] = () => []): PictureBudget {
  const limits = { ...PICTURE_LIMITS, ...given };
  const reserved = new Set<string>();
  const unseen = new Map<string, number>();
  const kept = new Map<string, KeptPicture>();
  const keptPages = new Map<string, KeptPicture>();
  let allowedMs = limits.baseMs;
  /** The time that pictures of pages may still take, which is a part of `allowedMs`, and their number. */
  let allowedPagesMs = limits.baseMs * limits.pagesShare;
  let pagesReserved = 0;

  function candidatesOf({ violations, needsReview }: PageFindings): Map<string, ReportNode[]> {
    const causes = new Map<string, ReportNode[]>();
    for (const { rule, nodes } of [...violations, ...needsReview])
      for (const node of nodes) {
        const fingerprint = rootCauseFingerprint(rule, node);
        if (reserved.has(fingerprint) || (unseen.get(fingerprint) ?? 0) >= UNSEEN_PAGES) continue;
        const candidates = causes.get(fingerprint);
        if (candidates === undefined) causes.set(fingerprint, [node]);
        else if (candidates.length < CANDIDATES) candidates.push(node);
      }
    return causes;
  }

  return {
    get words() {
      return words();
    },
    reserve(findings, visitMs) {
      allowedMs += visitMs * limits.share;
      allowedPagesMs += visitMs * limits.share * limits.pagesShare;
      const free = Math.min(limits.perPage, limits.perScan - reserved.size);
      if (allowedMs <= 0 || free <= 0) return { wanted: [], ms: 0 };
      const wanted = [...candidatesOf(findings)].slice(0, free).map(([fingerprint, nodes]) => ({ fingerprint, nodes }));
      for (const { fingerprint } of wanted) reserved.add(fingerprint);
      return { wanted, ms: allowedMs };
    },
    settle(wanted, { pictures, unseen: hidden }, ms) {
      allowedMs -= ms;
      const taken = new Set(pictures.map(({ fingerprint }) => fingerprint));
      for (const { fingerprint } of wanted) if (!taken.has(fingerprint)) reserved.delete(fingerprint);
      for (const fingerprint of hidden) unseen.set(fingerprint, (unseen.get(fingerprint) ?? 0) + 1);
    },
    reservePage() {
      const ms = Math.min(allowedMs, allowedPagesMs);
      if (ms <= 0 || pagesReserved >= limits.pages) return 0;
      pagesReserved += 1;
      return ms;
    },
    settlePage(taken, ms) {
      allowedMs -= ms;
      allowedPagesMs -= ms;
      if (!taken) pagesReserved -= 1;
    },
    keep(pageUrl, pictures) {
      for (const picture of pictures)
        if (picture.fingerprint === null) keptPages.set(pageUrl, { ...picture, pageUrl });
        else kept.set(picture.fingerprint, { ...picture, pageUrl });
    },
    release(pictures) {
      for (const { fingerprint } of pictures)
        if (fingerprint === null) pagesReserved -= 1;
        else reserved.delete(fingerprint);
    },
    all: () => kept,
    pages: () => keptPages,
  };
}
