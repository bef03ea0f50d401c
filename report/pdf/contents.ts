/** The contents of a long report: its sections and root causes, with their pages. */
import type { ReportWords } from '../words/words.ts';
import type { Cover } from './cover.ts';
import type { Flow } from './flow.ts';
import { line, LINK, TYPE } from './palette.ts';
import { CONTENT_WIDTH, type Element, PAGE } from './tagged-document.ts';

/** Reports with more pages have contents. */
const PAGES_WITHOUT_MAX = 8;
const NUMBER_WIDTH = 30;
/** How far root causes are moved to the right. */
const INDENT = 14;

/** Draws the contents when all other pages exist, because only then their numbers are known, and moves them behind the cover. */
export function drawContents(flow: Flow, cover: Cover, { texts, number }: ReportWords): void {
  const { pdf, entries } = flow;
  const before = pdf.pages();
  if (before <= PAGES_WITHOUT_MAX) return;
  if (cover.lastPage === 1) flow.newPage();
  else {
    // The rest of the cover's last page is empty.
    pdf.doc.switchToPage(cover.lastPage - 1);
    flow.y = cover.below;
    flow.skip(26);
  }
  const section = pdf.element(cover.element, 'Sect');
  flow.heading(section, 2, texts.contents);
  flow.skip(4);
  const drawNumbers: (() => void)[] = [];
  const toc = pdf.element(section, 'TOC');
  let [item, below]: [Element, Element | null] = [toc, null];
  for (const { level, text, page, place } of entries) {
    const isSection = level === 2;
    const style = isSection ? { ...TYPE.strong, color: LINK } : { ...TYPE.url, breakAnywhere: false };
    const left = PAGE.left + (isSection ? 0 : INDENT);
    const right = PAGE.left + CONTENT_WIDTH - NUMBER_WIDTH;
    const lines = pdf.lines(text, style, right - left, 2);
    if (isSection) flow.skip(5);
    flow.need(lines.length * style.leading + 1);
    if (isSection) below = null;
    else below ??= pdf.element(item, 'TOC');
    const entry = pdf.element(below ?? toc, 'TOCI');
    if (isSection) item = entry;
    const reference = pdf.element(entry, 'Reference');
    flow.y = pdf.link(reference, lines, left, flow.y, style, { target: { place }, contents: text });
    const { page: drawnOn } = pdf.doc;
    const y = flow.y - style.leading;
    drawNumbers.push(() => {
      pdf.doc.page = drawnOn;
      const lead = left + lines.at(-1)!.width + 6;
      pdf.artifact(() => {
        pdf.doc.dash(1, { space: 3 });
        line(pdf.doc, [lead, y + style.leading - 4], [Math.max(lead, right + 4), y + style.leading - 4], 0.6);
        pdf.doc.undash();
      });
      const shown = pdf.lines(number(page > cover.lastPage ? page + pdf.pages() - before : page), TYPE.cell, NUMBER_WIDTH);
      pdf.content(
        reference,
        'Span',
        () => void pdf.draw(shown, right, y, { ...TYPE.cell, leading: style.leading }, { width: NUMBER_WIDTH, side: 'right' }),
      );
    });
    flow.y += 1;
  }
  for (const draw of drawNumbers) draw();
  if (pdf.pages() > before) pdf.moveLast(pdf.pages() - before, cover.lastPage);
}
