/** Takes pictures of the displayed page, after its test. A failure means fewer pictures, and never fails the page. */
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { jpegSize, type PictureFile } from '../../../report/results/pictures.ts';
import { countViolations } from '../../../report/results/score.ts';
import type { PageSize, ReportNode } from '../../../report/schema/page.ts';
import { PICTURE_MAX_BYTES, PICTURE_MAX_PIXELS } from '../../../report/schema/report.ts';
import { evaluate, type IsolatedWorld } from '../scripts/source.ts';
import { type PageFindings, PIERCE } from '../axe/results.ts';
import { rootCauseFingerprint } from '../../../report/causes/root-causes.ts';
import { IMPACTS } from '../../../core/scan/impacts.ts';

/** How bad the subject of a picture is: the first number that differs decides, the larger one is worse. */
type Rank = readonly number[];

/** A picture that a page was asked for. */
export interface TakenPicture {
  /** Null: it shows the whole page. */
  fingerprint: string | null;
  rank: Rank;
  /** Null: there was no time for it. */
  file: PictureFile | null;
}

/** A root cause of a page that has no picture yet. */
interface WantedPicture {
  fingerprint: string;
  rank: Rank;
  /** Elements of the page that have it. The first one that can be seen is taken. */
  nodes: ReportNode[];
}

export interface PictureLimits {
  /** The maximum number of root causes with a picture. */
  causes: number;
  /** The maximum number of pages with a picture. */
  pages: number;
  /** The time after which no picture is taken, in milliseconds. Only a hostile site or a machine that stands still needs it. */
  maxMs: number;
}

/** A picture takes 20 to 40 ms on an idle machine, also one of a whole page. */
const PICTURE_LIMITS: PictureLimits = { causes: 300, pages: 20, maxMs: 120_000 };

/** Elements that are tried for one picture, because the first ones may be hidden. */
const CANDIDATES = 8;

export interface KeptPicture extends PictureFile {
  /** The `url` of the page in the report. */
  pageUrl: string;
}

const isWorse = (rank: Rank, other: Rank): boolean => {
  const at = rank.findIndex((number, index) => number !== other[index]);
  return at >= 0 && rank[at]! > other[at]!;
};

/**
 * Keeps the worst pictures of a scan, of equal ones the first. A subject that is not wanted once never is again. So it does not matter
 * what a page that is visited early takes in vain, as long as pages are learnt in the frontier's order.
 */
function createWorst(max: number) {
  const kept = new Map<string, KeptPicture & { rank: Rank }>();
  const replaced = new Set<string>();
  /** What there was no time for. */
  const late = new Map<string, Rank>();

  const mildest = (): [string, { rank: Rank }] => [...kept].reduce((found, next) => (isWorse(next[1].rank, found[1].rank) ? found : next));
  const wants = (key: string, rank: Rank): boolean =>
    !kept.has(key) && !replaced.has(key) && (kept.size < max || isWorse(rank, mildest()[1].rank));

  return {
    kept,
    wants,
    learn(key: string, { rank, file }: TakenPicture, pageUrl: string): void {
      if (!wants(key, rank)) return;
      if (file === null) return void late.set(key, rank);
      kept.set(key, { ...file, rank, pageUrl });
      if (kept.size <= max) return;
      const [mild] = mildest();
      kept.delete(mild);
      replaced.add(mild);
    },
    left: (): number => [...late].filter(([key, rank]) => wants(key, rank)).length,
    known: (): KnownSubjects => ({ kept: [...kept].map(([key, { rank }]) => [key, rank]), replaced: [...replaced] }),
    adopt(known: KnownSubjects): void {
      kept.clear();
      for (const [key, rank] of known.kept) kept.set(key, { ...NO_PICTURE, rank });
      for (const key of known.replaced) replaced.add(key);
    },
  };
}

interface KnownSubjects {
  kept: [key: string, rank: Rank][];
  replaced: string[];
}
const NO_PICTURE: KeptPicture = { bytes: new Uint8Array(), width: 0, height: 0, pageUrl: '' };

/** What the pictures of a scan show by now, so that another pod takes none in vain. */
export interface KnownPictures {
  causes: KnownSubjects;
  pages: KnownSubjects;
}

