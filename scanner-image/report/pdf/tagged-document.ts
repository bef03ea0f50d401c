/** A tagged PDF to draw on: every mark belongs either to an element of the structure tree or to the artifacts. */
import PDFDocument from 'pdfkit';
import { FACES, linesOf, readFont, type Face, type Line, type Metrics, type Style } from './typography.ts';

export type Element = PDFKit.PDFStructureElement;

/** A4, in points. */
export const PAGE = { width: 595.28, height: 841.89, top: 51, bottom: 62, left: 51, right: 51 } as const;
export const CONTENT_WIDTH = PAGE.width - PAGE.left - PAGE.right;

/** What an element says beside its content. */
export interface ElementOptions {
  alt?: string;
  lang?: string;
  scope?: 'Row' | 'Column';
  /** Left, top, right, bottom: where a figure is. */
  bbox?: [number, number, number, number];
  placement?: 'Block' | 'Inline';
}

/** Where a link leads: a URL, or a named place in this document. */
export type Target = { url: string } | { place: string };

export interface Sheet {
  readonly doc: PDFKit.PDFDocument;
  /** The document's root element. */
  readonly root: Element;
  readonly metrics: Metrics;
  /** True once a character was drawn that no font has. */
  readonly sawMissing: boolean;
  /** A new element at the end of `parent`. */
  element(parent: Element, type: string, options?: ElementOptions): Element;
  /** Draws content of an element on the present page. */
  mark(element: Element, type: string, draw: () => void): void;
  /** Draws what is no content: lines, grounds, repeated headings, page numbers. */
  artifact(draw: () => void, type?: 'Layout' | 'Pagination'): void;
  lines(text: string, style: Style, width: number, maxLines?: number): Line[];
  /** Draws lines from `y` down. @returns the `y` below them */
  draw(lines: readonly Line[], x: number, y: number, style: Style, align?: { width: number; side: 'left' | 'center' | 'right' }): number;
  /** Draws lines as a link within `parent`. @returns the `y` below them */
  link(parent: Element, lines: readonly Line[], x: number, y: number, style: Style, target: Target, contents: string): number;
  addPage(): void;
  pages(): number;
  /** Draws on every page, once all of them are there, and gives the file. */
  finish(onEachPage: (page: number, of: number) => void): Promise<Uint8Array>;
}

interface FontkitFont {
  hasGlyphForCodePoint(codePoint: number): boolean;
}

/** Parts that are set apart: kerning would tuck the points of 2.1 and 127.0.0.1 under the figures until nobody sees them. */
const unkerned = (text: string): string[] => text.split(/(?<=\d)(?=[.,])|(?<=[.,])(?=\d)/);

