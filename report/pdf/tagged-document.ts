/** A tagged PDF: everything that is drawn belongs to an element of the structure tree or is an artifact. */
import PDFDocument from 'pdfkit';
import { embedFonts, type Metrics, unkerned } from './fonts.ts';
import { createLineBreaker, drawnText, isMissing, type Line, type Style, visualOrder } from './typography.ts';

export type Element = PDFKit.PDFStructureElement;

/** A4, in points. */
export const PAGE = { width: 595.28, height: 841.89, top: 51, bottom: 62, left: 51, right: 51 } as const;
export const CONTENT_WIDTH = PAGE.width - PAGE.left - PAGE.right;

/** Attributes of a structure element. */
export interface ElementOptions {
  alt?: string;
  lang?: string;
  scope?: 'Row' | 'Column';
  /** The bounds of a figure: left, top, right, bottom. */
  bbox?: [number, number, number, number];
  placement?: 'Block' | 'Inline';
}

/** A link to a URL, or to a named destination in this document. */
export interface Link {
  target: { url: string } | { place: string };
  /** What is said of it. */
  contents: string;
}

export interface Alignment {
  width: number;
  side: 'left' | 'center' | 'right';
}

/** A picture that can be drawn. Width and height are in pixels. */
export interface Picture {
  width: number;
  height: number;
}

export interface TaggedDocument {
  readonly doc: PDFKit.PDFDocument;
  /** Where sections are added: the root of the structure tree, or a part of the document. */
  root: Element;
  /** True after a character was drawn that no font has. */
  readonly hasMissingGlyphs: boolean;
  /** Adds an element at the end of `parent`. */
  element(parent: Element, type: string, options?: ElementOptions): Element;
  /** Draws content of an element on the current page. */
  mark(element: Element, type: string, draw: () => void): void;
  /** Adds an element at the end of `parent`, and draws its content. */
  content(parent: Element, type: string, draw: () => void, options?: ElementOptions): void;
  /** Draws what is not content: lines, backgrounds, repeated headings, page numbers. */
  artifact(draw: () => void, type?: 'Layout' | 'Pagination'): void;
  lines(text: string, style: Style, width: number, maxLines?: number): readonly Line[];
  /** Draws lines downwards from `y`. @returns the `y` below them */
  draw(lines: readonly Line[], x: number, y: number, style: Style, align?: Alignment): number;
  /** Draws lines as a link within `parent`. @returns the `y` below them */
  link(parent: Element, lines: readonly Line[], x: number, y: number, style: Style, link: Link): number;
  /** Opens a JPEG. Returns null if it cannot be read: pictures come from the pod that visited the pages. */
  picture(jpeg: Uint8Array): Picture | null;
  /** Draws it with its top left corner at a point, scaled to a width in points. */
  drawPicture(picture: Picture, x: number, y: number, width: number): void;
  /** Names a place on the current page, as the target of links. */
  destination(name: string, y: number): void;
  addPage(): void;
  pages(): number;
  /** Moves the last `count` pages behind page `after`. */
  moveLast(count: number, after: number): void;
  /** Draws on every page, after all pages exist, and returns the file. */
  finish(onEachPage: (page: number, of: number) => void): Promise<Uint8Array>;
}

export interface DocumentInfo {
  title: string;
  subject: string;
  language: string;
  /** Also seeds the identifier of the document, so that the same report gives the same file. */
  createdAt: Date;
}

