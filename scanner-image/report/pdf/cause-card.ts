/** One root cause: what is wrong, what it looks like, how to fix it and where it occurs. */
import { reviewText } from '../../../core/report/rule-texts/review-texts.ts';
import { ruleText } from '../../../core/report/rule-texts/rule-texts.ts';
import type { ReportGroup, ReportNode, ReportRule } from '../../../core/report/schema.ts';
import { standardsText } from '../../../core/report/standards.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { adviceOf, type Advice } from './advice.ts';
import type { Flow } from './flow.ts';
import type { I18n } from './i18n.ts';
import { severityIcon } from './icons.ts';
import { linkable, shortened } from './links.ts';
import { LINE, TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element, type Picture } from './tagged-document.ts';

/** How many pages a root cause lists. */
const PAGES_NAMED = 5;
/** How many lines a list of advice has. axe-core names up to 8 ways to give an element a name. */
const POINTS_MAX = 5;
/** How many related elements a card names. */
const RELATED_NAMED = 2;
/** The longest help text of a rule, in characters. It comes from the pod, so it is limited. */
const HELP_MAX = 300;
/** A card is split if more than this share of a page would stay empty otherwise. */
const SPLIT_ABOVE = 0.42;
/** The largest size of a picture, in points. */
const PICTURE_WIDTH = CONTENT_WIDTH;
const PICTURE_HEIGHT = 104;
/** Points per pixel of a picture: the size that the element has on the page, at most. */
const PICTURE_SCALE = 0.75;
const GAP = 14;
/** The smallest width for facts beside a picture. */
const BESIDE_MIN = 200;
/** The width of the list of pages beside the advice. */
const PLACES_WIDTH = 160;

/** A column of a page, in points. */
interface Column {
  x: number;
  width: number;
}

/** What all cards of a report share. */
export interface CauseContext {
  i18n: I18n;
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
  group: ReportGroup;
  title: string;
  /** The named destination of the card. */
  place?: string;
}

/** The name of a root cause, in the language of the report if the rule is known. */
export const causeTitle = (group: ReportGroup, locale: Locale): string =>
  ruleText(group.rule, locale)?.help ?? group.help.slice(0, HELP_MAX);

/** Draws a root cause. It stays on one page, unless too much of the page before it would stay empty. */
export function drawCause(flow: Flow, parent: Element, card: Card, context: CauseContext, outline: PDFKit.PDFOutline | undefined): void {
  const { pdf } = flow;
  const { i18n } = context;
  const { group, title, place } = card;
  const parts = (on: Flow, section: Element, entry?: PDFKit.PDFOutline): (() => void)[] => [
    () => {
      on.heading(section, 3, title, { keep: 0, outline: entry, place });
      drawSummary(on, section, group, i18n);
      drawEvidence(on, section, group, context);
    },
    () => drawGuidance(on, section, card, context),
  ];
  const section = pdf.element(parent, 'Sect');
  const heights = parts(flow, section).map((_, part) => flow.measure((dry) => parts(dry, section)[part]!()));
  const height = heights.reduce((sum, part) => sum + part, 9);
  if (flow.left() < height && flow.left() < (PAGE.height - PAGE.top - PAGE.bottom) * SPLIT_ABOVE) flow.newPage();
  if (flow.y > PAGE.top)
    pdf.artifact(() => {
      pdf.doc
        .lineWidth(0.7)
        .strokeColor(LINE)
        .moveTo(PAGE.left, flow.y - 1)
        .lineTo(PAGE.left + CONTENT_WIDTH, flow.y - 1)
        .stroke();
    });
  flow.skip(9);
  parts(flow, section, outline).forEach((draw, part) => {
    flow.need(heights[part]!);
    draw();
  });
}

function drawSummary(flow: Flow, section: Element, group: ReportGroup, i18n: I18n): void {
  const { texts, count } = i18n;
  const about = [
    texts.severities[group.impact],
    group.rule,
    `${count(texts.elements, group.elements)} ${count(texts.onPages, group.pages)}`,
    ...(group.example.landmark === null ? [] : [`${texts.area}: ${texts.landmarks[group.example.landmark]}`]),
  ].join('  ·  ');
  flow.skip(2);
  flow.pdf.artifact(() => severityIcon(flow.pdf.doc, group.impact, PAGE.left + 4.5, flow.y + TYPE.soft.leading / 2, 4));
  flow.paragraph(section, about, TYPE.soft, { x: PAGE.left + 14, width: CONTENT_WIDTH - 14, maxLines: 3 });
}

