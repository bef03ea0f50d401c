/** Design tokens: the only place that names colours and sizes. `tokensCss` makes custom properties of them (tokens.test.ts). */

/** Colours in light and dark mode. Names say the role, so that a rule never asks which mode it is in. */
const COLORS = {
  /** Backgrounds: the page, raised parts, sunken parts. */
  ground: ['#fdfbf6', '#15191b'],
  surface: ['#ffffff', '#1d2325'],
  sunken: ['#f4efe4', '#0f1213'],
  /** Texts. */
  ink: ['#1c2426', '#eeebe3'],
  soft: ['#535c5e', '#b6bdbc'],
  link: ['#0a5560', '#86d3da'],
  'link-hover': ['#062f36', '#c2eef1'],
  /** Lines that only divide, and lines that show where a control is. */
  line: ['#ddd5c4', '#394144'],
  edge: ['#736d60', '#8d9697'],
  /** The main action. */
  accent: ['#0a5560', '#86d3da'],
  'accent-hover': ['#063a42', '#b2e5e9'],
  'on-accent': ['#ffffff', '#0c2023'],
  /** The yellow of tactile paving: the mark and the focus. */
  paving: ['#f6bd16', '#ffce45'],
  'on-paving': ['#1c2426', '#15191b'],
  /** A background for what is selected or stands out quietly. */
  tint: ['#e6f1f1', '#1c3336'],
  /** States: text and line, and the background below them. */
  good: ['#0b6337', '#7fd6a4'],
  'good-ground': ['#e8f4ec', '#14301f'],
  bad: ['#a3161a', '#ffa09a'],
  'bad-ground': ['#fcecea', '#3b1917'],
  warn: ['#7d5200', '#f0c05a'],
  'warn-ground': ['#fdf1d3', '#352807'],
  note: ['#24508c', '#a9c8f2'],
  'note-ground': ['#eaf1fa', '#172740'],
  /** Severities: text, line and icon. */
  critical: ['#a3161a', '#ffa09a'],
  serious: ['#9a4208', '#ffb482'],
  moderate: ['#705600', '#e6c75f'],
  minor: ['#3a5f8c', '#a9c8f2'],
  /** The map of a page. Tested pages are light, so the map is light in both modes. */
  'map-ground': ['#ffffff', '#ffffff'],
  'map-bad': ['#a3161a', '#a3161a'],
  'map-note': ['#24508c', '#24508c'],
  'on-danger': ['#ffffff', '#2a0b0a'],
} as const satisfies Record<string, readonly [light: string, dark: string]>;

export type ColorName = keyof typeof COLORS;
export type Mode = 'light' | 'dark';

/** The colour of a role in a mode. */
export const color = (name: ColorName, mode: Mode): string => COLORS[name][mode === 'light' ? 0 : 1];
export const COLOR_NAMES = Object.keys(COLORS) as ColorName[];

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