/** Opens a document without pages. */
export function openTaggedDocument(info: DocumentInfo): TaggedDocument {
  const doc = openPdf(info);
  const file = collect(doc);
  const metrics = embedFonts(doc);
  const root = doc.struct('Document');
  doc.addStructure(root);
  let hasMissingGlyphs = false;
  /** The pages by their creation, in the order of the file. */
  const order: number[] = [];

  const pdf: TaggedDocument = {
    doc,
    root,
    get hasMissingGlyphs() {
      return hasMissingGlyphs;
    },
    element(parent, type, options = {}) {
      const element = doc.struct(type, options);
      parent.add(element);
      return element;
    },
    mark(element, type, draw) {
      const content = doc.markStructureContent(type);
      draw();
      doc.endMarkedContent();
      element.add(content);
    },
    content: (parent, type, draw, options) => pdf.mark(pdf.element(parent, type, options), type, draw),
    artifact(draw, type = 'Layout') {
      doc.markContent('Artifact', { type });
      draw();
      doc.endMarkedContent();
    },
    lines: createLineBreaker(metrics),
    draw(lines, x, y, style, align) {
      hasMissingGlyphs ||= lines.some(({ spans }) => spans.some(isMissing));
      return drawLines(doc, metrics, lines, x, y, style, align);
    },
    link: (...args) => drawLink(pdf, ...args),
    picture: (jpeg) => openPicture(doc, jpeg),
    drawPicture(picture, x, y, width) {
      doc.image(picture as unknown as string, x, y, { width, height: (width * picture.height) / picture.width });
    },
    destination: (name, y) => doc.addNamedDestination(name, 'XYZ', 0, y, null as unknown as number),
    addPage() {
      doc.addPage();
      order.push(order.length);
    },
    pages: () => order.length,
    moveLast: (count, after) => void order.splice(after, 0, ...order.splice(-count)),
    finish(onEachPage) {
      for (const [at, page] of order.entries()) {
        doc.switchToPage(page);
        onEachPage(at + 1, order.length);
      }
      // pdfkit has no public way to order pages.
      const { Kids } = (doc as unknown as { _root: { data: { Pages: { data: { Kids: unknown[] } } } } })._root.data.Pages.data;
      Kids.splice(0, Infinity, ...order.map((page) => Kids[page]));
      doc.end();
      return file;
    },
  };
  return pdf;
}

function openPdf(info: DocumentInfo): PDFKit.PDFDocument {
  const doc = new PDFDocument({
    size: 'A4',
    margin: 0,
    autoFirstPage: false,
    bufferPages: true,
    pdfVersion: '1.7',
    tagged: true,
    displayTitle: true,
    lang: info.language,
    // The package's types include only PDF/A.
    subset: 'PDF/UA' as 'PDF/A-1',
    info: {
      Title: info.title,
      Subject: info.subject,
      Creator: 'Curbcut',
      Producer: 'Curbcut',
      CreationDate: info.createdAt,
      ModDate: info.createdAt,
    },
    // No default font: pdfkit parses a font that is opened twice again at every use.
    font: null as unknown as string,
  });
  // If `subset` is the number 1, pdfkit writes a CIDSet without the parts of composed letters (ą, é), which PDF/UA forbids
  // (7.21.4.2). The set is optional. As text, the part number still gets into the metadata.
  (doc as unknown as { subset: string }).subset = '1';
  doc.on('pageAdded', () => writeAtEnd(doc.page));
  return doc;
}

/** Collects the parts of the file, thousands of them, before they go through the stream that a document is. */
function collect(doc: PDFKit.PDFDocument): Promise<Uint8Array> {
  // The header is in the stream already.
  const parts = [doc.read() as Uint8Array];
  return new Promise((resolve) => {
    doc.push = (part: Uint8Array | null) => {
      if (part === null) resolve(Buffer.concat(parts));
      else parts.push(part);
      return true;
    };
  });
}

/** Keeps the lines of a page as texts until the page ends. pdfkit turns each line into bytes that the garbage collector must free. */
function writeAtEnd(page: PDFKit.PDFPage): void {
  const end = page.end.bind(page);
  const lines: string[] = [];
  page.write = (line: string) => void lines.push(line);
  page.end = () => {
    page.content.write(Buffer.from(`${lines.join('\n')}\n`, 'latin1'));
    end();
  };
}

