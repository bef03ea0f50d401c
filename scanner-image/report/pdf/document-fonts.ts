/** Embeds the fonts of the report into a PDF and measures text in them. */
import { FACES, readFont, type Face, type Metrics } from './typography.ts';

interface FontkitFont {
  hasGlyphForCodePoint(codePoint: number): boolean;
}

/** Registers every font with a document. Returns which characters they have, and the widths of texts. */
export function embedFonts(doc: PDFKit.PDFDocument): Metrics {
  const fonts = new Map<Face, FontkitFont>();
  for (const face of FACES) {
    doc.registerFont(face, readFont(face) as unknown as ArrayBuffer);
    doc.font(face);
    fonts.set(face, (doc as unknown as { _font: { font: FontkitFont } })._font.font);
  }
  const known = new Map<string, boolean>();
  return {
    has(face, codePoint) {
      const key = `${face}${codePoint}`;
      let has = known.get(key);
      if (has === undefined) known.set(key, (has = fonts.get(face)!.hasGlyphForCodePoint(codePoint)));
      return has;
    },
    width: (face, size, text) => {
      doc.font(face).fontSize(size);
      return unkerned(text).reduce((sum, part) => sum + doc.widthOfString(part), 0);
    },
  };
}

/** Splits a text where kerning must not apply, because it would move the points of 2.1 and 127.0.0.1 under the digits. */
export const unkerned = (text: string): string[] => text.split(/(?<=\d)(?=[.,])|(?<=[.,])(?=\d)/);
