/** Design tokens: the only place that names sizes; core/colors.ts has the colours. `tokensCss` makes custom properties of them (tokens.test.ts). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { color, COLOR_NAMES, type ColorName, type Mode } from '../../core/colors.ts';

/** Sizes of text as [size, line height]. Large sizes shrink on narrow screens. */
export const TYPE = {
  small: ['0.875rem', '1.5'],
  body: ['1rem', '1.6'],
  lead: ['1.1875rem', '1.5'],
  h3: ['1.125rem', '1.35'],
  h2: ['clamp(1.375rem, 1.2rem + 0.8vw, 1.75rem)', '1.25'],
  h1: ['clamp(1.75rem, 1.3rem + 2.2vw, 2.75rem)', '1.12'],
  figure: ['clamp(2.25rem, 1.7rem + 2.6vw, 3.5rem)', '1'],
} as const;

export const FONTS = {
  sans: "Inter, 'Inter fallback', system-ui, sans-serif",
  mono: "ui-monospace, 'Cascadia Code', 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
} as const;

/** Steps of spacing. */
export const SPACE = { 1: '0.25rem', 2: '0.5rem', 3: '0.75rem', 4: '1rem', 5: '1.5rem', 6: '2rem', 7: '3rem', 8: '4.5rem' } as const;

export const RADIUS = { small: '4px', medium: '8px', large: '14px' } as const;

/** The widths of columns. */
export const WIDTH = { text: '42rem', page: '72rem' } as const;

/** Texts and the backgrounds that they may stand on: each pair has a contrast of at least 4.5:1 in both modes. */
export const TEXT_PAIRS: readonly [text: ColorName, ground: ColorName][] = [
  ...(['ink', 'soft', 'link', 'link-hover', 'critical', 'serious', 'moderate', 'minor', 'good', 'bad', 'warn', 'note'] as const).flatMap(
    (text) => (['ground', 'surface', 'sunken'] as const).map((ground) => [text, ground] as [ColorName, ColorName]),
  ),
  ...(['good', 'bad', 'warn', 'note'] as const).flatMap((state) =>
    ([state, 'ink', 'soft', 'link'] as const).map((text) => [text, `${state}-ground`] as [ColorName, ColorName]),
  ),
  ...(['ink', 'soft', 'link', 'link-hover', 'accent'] as const).map((text) => [text, 'tint'] as [ColorName, ColorName]),
  ['on-accent', 'accent'],
  ['on-accent', 'accent-hover'],
  ['on-paving', 'paving'],
  ['on-danger', 'bad'],
];

/** Parts that are not text, such as the edges of fields: each pair has a contrast of at least 3:1 in both modes. */
export const PART_PAIRS: readonly [part: ColorName, ground: ColorName][] = (
  ['edge', 'accent', 'critical', 'serious', 'moderate', 'minor', 'good', 'bad', 'warn', 'note'] as const
).flatMap((part) => (['ground', 'surface', 'sunken'] as const).map((ground) => [part, ground] as [ColorName, ColorName]));

const declarations = (mode: Mode): string => COLOR_NAMES.map((name) => `--${name}:${color(name, mode)};`).join('');

export function tokensCss(): string {
  const sizes = Object.entries(TYPE).map(([name, [size, leading]]) => `--type-${name}:${size};--leading-${name}:${leading};`);
  const named = (prefix: string, values: object): string[] =>
    Object.entries(values).map(([name, value]) => `--${prefix}-${name}:${value};`);
  const rest = [...sizes, ...named('font', FONTS), ...named('space', SPACE), ...named('radius', RADIUS), ...named('width', WIDTH)].join('');
  return [
    `:root{color-scheme:light dark;${declarations('light')}${rest}}`,
    `@media (prefers-color-scheme:dark){:root{${declarations('dark')}}}`,
    // Paper is white.
    `@media print{:root{color-scheme:light;${declarations('light')}--ground:#ffffff;}}`,
  ].join('\n');
}

/** The file of the typeface, beside the style sheet. `tools/web-font.ts` writes it. */
export const FONT_FILE = 'inter.woff2';

/** The typeface as base64. */
export const webFont = (): string => readFileSync(join(import.meta.dirname, 'inter.woff2'), 'base64');

/** Until the typeface is there, Arial stands in with its measures, so that nothing moves. They are those that next/font has for Inter. */
const STAND_IN = 'ascent-override:90.44%;descent-override:22.52%;line-gap-override:0%;size-adjust:107.12%';

const fontFaces = (src: string): string =>
  [
    `@font-face{font-family:Inter;font-weight:400 700;font-display:swap;src:url("${src}") format("woff2")}`,
    `@font-face{font-family:'Inter fallback';src:local('Arial'),local('Liberation Sans'),local('Arimo');${STAND_IN}}`,
  ].join('\n');

/** The style sheet of pages and reports: the typeface, the tokens, then the rules. @param font the address of the typeface */
export const siteCss = (font: string): string =>
  [fontFaces(font), tokensCss(), readFileSync(join(import.meta.dirname, 'site.css'), 'utf8')].join('\n');
