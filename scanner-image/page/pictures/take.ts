/** Takes pictures of elements of the displayed page, after its test. A failure means fewer pictures, and never fails the page. */
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { jpegSize, type PictureFile } from '../../../report/results/pictures.ts';
import { PICTURE_MAX_BYTES, PICTURE_MAX_PIXELS, type PageSize, type ReportNode } from '../../../report/schema/schema.ts';
import { evaluate, type IsolatedWorld } from '../axe/world.ts';
import { PIERCE } from '../axe/results.ts';

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

export interface PictureTime {
  /** The time after which no picture is started, in milliseconds. */
  allowedMs: number;
  /** The rest of the page's budget, in milliseconds. */
  left(): number;
}

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

/** @param words texts that no picture may show */
export async function takePictures(
  world: IsolatedWorld,
  wanted: readonly WantedPicture[],
  words: readonly string[],
  time: PictureTime,
): Promise<PicturesOfPage> {
  const end = performance.now() + time.allowedMs;
  const found: PicturesOfPage = { pictures: [], unseen: [], stopped: null };
  try {
    for (const { fingerprint, nodes } of wanted) {
      // Half of the budget, so that a page that hangs now still ends in time.
      const limitMs = Math.min(PICTURE_MS, time.left() / 2);
      if (performance.now() >= end || limitMs < PICTURE_MIN_MS) break;
      const taken = await withTimeLimit(takeOne(world, nodes, words), limitMs, 'taking a picture');
      if (taken === null) found.unseen.push(fingerprint);
      else found.pictures.push({ fingerprint, ...taken });
    }
  } catch (error) {
    found.stopped = errorMessage(error);
  }
  return found;
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

/**
 * Takes a picture of the page as wide as it was when it was tested, from its top. It is small, so that it shows where elements are.
 * @param words texts that no picture may show
 */
export async function takePage(
  world: IsolatedWorld,
  size: PageSize,
  words: readonly string[],
  time: PictureTime,
): Promise<{ picture: TakenPicture | null; stopped: string | null }> {
  const limitMs = Math.min(PICTURE_MS, time.left() / 2);
  if (time.allowedMs <= 0 || limitMs < PICTURE_MIN_MS) return { picture: null, stopped: null };
  const take = async (): Promise<PictureFile | null> => {
    const clip = JSON.parse(
      await evaluate<string>(world, `curbcut.pagePicture(${JSON.stringify(size)}, ${JSON.stringify(words)})`),
    ) as Clip | null;
    const scale = PAGE_WIDTH / size.width;
    return clip === null
      ? null
      : capture(world, clip, words, { tries: PAGE_QUALITIES.map((quality) => ({ quality, scale })), beyond: true });
  };
  try {
    const file = await withTimeLimit(take(), limitMs, 'taking a picture');
    return { picture: file === null ? null : { fingerprint: null, ...file }, stopped: null };
  } catch (error) {
    return { picture: null, stopped: errorMessage(error) };
  }
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