export function createPictureBudget(given: Partial<PictureLimits> = {}, words: () => readonly string[] = () => []) {
  const limits = { ...PICTURE_LIMITS, ...given };
  const causes = createWorst(limits.causes);
  const pages = createWorst(limits.pages);
  let leftMs = limits.maxMs;

  return {
    /** Texts that no picture may show. */
    get words() {
      return words();
    },
    /** Returns the root causes of a page that have no picture yet, worst first. */
    wanted(findings: Pick<PageFindings, 'violations' | 'needsReview'>): WantedPicture[] {
      const wanted = new Map<string, WantedPicture>();
      for (const [list, isViolation] of [
        [findings.violations, 1],
        [findings.needsReview, 0],
      ] as const)
        for (const { rule, impact, nodes } of list) {
          const rank = [isViolation, -IMPACTS.indexOf(impact)];
          for (const node of withBoxesFirst(nodes)) {
            const fingerprint = rootCauseFingerprint(rule, node);
            const cause = wanted.get(fingerprint);
            if (cause !== undefined && cause.nodes.length < CANDIDATES) cause.nodes.push(node);
            else if (cause === undefined && causes.wants(fingerprint, rank)) wanted.set(fingerprint, { fingerprint, rank, nodes: [node] });
          }
        }
      return [...wanted.values()].sort(({ rank }, other) => Number(isWorse(other.rank, rank)) - Number(isWorse(rank, other.rank)));
    },
    wantsPage: (pageUrl: string, rank: Rank): boolean => pages.wants(pageUrl, rank),
    /** The time that pictures may still take, in milliseconds. */
    left: (): number => leftMs,
    spend: (ms: number): unknown => (leftMs -= ms),
    /** Learns the pictures of a tested page. Call it in the frontier's order. */
    learn(pageUrl: string, pictures: readonly TakenPicture[]): void {
      for (const picture of pictures)
        if (picture.fingerprint === null) pages.learn(pageUrl, picture, pageUrl);
        else causes.learn(picture.fingerprint, picture, pageUrl);
    },
    known: (): KnownPictures => ({ causes: causes.known(), pages: pages.known() }),
    adopt(known: KnownPictures): void {
      causes.adopt(known.causes);
      pages.adopt(known.pages);
    },
    /** The pictures by fingerprint. */
    all: (): ReadonlyMap<string, KeptPicture> => causes.kept,
    /** The pictures of whole pages by the `url` of the page. */
    pages: (): ReadonlyMap<string, KeptPicture> => pages.kept,
    /** The number of pictures that there was no time for. */
    missing: (): number => causes.left() + pages.left(),
  };
}

export type PictureBudget = ReturnType<typeof createPictureBudget>;

/** Elements without a box are not displayed, or a frame does not show them yet. */
const withBoxesFirst = (nodes: readonly ReportNode[]): ReportNode[] =>
  [...nodes].sort((node, other) => Number(node.box === null) - Number(other.box === null));

/** How bad a page is; null if nothing was found on it. */
function rankOf({ violations, needsReview }: PicturedPage['findings']): Rank | null {
  const counts = countViolations(violations);
  const rank = [...IMPACTS.map((impact) => counts[impact]), countViolations(needsReview).total];
  return rank.every((number) => number === 0) ? null : rank;
}

/** The time limit of one picture, in milliseconds. */
const PICTURE_MS = 5000;
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
  /** Null: only root causes get pictures. */
  url: string | null;
  world: IsolatedWorld;
  findings: Pick<PageFindings, 'violations' | 'needsReview'>;
  /** Those by which the page is compared with others; absent: `findings`. */
  all?: Pick<PageFindings, 'violations' | 'needsReview'>;
  size: PageSize;
  clock: { spent(): number; left(): number };
}

/**
 * Takes pictures of the root causes of a page that have none yet, then of the page itself.
 * @param budget null: the scan takes no pictures
 * @returns `stopped`: the page did not cooperate. Its tab may be busy and must not be used again
 */
export async function takePictures(
  budget: PictureBudget | null,
  page: PicturedPage | null,
): Promise<{ pictures: TakenPicture[]; stopped: boolean }> {
  const pictures: TakenPicture[] = [];
  let stopped = false;
  if (budget === null || page === null) return { pictures, stopped };
  const { world, findings, size, clock } = page;

  async function take(what: Omit<TakenPicture, 'file'>, taking: () => Promise<PictureFile | null>): Promise<void> {
    // Half of the page's time at most, so that a page that hangs now still ends in time.
    const limitMs = Math.min(PICTURE_MS, clock.left() / 2);
    if (stopped || limitMs < PICTURE_MIN_MS || budget!.left() <= 0) return void pictures.push({ ...what, file: null });
    const started = clock.spent();
    try {
      const file = await withTimeLimit(taking(), limitMs, 'taking a picture');
      if (file !== null) pictures.push({ ...what, file });
    } catch {
      stopped = true;
      pictures.push({ ...what, file: null });
    }
    budget!.spend(clock.spent() - started);
  }

  for (const { fingerprint, rank, nodes } of budget.wanted(findings))
    await take({ fingerprint, rank }, () => takeOne(world, nodes, budget.words));
  const rank = rankOf(page.all ?? findings);
  if (page.url !== null && rank !== null && budget.wantsPage(page.url, rank))
    await take({ fingerprint: null, rank }, () => takePage(world, size, budget.words));
  return { pictures, stopped };
}

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
