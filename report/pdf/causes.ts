/** Root causes, worst first: an example, how to fix it, and where it occurs. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Report } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { type Flow, placeOf } from './flow.ts';
import { causeTexts, type CauseText } from '../causes/element-names.ts';
import { drawCause, leastHeight } from './cause-card.ts';
import type { Card, CauseContext } from './guidance.ts';
import { severityIcon, TYPE } from './palette.ts';
import { CONTENT_WIDTH } from './tagged-document.ts';
import { drawTableSection, type Cell } from './table.ts';
import type { ReportWords } from '../words/words.ts';

/** How many root causes are shown in full, and how many in the table after them. The JSON export has the rest. */
export const CAUSES_IN_FULL = 50;
export const CAUSES_IN_TABLE = 200;
export const REVIEWS_IN_FULL = 15;
export const ADVICE_IN_TABLE = 50;

/** Draws the section of root causes, and adds them to the outline. */
export async function drawCauses(flow: Flow, report: Report, context: CauseContext, outline: PDFKit.PDFOutline): Promise<void> {
  const { pdf } = flow;
  const { texts } = context.i18n;
  // The cover stays an overview, and the contents follow it.
  flow.newPage();
  if (report.groups.length > 0) {
    const further = { heading: texts.furtherCauses, intro: texts.furtherCausesIntro };
    const { pictures_left: left = 0 } = report;
    const intro = left === 0 ? texts.rootCausesIntro : `${texts.rootCausesIntro} ${context.i18n.count(texts.picturesLeft, left)}`;
    const about: Cards = { kind: 'violation', heading: texts.rootCauses, intro, max: CAUSES_IN_FULL, further };
    return drawCards(flow, report.groups, about, context, outline);
  }
  const section = pdf.element(pdf.root, 'Sect');
  flow.heading(section, 2, texts.noViolations, { outline });
  flow.skip(5);
  flow.paragraph(section, texts.noViolationsDetail);
  flow.skip(24);
}

/** Draws the elements that a person must check, as `drawCauses` draws violations. */
export async function drawReviews(flow: Flow, report: Report, context: CauseContext, outline: PDFKit.PDFOutline): Promise<void> {
  if (report.review_groups.length === 0) return;
  const { texts } = context.i18n;
  const further = { heading: texts.furtherReviews, intro: texts.furtherReviewsIntro };
  const about: Cards = { kind: 'review', heading: texts.needsReview, intro: texts.reviewIntro, max: REVIEWS_IN_FULL, further };
  await drawCards(flow, report.review_groups, about, context, outline);
}

/** A section of cards, and the heading of the table for the root causes that get none. */
interface Cards {
  kind: Card['kind'];
  heading: string;
  intro: string;
  max: number;
  further: { heading: string; intro: string };
}

/** Draws cards, then a table. Other work of the process goes on between two cards. */
async function drawCards(
  flow: Flow,
  causes: readonly RootCause[],
  { kind, heading, intro, max, further }: Cards,
  context: CauseContext,
  outline: PDFKit.PDFOutline,
): Promise<void> {
  const section = flow.pdf.element(flow.pdf.root, 'Sect');
  const described = causeTexts(causes, context.i18n.locale);
  const cards = causes.slice(0, max).map((cause, index): Card => {
    const text = described.get(cause)!;
    const named = kind === 'review' ? { title: headingOf(text) } : { title: `${index + 1}. ${headingOf(text)}`, place: placeOf(index) };
    return { kind, cause, text, ...named };
  });
  const drawIntro = (on: Flow): void => {
    on.skip(5);
    on.paragraph(section, intro, TYPE.soft);
  };
  const keep = flow.measure(drawIntro) + 11 + leastHeight(flow, cards[0]!, context);
  const entry = flow.heading(section, 2, heading, { outline, keep });
  drawIntro(flow);
  for (const card of cards) {
    await nextTurn();
    flow.skip(11);
    drawCause(flow, section, card, context, entry);
  }
  flow.skip(26);
  const listed = causes.slice(max, max + CAUSES_IN_TABLE);
  drawTableOf(flow, listed, causes.length - max - listed.length, further, context.i18n, outline);
}

/** Draws the advice as a table without guidance, because following it is optional. */
export function drawAdvice(flow: Flow, { advice_groups: causes }: Report, i18n: ReportWords, outline: PDFKit.PDFOutline): void {
  const { advice: heading, adviceIntro: intro } = i18n.texts;
  const listed = causes.slice(0, ADVICE_IN_TABLE);
  drawTableOf(flow, listed, causes.length - listed.length, { heading, intro }, i18n, outline);
}

/** A title and, if another cause has the same one, the element. Some translations of axe-core end with a full stop. */
const headingOf = ({ title, element }: CauseText): string => (element === undefined ? title : `${title.replace(/\.$/, '')} · ${element}`);

/** A table of root causes without cards. @param left how many the table leaves out */
function drawTableOf(
  flow: Flow,
  causes: readonly RootCause[],
  left: number,
  about: { heading: string; intro: string },
  i18n: ReportWords,
  outline: PDFKit.PDFOutline,
): void {
  if (causes.length === 0) return;
  const { texts, count, number } = i18n;
  drawTableSection(
    flow,
    {
      ...about,
      columns: [
        { heading: texts.cause, width: 295 },
        { heading: texts.severity, width: 88 },
        { heading: texts.elementsColumn, width: 58, side: 'right' },
        { heading: texts.pages, width: CONTENT_WIDTH - 441 + 8, side: 'right' },
      ],
      rows: [...causeTexts(causes, i18n.locale)].map(([cause, { title }]): Cell[] => [
        {
          text: title,
          style: TYPE.cellStrong,
          rowHeader: true,
          maxLines: 2,
          below: { text: cause.example.html, style: { ...TYPE.code, size: 7, leading: 10 } },
        },
        {
          text: texts.severities[cause.impact],
          indent: 12,
          decorate: (x, middle) => severityIcon(flow.pdf.doc, cause.impact, x + 4, middle, 3.6),
        },
        { text: number(cause.elements) },
        { text: number(cause.pages) },
      ]),
      leftOut: left > 0 ? count(texts.leftOutCauses, left) : '',
    },
    outline,
  );
}
