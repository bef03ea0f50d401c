/** The pictures of a report as addresses that hold them, within a bound. Pure. */
import { jpegSize } from '../results/pictures.ts';
import type { PagePicture } from '../schema/report.ts';

/** The bounds of the pictures of root causes and of pages. As `data:` addresses they are a third larger. */
export const EMBEDDED_MAX_BYTES = { causes: 1_300_000, pages: 800_000 } as const;

export type Embed = (picture: PagePicture | undefined) => string | null;

/**
 * Embeds pictures as long as there is room, those that are asked for first. Null: there is no room, or no such picture.
 * @param object all pictures of the report; null: there are none
 */
export function embedWithin(maxBytes: number, object: Uint8Array | null): Embed {
  let space = maxBytes;
  const embedded = new Map<PagePicture, string | null>();
  const embed = (picture: PagePicture): string | null => {
    const { offset, bytes } = picture;
    const file = object?.subarray(offset, offset + bytes);
    if (file?.byteLength !== bytes || jpegSize(file) === null || bytes > space) return null;
    space -= bytes;
    return `data:image/jpeg;base64,${Buffer.from(file).toString('base64')}`;
  };
  return (picture) => {
    if (picture === undefined) return null;
    if (!embedded.has(picture)) embedded.set(picture, embed(picture));
    return embedded.get(picture)!;
  };
}
