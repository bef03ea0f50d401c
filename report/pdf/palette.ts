/** Colours and type sizes of the report. Every text colour has a contrast of at least 4.5:1 on each of its backgrounds (palette.test.ts). */
import type { Impact } from '../../core/scan/impacts.ts';
import type { Style } from './typography.ts';

export const INK = '#17202e';
export const SOFT = '#47536a';
export const LINK = '#1c4aa5';
export const LINE = '#d5dbe6';
export const GROUND = '#f3f5f9';

/** The colours of a verdict: background, and edge and text. */
export const VERDICTS = {
  passed: { ground: '#e9f5ee', strong: '#0b6337' },
  missed: { ground: '#fcedec', strong: '#a3161a' },
  none: { ground: '#ebf1fa', strong: '#24508c' },
} as const;

/** Colours of bars and icons. Each severity also has its own icon shape. */
export const SEVERITIES: Readonly<Record<Impact, string>> = {
  critical: '#a3161a',
  serious: '#b8500b',
  moderate: '#8a6a00',
  minor: '#3d6593',
};

const style = (face: Style['face'], size: number, leading: number, color: string, breakAnywhere = false): Style => ({
  face,
  size,
  leading,
  color,
  breakAnywhere,
});

export const TYPE = {
  h1: style('bold', 24, 30, INK),
  h2: style('bold', 14, 19, INK),
  h3: style('semibold', 11, 15, INK),
  body: style('regular', 9.5, 14, INK),
  strong: style('semibold', 9.5, 14, INK),
  text: style('regular', 9, 12.5, INK),
  soft: style('regular', 9, 13, SOFT),
  label: style('semibold', 8, 11, SOFT),
  cell: style('regular', 8.5, 12, INK),
  cellStrong: style('semibold', 8.5, 12, INK),
  cellSoft: style('regular', 8, 11, SOFT),
  url: style('regular', 8.5, 12, LINK, true),
  site: style('semibold', 12, 17, LINK, true),
  code: style('mono', 8, 11.5, INK, true),
  figure: style('bold', 17, 22, INK),
} as const satisfies Record<string, Style>;

export function colored(base: Style, color: string): Style {
  return { ...base, color };
}
