/**
 * Writes the typeface of pages and HTML reports, `report/html/inter.woff2`: Inter as in the PDF, one variable file with the letters of
 * the five languages and their neighbours. With `--check` it fails if the file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import subsetFont from 'subset-font';

const FILE = join(import.meta.dirname, '..', 'report/html/inter.woff2');

const range = (from: number, to: number): string =>
  String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_one, index) => from + index));

/** Latin of western and central Europe, punctuation, and the signs that pages use. */
const CHARACTERS = `${range(0x20, 0x7e)}${range(0xa0, 0x17f)}${range(0x2010, 0x2026)}‰′″‹›⁄€№™←↑→↓−×≈≠≤≥∞✓✗`;

const whole = readFileSync(createRequire(import.meta.url).resolve('inter-ui/variable/InterVariable.woff2'));
// The optical size of small text, as in the static files of the PDF.
const font = await subsetFont(whole, CHARACTERS, { targetFormat: 'woff2', variationAxes: { opsz: 14, wght: { min: 400, max: 700 } } });
if (!process.argv.includes('--check')) writeFileSync(FILE, font);
else if (!readFileSync(FILE).equals(font)) {
  console.error('report/html/inter.woff2 is not what tools/web-font.ts writes');
  process.exit(1);
}