/** Opens a document without a page. `createdAt` also makes its identifier, so that the same report gives the same file. */
export function openSheet(document: { title: string; subject: string; language: string; createdAt: Date }): Sheet {
  const doc = new PDFDocument({
    size: 'A4',
    margin: 0,
    autoFirstPage: false,
    bufferPages: true,
    pdfVersion: '1.7',
    tagged: true,
    displayTitle: true,
    lang: document.language,
    // The types name PDF/A only.
    subset: 'PDF/UA' as 'PDF/A-1',
    info: {
      Title: document.title,
      Subject: document.subject,
      Creator: 'Curbcut',
      Producer: 'Curbcut',
      CreationDate: document.createdAt,
      ModDate: document.createdAt,
    },
    // No default font: one that is opened twice is parsed anew at every use.
    font: null as unknown as string,
  });
  // pdfkit writes a CIDSet where this is the number 1, and leaves the parts of composed letters (ą, é) out of it, which
  // PDF/UA forbids (7.21.4.2). The set is optional; as text, the part's number still goes into the metadata.
  (doc as unknown as { subset: string }).subset = '1';
  const chunks: Uint8Array[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    doc.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    doc.on('end', resolve);
    doc.on('error', reject);
  });
  const fonts = new Map<Face, FontkitFont>();
  for (const face of FACES) {
    doc.registerFont(face, readFont(face) as unknown as ArrayBuffer);
    doc.font(face);
    fonts.set(face, (doc as unknown as { _font: { font: FontkitFont } })._font.font);
  }
  const known = new Map<string, boolean>();
  const metrics: Metrics = {
    has(face, codePoint) {
      const key = `${face}${codePoint}`;
      let has = known.get(key);
      if (has === undefined) known.set(key, (has = fonts.get(face)!.hasGlyphForCodePoint(codePoint)));
      return has;
    },
    width: (face, size, text) => {
      doc.font(face).fontSize(size);
      return unkerned(text).reduce((sum, part) => sum + doc.widthOfString(part), 0);
    },
  };
  const root = doc.struct('Document');
  doc.addStructure(root);
  let sawMissing = false;
  let pages = 0;

  const sheet: Sheet = {
    doc,
    root,
    metrics,
    get sawMissing() {
      return sawMissing;
    },
    element(parent, type, options = {}) {
      const element = doc.struct(type, options as PDFKit.Mixins.StructureElementOptions);
      parent.add(element);
      return element;
    },
    mark(element, type, draw) {
      const content = doc.markStructureContent(type);
      draw();
      doc.endMarkedContent();
      element.add(content);
    },
    artifact(draw, type = 'Layout') {
      doc.markContent('Artifact', { type });
      draw();
      doc.endMarkedContent();
    },
    lines: (text, style, width, maxLines) => linesOf(text, style, width, metrics, maxLines),
    draw(lines, x, y, style, align) {
      for (const line of lines) {
        // Half the height of capitals above and below the middle of the line: figures and words sit centred in their rows.
        const baseline = y + style.leading / 2 + style.size * 0.36;
        let at = align === undefined || align.side === 'left' ? x : x + (align.width - line.width) / (align.side === 'right' ? 1 : 2);
        for (const span of line.spans) {
          doc.font(span.face).fontSize(style.size).fillColor(style.color);
          if (span.actual !== null) {
            sawMissing = true;
            doc.markContent('Span', { actual: span.actual });
          }
          for (const part of unkerned(span.text)) {
            doc.text(part, at, baseline, { lineBreak: false, baseline: 'alphabetic' });
            at += doc.widthOfString(part);
          }
          if (span.actual !== null) doc.endMarkedContent();
        }
        y += style.leading;
      }
      return y;
    },
    link(parent, lines, x, y, style, target, contents) {
      const element = sheet.element(parent, 'Link');
      const below = y + lines.length * style.leading;
      sheet.mark(element, 'Link', () => {
        sheet.draw(lines, x, y, style);
      });
      sheet.artifact(() => {
        doc.lineWidth(0.4).strokeColor(style.color);
        lines.forEach((line, index) => {
          const at = y + index * style.leading + style.leading / 2 + style.size * 0.36 + 1.6;
          doc
            .moveTo(x, at)
            .lineTo(x + line.width, at)
            .stroke();
        });
      });
      lines.forEach((line, index) => {
        // A String object is written as text, a plain string would be a PDF name.
        const options = { structParent: element, Contents: new String(contents) } as unknown as PDFKit.Mixins.AnnotationOption;
        const [left, top, height] = [x, y + index * style.leading, style.leading];
        if ('url' in target) doc.link(left, top, line.width, height, target.url, options);
        else doc.goTo(left, top, line.width, height, target.place, options);
      });
      // Ended while its page is the present one: the annotation's page is noted now.
      element.end();
      return below;
    },
    addPage() {
      doc.addPage();
      pages += 1;
    },
    pages: () => pages,
    async finish(onEachPage) {
      for (let page = 0; page < pages; page += 1) {
        doc.switchToPage(page);
        onEachPage(page + 1, pages);
      }
      doc.end();
      await ended;
      return Buffer.concat(chunks);
    },
  };
  return sheet;
}
