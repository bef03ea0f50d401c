/** The pictures of a scan: one object with JPEG files, one after the other, whose places are in the export. Pure. */
import type { PagePicture, Report, ReportPicture } from '../schema/report.ts';

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

export interface PlacedPictures {
  places: ReportPicture[];
  /** Those of whole pages. */
  pagePlaces: PagePicture[];
  /** The JPEG files, one after the other. */
  object: Uint8Array<ArrayBuffer>;
}

/** A JPEG file, with its size in pixels. */
export interface PictureFile {
  bytes: Uint8Array;
  width: number;
  height: number;
}

/** What was taken of a scan. */
export interface TakenPictures {
  /** By fingerprint, of root causes that the report may not have. */
  pictures: ReadonlyMap<string, PictureFile & { pageUrl: string }>;
  /** Of whole pages, by their `url` in the report. */
  pagePictures?: ReadonlyMap<string, PictureFile>;
  /** The number of pictures that there was no time for. */
  picturesLeft?: number;
}

/**
 * Places the pictures of a report's root causes, in its order, in one object, and those of its tested pages behind them. The others
 * are left out, and so are the last ones if they are more than `maxBytes`.
 */
export function placePictures(
  report: Pick<Report, 'groups' | 'review_groups' | 'pages'>,
  { pictures, pagePictures = new Map() }: TakenPictures,
  maxBytes: number,
): PlacedPictures {
  const places = new Map<string, ReportPicture>();
  const files: Uint8Array[] = [];
  let offset = 0;
  const add = ({ bytes: file, width, height }: PictureFile, page_url: string): PagePicture | null => {
    const bytes = file.byteLength;
    if (offset + bytes > maxBytes) return null;
    files.push(file);
    offset += bytes;
    return { offset: offset - bytes, bytes, width, height, page_url };
  };
  for (const { fingerprint } of [...report.groups, ...report.review_groups]) {
    const picture = pictures.get(fingerprint);
    const place = picture === undefined || places.has(fingerprint) ? null : add(picture, picture.pageUrl);
    if (place !== null) places.set(fingerprint, { fingerprint, ...place });
  }
  const pagePlaces = report.pages.flatMap((page) => {
    const picture = page.tested ? pagePictures.get(page.url) : undefined;
    return picture === undefined ? [] : (add(picture, page.url) ?? []);
  });
  return { places: [...places.values()], pagePlaces, object: Buffer.concat(files) };
}

export function picturesOf({ places, object }: Pick<PlacedPictures, 'places' | 'object'>): Pictures {
  return new Map(places.map(({ fingerprint, offset, bytes }) => [fingerprint, object.subarray(offset, offset + bytes)]));
}

/**
 * Checks the places of a report's pictures against the object that holds them.
 * @param object null if there is none
 * @returns why they do not belong together, as the end of a sentence; null if they do
 */
export function picturesMismatch(
  report: Pick<Report, 'pictures' | 'page_pictures' | 'groups' | 'review_groups' | 'pages'>,
  object: Uint8Array | null,
): string | null {
  const { pictures, page_pictures: ofPages = [] } = report;
  const total = pictures.length + ofPages.length;
  if (object === null) return total === 0 ? null : 'the export has places of pictures, but no pictures are stored.';
  if (total === 0) return 'pictures are stored, but the export has no places of them.';
  const causes = new Set([...report.groups, ...report.review_groups].map(({ fingerprint }) => fingerprint));
  const tested = new Set(report.pages.flatMap((page) => (page.tested ? [page.url] : [])));
  const pictured = new Set<string>();
  let end = 0;
  const mismatch = ({ offset, bytes, width, height, page_url }: PagePicture, name: string): string | null => {
    if (!tested.has(page_url)) return `${name} is of a page that was not tested.`;
    if (offset !== end) return `${name} does not begin where the one before it ends.`;
    end += bytes;
    const size = jpegSize(object.subarray(offset, end));
    return size?.width === width && size.height === height ? null : `${name} is not a JPEG file of the stated size.`;
  };
  for (const picture of pictures) {
    const name = `the picture of root cause ${picture.fingerprint}`;
    if (!causes.delete(picture.fingerprint)) return `${name} is of an unknown root cause, or the second one of it.`;
    const wrong = mismatch(picture, name);
    if (wrong !== null) return wrong;
  }
  for (const picture of ofPages) {
    const name = `the picture of the page ${picture.page_url}`;
    if (pictured.has(picture.page_url)) return `${name} is the second one of it.`;
    pictured.add(picture.page_url);
    const wrong = mismatch(picture, name);
    if (wrong !== null) return wrong;
  }
  return end === object.byteLength ? null : 'the stored pictures have more bytes than the export says.';
}
