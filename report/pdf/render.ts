/** The PDF report: a tagged document (PDF/UA-1) in the language of the scan. */
import type { Report } from '../schema/report.ts';
import type { CauseContext } from './guidance.ts';
import { CAUSES_IN_FULL, drawAdvice, drawCauses, drawReviews } from './causes.ts';
import { drawContents } from './contents.ts';
import { type Cover, drawCover } from './cover.ts';
import { drawCriteria } from './criteria.ts';
import { stateLines } from '../view/sentences.ts';
import { createFlow, type Flow } from './flow.ts';
import { drawGaps } from './gaps.ts';
import { line, TYPE } from './palette.ts';
import { drawPages } from './pages.ts';
import { CONTENT_WIDTH, PAGE, openTaggedDocument } from './tagged-document.ts';
import { wordsIn, type ReportWords } from '../words/words.ts';

export interface PdfOptions {
  /** JPEG files by fingerprint of their root cause. Not every root cause has one. */
  pictures?: ReadonlyMap<string, Uint8Array>;
  /** The name of the organisation that the scan belongs to. */
  organisation?: string | undefined;
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
  const cover = drawCover(flow, report, i18n, Math.min(CAUSES_IN_FULL, report.groups.length), options.organisation);
  await drawCauses(flow, report, context, outline);
  await drawReviews(flow, report, context, outline);
  drawAdvice(flow, report, i18n, outline);
  drawCriteria(flow, report, i18n, outline);
  drawPages(flow, report, i18n, outline);
  drawGaps(flow, report, i18n, outline);
  drawAbout(flow, cover, report, i18n, outline);
  drawContents(flow, cover, i18n);
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

/** What tests cannot say, and how the numbers are made: at the bottom of the cover, or at the end, and then a note is on the cover. */
function drawAbout(flow: Flow, cover: Cover, report: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  const { pdf } = flow;
  const { texts, format } = i18n;
  const paragraphs = [
    texts.aboutAutomated,
    texts.aboutCounting,
    texts.aboutScore,
    texts.aboutReview,
    ...stateLines(report, i18n.locale),
    ...(pdf.hasMissingGlyphs ? [texts.aboutGlyphs] : []),
    `${format(texts.aboutTools, { curbcut: report.tools.curbcut, axe: report.tools.axe_core, browser: report.tools.browser })} ${format(texts.aboutScan, { id: report.scan.id })}`,
  ];
  const drawNote = (on: Flow): void => on.paragraph(cover.element, texts.coverNote, TYPE.soft);
  const drawAll = (on: Flow, parent = cover.element, entry?: PDFKit.PDFOutline): void => {
    const section = pdf.element(parent, 'Sect');
    on.heading(section, 2, texts.aboutHeading, { keep: 0, outline: entry });
    for (const text of paragraphs) {
      on.skip(6);
      on.paragraph(section, text, TYPE.text);
    }
  };
  const bottom = PAGE.height - PAGE.bottom;
  const left = cover.lastPage === 1 ? bottom - cover.below : 0;
  const onCover = [drawAll, drawNote].find((draw) => flow.measure(draw) + 10 < left);
  if (onCover !== drawAll) {
    flow.need(flow.measure(drawAll));
    drawAll(flow, pdf.root, outline);
  }
  if (onCover === undefined) return;
  pdf.doc.switchToPage(0);
  flow.y = bottom - flow.measure(onCover);
  onCover(flow);
}
