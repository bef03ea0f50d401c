/** What goes down the pages: a cursor, headings that stay with what follows, paragraphs, lists, notes. */
import { colored, GROUND, INK, LINE, TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element, type ElementOptions, type Sheet, type Target } from './tagged-document.ts';
import type { Style } from './typography.ts';

export interface Flow {
  readonly sheet: Sheet;
  y: number;
  /** What is left of the present page, in points. */
  left(): number;
  /** Goes to a new page unless `height` is left on this one. */
  need(height: number): void;
  newPage(): void;
  skip(height: number): void;
  /** A heading, kept on one page with `keep` points of what follows; with an entry in the outline. @returns the outline's entry */
  heading(
    parent: Element,
    level: 2 | 3,
    text: string,
    options?: { keep?: number; outline?: PDFKit.PDFOutline; place?: string },
  ): PDFKit.PDFOutline | undefined;
  paragraph(parent: Element, text: string, style?: Style, options?: ParagraphOptions): void;
  /** A list of short texts, each with a bullet. */
  list(parent: Element, items: readonly string[], style?: Style, options?: { x?: number; width?: number; maxLines?: number }): void;
  /** A list of links. */
  links(parent: Element, items: readonly { text: string; target: Target; contents: string }[], style?: Style): void;
  /** Text on a tinted ground with an edge: code, remarks. */
  panel(parent: Element, text: string, style: Style, options?: { tag?: string; maxLines?: number }): void;
}

export interface ParagraphOptions extends ElementOptions {
  tag?: string;
  x?: number;
  width?: number;
  maxLines?: number;
}

const BULLET = 11;

/** A flow over a sheet; its first page is added at once. */
export function flowOn(sheet: Sheet): Flow {
  const bottom = PAGE.height - PAGE.bottom;
  const bullet = (item: Element, y: number, x: number, style: Style): void => {
    const label = sheet.element(item, 'Lbl');
    sheet.mark(label, 'Lbl', () => {
      sheet.draw(sheet.lines('•', style, BULLET), x, y, colored(style, INK));
    });
  };
  const flow: Flow = {
    sheet,
    y: PAGE.top,
    left: () => bottom - flow.y,
    need(height) {
      if (flow.y > PAGE.top && flow.y + height > bottom) flow.newPage();
    },
    newPage() {
      sheet.addPage();
      flow.y = PAGE.top;
    },
    skip(height) {
      if (flow.y > PAGE.top) flow.y += height;
    },
    heading(parent, level, text, { keep = 60, outline, place } = {}) {
      const style = level === 2 ? TYPE.h2 : TYPE.h3;
      const lines = sheet.lines(text, style, CONTENT_WIDTH, 4);
      flow.need(lines.length * style.leading + keep);
      const entry = outline?.addItem(text, { top: flow.y - 8, fit: false, left: PAGE.width } as object);
      if (place !== undefined) sheet.doc.addNamedDestination(place, 'XYZ', 0, flow.y - 8, null as unknown as number);
      const element = sheet.element(parent, `H${level}`);
      sheet.mark(element, `H${level}`, () => {
        flow.y = sheet.draw(lines, PAGE.left, flow.y, style);
      });
      return entry;
    },
    paragraph(parent, text, style = TYPE.body, { tag = 'P', x = PAGE.left, width = CONTENT_WIDTH, maxLines, ...options } = {}) {
      const lines = sheet.lines(text, style, width, maxLines);
      if (lines.length === 0) return;
      const element = sheet.element(parent, tag, options);
      // A paragraph is at most a dozen lines: it stays whole.
      flow.need(lines.length * style.leading);
      sheet.mark(element, tag, () => {
        flow.y = sheet.draw(lines, x, flow.y, style);
      });
    },
    list(parent, items, style = TYPE.body, { x = PAGE.left, width = CONTENT_WIDTH, maxLines } = {}) {
      if (items.length === 0) return;
      const list = sheet.element(parent, 'L');
      for (const text of items) {
        const lines = sheet.lines(text, style, width - BULLET, maxLines);
        flow.need(lines.length * style.leading);
        const item = sheet.element(list, 'LI');
        bullet(item, flow.y, x, style);
        const body = sheet.element(item, 'LBody');
        sheet.mark(body, 'LBody', () => {
          flow.y = sheet.draw(lines, x + BULLET, flow.y, style);
        });
      }
    },
    links(parent, items, style = TYPE.url) {
      if (items.length === 0) return;
      const list = sheet.element(parent, 'L');
      for (const { text, target, contents } of items) {
        const lines = sheet.lines(text, style, CONTENT_WIDTH - BULLET, 2);
        flow.need(lines.length * style.leading);
        const item = sheet.element(list, 'LI');
        bullet(item, flow.y, PAGE.left, style);
        const body = sheet.element(item, 'LBody');
        flow.y = sheet.link(body, lines, PAGE.left + BULLET, flow.y, style, target, contents) + 1;
      }
    },
    panel(parent, text, style, { tag = 'P', maxLines } = {}) {
      const lines = sheet.lines(text, style, CONTENT_WIDTH - 24, maxLines);
      if (lines.length === 0) return;
      const height = lines.length * style.leading + 12;
      flow.need(height);
      sheet.artifact(() => {
        sheet.doc.rect(PAGE.left, flow.y, CONTENT_WIDTH, height).fill(GROUND);
        sheet.doc.rect(PAGE.left, flow.y, 2.5, height).fill(LINE);
      });
      const element = sheet.element(parent, tag);
      sheet.mark(element, tag, () => {
        sheet.draw(lines, PAGE.left + 12, flow.y + 6, style);
      });
      flow.y += height;
    },
  };
  flow.newPage();
  return flow;
}
