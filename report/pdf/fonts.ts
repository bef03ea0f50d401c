/** The fonts of the report: those of its own text, and those of the scripts that pages may quote. Embeds and measures them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export type TextFace = 'regular' | 'semibold' | 'bold' | 'mono';
export type Face = TextFace | (typeof FALLBACKS)[number]['face'];

const TEXT_FONTS: Readonly<Record<TextFace, string>> = {
  regular: '@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf',
  semibold: '@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf',
  bold: '@expo-google-fonts/inter/700Bold/Inter_700Bold.ttf',
  mono: '@expo-google-fonts/noto-sans-mono/400Regular/NotoSansMono_400Regular.ttf',
};
export const TEXT_FACES = Object.keys(TEXT_FONTS) as TextFace[];

const SYMBOLS = /[\p{S}\p{P}\p{No}\p{Nl}\p{M}\p{Emoji}\p{Script=Greek}]/u;
/** The folder of Debian's fonts-noto-core, which the scanner's image contains. */
const NOTO = '/usr/share/fonts/truetype/noto';

/**
 * Fonts for what the text fonts do not have, in the order in which they are tried. A font is loaded when a character that
 * `characters` matches occurs. Absolute paths are fonts of the scanner's image: too large for packages, and missing elsewhere.
 */
export const FALLBACKS = [
  {
    face: 'hebrew',
    characters: /\p{Script=Hebrew}/u,
    file: '@expo-google-fonts/noto-sans-hebrew/400Regular/NotoSansHebrew_400Regular.ttf',
  },
  {
    face: 'arabic',
    characters: /\p{Script_Extensions=Arabic}/u,
    file: '@expo-google-fonts/noto-sans-arabic/400Regular/NotoSansArabic_400Regular.ttf',
  },
  {
    face: 'han',
    characters: /[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\u3000-\u303f\u30fb\uff01-\uffee]/u,
    file: '/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf',
  },
  {
    face: 'korean',
    characters: /[\p{Script_Extensions=Hangul}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\uff01-\uffee\u3200-\u33ff]/u,
    file: '/usr/share/fonts/truetype/nanum/NanumGothic.ttf',
  },
  { face: 'symbols2', characters: SYMBOLS, file: '@expo-google-fonts/noto-sans-symbols-2/400Regular/NotoSansSymbols2_400Regular.ttf' },
  { face: 'symbols', characters: SYMBOLS, file: '@expo-google-fonts/noto-sans-symbols/400Regular/NotoSansSymbols_400Regular.ttf' },
  {
    face: 'math',
    characters: /[\p{S}\p{P}\p{M}\p{Math}]/u,
    file: '@expo-google-fonts/noto-sans-math/400Regular/NotoSansMath_400Regular.ttf',
  },
  { face: 'emoji', characters: SYMBOLS, file: '@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf' },
  { face: 'thai', characters: /\p{Script=Thai}/u, file: `${NOTO}/NotoSansThai-Regular.ttf` },
  { face: 'devanagari', characters: /\p{Script_Extensions=Devanagari}/u, file: `${NOTO}/NotoSansDevanagari-Regular.ttf` },
  { face: 'bengali', characters: /\p{Script_Extensions=Bengali}/u, file: `${NOTO}/NotoSansBengali-Regular.ttf` },
  { face: 'tamil', characters: /\p{Script_Extensions=Tamil}/u, file: `${NOTO}/NotoSansTamil-Regular.ttf` },
  { face: 'georgian', characters: /\p{Script_Extensions=Georgian}/u, file: `${NOTO}/NotoSansGeorgian-Regular.ttf` },
  { face: 'armenian', characters: /\p{Script_Extensions=Armenian}/u, file: `${NOTO}/NotoSansArmenian-Regular.ttf` },
  { face: 'ethiopic', characters: /\p{Script_Extensions=Ethiopic}/u, file: `${NOTO}/NotoSansEthiopic-Regular.ttf` },
  { face: 'khmer', characters: /\p{Script=Khmer}/u, file: `${NOTO}/NotoSansKhmer-Regular.ttf` },
] as const satisfies readonly { face: string; characters: RegExp; file: string }[];

const require = createRequire(import.meta.url);
const FILES = new Map<Face, string>([
  ...(Object.entries(TEXT_FONTS) as [TextFace, string][]),
  ...FALLBACKS.map(({ face, file }): [Face, string] => [face, file]),
]);

/** The files of fonts that packages have, by package and path. */
export const PACKAGED_FONTS = [...FILES.values()].filter((file) => !file.startsWith('/'));

/** Reads the file of a font. @throws if it is not installed */
export function readFont(face: Face): Uint8Array {
  const file = FILES.get(face)!;
  return readFileSync(file.startsWith('/') ? file : require.resolve(file));
}

/** Embeds the fonts of the report into a PDF and measures text in them. */
/** Which characters each font has, and the width of a text in it. */
export interface Metrics {
  has(face: Face, codePoint: number): boolean;
  width(face: Face, size: number, text: string): number;
}

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
