/** Root causes, worst first: an example, how to fix it, and where it occurs. */
import type { Report, ReportGroup } from '../../../core/report/schema.ts';
import type { Flow } from './flow.ts';
import { linkable, placeOf } from './links.ts';
import { LINE, TYPE } from './palette.ts';
import { CONTENT_WIDTH, PAGE, type Element } from './tagged-document.ts';
import { severityIcon } from './icons.ts';
import { drawTable, type Cell } from './table.ts';
import type { Style } from './typography.ts';
import type { I18n } from './i18n.ts';

/** How many root causes are shown in full, and how many in the table after them. The JSON export has the rest. */
export const CAUSES_IN_FULL = 50;
export const CAUSES_IN_TABLE = 200;
/** How many pages a root cause lists. */
const PAGES_NAMED = 5;
/** The longest help text of a rule, in characters. It comes from the pod, so it is limited. */
const HELP_MAX = 300;

/** One part of a failure summary: what to do, and its options. */
export interface Advice {
  lead: string;
  points: string[];
}

/** Parses a failure summary of axe-core: one line per lead, with indented lines for its points. */
export function adviceOf(summary: string): Advice[] {
  const advice: Advice[] = [];
  for (const line of summary.split('\n')) {
    const text = line.trim();
    if (text === '') continue;
    const last = advice.at(-1);
    if (/^\s/.test(line) && last !== undefined) last.points.push(text);
    else advice.push({ lead: text, points: [] });
  }
  return advice;
}

/** Draws the section of root causes, and adds them to the outline. */
export function drawCauses(flow: Flow, report: Report, i18n: I18n, outline: PDFKit.PDFOutline): void {
  const { pdf } = flow;
  const { texts } = i18n;
  flow.newPage();
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
  report.groups.slice(0, CAUSES_IN_FULL).forEach((group, index) => {
    flow.skip(14);
    drawCause(flow, section, group, index, i18n, entry);
  });
  const further = report.groups.slice(CAUSES_IN_FULL, CAUSES_IN_FULL + CAUSES_IN_TABLE);
  if (further.length > 0) drawFurther(flow, further, report.groups.length, i18n, outline);
  flow.skip(26);
}

function drawCause(
  flow: Flow,
  parent: Element,
  group: ReportGroup,
  index: number,
  i18n: I18n,
  outline: PDFKit.PDFOutline | undefined,
): void {
  const { pdf } = flow;
  const { texts, count } = i18n;
  const section = pdf.element(parent, 'Sect');
  const title = `${index + 1}. ${group.help.slice(0, HELP_MAX)}`;
  // A root cause stays on one page, unless more than half a page would stay empty.
  const height = heightOf(flow, group, title);
  if (flow.left() < height && flow.left() < (PAGE.height - PAGE.top - PAGE.bottom) / 2) flow.newPage();
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
  flow.heading(section, 3, title, { keep: 110, outline, place: placeOf(index) });

  const about = [
    texts.severities[group.impact],
    group.rule,
    ...(group.wcag.length > 0 ? [`WCAG ${group.wcag.join(', ')}`] : []),
    `${count(texts.elements, group.elements)} ${count(texts.onPages, group.pages)}`,
  ].join('  ·  ');
  flow.skip(2);
  pdf.artifact(() => severityIcon(pdf.doc, group.impact, PAGE.left + 4.5, flow.y + TYPE.soft.leading / 2, 4));
  flow.paragraph(section, about, TYPE.soft, { x: PAGE.left + 14, width: CONTENT_WIDTH - 14, maxLines: 3 });

  flow.skip(7);
  flow.paragraph(section, texts.example, TYPE.label);
  flow.skip(3);
  flow.panel(section, group.example.html, TYPE.code, { tag: 'Code', maxLines: 6 });
  flow.skip(4);
  const path = (selectors: readonly string[]): string => selectors.join(' › ');
  flow.paragraph(section, `${texts.selector}: ${group.example.selector}`, { ...TYPE.cellSoft, breakAnywhere: true }, { maxLines: 2 });
  if (group.example.frame_path.length > 0)
    flow.paragraph(
      section,
      `${texts.inFrame}: ${path(group.example.frame_path)}`,
      { ...TYPE.cellSoft, breakAnywhere: true },
      { maxLines: 2 },
    );
  if (group.example.shadow_path.length > 0)
    flow.paragraph(
      section,
      `${texts.inShadow}: ${path(group.example.shadow_path)}`,
      { ...TYPE.cellSoft, breakAnywhere: true },
      { maxLines: 2 },
    );

  drawAdvice(flow, section, group, i18n);
  drawPlaces(flow, section, group, i18n);
}

