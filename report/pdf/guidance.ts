/** What a reader should do about a root cause, and where it occurs. */
import { foundBy, reviewText } from '../rule-texts/rule-texts.ts';
import type { ReportRule } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import type { CauseText } from '../causes/element-names.ts';
import { type Column, type Flow, linkable, shortened } from './flow.ts';
import type { ReportWords } from '../words/words.ts';
import { TYPE } from './palette.ts';
import type { Element } from './tagged-document.ts';

/** The most lines of a text about a rule. */
const TEXT_LINES_MAX = 9;

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

/** How much a card shows: the height of its picture in points, and the lines of HTML, the pages and the points, at most. */
export interface Detail {
  picture: number;
  code: number;
  pages: number;
  points: number;
}

/** What the parts of a card share. */
export type PartContext = CauseContext & { detail: Detail };

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

/** What to do: why and how, or what a person should look at. Then what axe-core found. */
export function drawGuidance(flow: Flow, section: Element, { kind, cause, text }: Card, context: PartContext, column: Column): void {
  const { texts, count, locale } = context.i18n;
  const { points: pointsMax } = context.detail;
  const { rule, example } = cause;
  const labelled = (label: string, draw: () => void): void => {
    if (flow.y > top) flow.skip(4);
    flow.paragraph(section, label, TYPE.label, column);
    flow.skip(1);
    draw();
  };
  const said = (label: string, body: string): void => {
    if (body !== '') labelled(label, () => flow.paragraph(section, body, TYPE.text, { ...column, maxLines: TEXT_LINES_MAX }));
  };
  const top = flow.y;
  if (kind === 'review') said(texts.whatToCheck, reviewText(rule, locale));
  else {
    said(texts.whyItMatters, text.why);
    said(texts.howToFix, text.fix);
  }
  const isExplained = kind === 'violation' && text.fix !== '';
  const points = isExplained && example.contrast !== undefined ? [] : foundBy(example.failure_summary, locale, !isExplained);
  if (points.length === 0) return;
  const shown = points.length > pointsMax ? points.slice(0, pointsMax - 1) : points;
  const more = points.length - shown.length;
  const rest = more > 0 ? [{ text: count(texts.morePoints, more) }] : [];
  labelled(kind === 'review' ? texts.undecided : texts.detected, () =>
    flow.list(section, [...shown, ...rest], TYPE.cell, { ...column, maxLines: 3 }),
  );
}

function drawRuleLink(flow: Flow, section: Element, cause: RootCause, i18n: ReportWords, column: Column): void {
  const url = linkable(cause.help_url);
  if (url === null) return;
  const text = i18n.format(i18n.texts.aboutRule, { rule: cause.rule });
  const lines = flow.pdf.lines(text, TYPE.url, column.width, 2);
  const paragraph = flow.pdf.element(section, 'P');
  flow.y = flow.pdf.link(paragraph, lines, column.x, flow.y + 1, TYPE.url, { target: { url }, contents: text });
}

/** Where it occurs, and what axe-core's site says about the rule. */
export function drawPlaces(flow: Flow, section: Element, cause: RootCause, { i18n, site, detail }: PartContext, column: Column): void {
  const { texts, count } = i18n;
  flow.paragraph(section, texts.where, TYPE.label, column);
  flow.skip(1);
  const named = cause.page_urls.slice(0, detail.pages);
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
