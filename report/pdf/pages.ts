/** The table of tested pages with their scores. */
import { countViolations } from '../results/score.ts';
import { testedPages } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { type Flow, linkable, shortened } from './flow.ts';
import { colored, severityIcon, SOFT, TYPE } from './palette.ts';
import { CONTENT_WIDTH } from './tagged-document.ts';
import { drawTableSection, type Cell } from './table.ts';
import type { ReportWords } from '../words/words.ts';

/** How many rows the table has. The JSON export has the rest. */
export const TESTED_ROWS = 500;
/** The longest page title, in characters. */
const TITLE_MAX = 200;

/** The language of a page as a valid language tag: pages may write anything into `lang`. */
const languageTag = (language: string | null): string | undefined =>
  language !== null && /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/.test(language) ? language : undefined;

/** A cell with the path of a page, as a link. */
export const urlCell = (url: string, site: string, below?: Cell['below']): Cell => {
  const href = linkable(url);
  return {
    text: shortened(url, site),
    style: href === null ? { ...TYPE.cell, breakAnywhere: true } : TYPE.url,
    rowHeader: true,
    maxLines: 3,
    link: href === null ? undefined : { target: { url: href }, contents: url },
    below,
  };
};

/** Draws the table of tested pages. */
export function drawPages(flow: Flow, report: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  const pages = testedPages(report.pages);
  const site = report.scan.url;
  const { doc } = flow.pdf;
  const { texts, count, number } = i18n;
  const narrow = 45;
  const first = CONTENT_WIDTH + 8 - 40 - 46 - 42 - 4 * narrow;
  drawTableSection(
    flow,
    {
      heading: texts.pagesHeading,
      keep: 96,
      columns: [
        { heading: texts.page, width: first },
        { heading: texts.httpStatus, width: 40, side: 'right' },
        { heading: texts.score, width: 46, side: 'right' },
        ...IMPACTS.map((impact) => ({
          heading: texts.severitiesShort[impact],
          width: narrow,
          side: 'right' as const,
          icon: (x: number, y: number) => severityIcon(doc, impact, x, y, 3.2),
        })),
        { heading: texts.total, width: 42, side: 'right' },
      ],
      rows: pages.slice(0, TESTED_ROWS).map((page): Cell[] => {
        const counts = countViolations(page.violations);
        const title = page.title.slice(0, TITLE_MAX).trim();
        return [
          urlCell(page.url, site, title === '' ? undefined : { text: title, style: TYPE.cellSoft, lang: languageTag(page.language) }),
          { text: String(page.http_status) },
          { text: number(page.score) },
          ...IMPACTS.map((impact): Cell => ({
            text: number(counts[impact]),
            style: counts[impact] > 0 ? TYPE.cell : colored(TYPE.cell, SOFT),
          })),
          { text: number(counts.total), style: TYPE.cellStrong },
        ];
      }),
      leftOut: pages.length > TESTED_ROWS ? count(texts.leftOutPages, pages.length - TESTED_ROWS) : '',
    },
    outline,
  );
}
