/** One root cause: what is wrong, what it looks like, how to fix it and where it occurs. */
import type { ReportNode } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { contrastText, inStates, isDrawable, knownMark } from '../view/sentences.ts';
import { standardsText } from '../rules/success-criteria.ts';
import type { ReportWords } from '../words/words.ts';
import type { Column, Flow } from './flow.ts';
import { type Card, type CauseContext, type Detail, drawGuidance, drawPlaces, type PartContext } from './guidance.ts';
import { line, LINE, severityIcon, TYPE } from './palette.ts';
import { CONTENT_WIDTH, type Element, PAGE, type Picture } from './tagged-document.ts';

/** How many related elements a card names. */
const RELATED_NAMED = 2;
/** How many known issues a card shows. */
const KNOWN_SHOWN_MAX = 3;
/** Points per pixel of a picture: the size that the element has on the page, at most. */
const PICTURE_SCALE = 0.75;
/** A picture that is this many times as wide as high would be too small in a column. */
const WIDE = 3.5;
/** Between two columns, in points. */
const GAP = 14;
/** Between the parts of a column. */
const GAP_BELOW = 6;
/** The columns beside the advice and beside a wide picture, in points. */
const SIDE_WIDTH = 215;
const PLACES_WIDTH = 140;

/** From the most to the least. With the least, no card is higher than a page. */
const DETAILS: readonly Detail[] = [
  { picture: 104, code: 6, pages: 5, points: 5 },
  { picture: 72, code: 3, pages: 3, points: 3 },
  { picture: 60, code: 2, pages: 2, points: 2 },
];
const LEAST = DETAILS.at(-1)!;

/** Draws a root cause on one page, with as much detail as there is room for on the current one, or else on the next. */
export function drawCause(flow: Flow, parent: Element, card: Card, context: CauseContext, outline: PDFKit.PDFOutline | undefined): void {
  const { pdf } = flow;
  const section = pdf.element(parent, 'Sect');
  const draw = cardOf(flow, section, card, context);
  const fitting = (): Detail | undefined => DETAILS.find((detail) => flow.measure((dry) => draw(dry, detail)) <= flow.left());
  let detail = fitting();
  if (detail === undefined) {
    flow.newPage();
    detail = fitting() ?? LEAST;
  }
  if (flow.y > PAGE.top) pdf.artifact(() => line(pdf.doc, [PAGE.left, flow.y - 1], [PAGE.left + CONTENT_WIDTH, flow.y - 1], 0.7));
  draw(flow, detail, outline);
}

/** The height of a root cause with the least detail. */
export const leastHeight = (flow: Flow, card: Card, context: CauseContext): number =>
  flow.measure((dry) => cardOf(flow, flow.pdf.root, card, context)(dry, LEAST));

function cardOf(flow: Flow, section: Element, card: Card, context: CauseContext) {
  const picture = pictureOf(flow, card.cause, context);
  return (on: Flow, detail: Detail, outline?: PDFKit.PDFOutline): void => {
    on.skip(9);
    on.heading(section, 3, card.title, { keep: 0, outline, place: card.place });
    drawSummary(on, section, card.cause, context);
    on.skip(7);
    drawParts(on, section, card, { ...context, detail }, picture);
  };
}

/** Severity, rule and extent, known issues, and standards. */
function drawSummary(flow: Flow, section: Element, cause: RootCause, { i18n, rules }: CauseContext): void {
  const { texts, count } = i18n;
  const states = inStates(cause, i18n.locale);
  const about = [
    texts.severities[cause.impact],
    cause.rule,
    `${count(texts.elements, cause.elements)} ${count(texts.onPages, cause.pages)}`,
    ...(cause.new_elements === undefined || cause.new_elements === 0 ? [] : [i18n.format(texts.newElements, { n: cause.new_elements })]),
    ...(states === null ? [] : [states]),
    ...(cause.example.landmark === null ? [] : [`${texts.area}: ${texts.landmarks[cause.example.landmark]}`]),
  ].join('  ·  ');
  flow.skip(2);
  flow.pdf.artifact(() => severityIcon(flow.pdf.doc, cause.impact, PAGE.left + 4.5, flow.y + TYPE.soft.leading / 2, 4));
  const beside = { x: PAGE.left + 14, width: CONTENT_WIDTH - 14 };
  flow.paragraph(section, about, TYPE.soft, { ...beside, maxLines: 3 });
  for (const mark of (cause.known ?? []).slice(0, KNOWN_SHOWN_MAX))
    flow.paragraph(section, knownMark(mark, i18n), TYPE.soft, { ...beside, maxLines: 3 });
  const standards = standardsText(cause.wcag, rules.get(cause.rule)!, i18n.locale).join('  ·  ');
  if (standards !== '') flow.paragraph(section, `${texts.standards}: ${standards}`, TYPE.cellSoft, { ...beside, maxLines: 4 });
}

