/** Tables: real rows and headings for those who hear them, a heading repeated on every page for those who see them. */
import { LINE, TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element, type Target } from './tagged-document.ts';
import type { Flow } from './flow.ts';
import type { Style } from './typography.ts';

export interface Column {
  heading: string;
  width: number;
  side?: 'left' | 'right';
  /** A sign above the heading. */
  sign?: (x: number, y: number) => void;
}

export interface Cell {
  text: string;
  style?: Style;
  /** The cell that names its row. */
  names?: boolean;
  link?: { target: Target; contents: string };
  /** A second, quieter text under the first. */
  below?: { text: string; style: Style; lang?: string };
  maxLines?: number;
  /** Moves the text to the right, to leave room for a sign. */
  indent?: number;
  /** Draws what is no text, a bar or a sign: from `x`, beside the first line's `middle`. */
  decorate?: (x: number, middle: number) => void;
}

const GAP = 8;

/** Draws a table at the flow's cursor. Every row stays whole. @param keep how many rows stay with the heading */
export function drawTable(flow: Flow, parent: Element, columns: readonly Column[], rows: readonly (readonly Cell[])[], padding = 4): void {
  const { sheet } = flow;
  const { doc } = sheet;
  const left = columns.map((_, index) => PAGE.left + columns.slice(0, index).reduce((sum, { width }) => sum + width, 0));
  // The last column's gap lies in the margin.
  const total = Math.min(
    CONTENT_WIDTH,
    columns.reduce((sum, { width }) => sum + width, 0),
  );
  // Many narrow columns need smaller headings.
  const label = columns.some(({ sign }) => sign) ? { ...TYPE.label, size: 7.2, leading: 10 } : TYPE.label;
  const headings = columns.map(({ heading, width }) => sheet.lines(heading, label, width - GAP, 2));
  const headHeight = Math.max(...headings.map((lines) => lines.length)) * label.leading + (columns.some(({ sign }) => sign) ? 17 : 6);

  const headText = (index: number): void => {
    const { width, side = 'left' } = columns[index]!;
    const y = flow.y + headHeight - 3 - headings[index]!.length * label.leading;
    sheet.draw(headings[index]!, left[index]!, y, label, { width: width - GAP, side });
  };
  const headRule = (): void => {
    columns.forEach(({ sign, side, width }, index) => {
      const y = flow.y + headHeight - 9 - headings[index]!.length * label.leading;
      sign?.(side === 'right' ? left[index]! + width - GAP - 4 : left[index]! + 4, y);
    });
    doc
      .lineWidth(0.8)
      .strokeColor('#8b97ab')
      .moveTo(PAGE.left, flow.y + headHeight)
      .lineTo(PAGE.left + total, flow.y + headHeight)
      .stroke();
  };

  const measured = (row: readonly Cell[]) => {
    const cells = row.map((cell, index) => {
      const width = columns[index]!.width - GAP - (cell.indent ?? 0);
      const style = cell.style ?? TYPE.cell;
      const lines = sheet.lines(cell.text, style, width, cell.maxLines ?? 3);
      const below = cell.below ? sheet.lines(cell.below.text, cell.below.style, width, 1) : [];
      return { cell, style, lines, below, height: lines.length * style.leading + below.length * (cell.below?.style.leading ?? 0) };
    });
    return { cells, height: Math.max(...cells.map(({ height }) => height)) + 2 * padding };
  };

  const first = rows[0] === undefined ? 0 : measured(rows[0]).height;
  flow.need(headHeight + first + 20);
  const table = sheet.element(parent, 'Table');
  const head = sheet.element(table, 'TR');
  columns.forEach((_, index) => {
    const cell = sheet.element(head, 'TH', { scope: 'Column' });
    sheet.mark(cell, 'TH', () => headText(index));
  });
  sheet.artifact(headRule);
  flow.y += headHeight;

  for (const row of rows) {
    const { cells, height } = measured(row);
    if (flow.left() < height) {
      flow.newPage();
      sheet.artifact(() => {
        columns.forEach((_, index) => headText(index));
        headRule();
      }, 'Pagination');
      flow.y += headHeight;
    }
    const top = flow.y;
    const tr = sheet.element(table, 'TR');
    sheet.artifact(() => {
      cells.forEach(({ cell, style }, index) => cell.decorate?.(left[index]!, top + padding + style.leading / 2));
      doc
        .lineWidth(0.5)
        .strokeColor(LINE)
        .moveTo(PAGE.left, top + height)
        .lineTo(PAGE.left + total, top + height)
        .stroke();
    });
    cells.forEach(({ cell, style, lines, below }, index) => {
      const tag = cell.names === true ? 'TH' : 'TD';
      const element = sheet.element(tr, tag, cell.names === true ? { scope: 'Row' } : {});
      const x = left[index]! + (cell.indent ?? 0);
      const width = columns[index]!.width - GAP - (cell.indent ?? 0);
      let y = top + padding;
      if (cell.link !== undefined) y = sheet.link(element, lines, x, y, style, cell.link.target, cell.link.contents);
      else
        sheet.mark(element, tag, () => {
          y = sheet.draw(lines, x, y, style, { width, side: columns[index]!.side ?? 'left' });
        });
      if (cell.below !== undefined && below.length > 0) {
        const { style: quiet, lang } = cell.below;
        const span = sheet.element(element, 'Span', lang === undefined ? {} : { lang });
        sheet.mark(span, 'Span', () => {
          sheet.draw(below, x, y, quiet);
        });
      }
    });
    flow.y += height;
  }
}
