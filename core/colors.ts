/** The colours of web pages and mails. */

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

const inMode = (mode: Mode) => Object.fromEntries(COLOR_NAMES.map((name) => [name, color(name, mode)])) as Record<ColorName, string>;
export const LIGHT = inMode('light');
export const DARK = inMode('dark');
