/** Tables with a real structure for screen readers, and a visual heading that is repeated on every page. */
import { line, TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element, type Link } from './tagged-document.ts';
import type { Flow } from './flow.ts';
import type { Line, Style } from './typography.ts';

export interface Column {
  heading: string;
  width: number;
  side?: 'left' | 'right';
  /** Draws an icon above the heading. */
  icon?: (x: number, y: number) => void;
}

export interface Cell {
  text: string;
  style?: Style;
  /** The cell is the heading of its row. */
  rowHeader?: boolean;
  link?: Link;
  /** A secondary text under the first. */
  below?: { text: string; style: Style; lang?: string; maxLines?: number };
  maxLines?: number;
  /** Moves the text to the right, to leave room for an icon. */
  indent?: number;
  /** Draws a bar or an icon, from `x`, vertically centred on `middle` of the first line. */
  decorate?: (x: number, middle: number) => void;
}

const GAP = 8;
const RULE = '#8b97ab';

/** What all parts of one table share. */
interface Table {
  flow: Flow;
  columns: readonly Column[];
  /** The left edge of each column. */
  left: readonly number[];
  width: number;
  padding: number;
}

/** Draws a table at the flow's cursor. A row is never split over two pages. */
export function drawTable(flow: Flow, parent: Element, columns: readonly Column[], rows: readonly (readonly Cell[])[], padding = 4): void {
  const { pdf } = flow;
  const left = columns.map((_, index) => PAGE.left + columns.slice(0, index).reduce((sum, { width }) => sum + width, 0));
  // The gap of the last column lies in the margin.
  const width = Math.min(
    CONTENT_WIDTH,
    columns.reduce((sum, column) => sum + column.width, 0),
  );
  const table: Table = { flow, columns, left, width, padding };
  const head = layOutHead(table);

  const firstRow = rows[0] === undefined ? 0 : layOutRow(table, rows[0]).height;
  flow.need(head.height + firstRow + 20);
  const element = pdf.element(parent, 'Table');
  const headRow = pdf.element(element, 'TR');
  columns.forEach((_, index) => {
    pdf.content(headRow, 'TH', () => head.drawText(index), { scope: 'Column' });
  });
  pdf.artifact(head.drawRule);
  flow.y += head.height;

  for (const row of rows) {
    const laidOut = layOutRow(table, row);
    if (flow.left() < laidOut.height) {
      flow.newPage();
      pdf.artifact(() => {
        columns.forEach((_, index) => head.drawText(index));
        head.drawRule();
      }, 'Pagination');
      flow.y += head.height;
    }
    drawRow(table, pdf.element(element, 'TR'), laidOut);
    flow.y += laidOut.height;
  }
}

/** A section of the document with one table. */
export interface TableSection {
  heading: string;
  intro?: string;
  /** What stays with the heading on its page, in points. */
  keep?: number;
  /** Above and below the text of a row. */
  padding?: number;
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  /** How many rows are left out, as a sentence; empty if none are. */
  leftOut: string;
}

export function drawTableSection(flow: Flow, section: TableSection, outline: PDFKit.PDFOutline): void {
  const { heading, intro, keep = 120, padding, columns, rows, leftOut } = section;
  const parent = flow.pdf.element(flow.pdf.root, 'Sect');
  flow.heading(parent, 2, heading, { outline, keep });
  if (intro !== undefined) {
    flow.skip(5);
    flow.paragraph(parent, intro, TYPE.soft);
  }
  flow.skip(6);
  drawTable(flow, parent, columns, rows, padding);
  if (leftOut !== '') {
    flow.skip(8);
    flow.paragraph(parent, leftOut, TYPE.strong);
  }
  flow.skip(26);
}

interface Head {
  height: number;
  drawText(column: number): void;
  /** Draws icons and the line under the headings. */
  drawRule(): void;
}

function layOutHead({ flow, columns, left, width: tableWidth }: Table): Head {
  const { pdf } = flow;
  const hasIcons = columns.some(({ icon }) => icon);
  // Many narrow columns need smaller headings.
  const style = hasIcons ? { ...TYPE.label, size: 7.2, leading: 10 } : TYPE.label;
  const headings = columns.map(({ heading, width }) => pdf.lines(heading, style, width - GAP, 2));
  const height = Math.max(...headings.map((lines) => lines.length)) * style.leading + (hasIcons ? 17 : 6);
  const topOf = (column: number): number => flow.y + height - 3 - headings[column]!.length * style.leading;
  return {
    height,
    drawText(index) {
      const { width, side = 'left' } = columns[index]!;
      pdf.draw(headings[index]!, left[index]!, topOf(index), style, { width: width - GAP, side });
    },
    drawRule() {
      columns.forEach(({ icon, side, width }, index) => {
        icon?.(side === 'right' ? left[index]! + width - GAP - 4 : left[index]! + 4, topOf(index) - 6);
      });
      line(pdf.doc, [PAGE.left, flow.y + height], [PAGE.left + tableWidth, flow.y + height], 0.8, RULE);
    },
  };
}

interface LaidOutRow {
  cells: { cell: Cell; style: Style; lines: readonly Line[]; below: readonly Line[]; width: number }[];
  height: number;
}

function layOutRow({ flow: { pdf }, columns, padding }: Table, row: readonly Cell[]): LaidOutRow {
  let height = 0;
  const cells = row.map((cell, index) => {
    const width = columns[index]!.width - GAP - (cell.indent ?? 0);
    const style = cell.style ?? TYPE.cell;
    const lines = pdf.lines(cell.text, style, width, cell.maxLines ?? 3);
    const below = cell.below ? pdf.lines(cell.below.text, cell.below.style, width, cell.below.maxLines ?? 1) : [];
    height = Math.max(height, lines.length * style.leading + below.length * (cell.below?.style.leading ?? 0));
    return { cell, style, lines, below, width };
  });
  return { cells, height: height + 2 * padding };
}

function drawRow({ flow, columns, left, width: tableWidth, padding }: Table, tr: Element, { cells, height }: LaidOutRow): void {
  const { pdf } = flow;
  const top = flow.y;
  pdf.artifact(() => {
    cells.forEach(({ cell, style }, index) => cell.decorate?.(left[index]!, top + padding + style.leading / 2));
    line(pdf.doc, [PAGE.left, top + height], [PAGE.left + tableWidth, top + height], 0.5);
  });
  cells.forEach(({ cell, style, lines, below, width }, index) => {
    const tag = cell.rowHeader === true ? 'TH' : 'TD';
    const element = pdf.element(tr, tag, cell.rowHeader === true ? { scope: 'Row' } : {});
    const x = left[index]! + (cell.indent ?? 0);
    let y = top + padding;
    if (cell.link !== undefined) y = pdf.link(element, lines, x, y, style, cell.link);
    else
      pdf.mark(element, tag, () => {
        y = pdf.draw(lines, x, y, style, { width, side: columns[index]!.side ?? 'left' });
      });
    if (cell.below === undefined || below.length === 0) return;
    const { style: quiet, lang } = cell.below;
    pdf.content(element, 'Span', () => void pdf.draw(below, x, y, quiet), lang === undefined ? {} : { lang });
  });
}