/** The picture, and the facts and the HTML beside it if there is room. */
function drawEvidence(flow: Flow, section: Element, group: ReportGroup, context: CauseContext): void {
  const whole: Column = { x: PAGE.left, width: CONTENT_WIDTH };
  const { i18n, pictures } = context;
  const facts = (column: Column): void => {
    drawFacts(flow, section, group, context, column);
    flow.skip(5);
    flow.panel(section, group.example.html, TYPE.code, { ...column, tag: 'Code', maxLines: 6 });
  };
  flow.skip(7);
  const shown = pictures.get(group.fingerprint);
  const picture = shown === undefined ? null : flow.pdf.picture(shown.jpeg);
  if (picture === null) return facts(whole);
  const size = sizeOf(picture);
  const top = flow.y;
  drawPicture(flow, section, picture, size, i18n.format(i18n.texts.pictureAlt, { page: shown!.pageUrl }));
  const below = top + size.height;
  const beside: Column = { x: PAGE.left + size.width + GAP, width: CONTENT_WIDTH - size.width - GAP };
  if (beside.width >= BESIDE_MIN) facts(beside);
  else {
    flow.y = below + 6;
    facts(whole);
  }
  flow.y = Math.max(flow.y, below);
}

function sizeOf({ width, height }: Picture): { width: number; height: number } {
  const scale = Math.min(PICTURE_SCALE, PICTURE_WIDTH / width, PICTURE_HEIGHT / height);
  return { width: width * scale, height: height * scale };
}

function drawPicture(flow: Flow, section: Element, picture: Picture, size: { width: number; height: number }, alt: string): void {
  const { pdf, y } = flow;
  const bbox: [number, number, number, number] = [PAGE.left, y, PAGE.left + size.width, y + size.height];
  const figure = pdf.element(section, 'Figure', { alt, bbox, placement: 'Block' });
  pdf.mark(figure, 'Figure', () => picture.draw(PAGE.left, y, size.width));
  pdf.artifact(() => {
    pdf.doc.lineWidth(0.5).strokeColor(LINE).rect(PAGE.left, y, size.width, size.height).stroke();
  });
}

/** Standards, colours, the path to the element, and the elements that explain the finding. */
function drawFacts(flow: Flow, section: Element, group: ReportGroup, context: CauseContext, column: Column): void {
  const { i18n, rules } = context;
  const { texts } = i18n;
  const { example } = group;
  const fact = (label: string, value: string, maxLines = 2): void =>
    flow.paragraph(section, `${label}: ${value}`, { ...TYPE.cellSoft, breakAnywhere: true }, { ...column, maxLines });
  const standards = standardsText(group.wcag, rules.get(group.rule) ?? {}, i18n.locale);
  if (standards.length > 0) fact(texts.standards, standards.join('  ·  '), 5);
  if (example.contrast !== undefined) drawColors(flow, section, example.contrast, i18n, column);
  fact(texts.selector, example.selector);
  if (example.frame_path.length > 0) fact(texts.inFrame, example.frame_path.join(' › '));
  if (example.shadow_path.length > 0) fact(texts.inShadow, example.shadow_path.join(' › '));
  const related = (example.related ?? []).filter(({ selector }) => selector !== example.selector);
  for (const { selector } of related.slice(0, RELATED_NAMED)) fact(texts.relatedElement, selector, 1);
  if (related.length > RELATED_NAMED)
    flow.paragraph(section, i18n.count(texts.morePoints, related.length - RELATED_NAMED), TYPE.cellSoft, column);
}

const COLOR = /^#[0-9a-f]{6}$/i;

/** The colours of a text, as words and as swatches. */
function drawColors(flow: Flow, section: Element, contrast: NonNullable<ReportNode['contrast']>, i18n: I18n, { x, width }: Column): void {
  const { texts, format } = i18n;
  const { foreground, background, ratio, required, font_size_px: size, bold } = contrast;
  const style = TYPE.cellSoft;
  // Ratios have two decimals: 4.48 must not look like 4.5.
  const decimals = new Intl.NumberFormat(i18n.locale, { maximumFractionDigits: 2 });
  const words = [
    format(texts.contrast, { ratio: decimals.format(ratio), required: decimals.format(required) }),
    format(texts.foreground, { color: foreground }),
    format(texts.background, { color: background }),
    ...(size === undefined ? [] : [`${format(texts.fontSize, { size })}${bold === true ? `, ${texts.bold}` : ''}`]),
  ].join('  ·  ');
  const shown = COLOR.test(foreground) && COLOR.test(background);
  const swatches = shown ? 30 : 0;
  const lines = flow.pdf.lines(words, style, width - swatches, 3);
  flow.need(lines.length * style.leading);
  const { doc } = flow.pdf;
  const top = flow.y + 1;
  if (shown)
    flow.pdf.artifact(() => {
      doc.lineWidth(0.5).rect(x, top, 24, 9).fillAndStroke(background, LINE);
      doc.rect(x + 5, top + 2.5, 14, 4).fill(foreground);
    });
  flow.paragraph(section, words, style, { x: x + swatches, width: width - swatches, maxLines: 3 });
}

