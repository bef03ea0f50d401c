/** Design tokens: the only place that names sizes; core/colors.ts has the colours. `tokensCss` makes custom properties of them (tokens.test.ts). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { color, COLOR_NAMES, type ColorName, type Mode } from '../../core/colors.ts';

/** Sizes of text as [size, line height]. Large sizes shrink on narrow screens. */
export const TYPE = {
  small: ['0.875rem', '1.5'],
  body: ['1.0625rem', '1.6'],
  lead: ['1.25rem', '1.5'],
  h3: ['1.1875rem', '1.35'],
  h2: ['clamp(1.375rem, 1.2rem + 0.8vw, 1.75rem)', '1.25'],
  h1: ['clamp(1.75rem, 1.3rem + 2.2vw, 2.75rem)', '1.12'],
  figure: ['clamp(2.25rem, 1.7rem + 2.6vw, 3.5rem)', '1'],
} as const;

export const FONTS = {
  sans: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
  serif: "Charter, 'Bitstream Charter', 'Sitka Text', 'Iowan Old Style', Cambria, Georgia, 'Noto Serif', serif",
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

/** The style sheet of pages and reports: the tokens, then the rules. */
export const siteCss = (): string => `${tokensCss()}\n${readFileSync(join(import.meta.dirname, 'site.css'), 'utf8')}`;
