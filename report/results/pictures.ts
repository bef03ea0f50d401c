/** The pictures of a scan: one object with JPEG files, one after the other, whose places are in the export. Pure. */
import type { Report, ReportPicture } from '../schema/schema.ts';

/** JPEG files by fingerprint of their root cause. */
export type Pictures = ReadonlyMap<string, Uint8Array>;

const MARKER = 0xff;
const START = 0xd8;
const END = 0xd9;
const SCAN = 0xda;
/** Frame headers have the markers C0 to CF, apart from three that are tables (ITU T.81, table B.1). */
const isFrameHeader = (code: number): boolean => code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;

/** Returns the size of a JPEG file in pixels, from its frame header; null if it is not a whole JPEG file. */
export function jpegSize(bytes: Uint8Array): { width: number; height: number } | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { byteLength: length } = bytes;
  if (length < 4 || bytes[0] !== MARKER || bytes[1] !== START) return null;
  if (bytes[length - 2] !== MARKER || bytes[length - 1] !== END) return null;
  for (let at = 2; at + 9 <= length;) {
    if (bytes[at] !== MARKER) return null;
    const code = bytes[at + 1]!;
    if (isFrameHeader(code)) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    if (code === SCAN) return null;
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

/** The pictures of a report. */
export interface PlacedPictures {
  places: ReportPicture[];
  /** The JPEG files, one after the other. */
  object: Uint8Array<ArrayBuffer>;
}

/**
 * Places the pictures of a report's root causes, in its order, in one object.
 * @param taken by fingerprint; those of other root causes are left out, and so are the last ones if they are more than `maxBytes`
 */
export function placePictures(
  report: Pick<Report, 'groups' | 'review_groups'>,
  taken: ReadonlyMap<string, { bytes: Uint8Array; width: number; height: number; pageUrl: string }>,
  maxBytes: number,
): PlacedPictures {
  const places = new Map<string, ReportPicture>();
  const files: Uint8Array[] = [];
  let offset = 0;
  for (const { fingerprint } of [...report.groups, ...report.review_groups]) {
    const picture = taken.get(fingerprint);
    if (picture === undefined || places.has(fingerprint) || offset + picture.bytes.byteLength > maxBytes) continue;
    const { bytes, width, height, pageUrl } = picture;
    places.set(fingerprint, { fingerprint, offset, bytes: bytes.byteLength, width, height, page_url: pageUrl });
    files.push(bytes);
    offset += bytes.byteLength;
  }
  return { places: [...places.values()], object: Buffer.concat(files) };
}

/** The pictures of an object by fingerprint. */
export function picturesOf({ places, object }: PlacedPictures): Pictures {
  return new Map(places.map(({ fingerprint, offset, bytes }) => [fingerprint, object.subarray(offset, offset + bytes)]));
}

/**
 * Checks the places of a report's pictures against the object that holds them.
 * @param object null if there is none
 * @returns why they do not belong together, as the end of a sentence; null if they do
 */
export function picturesMismatch(
  report: Pick<Report, 'pictures' | 'groups' | 'review_groups' | 'pages'>,
  object: Uint8Array | null,
): string | null {
  const { pictures } = report;
  if (object === null) return pictures.length === 0 ? null : 'the export has places of pictures, but no pictures are stored.';
  if (pictures.length === 0) return 'pictures are stored, but the export has no places of them.';
  const causes = new Set([...report.groups, ...report.review_groups].map(({ fingerprint }) => fingerprint));
  const tested = new Set(report.pages.flatMap((page) => (page.tested ? [page.url] : [])));
  let end = 0;
  for (const { fingerprint, offset, bytes, width, height, page_url } of pictures) {
    const name = `the picture of root cause ${fingerprint}`;
    if (!causes.delete(fingerprint)) return `${name} is of an unknown root cause, or the second one of it.`;
    if (!tested.has(page_url)) return `${name} is of a page that was not tested.`;
    if (offset !== end) return `${name} does not begin where the one before it ends.`;
    end += bytes;
    const size = jpegSize(object.subarray(offset, end));
    if (size?.width !== width || size.height !== height) return `${name} is not a JPEG file of the stated size.`;
  }
  return end === object.byteLength ? null : 'the stored pictures have more bytes than the export says.';
}
