/** Root causes, worst first: an example, how to fix it, and where it occurs. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Report, ReportGroup } from '../schema/schema.ts';
import type { Flow } from './flow.ts';
import { causeTexts, type CauseText } from '../view/cause-texts.ts';
import type { CauseContext } from './cause.ts';
import { drawCause } from './cause-card.ts';
import { placeOf } from './links.ts';
import { TYPE } from './palette.ts';
import { CONTENT_WIDTH } from './tagged-document.ts';
import { severityIcon } from './icons.ts';
import { drawTable, type Cell } from './table.ts';
import type { ReportWords } from '../words/words.ts';

/** How many root causes are shown in full, and how many in the table after them. The JSON export has the rest. */
export const CAUSES_IN_FULL = 50;
export const CAUSES_IN_TABLE = 200;
export const REVIEWS_IN_FULL = 15;
export const ADVICE_IN_TABLE = 50;

/** Draws the section of root causes, and adds them to the outline. Other work of the process goes on between two cards. */
export async function drawCauses(flow: Flow, report: Report, context: CauseContext, outline: PDFKit.PDFOutline): Promise<void> {
  const { pdf } = flow;
  const { i18n } = context;
  const { texts } = i18n;
  // The first page stays an overview.
  if (pdf.pages() === 1) flow.newPage();
  else flow.skip(26);
  const section = pdf.element(pdf.root, 'Sect');
  if (report.groups.length === 0) {
    flow.heading(section, 2, texts.noViolations, { outline });
    flow.skip(5);
    flow.paragraph(section, texts.noViolationsDetail);
    flow.skip(24);
    return;
  }
  const entry = flow.heading(section, 2, texts.rootCauses, { outline });
  flow.skip(5);
  flow.paragraph(section, texts.rootCausesIntro, TYPE.soft);
  const causes = causeTexts(report.groups, i18n.locale);
  for (const [index, group] of report.groups.slice(0, CAUSES_IN_FULL).entries()) {
    await nextTurn();
    flow.skip(11);
    const text = causes.get(group)!;
    const title = `${index + 1}. ${headingOf(text)}`;
    drawCause(flow, section, { kind: 'violation', group, text, title, place: placeOf(index) }, context, entry);
  }
  const further = report.groups.slice(CAUSES_IN_FULL, CAUSES_IN_FULL + CAUSES_IN_TABLE);
  const left = report.groups.length - CAUSES_IN_FULL - further.length;
  drawFurther(flow, further, left, { heading: texts.furtherCauses, intro: texts.furtherCausesIntro }, i18n, outline);
  flow.skip(26);
}

/** Draws the elements that a person must check, as `drawCauses` draws violations. */
export async function drawReviews(flow: Flow, report: Report, context: CauseContext, outline: PDFKit.PDFOutline): Promise<void> {
  const { pdf } = flow;
  const { i18n } = context;
  const { texts } = i18n;
  const groups = report.review_groups;
  if (groups.length === 0) return;
  const section = pdf.element(pdf.root, 'Sect');
  const entry = flow.heading(section, 2, texts.needsReview, { outline, keep: 220 });
  flow.skip(5);
  flow.paragraph(section, texts.reviewIntro, TYPE.soft);
  const causes = causeTexts(groups, i18n.locale);
  for (const group of groups.slice(0, REVIEWS_IN_FULL)) {
    await nextTurn();
    flow.skip(11);
    const text = causes.get(group)!;
    drawCause(flow, section, { kind: 'review', group, text, title: headingOf(text) }, context, entry);
  }
  const further = groups.slice(REVIEWS_IN_FULL, REVIEWS_IN_FULL + CAUSES_IN_TABLE);
  const left = groups.length - REVIEWS_IN_FULL - further.length;
  drawFurther(flow, further, left, { heading: texts.furtherReviews, intro: texts.furtherReviewsIntro }, i18n, outline);
  flow.skip(26);
}

/** Draws the advice as a table without guidance, because following it is optional. */
export function drawAdvice(flow: Flow, { advice_groups: groups }: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  if (groups.length === 0) return;
  const { advice, adviceIntro } = i18n.texts;
  const listed = groups.slice(0, ADVICE_IN_TABLE);
  drawGroups(flow, listed, groups.length - listed.length, { heading: advice, intro: adviceIntro }, i18n, outline);
  flow.skip(26);
}

/** A title and, if another cause has the same one, the element. Some translations of axe-core end with a full stop. */
const headingOf = ({ title, element }: CauseText): string => (element === undefined ? title : `${title.replace(/\.$/, '')} · ${element}`);

/** A table of the groups without a card. @param left how many the table leaves out */
function drawFurther(
  flow: Flow,
  groups: readonly ReportGroup[],
  left: number,
  texts: { heading: string; intro: string },
  i18n: ReportWords,
  outline: PDFKit.PDFOutline,
): void {
  if (groups.length === 0) return;
  flow.skip(26);
  drawGroups(flow, groups, left, texts, i18n, outline);
}

function drawGroups(...[flow, groups, left, { heading, intro }, i18n, outline]: Parameters<typeof drawFurther>): void {
  const { pdf } = flow;
  const { texts, count, number } = i18n;
  const section = pdf.element(pdf.root, 'Sect');
  flow.heading(section, 2, heading, { outline, keep: 120 });
  flow.skip(5);
  flow.paragraph(section, intro, TYPE.soft);
  flow.skip(6);
  drawTable(
    flow,
    section,
    [
      { heading: texts.cause, width: 295 },
      { heading: texts.severity, width: 88 },
      { heading: texts.elementsColumn, width: 58, side: 'right' },
      { heading: texts.pages, width: CONTENT_WIDTH - 441 + 8, side: 'right' },
    ],
    [...causeTexts(groups, i18n.locale)].map(([group, { title }]): Cell[] => [
      {
        text: title,
        style: TYPE.cellStrong,
        rowHeader: true,
        maxLines: 2,
        below: { text: group.example.html, style: { ...TYPE.code, size: 7, leading: 10 } },
      },
      {
        text: texts.severities[group.impact],
        indent: 12,
        decorate: (x, middle) => severityIcon(pdf.doc, group.impact, x + 4, middle, 3.6),
      },
      { text: number(group.elements) },
      { text: number(group.pages) },
    ]),
  );
  if (left > 0) {
    flow.skip(8);
    flow.paragraph(section, count(texts.leftOutCauses, left), TYPE.strong);
  }
}