/** The height of a root cause in points, rounded up. */
function heightOf(flow: Flow, group: ReportGroup, title: string): number {
  const { pdf } = flow;
  const heightOfText = (text: string, style: Style, width: number, maxLines: number): number =>
    pdf.lines(text, style, width, maxLines).length * style.leading;
  const { example } = group;
  const bulleted = CONTENT_WIDTH - 11;
  return (
    heightOfText(title, TYPE.h3, CONTENT_WIDTH, 4) +
    2 * TYPE.soft.leading +
    3 * TYPE.label.leading +
    heightOfText(example.html, TYPE.code, CONTENT_WIDTH - 24, 6) +
    (2 + example.frame_path.length + example.shadow_path.length) * TYPE.cellSoft.leading +
    adviceOf(example.failure_summary)
      .slice(0, 4)
      .flatMap(({ lead, points }) => [lead, ...points.slice(0, 8)])
      .reduce((sum, text) => sum + heightOfText(text, TYPE.body, bulleted, 3), 0) +
    group.page_urls.slice(0, PAGES_NAMED).reduce((sum, url) => sum + heightOfText(url, TYPE.url, bulleted, 2) + 1, 0) +
    TYPE.url.leading +
    70
  );
}

function drawAdvice(flow: Flow, section: Element, group: ReportGroup, i18n: I18n): void {
  const { texts, format } = i18n;
  flow.skip(8);
  flow.need(TYPE.label.leading + 2 * TYPE.body.leading);
  flow.paragraph(section, texts.howToFix, TYPE.label);
  flow.skip(2);
  for (const { lead, points } of adviceOf(group.example.failure_summary).slice(0, 4)) {
    flow.need(TYPE.body.leading * 2);
    flow.paragraph(section, lead, TYPE.body, { maxLines: 3 });
    flow.list(section, points.slice(0, 8), TYPE.body, { maxLines: 3 });
  }
  const url = linkable(group.help_url);
  if (url === null) return;
  const text = format(texts.aboutRule, { rule: group.rule });
  const lines = flow.pdf.lines(text, TYPE.url, CONTENT_WIDTH, 1);
  flow.need(TYPE.url.leading);
  const paragraph = flow.pdf.element(section, 'P');
  flow.y = flow.pdf.link(paragraph, lines, PAGE.left, flow.y + 1, TYPE.url, { url }, text);
}

function drawPlaces(flow: Flow, section: Element, group: ReportGroup, i18n: I18n): void {
  const { texts, count } = i18n;
  flow.skip(8);
  flow.need(TYPE.label.leading + 2 * TYPE.url.leading);
  flow.paragraph(section, texts.where, TYPE.label);
  flow.skip(2);
  const named = group.page_urls.slice(0, PAGES_NAMED);
  flow.links(
    section,
    named.flatMap((page) => {
      const url = linkable(page);
      return url === null ? [] : [{ text: page, target: { url }, contents: page }];
    }),
  );
  if (group.pages > named.length)
    flow.paragraph(section, count(texts.morePages, group.pages - named.length), TYPE.cellSoft, {
      x: PAGE.left + 11,
      width: CONTENT_WIDTH - 11,
    });
}

function drawFurther(flow: Flow, groups: readonly ReportGroup[], all: number, i18n: I18n, outline: PDFKit.PDFOutline): void {
  const { pdf } = flow;
  const { texts, count, number } = i18n;
  flow.skip(26);
  const section = pdf.element(pdf.root, 'Sect');
  flow.heading(section, 2, texts.furtherCauses, { outline, keep: 120 });
  flow.skip(5);
  flow.paragraph(section, texts.furtherCausesIntro, TYPE.soft);
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
    groups.map((group): Cell[] => [
      {
        text: group.help.slice(0, HELP_MAX),
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
  if (all > CAUSES_IN_FULL + groups.length) {
    flow.skip(8);
    flow.paragraph(section, count(texts.leftOutCauses, all - CAUSES_IN_FULL - groups.length), TYPE.strong);
  }
}
