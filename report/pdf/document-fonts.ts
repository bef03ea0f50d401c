/** Embeds the fonts of the report into a PDF and measures text in them. */
import { TEXT_FACES, readFont, type Face } from './fonts.ts';
import type { Metrics } from './typography.ts';

/** What this program uses of pdfkit's fonts. */
interface EmbeddedFont {
  widthOfString(text: string, size: number): number;
  font: { hasGlyphForCodePoint(codePoint: number): boolean };
}

/**
 * Registers the text fonts with a document, and the others when they are first needed. Returns which characters they have,
 * and the widths of texts. Only fonts that are used become part of the file, and of them only the characters that occur.
 */
export function embedFonts(doc: PDFKit.PDFDocument): Metrics {
  const fonts = new Map<Face, EmbeddedFont | null>();
  const load = (face: Face): EmbeddedFont => {
    doc.registerFont(face, readFont(face));
    doc.font(face);
    return (doc as unknown as { _font: EmbeddedFont })._font;
  };
  const fontOf = (face: Face): EmbeddedFont | null => {
    let font = fonts.get(face);
    if (font === undefined) {
      try {
        font = load(face);
      } catch {
        // A font of the scanner's image that is not installed here. Its characters are shown as □, with their text.
        font = null;
      }
      fonts.set(face, font);
    }
    return font;
  };
  for (const face of TEXT_FACES) fonts.set(face, load(face));
  const known = new Map<string, boolean>();
  return {
    has(face, codePoint) {
      const key = `${face}${codePoint}`;
      let has = known.get(key);
      if (has === undefined) known.set(key, (has = fontOf(face)?.font.hasGlyphForCodePoint(codePoint) ?? false));
      return has;
    },
    width(face, size, text) {
      const font = fontOf(face)!;
      return unkerned(text).reduce((sum, part) => sum + font.widthOfString(part, size), 0);
    },
  };
}

/** Splits a text where kerning must not apply, because it would move the points of 2.1 and 127.0.0.1 under the digits. */
export const unkerned = (text: string): string[] => text.split(/(?<=\d)(?=[.,])|(?<=[.,])(?=\d)/);
