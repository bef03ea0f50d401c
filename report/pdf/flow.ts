/** Lays content out down the pages: a cursor, headings that stay with their content, paragraphs, lists, panels. */
import { colored, GROUND, INK, LINE, TYPE } from './palette.ts';
import { CONTENT_WIDTH, type Element, type ElementOptions, type Link, PAGE, type TaggedDocument } from './tagged-document.ts';
import type { Line, Style } from './typography.ts';

/** A heading in the outline, for the contents. */
export interface Entry {
  level: 2 | 3;
  text: string;
  /** The page, from 1. */
  page: number;
  place: string;
}

export interface Flow {
  readonly pdf: TaggedDocument;
  readonly entries: Entry[];
  y: number;
  /** The rest of the current page, in points. */
  left(): number;
  /** Starts a new page unless `height` is left on the current one. */
  need(height: number): void;
  newPage(): void;
  skip(height: number): void;
  /** The height of what `draw` draws, if it starts on a page with enough room. Nothing is drawn. */
  measure(draw: (flow: Flow) => void): number;
  /** A heading, kept on one page with the next `keep` points. @returns its entry in `outline` */
  heading(
    parent: Element,
    level: 2 | 3,
    text: string,
    options?: { keep?: number; outline?: PDFKit.PDFOutline; place?: string },
  ): PDFKit.PDFOutline | undefined;
  paragraph(parent: Element, text: string, style?: Style, options?: ParagraphOptions): void;
  /** A bulleted list of short texts or links. */
  list(parent: Element, items: readonly ListItem[], style: Style, options: Column & { maxLines: number }): void;
  /** Code on a tinted background. */
  panel(parent: Element, text: string, style: Style, options: Column & { maxLines: number }): void;
}

/** A column of a page, in points. */
export interface Column {
  x: number;
  width: number;
}

export interface ListItem {
  text: string;
  /** The language, if that is not the document's. */
  lang?: string;
  link?: Link;
}

export interface ParagraphOptions extends Partial<Column>, Pick<ElementOptions, 'lang'> {
  maxLines?: number;
}

const BULLET = 11;

/** Opens a flow over a document and adds its first page. */
export function createFlow(pdf: TaggedDocument): Flow {
  const flow = flowOver(pdf, PAGE.height - PAGE.bottom);
  flow.newPage();
  return flow;
}

/** A document that lays text out but draws nothing. */
function withoutDrawing(pdf: TaggedDocument): TaggedDocument {
  const below = (lines: readonly Line[], y: number, style: Style): number => y + lines.length * style.leading;
  return {
    ...pdf,
    element: (parent) => parent,
    mark: (_element, _type, draw) => draw(),
    content: (_parent, _type, draw) => draw(),
    artifact: () => undefined,
    draw: (lines, _x, y, style) => below(lines, y, style),
    link: (_parent, lines, _x, y, style) => below(lines, y, style),
    drawPicture: () => undefined,
    destination: () => undefined,
    addPage: () => undefined,
  };
}

function flowOver(pdf: TaggedDocument, bottom: number): Flow {
  const flow: Flow = {
    pdf,
    entries: [],
    y: PAGE.top,
    left: () => bottom - flow.y,
    need(height) {
      if (flow.y > PAGE.top && flow.y + height > bottom) flow.newPage();
    },
    newPage() {
      pdf.addPage();
      flow.y = PAGE.top;
    },
    skip(height) {
      if (flow.y > PAGE.top) flow.y += height;
    },
    measure(draw) {
      const start = PAGE.top + 1;
      const dry = flowOver(withoutDrawing(pdf), Infinity);
      dry.y = start;
      draw(dry);
      return dry.y - start;
    },
    heading: (...args) => drawHeading(flow, ...args),
    paragraph: (...args) => drawParagraph(flow, ...args),
    list: (...args) => drawList(flow, ...args),
    panel: (...args) => drawPanel(flow, ...args),
  };
  return flow;
}

function drawHeading(flow: Flow, ...[parent, level, text, options = {}]: Parameters<Flow['heading']>): ReturnType<Flow['heading']> {
  const { pdf } = flow;
  const { keep = 60, outline, place = `section-${flow.entries.length}` } = options;
  const style = level === 2 ? TYPE.h2 : TYPE.h3;
  const lines = pdf.lines(text, style, CONTENT_WIDTH, 4);
  flow.need(lines.length * style.leading + keep);
  const entry = outline?.addItem(text, { top: flow.y - 8, fit: false, left: PAGE.width } as object);
  if (outline !== undefined) {
    pdf.destination(place, flow.y - 8);
    flow.entries.push({ level, text, page: pdf.pages(), place });
  }
  pdf.content(parent, `H${level}`, () => {
    flow.y = pdf.draw(lines, PAGE.left, flow.y, style);
  });
  return entry;
}

function drawParagraph(flow: Flow, ...[parent, text, style = TYPE.body, options = {}]: Parameters<Flow['paragraph']>): void {
  const { pdf } = flow;
  const { x = PAGE.left, width = CONTENT_WIDTH, maxLines, ...attributes } = options;
  const lines = pdf.lines(text, style, width, maxLines);
  if (lines.length === 0) return;
  const element = pdf.element(parent, 'P', attributes);
  // A paragraph has a dozen lines at most, so it is not split over two pages.
  flow.need(lines.length * style.leading);
  pdf.mark(element, 'P', () => {
    flow.y = pdf.draw(lines, x, flow.y, style);
  });
}

function drawList(flow: Flow, ...[parent, items, style, { x, width, maxLines }]: Parameters<Flow['list']>): void {
  const { pdf } = flow;
  if (items.length === 0) return;
  const list = pdf.element(parent, 'L');
  for (const { text, lang, link } of items) {
    const lines = pdf.lines(text, style, width - BULLET, maxLines);
    flow.need(lines.length * style.leading);
    const item = pdf.element(list, 'LI');
    pdf.content(item, 'Lbl', () => {
      pdf.draw(pdf.lines('•', style, BULLET), x, flow.y, colored(style, INK));
    });
    const body = pdf.element(item, 'LBody', lang === undefined ? {} : { lang });
    if (link !== undefined) flow.y = pdf.link(body, lines, x + BULLET, flow.y, style, link) + 1;
    else
      pdf.mark(body, 'LBody', () => {
        flow.y = pdf.draw(lines, x + BULLET, flow.y, style);
      });
  }
}

function drawPanel(flow: Flow, ...[parent, text, style, options]: Parameters<Flow['panel']>): void {
  const { pdf } = flow;
  const { x, width, maxLines } = options;
  const lines = pdf.lines(text, style, width - 24, maxLines);
  if (lines.length === 0) return;
  const height = lines.length * style.leading + 12;
  flow.need(height);
  pdf.artifact(() => {
    pdf.doc.rect(x, flow.y, width, height).fill(GROUND);
    pdf.doc.rect(x, flow.y, 2.5, height).fill(LINE);
  });
  pdf.content(parent, 'Code', () => {
    pdf.draw(lines, x + 12, flow.y + 6, style);
  });
  flow.y += height;
}

/** The named destination of a root cause's section. */
export const placeOf = (index: number): string => `cause-${String(index).padStart(4, '0')}`;

/** The target of a link to a URL, in ASCII as PDF requires; null unless it is an http or https URL. */
export function linkable(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : null;
}

/** The path of a page on the scanned site, or the whole URL of another page. */
export function shortened(url: string, site: string): string {
  const parsed = URL.parse(url);
  const origin = URL.parse(site)?.origin;
  if (parsed === null || parsed.origin !== origin) return url;
  return url.slice(parsed.origin.length) || '/';
}