/** What to do, and beside it where. */
function drawGuidance(flow: Flow, section: Element, card: Card, context: CauseContext): void {
  const { group, kind } = card;
  const draw = kind === 'violation' ? drawAdvice : drawReview;
  flow.skip(6);
  const advice: Column = { x: PAGE.left, width: CONTENT_WIDTH - PLACES_WIDTH - GAP };
  const places: Column = { x: PAGE.left + CONTENT_WIDTH - PLACES_WIDTH, width: PLACES_WIDTH };
  const height = flow.measure((dry) => draw(dry, section, group, context.i18n, advice));
  // Columns cannot continue on the next page.
  if (flow.left() < height) {
    draw(flow, section, group, context.i18n, { x: PAGE.left, width: CONTENT_WIDTH });
    flow.skip(6);
    flow.need(100);
    drawPlaces(flow, section, group, context, { x: PAGE.left, width: CONTENT_WIDTH });
    return;
  }
  const top = flow.y;
  draw(flow, section, group, context.i18n, advice);
  const below = flow.y;
  flow.y = top;
  drawPlaces(flow, section, group, context, places);
  flow.y = Math.max(flow.y, below);
}

function drawAdvice(flow: Flow, section: Element, group: ReportGroup, i18n: I18n, column: Column): void {
  const { texts, locale } = i18n;
  const known = ruleText(group.rule, locale);
  if (known !== null && known.why !== '') {
    flow.paragraph(section, texts.whyItMatters, TYPE.label, column);
    flow.skip(1);
    flow.paragraph(section, known.why, TYPE.text, column);
    flow.skip(4);
  }
  flow.paragraph(section, texts.howToFix, TYPE.label, column);
  flow.skip(1);
  if (known !== null && known.fix !== '') flow.paragraph(section, known.fix, TYPE.text, column);
  for (const { lead, lang, points } of adviceOf(group.example.failure_summary, locale).slice(0, 4)) {
    flow.skip(2);
    flow.paragraph(section, lead, TYPE.cell, { ...column, lang, maxLines: 3 });
    drawPoints(flow, section, points, i18n, column);
  }
}

/** What a person should look at, and why the tests could not decide. */
function drawReview(flow: Flow, section: Element, group: ReportGroup, i18n: I18n, column: Column): void {
  const { texts, locale } = i18n;
  flow.paragraph(section, texts.whatToCheck, TYPE.label, column);
  flow.skip(1);
  flow.paragraph(section, reviewText(group.rule, locale), TYPE.text, column);
  // The lead says "Fix any of the following", which is not known yet.
  const reasons = adviceOf(group.example.failure_summary, locale).flatMap(({ points }) => points);
  if (reasons.length > 0) {
    flow.skip(4);
    flow.paragraph(section, texts.undecided, TYPE.label, column);
    flow.skip(1);
    drawPoints(flow, section, reasons, i18n, column);
  }
}

function drawPoints(flow: Flow, section: Element, points: Advice['points'], { texts, count }: I18n, column: Column): void {
  const shown = points.length > POINTS_MAX ? points.slice(0, POINTS_MAX - 1) : points;
  const more = points.length - shown.length;
  const rest = more > 0 ? [{ text: count(texts.morePoints, more) }] : [];
  flow.list(section, [...shown, ...rest], TYPE.cell, { ...column, maxLines: 3 });
}

function drawRuleLink(flow: Flow, section: Element, group: ReportGroup, i18n: I18n, column: Column): void {
  const url = linkable(group.help_url);
  if (url === null) return;
  const text = i18n.format(i18n.texts.aboutRule, { rule: group.rule });
  const lines = flow.pdf.lines(text, TYPE.url, column.width, 2);
  flow.need(lines.length * TYPE.url.leading);
  const paragraph = flow.pdf.element(section, 'P');
  flow.y = flow.pdf.link(paragraph, lines, column.x, flow.y + 1, TYPE.url, { url }, text);
}

/** Where it occurs, and what axe-core's site says about the rule. */
function drawPlaces(flow: Flow, section: Element, group: ReportGroup, { i18n, site }: CauseContext, column: Column): void {
  const { texts, count } = i18n;
  flow.paragraph(section, texts.where, TYPE.label, column);
  flow.skip(1);
  const named = group.page_urls.slice(0, PAGES_NAMED);
  flow.links(
    section,
    named.flatMap((page) => {
      const url = linkable(page);
      return url === null ? [] : [{ text: shortened(page, site), target: { url }, contents: page }];
    }),
    TYPE.url,
    column,
  );
  if (group.pages > named.length)
    flow.paragraph(section, count(texts.morePages, group.pages - named.length), TYPE.cellSoft, {
      x: column.x + 11,
      width: column.width - 11,
    });
  flow.skip(4);
  drawRuleLink(flow, section, group, i18n, column);
}
