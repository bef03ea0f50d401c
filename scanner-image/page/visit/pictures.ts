/** Takes pictures of the displayed page, after its test. A failure means fewer pictures, and never fails the page. */
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { jpegSize, type PictureFile } from '../../../report/results/pictures.ts';
import type { PageSize, ReportNode } from '../../../report/schema/page.ts';
import { PICTURE_MAX_BYTES, PICTURE_MAX_PIXELS } from '../../../report/schema/report.ts';
import { evaluate, type IsolatedWorld } from '../scripts/source.ts';
import { type PageFindings, PIERCE } from '../axe/results.ts';
import { rootCauseFingerprint } from '../../../report/causes/root-causes.ts';

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

interface PicturesOfPage {
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
const PICTURE_LIMITS: PictureLimits = { perScan: 300, perPage: 12, baseMs: 500, share: 0.03, pages: 20, pagesShare: 1 / 3 };

/** Elements that are tried for one picture, because the first ones may be hidden. */
const CANDIDATES = 3;
/** The number of pages on which no element of a root cause can be seen until it gets no picture. */
const UNSEEN_PAGES = 3;

export interface KeptPicture extends TakenPicture {
  /** The `url` of the page in the report. */
  pageUrl: string;
}

export function createPictureBudget(given: Partial<PictureLimits> = {}, words: () => readonly string[] = () => []) {
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
    /** Texts that no picture may show. */
    get words() {
      return words();
    },
    /** Reserves the root causes of a page that have no picture yet, worst first. @param visitMs the time that the page took */
    reserve(findings: PageFindings, visitMs: number): { wanted: WantedPicture[]; ms: number } {
      allowedMs += visitMs * limits.share;
      allowedPagesMs += visitMs * limits.share * limits.pagesShare;
      const free = Math.min(limits.perPage, limits.perScan - reserved.size);
      if (allowedMs <= 0 || free <= 0) return { wanted: [], ms: 0 };
      const wanted = [...candidatesOf(findings)].slice(0, free).map(([fingerprint, nodes]) => ({ fingerprint, nodes }));
      for (const { fingerprint } of wanted) reserved.add(fingerprint);
      return { wanted, ms: allowedMs };
    },
    /** Releases what was reserved and not taken. @param ms the time that the pictures took */
    settle(wanted: readonly WantedPicture[], { pictures, unseen: hidden }: PicturesOfPage, ms: number): void {
      allowedMs -= ms;
      const taken = new Set(pictures.map(({ fingerprint }) => fingerprint));
      for (const { fingerprint } of wanted) if (!taken.has(fingerprint)) reserved.delete(fingerprint);
      for (const fingerprint of hidden) unseen.set(fingerprint, (unseen.get(fingerprint) ?? 0) + 1);
    },
    /** Reserves the picture of a page, after those of its root causes. Returns the time that it may take, in milliseconds; 0: it gets none. */
    reservePage(): number {
      const ms = Math.min(allowedMs, allowedPagesMs);
      if (ms <= 0 || pagesReserved >= limits.pages) return 0;
      pagesReserved += 1;
      return ms;
    },
    /** @param ms the time that the picture took */
    settlePage(taken: boolean, ms: number): void {
      allowedMs -= ms;
      allowedPagesMs -= ms;
      if (!taken) pagesReserved -= 1;
    },
    /** Keeps the pictures of a tested page. */
    keep(pageUrl: string, pictures: readonly TakenPicture[]): void {
      for (const picture of pictures)
        if (picture.fingerprint === null) keptPages.set(pageUrl, { ...picture, pageUrl });
        else kept.set(picture.fingerprint, { ...picture, pageUrl });
    },
    /** Releases the pictures of a page that does not count as tested, such as a duplicate. */
    release(pictures: readonly TakenPicture[]): void {
      for (const { fingerprint } of pictures)
        if (fingerprint === null) pagesReserved -= 1;
        else reserved.delete(fingerprint);
    },
    /** The pictures by fingerprint. */
    all: (): ReadonlyMap<string, KeptPicture> => kept,
    /** The pictures of whole pages by the `url` of the page. */
    pages: (): ReadonlyMap<string, KeptPicture> => keptPages,
  };
}

export type PictureBudget = ReturnType<typeof createPictureBudget>;

/** The time limit of one picture, in milliseconds. */
const PICTURE_MS = 3000;
/** Less is not enough for a picture. */
const PICTURE_MIN_MS = 200;

/** JPEG qualities and scales that are tried in turn until a picture is small enough. */
const TRIES = [
  { quality: 55, scale: 1 },
  { quality: 35, scale: 0.7 },
  { quality: 25, scale: 0.5 },
];

