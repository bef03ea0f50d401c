/** The PDF report: a tagged document (PDF/UA-1) in the scan's language. */
import type { Report } from '../../../core/report/schema.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { CAUSES_IN_FULL, drawCauses } from './causes.ts';
import { drawCover } from './cover.ts';
import { flowOn, type Flow } from './flow.ts';
import { LINE, TYPE } from './palette.ts';
import { drawPages } from './pages.ts';
import { CONTENT_WIDTH, PAGE, openSheet } from './tagged-document.ts';
import { wordingOf, type Wording } from './i18n.ts';

/**
 * Renders a report. The same report gives the same bytes. Long lists are cut, and the document says by how much, so that
 * time, memory and size do not grow with the number of violations.
 * @param options.locale another language than the scan's
 */
export async function renderPdf(report: Report, options: { locale?: Locale } = {}): Promise<Uint8Array> {
  const wording = wordingOf(options.locale ?? report.scan.options.locale);
  const { texts, say } = wording;
  const site = URL.parse(report.scan.url)?.host ?? report.scan.url;
  const title = say(texts.titleOf, { site });
  const sheet = openSheet({ title, subject: texts.subject, language: wording.locale, createdAt: new Date(report.scan.finished_at) });
  const flow = flowOn(sheet);
  const { outline } = sheet.doc;
  outline.addItem(texts.title, { top: 0, fit: false } as object);
  drawCover(flow, report, wording, Math.min(CAUSES_IN_FULL, report.groups.length));
  drawCauses(flow, report, wording, outline);
  drawPages(flow, report, wording, outline);
  drawAbout(flow, report, wording, outline);
  return sheet.finish((page, of) => {
    sheet.artifact(() => {
      const y = PAGE.height - 44;
      sheet.doc
        .lineWidth(0.5)
        .strokeColor(LINE)
        .moveTo(PAGE.left, y)
        .lineTo(PAGE.left + CONTENT_WIDTH, y)
        .stroke();
      const half = CONTENT_WIDTH - 110;
      sheet.draw(sheet.lines(title, { ...TYPE.cellSoft, anywhere: true }, half, 1), PAGE.left, y + 6, TYPE.cellSoft);
      sheet.draw(sheet.lines(say(texts.pageOf, { n: page, m: of }), TYPE.cellSoft, 110), PAGE.left + half, y + 6, TYPE.cellSoft, {
        width: 110,
        side: 'right',
      });
    }, 'Pagination');
  });
}

function drawAbout(flow: Flow, report: Report, wording: Wording, outline: PDFKit.PDFOutline): void {
  const { sheet } = flow;
  const { texts, say } = wording;
  const paragraphs = [
    texts.aboutAutomated,
    texts.aboutCounting,
    texts.aboutScore,
    texts.aboutReview,
    ...(sheet.sawMissing ? [texts.aboutGlyphs] : []),
    `${say(texts.aboutTools, { curbcut: report.tools.curbcut, axe: report.tools.axe_core, browser: report.tools.browser })} ${say(texts.aboutScan, { id: report.scan.id })}`,
  ];
  const height = paragraphs.reduce((sum, text) => sum + sheet.lines(text, TYPE.body, CONTENT_WIDTH).length * TYPE.body.leading + 6, 0);
  flow.need(height + 30);
  const section = sheet.element(sheet.root, 'Sect');
  flow.heading(section, 2, texts.aboutHeading, { outline });
  for (const text of paragraphs) {
    flow.skip(6);
    flow.paragraph(section, text);
  }
}