/** What to do beside the picture and the pages, and the example below what is shorter. A wide picture is above them. */
function drawParts(flow: Flow, section: Element, card: Card, context: PartContext, picture: CardPicture | null): void {
  const { cause } = card;
  const advice: Part = (on, column) => drawGuidance(on, section, card, context, column);
  const example: Part = (on, column) => drawExample(on, section, cause, context, column);
  const places: Part = (on, column) => drawPlaces(on, section, cause, context, column);
  const shown: Part = (on, column) => void (picture && drawPicture(on, section, picture, context, column));
  if (context.detail !== LEAST && picture !== null && picture.width / picture.height > WIDE) {
    drawColumns(flow, [[shown], [places]], PLACES_WIDTH);
    flow.skip(GAP_BELOW);
    return drawColumns(flow, [[advice], [example]]);
  }
  const right = picture === null ? [places] : [shown, places];
  const [left, beside] = [[advice], right].map((parts, at) => flow.measure((dry) => drawColumn(dry, parts, columnOf(at, SIDE_WIDTH))));
  drawColumns(flow, left! > beside! ? [[advice], [...right, example]] : [[advice, example], right]);
}

/** A part of a card, in a column. */
type Part = (on: Flow, column: Column) => void;

/** The left or the right one of two columns. @param width of the right one */
const columnOf = (at: number, width: number): Column =>
  at === 0 ? { x: PAGE.left, width: CONTENT_WIDTH - width - GAP } : { x: PAGE.left + CONTENT_WIDTH - width, width };

function drawColumn(flow: Flow, parts: readonly Part[], column: Column): void {
  for (const [index, part] of parts.entries()) {
    if (index > 0) flow.skip(GAP_BELOW);
    part(flow, column);
  }
}

/** @param width of the right column */
function drawColumns(flow: Flow, columns: [left: Part[], right: Part[]], width = SIDE_WIDTH): void {
  const top = flow.y;
  const ends = columns.map((parts, at) => {
    flow.y = top;
    drawColumn(flow, parts, columnOf(at, width));
    return flow.y;
  });
  flow.y = Math.max(...ends);
}

type CardPicture = Picture & { alt: string };

function pictureOf({ pdf }: Flow, { fingerprint }: RootCause, { i18n, pictures }: CauseContext): CardPicture | null {
  const shown = pictures.get(fingerprint);
  const picture = shown === undefined ? null : pdf.picture(shown.jpeg);
  return picture && Object.assign(picture, { alt: i18n.format(i18n.texts.pictureAlt, { page: shown!.pageUrl }) });
}

function drawPicture(flow: Flow, section: Element, picture: CardPicture, { detail }: PartContext, { x, width: widest }: Column): void {
  const { pdf, y } = flow;
  const { alt } = picture;
  const scale = Math.min(PICTURE_SCALE, widest / picture.width, detail.picture / picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const bbox: [number, number, number, number] = [x, y, x + width, y + height];
  pdf.content(section, 'Figure', () => pdf.drawPicture(picture, x, y, width), { alt, bbox, placement: 'Block' });
  pdf.artifact(() => void pdf.doc.lineWidth(0.5).strokeColor(LINE).rect(x, y, width, height).stroke());
  flow.y += height;
}

/** Colours, the path to the element, the elements that explain the finding, and the HTML. */
function drawExample(flow: Flow, section: Element, { example }: RootCause, { i18n, detail }: PartContext, column: Column): void {
  const { texts } = i18n;
  const fact = (label: string, value: string, maxLines = 2): void =>
    flow.paragraph(section, `${label}: ${value}`, { ...TYPE.cellSoft, breakAnywhere: true }, { ...column, maxLines });
  if (example.contrast !== undefined) drawColors(flow, section, example.contrast, i18n, column);
  fact(texts.selector, example.selector);
  if (example.frame_path.length > 0) fact(texts.inFrame, example.frame_path.join(' › '));
  if (example.shadow_path.length > 0) fact(texts.inShadow, example.shadow_path.join(' › '));
  const related = (example.related ?? []).filter(({ selector }) => selector !== example.selector);
  for (const { selector } of related.slice(0, RELATED_NAMED)) fact(texts.relatedElement, selector, 1);
  if (related.length > RELATED_NAMED)
    flow.paragraph(section, i18n.count(texts.morePoints, related.length - RELATED_NAMED), TYPE.cellSoft, column);
  flow.skip(5);
  flow.panel(section, example.html, TYPE.code, { ...column, maxLines: detail.code });
}

/** The colours of a text, as words and as swatches. */
function drawColors(
  flow: Flow,
  section: Element,
  contrast: NonNullable<ReportNode['contrast']>,
  i18n: ReportWords,
  { x, width }: Column,
): void {
  const { foreground, background } = contrast;
  const style = TYPE.cellSoft;
  const { ratio, colors, size } = contrastText(contrast, i18n);
  const words = [ratio, ...colors.map(({ name }) => name), ...(size === undefined ? [] : [size])].join('  ·  ');
  const shown = isDrawable(foreground) && isDrawable(background);
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