interface Clip {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A page that was tested, and what its visit took and may still take. */
interface PicturedPage {
  world: IsolatedWorld;
  findings: PageFindings;
  size: PageSize;
  clock: { spent(): number; left(): number };
}

const NOTHING: PicturesOfPage = { pictures: [], unseen: [], stopped: null };

/** Takes pictures of the root causes of a page that have none yet, then of the page itself. @param budget null: the scan takes no pictures */
export async function takePictures(budget: PictureBudget | null, page: PicturedPage | null): Promise<PicturesOfPage> {
  if (budget === null || page === null) return NOTHING;
  const found = await takeCauses(budget, page);
  if (found.stopped !== null) return found;
  const { pictures, stopped } = await takeWhole(budget, page);
  return { ...found, pictures: [...found.pictures, ...pictures], stopped };
}

async function takeCauses(budget: PictureBudget, { world, findings, clock }: PicturedPage): Promise<PicturesOfPage> {
  const { wanted, ms } = budget.reserve(findings, clock.spent());
  const started = clock.spent();
  const found: PicturesOfPage = { pictures: [], unseen: [], stopped: null };
  try {
    for (const { fingerprint, nodes } of wanted) {
      const limitMs = limitOf(clock);
      if (clock.spent() - started >= ms || limitMs < PICTURE_MIN_MS) break;
      const taken = await withTimeLimit(takeOne(world, nodes, budget.words), limitMs, 'taking a picture');
      if (taken === null) found.unseen.push(fingerprint);
      else found.pictures.push({ fingerprint, ...taken });
    }
  } catch (error) {
    found.stopped = errorMessage(error);
  }
  budget.settle(wanted, found, clock.spent() - started);
  return found;
}

async function takeWhole(budget: PictureBudget, { world, findings, size, clock }: PicturedPage): Promise<PicturesOfPage> {
  if (findings.violations.length + findings.needsReview.length === 0 || budget.reservePage() <= 0) return NOTHING;
  const started = clock.spent();
  let file: PictureFile | null = null;
  let stopped: string | null = null;
  try {
    const limitMs = limitOf(clock);
    if (limitMs >= PICTURE_MIN_MS) file = await withTimeLimit(takePage(world, size, budget.words), limitMs, 'taking a picture');
  } catch (error) {
    stopped = errorMessage(error);
  }
  budget.settlePage(file !== null, clock.spent() - started);
  return { pictures: file === null ? [] : [{ fingerprint: null, ...file }], unseen: [], stopped };
}

/** The time limit of a picture: half of the page's budget at most, so that a page that hangs now still ends in time. */
const limitOf = ({ left }: PicturedPage['clock']): number => Math.min(PICTURE_MS, left() / 2);

async function takeOne(world: IsolatedWorld, nodes: readonly ReportNode[], words: readonly string[]): Promise<PictureFile | null> {
  const candidates = nodes.map((node) => ({ path: pathOf(node), html: node.html }));
  const clip = JSON.parse(
    await evaluate<string>(world, `curbcut.picture(${JSON.stringify(candidates)}, ${JSON.stringify(words)})`),
  ) as Clip | null;
  return clip === null ? null : capture(world, clip, words, { tries: TRIES, beyond: false });
}

/** The width of the picture of a page, in pixels. */
const PAGE_WIDTH = 320;
const PAGE_QUALITIES = [50, 35, 20];

/** Takes a picture of the page as wide as it was when it was tested, from its top. It is small, so that it shows where elements are. */
async function takePage(world: IsolatedWorld, size: PageSize, words: readonly string[]): Promise<PictureFile | null> {
  const clip = JSON.parse(
    await evaluate<string>(world, `curbcut.pagePicture(${JSON.stringify(size)}, ${JSON.stringify(words)})`),
  ) as Clip | null;
  const tries = PAGE_QUALITIES.map((quality) => ({ quality, scale: PAGE_WIDTH / size.width }));
  return clip === null ? null : capture(world, clip, words, { tries, beyond: true });
}

/**
 * The page may change while its picture is taken, such as when it is resized. Then what no picture may show was hidden before, or there is
 * no picture.
 * @param options.beyond whether the clip exceeds the viewport; the browser then resizes the page for a moment, without a new layout
 */
async function capture(
  world: IsolatedWorld,
  clip: Clip,
  words: readonly string[],
  { tries, beyond }: { tries: typeof TRIES; beyond: boolean },
): Promise<PictureFile | null> {
  for (const { quality, scale } of tries) {
    const { data } = await world.cdp.send('Page.captureScreenshot', {
      format: 'jpeg',
      quality,
      clip: { ...clip, scale },
      captureBeyondViewport: beyond,
      optimizeForSpeed: true,
    });
    if (!(await evaluate<boolean>(world, `curbcut.isHidden(${JSON.stringify(words)})`))) return null;
    const bytes = new Uint8Array(Buffer.from(data, 'base64'));
    const size = jpegSize(bytes);
    if (size === null || size.width > PICTURE_MAX_PIXELS || size.height > PICTURE_MAX_PIXELS) return null;
    if (bytes.byteLength <= PICTURE_MAX_BYTES) return { bytes, ...size };
  }
  return null;
}

/** The path to an element: for each document the selectors through its shadow roots. */
function pathOf({ frame_path, shadow_path, selector }: ReportNode): string[][] {
  return [...frame_path.map((step) => step.split(PIERCE)), [...shadow_path, selector]];
}
