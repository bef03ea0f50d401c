/** What a reader should do about a root cause, and where it occurs. */
import { type Advice, failureAdvice, reviewText } from '../rule-texts/rule-texts.ts';
import type { ReportRule } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import type { CauseText } from '../causes/element-names.ts';
import { type Column, type Flow, linkable, shortened } from './flow.ts';
import type { ReportWords } from '../words/words.ts';
import { TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element } from './tagged-document.ts';

/** A card continues on the next page if more than this would stay empty otherwise: a quarter of a page, in points. */
export const SPLIT_ABOVE = (PAGE.height - PAGE.top - PAGE.bottom) / 4;
/** Between two columns, in points. */
export const GAP = 14;

/** What all cards of a report share. */
export interface CauseContext {
  i18n: ReportWords;
  /** The URL of the scan. Pages on the same site are named by their path. */
  site: string;
  /** Standards by the ID of a rule. */
  rules: ReadonlyMap<string, ReportRule>;
  /** JPEGs by fingerprint, with the page that each one shows. */
  pictures: ReadonlyMap<string, { jpeg: Uint8Array; pageUrl: string }>;
}

/** What a card is about: a cause to fix, or elements that a person must check. */
export interface Card {
  kind: 'violation' | 'review';
  cause: RootCause;
  text: CauseText;
  /** The heading: the title with the element and, for a cause to fix, its number. */
  title: string;
  /** The named destination of the card. */
  place?: string;
}

/** How many pages a root cause lists. */
const PAGES_NAMED = 5;
/** How many lines a list of advice has. axe-core names up to 8 ways to give an element a name. */
const POINTS_MAX = 5;
/** What of a text stays with its label. */
const KEEP = 60;
/** The width of the list of pages beside the advice. */
const PLACES_WIDTH = 160;

/** What to do, and beside it where. It continues on the next page if too much of this one would stay empty otherwise. */
export function drawGuidance(flow: Flow, section: Element, card: Card, context: CauseContext): void {
  const { cause, kind } = card;
  const draw = kind === 'violation' ? drawAdvice : drawReview;
  flow.skip(6);
  const whole: Column = { x: PAGE.left, width: CONTENT_WIDTH };
  const advice: Column = { x: PAGE.left, width: CONTENT_WIDTH - PLACES_WIDTH - GAP };
  const places: Column = { x: PAGE.left + CONTENT_WIDTH - PLACES_WIDTH, width: PLACES_WIDTH };
  const height = Math.max(
    flow.measure((dry) => draw(dry, section, card, context.i18n, advice)),
    flow.measure((dry) => drawPlaces(dry, section, cause, context, places)),
  );
  if (flow.left() < height && flow.left() < SPLIT_ABOVE) flow.newPage();
  // Columns cannot continue on the next page.
  if (flow.left() < height) {
    draw(flow, section, card, context.i18n, whole);
    flow.skip(6);
    flow.need(100);
    drawPlaces(flow, section, cause, context, whole);
    return;
  }
  const top = flow.y;
  draw(flow, section, card, context.i18n, advice);
  const below = flow.y;
  flow.y = top;
  drawPlaces(flow, section, cause, context, places);
  flow.y = Math.max(flow.y, below);
}

/** A label, on the same page as the beginning of its text. */
function drawLabelled(flow: Flow, section: Element, label: string, column: Column, draw: (on: Flow) => void): void {
  flow.need(TYPE.label.leading + 1 + Math.min(KEEP, flow.measure(draw)));
  flow.paragraph(section, label, TYPE.label, column);
  flow.skip(1);
  draw(flow);
}

function drawAdvice(flow: Flow, section: Element, card: Card, i18n: ReportWords, column: Column): void {
  const { texts } = i18n;
  const { text } = card;
  if (text.why !== '') {
    drawLabelled(flow, section, texts.whyItMatters, column, (on) => on.paragraph(section, text.why, TYPE.text, column));
    flow.skip(4);
  }
  drawLabelled(flow, section, texts.howToFix, column, (on) => drawFix(on, section, card, i18n, column));
}

function drawFix(flow: Flow, section: Element, { cause, text }: Card, i18n: ReportWords, column: Column): void {
  if (text.fix !== '') flow.paragraph(section, text.fix, TYPE.text, column);
  for (const { lead, lang, points } of failureAdvice(cause.example.failure_summary, i18n.locale).slice(0, 4)) {
    flow.skip(2);
    flow.paragraph(section, lead, TYPE.cell, { ...column, lang, maxLines: 3 });
    drawPoints(flow, section, points, i18n, column);
  }
}

/** What a person should look at, and why the tests could not decide. */
function drawReview(flow: Flow, section: Element, { cause }: Card, i18n: ReportWords, column: Column): void {
  const { texts, locale } = i18n;
  drawLabelled(flow, section, texts.whatToCheck, column, (on) => on.paragraph(section, reviewText(cause.rule, locale), TYPE.text, column));
  // The lead says "Fix any of the following", which is not known yet.
  const reasons = failureAdvice(cause.example.failure_summary, locale).flatMap(({ points }) => points);
  if (reasons.length > 0) {
    flow.skip(4);
    drawLabelled(flow, section, texts.undecided, column, (on) => drawPoints(on, section, reasons, i18n, column));
  }
}

function drawPoints(flow: Flow, section: Element, points: Advice['points'], { texts, count }: ReportWords, column: Column): void {
  const shown = points.length > POINTS_MAX ? points.slice(0, POINTS_MAX - 1) : points;
  const more = points.length - shown.length;
  const rest = more > 0 ? [{ text: count(texts.morePoints, more) }] : [];
  flow.list(section, [...shown, ...rest], TYPE.cell, { ...column, maxLines: 3 });
}

function drawRuleLink(flow: Flow, section: Element, cause: RootCause, i18n: ReportWords, column: Column): void {
  const url = linkable(cause.help_url);
  if (url === null) return;
  const text = i18n.format(i18n.texts.aboutRule, { rule: cause.rule });
  const lines = flow.pdf.lines(text, TYPE.url, column.width, 2);
  flow.need(lines.length * TYPE.url.leading);
  const paragraph = flow.pdf.element(section, 'P');
  flow.y = flow.pdf.link(paragraph, lines, column.x, flow.y + 1, TYPE.url, { target: { url }, contents: text });
}

/** Where it occurs, and what axe-core's site says about the rule. */
function drawPlaces(flow: Flow, section: Element, cause: RootCause, { i18n, site }: CauseContext, column: Column): void {
  const { texts, count } = i18n;
  flow.paragraph(section, texts.where, TYPE.label, column);
  flow.skip(1);
  const named = cause.page_urls.slice(0, PAGES_NAMED);
  const links = named.flatMap((page) => {
    const url = linkable(page);
    return url === null ? [] : [{ text: shortened(page, site), link: { target: { url }, contents: page } }];
  });
  flow.list(section, links, TYPE.url, { ...column, maxLines: 2 });
  if (cause.pages > named.length)
    flow.paragraph(section, count(texts.morePages, cause.pages - named.length), TYPE.cellSoft, {
      x: column.x + 11,
      width: column.width - 11,
    });
  flow.skip(4);
  drawRuleLink(flow, section, cause, i18n, column);
}
