/** What was not tested, or not completely: pages, frames, parts of pages, and addresses. Nothing is left out silently. */
import type { UntestedPage } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { gapsOf, type Gaps, leftLines } from '../view/gaps.ts';
import { type Flow, shortened } from './flow.ts';
import type { ReportWords } from '../words/words.ts';
import { urlCell } from './pages.ts';
import { TYPE } from './palette.ts';
import { drawTableSection, type Cell, type TableSection } from './table.ts';
import { CONTENT_WIDTH } from './tagged-document.ts';

/** How many rows each table has. The JSON export has the rest. */
export const GAP_ROWS = 100;
/** The longest message, in characters. It comes from the pod, so it is limited. */
const MESSAGE_MAX = 400;

/** Draws a section for each kind of gap that the report has. */
export function drawGaps(flow: Flow, report: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  const { texts, count } = i18n;
  const { pdf } = flow;
  const gaps = gapsOf(report);
  for (const { rows, ...section } of sectionsOf(gaps, report.scan.url, i18n)) {
    if (rows.length === 0) continue;
    const leftOut = rows.length > GAP_ROWS ? count(texts.leftOutRows, rows.length - GAP_ROWS) : '';
    drawTableSection(flow, { ...section, rows: rows.slice(0, GAP_ROWS), leftOut }, outline);
  }
  const lines = leftLines(gaps, i18n, report.scan.options.pages_requested > 1);
  if (lines.length === 0) return;
  const section = pdf.element(pdf.root, 'Sect');
  flow.heading(section, 2, texts.addressesLeftHeading, { outline });
  flow.skip(5);
  for (const line of lines) {
    flow.paragraph(section, line);
    flow.skip(5);
  }
  flow.skip(21);
}

/** A cell with a text and the scanner's message, which is English. */
const said = (text: string, message: string, lang: string | undefined): Cell => ({
  text,
  style: TYPE.cellStrong,
  maxLines: 4,
  below: message === '' ? undefined : { text: message.slice(0, MESSAGE_MAX), style: TYPE.cellSoft, lang, maxLines: 4 },
});

function linkedFrom({ linked_from: urls = [] }: UntestedPage, site: string, { texts, format }: ReportWords): Cell['below'] {
  if (urls.length === 0) return undefined;
  const pages = urls.map((url) => shortened(url, site)).join(', ');
  return { text: format(texts.linkedFrom, { pages }), style: TYPE.cellSoft, maxLines: 3 };
}

function sectionsOf({ untested, same, frames, caveats }: Gaps, site: string, i18n: ReportWords): Omit<TableSection, 'leftOut'>[] {
  const { texts, locale } = i18n;
  const lang = locale === 'en' ? undefined : 'en';
  const first = 190;
  const rest = CONTENT_WIDTH - first + 8;
  return [
    {
      heading: texts.untestedHeading,
      intro: texts.untestedIntro,
      columns: [
        { heading: texts.page, width: first },
        { heading: texts.httpStatus, width: 46, side: 'right' },
        { heading: texts.reason, width: rest - 46 },
      ],
      rows: untested.map((page) => [
        urlCell(page.url, site, linkedFrom(page, site, i18n)),
        { text: page.http_status === null ? '–' : String(page.http_status) },
        said(texts.reasons[page.reason], page.message, lang),
      ]),
    },
    {
      heading: texts.sameHeading,
      intro: texts.sameIntro,
      columns: [
        { heading: texts.page, width: first },
        { heading: texts.sameAs, width: rest },
      ],
      rows: same.map((page) => [
        urlCell(page.url, site),
        {
          ...urlCell(page.same_as ?? '', site, { text: page.message.slice(0, MESSAGE_MAX), style: TYPE.cellSoft, lang, maxLines: 3 }),
          rowHeader: false,
        },
      ]),
    },
    {
      heading: texts.framesHeading,
      intro: texts.framesIntro,
      columns: [
        { heading: texts.page, width: 150 },
        { heading: texts.frame, width: 150 },
        { heading: texts.reason, width: CONTENT_WIDTH - 300 + 8 },
      ],
      rows: frames.map(({ page, frame }) => [
        urlCell(page.url, site),
        { ...urlCell(frame.url, site, { text: frame.path.join(' › '), style: TYPE.cellSoft, maxLines: 2 }), rowHeader: false },
        said(texts.frameReasons[frame.reason], frame.message, lang),
      ]),
    },
    {
      heading: texts.caveatsHeading,
      intro: texts.caveatsIntro,
      columns: [
        { heading: texts.page, width: first },
        { heading: texts.caveat, width: rest },
      ],
      rows: caveats.map(({ page, caveat }) => [urlCell(page.url, site), said(texts.caveats[caveat.kind], caveat.message, lang)]),
    },
  ];
}
