/** Takes pictures of elements of the displayed page, after its test. A failure means fewer pictures, and never fails the page. */
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { jpegSize } from '../../../report/results/pictures.ts';
import { PICTURE_MAX_BYTES, PICTURE_MAX_PIXELS, type ReportNode } from '../../../report/schema/schema.ts';
import { evaluate, type IsolatedWorld } from '../axe/world.ts';
import { PIERCE } from '../axe/results.ts';

/** A root cause that has no picture yet. */
export interface WantedPicture {
  fingerprint: string;
  /** Elements of the page that have it. The first one that can be seen is taken. */
  nodes: ReportNode[];
}

export interface TakenPicture {
  fingerprint: string;
  /** A JPEG file. */
  bytes: Uint8Array;
  /** In pixels. */
  width: number;
  height: number;
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

async function takeOne(
  world: IsolatedWorld,
  nodes: readonly ReportNode[],
  words: readonly string[],
): Promise<Omit<TakenPicture, 'fingerprint'> | null> {
  const candidates = nodes.map((node) => ({ path: pathOf(node), html: node.html }));
  const clip = JSON.parse(
    await evaluate<string>(world, `curbcut.picture(${JSON.stringify(candidates)}, ${JSON.stringify(words)})`),
  ) as Clip | null;
  if (clip === null) return null;
  for (const { quality, scale } of TRIES) {
    const { data } = await world.cdp.send('Page.captureScreenshot', {
      format: 'jpeg',
      quality,
      clip: { ...clip, scale },
      optimizeForSpeed: true,
    });
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