function openPicture(doc: PDFKit.PDFDocument, jpeg: Uint8Array): Picture | null {
  if (jpeg[0] !== 0xff || jpeg[1] !== 0xd8) return null;
  try {
    const image = (doc as unknown as { openImage(bytes: Buffer): Picture }).openImage(Buffer.from(jpeg));
    return image.width > 0 && image.height > 0 ? image : null;
  } catch {
    // The report is more important than a picture of an element.
    return null;
  }
}

/** The baseline of a line whose top is `y`: centres capitals and digits in the height of the line. */
const baselineOf = (y: number, style: Style): number => y + style.leading / 2 + style.size * 0.36;

/** Without a width and a number of words pdfkit measures the text, to underline it. */
const AS_IT_IS = { lineBreak: false, baseline: 'alphabetic', textWidth: 0, wordCount: 0 } as PDFKit.Mixins.TextOptions;

/** The left edge of each span of a line, whose order on the page differs from the logical one in right-to-left text. */
function placesOf({ spans }: Line, x: number, style: Style, metrics: Metrics): number[] {
  if (spans.length === 1) return [x];
  const widths = spans.map(({ face, text }) => metrics.width(face, style.size, text));
  // A space at the end of a line has no width (rule L1).
  const last = spans.length - 1;
  const levels = spans.map(({ level, text }, index) => (index === last && text === ' ' ? 0 : level));
  const places: number[] = [];
  for (const index of visualOrder(levels)) {
    places[index] = x;
    x += widths[index]!;
  }
  return places;
}

function drawLines(
  doc: PDFKit.PDFDocument,
  metrics: Metrics,
  lines: readonly Line[],
  x: number,
  y: number,
  style: Style,
  align?: Alignment,
): number {
  for (const line of lines) {
    const left = align === undefined || align.side === 'left' ? x : x + (align.width - line.width) / (align.side === 'right' ? 1 : 2);
    const places = placesOf(line, left, style, metrics);
    // In logical order, so that the text is copied and read aloud in this order.
    line.spans.forEach((span, index) => {
      doc.font(span.face).fontSize(style.size).fillColor(style.color);
      // The glyphs of right-to-left text are in reverse order, so its characters are stated as well.
      const actual = span.actual ?? (span.level > 0 ? span.text : null);
      if (actual !== null) doc.markContent('Span', { actual });
      let at = places[index]!;
      for (const part of unkerned(drawnText(span.text, span.level))) {
        doc.text(part, at, baselineOf(y, style), AS_IT_IS);
        // The end of the text.
        at = doc.x;
      }
      if (actual !== null) doc.endMarkedContent();
    });
    y += style.leading;
  }
  return y;
}

function drawLink(pdf: TaggedDocument, ...[parent, lines, x, y, style, { target, contents }]: Parameters<TaggedDocument['link']>): number {
  const { doc } = pdf;
  const element = pdf.element(parent, 'Link');
  pdf.mark(element, 'Link', () => {
    pdf.draw(lines, x, y, style);
  });
  pdf.artifact(() => {
    doc.lineWidth(0.4).strokeColor(style.color);
    lines.forEach((line, index) => {
      const at = baselineOf(y + index * style.leading, style) + 1.6;
      doc
        .moveTo(x, at)
        .lineTo(x + line.width, at)
        .stroke();
    });
  });
  lines.forEach((line, index) => {
    // pdfkit writes a String object as text, but a plain string as a PDF name.
    const options = { structParent: element, Contents: new String(contents) } as unknown as PDFKit.Mixins.AnnotationOption;
    const [left, top, height] = [x, y + index * style.leading, style.leading];
    if ('url' in target) doc.link(left, top, line.width, height, target.url, options);
    else doc.goTo(left, top, line.width, height, target.place, options);
  });
  // Ended while its page is the current one, because the page of the annotation is recorded now.
  element.end();
  return y + lines.length * style.leading;
}
