/** The PDF report: a tagged document (PDF/UA-1) in the language of the scan. */
import type { Report } from '../schema/report.ts';
import type { CauseContext } from './guidance.ts';
import { CAUSES_IN_FULL, drawAdvice, drawCauses, drawReviews } from './causes.ts';
import { drawCover } from './cover.ts';
import { drawCriteria } from './criteria.ts';
import { createFlow, type Flow } from './flow.ts';
import { drawGaps } from './gaps.ts';
import { line, TYPE } from './palette.ts';
import { drawPages } from './pages.ts';
import { CONTENT_WIDTH, PAGE, openTaggedDocument } from './tagged-document.ts';
import { wordsIn, type ReportWords } from '../words/words.ts';

export interface PdfOptions {
  /** JPEG files by fingerprint of their root cause. Not every root cause has one. */
  pictures?: ReadonlyMap<string, Uint8Array>;
}

/**
 * Renders a report. The same report gives the same bytes. Long lists are truncated, and the document says how many entries
 * are left out, so that time, memory and size do not grow with the number of violations. Other work of the process, such as the
 * upload of the export, goes on meanwhile.
 */
export async function renderPdf(report: Report, options: PdfOptions = {}): Promise<Uint8Array> {
  const i18n = wordsIn(report.scan.options.locale, 'report');
  const { texts, format } = i18n;
  const site = URL.parse(report.scan.url)?.host ?? report.scan.url;
  const title = format(texts.titleOf, { site });
  const pdf = openTaggedDocument({ title, subject: texts.subject, language: i18n.locale, createdAt: new Date(report.scan.finished_at) });
  const flow = createFlow(pdf);
  const { outline } = pdf.doc;
  const context: CauseContext = {
    i18n,
    site: report.scan.url,
    rules: new Map(report.rules.map((rule) => [rule.id, rule])),
    pictures: picturesOf(report, options.pictures),
  };
  outline.addItem(texts.title, { top: 0, fit: false } as object);
  drawCover(flow, report, i18n, Math.min(CAUSES_IN_FULL, report.groups.length));
  await drawCauses(flow, report, context, outline);
  await drawReviews(flow, report, context, outline);
  drawAdvice(flow, report, i18n, outline);
  drawCriteria(flow, report, i18n, outline);
  drawPages(flow, report, i18n, outline);
  drawGaps(flow, report, i18n, outline);
  drawAbout(flow, report, i18n, outline);
  return pdf.finish((page, of) => {
    pdf.artifact(() => {
      const y = PAGE.height - 44;
      line(pdf.doc, [PAGE.left, y], [PAGE.left + CONTENT_WIDTH, y], 0.5);
      const half = CONTENT_WIDTH - 110;
      pdf.draw(pdf.lines(title, { ...TYPE.cellSoft, breakAnywhere: true }, half, 1), PAGE.left, y + 6, TYPE.cellSoft);
      pdf.draw(pdf.lines(format(texts.pageOf, { n: page, m: of }), TYPE.cellSoft, 110), PAGE.left + half, y + 6, TYPE.cellSoft, {
        width: 110,
        side: 'right',
      });
    }, 'Pagination');
  });
}

function picturesOf(report: Report, jpegs: ReadonlyMap<string, Uint8Array> = new Map()): CauseContext['pictures'] {
  return new Map(
    report.pictures.flatMap(({ fingerprint, page_url: pageUrl }) => {
      const jpeg = jpegs.get(fingerprint);
      return jpeg === undefined ? [] : [[fingerprint, { jpeg, pageUrl }] as const];
    }),
  );
}

function drawAbout(flow: Flow, report: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  const { pdf } = flow;
  const { texts, format } = i18n;
  const paragraphs = [
    texts.aboutAutomated,
    texts.aboutCounting,
    texts.aboutScore,
    texts.aboutReview,
    ...(pdf.hasMissingGlyphs ? [texts.aboutGlyphs] : []),
    `${format(texts.aboutTools, { curbcut: report.tools.curbcut, axe: report.tools.axe_core, browser: report.tools.browser })} ${format(texts.aboutScan, { id: report.scan.id })}`,
  ];
  const height = paragraphs.reduce((sum, text) => sum + pdf.lines(text, TYPE.body, CONTENT_WIDTH).length * TYPE.body.leading + 6, 0);
  flow.need(height + 30);
  const section = pdf.element(pdf.root, 'Sect');
  flow.heading(section, 2, texts.aboutHeading, { outline });
  for (const text of paragraphs) {
    flow.skip(6);
    flow.paragraph(section, text);
  }
}
