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

/** Icons: each severity and verdict has its own shape, so that no information depends on colour alone. */
type Doc = PDFKit.PDFDocument;

/** Draws a straight line. Widths are in points. */
export function line(doc: Doc, from: readonly [number, number], to: readonly [number, number], width: number, color: string = LINE): void {
  doc
    .lineWidth(width)
    .strokeColor(color)
    .moveTo(...from)
    .lineTo(...to)
    .stroke();
}

/** Draws the icon of a severity, about 2 × `radius` wide, centred on a point: octagon, triangle, diamond or dot. */
export function severityIcon(doc: Doc, impact: Impact, x: number, y: number, radius = 3.6): void {
  const around = (corners: number, turn: number, size: number): [number, number][] =>
    Array.from({ length: corners }, (_, index) => {
      const angle = turn + (index * 2 * Math.PI) / corners;
      return [x + size * Math.cos(angle), y + size * Math.sin(angle)];
    });
  switch (impact) {
    case 'critical':
      doc.polygon(...around(8, Math.PI / 8, radius * 1.05));
      break;
    case 'serious':
      doc.polygon(
        ...around(3, -Math.PI / 2, radius * 1.2).map(([cornerX, cornerY]): [number, number] => [cornerX, cornerY + radius * 0.25]),
      );
      break;
    case 'moderate':
      doc.polygon(...around(4, 0, radius * 1.15));
      break;
    case 'minor':
      doc.circle(x, y, radius * 0.85);
  }
  doc.fill(SEVERITIES[impact]);
}

/** Draws a check mark, cross or dash in a disc. */
export function verdictIcon(doc: Doc, verdict: boolean | null, x: number, y: number, radius: number, color: string): void {
  doc.circle(x, y, radius).fill(color);
  doc
    .lineWidth(radius * 0.2)
    .lineCap('round')
    .lineJoin('round')
    .strokeColor('#ffffff');
  const arm = radius * 0.38;
  if (verdict === true)
    doc
      .moveTo(x - arm * 1.15, y + arm * 0.05)
      .lineTo(x - arm * 0.25, y + arm * 0.9)
      .lineTo(x + arm * 1.2, y - arm * 0.85);
  else if (verdict === false)
    doc
      .moveTo(x - arm, y - arm)
      .lineTo(x + arm, y + arm)
      .moveTo(x + arm, y - arm)
      .lineTo(x - arm, y + arm);
  else doc.moveTo(x - arm * 1.1, y).lineTo(x + arm * 1.1, y);
  doc.stroke();
  doc.lineCap('butt').lineJoin('miter');
}

/** Draws a ring that is filled clockwise by `share` (0 to 1), with a mark at `tick` (0 to 1). */
export function ring(
  doc: Doc,
  center: { x: number; y: number; radius: number; thickness: number },
  share: number,
  colors: { track: string; fill: string; tick: string },
  tick: number | null,
): void {
  const { x, y, radius, thickness } = center;
  const at = (part: number, distance: number): [number, number] => {
    const angle = -Math.PI / 2 + part * 2 * Math.PI;
    return [x + distance * Math.cos(angle), y + distance * Math.sin(angle)];
  };
  doc.lineWidth(thickness).strokeColor(colors.track).circle(x, y, radius).stroke();
  if (share >= 1) doc.strokeColor(colors.fill).circle(x, y, radius).stroke();
  else if (share > 0) {
    const steps = Math.max(2, Math.ceil(share * 120));
    doc.moveTo(...at(0, radius));
    for (let step = 1; step <= steps; step += 1) doc.lineTo(...at((share * step) / steps, radius));
    doc.strokeColor(colors.fill).lineJoin('round').stroke();
    doc.lineJoin('miter');
  }
  if (tick !== null) line(doc, at(tick, radius - thickness), at(tick, radius + thickness), 1.6, colors.tick);
}
