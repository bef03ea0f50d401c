/** One root cause: what is wrong, what it looks like, how to fix it and where it occurs. */
import type { ReportNode } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { contrastText, isDrawable, knownMark } from '../view/sentences.ts';
import { standardsText } from '../rules/success-criteria.ts';
import type { ReportWords } from '../words/words.ts';
import type { Column, Flow } from './flow.ts';
import { drawGuidance, GAP, SPLIT_ABOVE, type Card, type CauseContext } from './guidance.ts';
import { line, LINE, severityIcon, TYPE } from './palette.ts';
import { CONTENT_WIDTH, type Element, PAGE, type Picture } from './tagged-document.ts';

/** How many related elements a card names. */
const RELATED_NAMED = 2;
/** The largest size of a picture, in points. */
const PICTURE_WIDTH = CONTENT_WIDTH;
const PICTURE_HEIGHT = 104;
/** Points per pixel of a picture: the size that the element has on the page, at most. */
const PICTURE_SCALE = 0.75;
/** The smallest width for facts beside a picture. */
const BESIDE_MIN = 200;
/** The smallest part of the facts that stays with the heading: the standards and the selector. */
const FACTS_MIN = 40;

/**
 * Draws a root cause. It stays on one page, unless too much of the page before it would stay empty. Then the facts follow the
 * picture on the next page, or the guidance follows the facts.
 */
export function drawCause(flow: Flow, parent: Element, card: Card, context: CauseContext, outline: PDFKit.PDFOutline | undefined): void {
  const { pdf } = flow;
  const { cause, title, place } = card;
  const head = (on: Flow, section: Element, entry?: PDFKit.PDFOutline): void => {
    on.heading(section, 3, title, { keep: 0, outline: entry, place });
    drawSummary(on, section, cause, context.i18n);
  };
  const section = pdf.element(parent, 'Sect');
  const picture = pictureOf(flow, cause, context);
  const heights = {
    head: flow.measure((dry) => head(dry, section)) + (picture === null ? 0 : picture.height + 7) + FACTS_MIN,
    card: flow.measure((dry) => {
      head(dry, section);
      drawEvidence(dry, section, cause, context, picture);
      drawGuidance(dry, section, card, context);
    }),
  };
  const left = flow.left() - 9;
  const split = left > SPLIT_ABOVE && left >= heights.head;
  if (left < heights.card && !split) flow.newPage();
  if (flow.y > PAGE.top) pdf.artifact(() => line(pdf.doc, [PAGE.left, flow.y - 1], [PAGE.left + CONTENT_WIDTH, flow.y - 1], 0.7));
  flow.skip(9);
  head(flow, section, outline);
  drawEvidence(flow, section, cause, context, picture);
  drawGuidance(flow, section, card, context);
}

/** How many known issues a card shows. */
const KNOWN_SHOWN_MAX = 3;

function drawSummary(flow: Flow, section: Element, cause: RootCause, i18n: ReportWords): void {
  const { texts, count } = i18n;
  const about = [
    texts.severities[cause.impact],
    cause.rule,
    `${count(texts.elements, cause.elements)} ${count(texts.onPages, cause.pages)}`,
    ...(cause.new_elements === undefined || cause.new_elements === 0 ? [] : [i18n.format(texts.newElements, { n: cause.new_elements })]),
    ...(cause.example.landmark === null ? [] : [`${texts.area}: ${texts.landmarks[cause.example.landmark]}`]),
  ].join('  ·  ');
  flow.skip(2);
  flow.pdf.artifact(() => severityIcon(flow.pdf.doc, cause.impact, PAGE.left + 4.5, flow.y + TYPE.soft.leading / 2, 4));
  const beside = { x: PAGE.left + 14, width: CONTENT_WIDTH - 14 };
  flow.paragraph(section, about, TYPE.soft, { ...beside, maxLines: 3 });
  for (const mark of (cause.known ?? []).slice(0, KNOWN_SHOWN_MAX))
    flow.paragraph(section, knownMark(mark, i18n), TYPE.soft, { ...beside, maxLines: 4 });
}

/** The picture, and the facts and the HTML beside it if there is room. */
function drawEvidence(flow: Flow, section: Element, cause: RootCause, context: CauseContext, picture: CardPicture | null): void {
  const whole: Column = { x: PAGE.left, width: CONTENT_WIDTH };
  const facts = (column: Column, on = flow): void => {
    drawFacts(on, section, cause, context, column);
    on.skip(5);
    on.panel(section, cause.example.html, TYPE.code, { ...column, maxLines: 6 });
  };
  flow.skip(7);
  if (picture === null) return facts(whole);
  flow.need(picture.height);
  const below = flow.y + picture.height;
  drawPicture(flow, section, picture);
  const beside: Column = { x: PAGE.left + picture.width + GAP, width: CONTENT_WIDTH - picture.width - GAP };
  // A column cannot continue on the next page.
  const fits = beside.width >= BESIDE_MIN && flow.measure((dry) => facts(beside, dry)) <= flow.left();
  if (fits) {
    facts(beside);
    flow.y = Math.max(flow.y, below);
    return;
  }
  flow.y = below + 6;
  facts(whole);
}

/** The picture of a card, with the size at which it is drawn, in points. */
interface CardPicture {
  picture: Picture;
  width: number;
  height: number;
  alt: string;
}

function pictureOf({ pdf }: Flow, { fingerprint }: RootCause, { i18n, pictures }: CauseContext): CardPicture | null {
  const shown = pictures.get(fingerprint);
  const picture = shown === undefined ? null : pdf.picture(shown.jpeg);
  if (picture === null) return null;
  const scale = Math.min(PICTURE_SCALE, PICTURE_WIDTH / picture.width, PICTURE_HEIGHT / picture.height);
  const alt = i18n.format(i18n.texts.pictureAlt, { page: shown!.pageUrl });
  return { picture, width: picture.width * scale, height: picture.height * scale, alt };
}

function drawPicture({ pdf, y }: Flow, section: Element, { picture, width, height, alt }: CardPicture): void {
  const bbox: [number, number, number, number] = [PAGE.left, y, PAGE.left + width, y + height];
  pdf.content(section, 'Figure', () => pdf.drawPicture(picture, PAGE.left, y, width), { alt, bbox, placement: 'Block' });
  pdf.artifact(() => void pdf.doc.lineWidth(0.5).strokeColor(LINE).rect(PAGE.left, y, width, height).stroke());
}

/** Standards, colours, the path to the element, and the elements that explain the finding. */
function drawFacts(flow: Flow, section: Element, cause: RootCause, context: CauseContext, column: Column): void {
  const { i18n, rules } = context;
  const { texts } = i18n;
  const { example } = cause;
  const fact = (label: string, value: string, maxLines = 2): void =>
    flow.paragraph(section, `${label}: ${value}`, { ...TYPE.cellSoft, breakAnywhere: true }, { ...column, maxLines });
  const standards = standardsText(cause.wcag, rules.get(cause.rule)!, i18n.locale);
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
