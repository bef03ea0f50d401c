/** Takes pictures of the displayed page, after its test. A failure means fewer pictures, and never fails the page. */
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { jpegSize, type PictureFile } from '../../../report/results/pictures.ts';
import { PICTURE_MAX_BYTES, PICTURE_MAX_PIXELS, type PageSize, type ReportNode } from '../../../report/schema/schema.ts';
import { evaluate, type IsolatedWorld } from '../axe/world.ts';
import { PIERCE, type PageFindings } from '../axe/results.ts';
import type { PictureBudget, PicturesOfPage } from './budget.ts';

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
