/** The tables on the first page: the leading root causes, violations by severity, and thresholds. */
import type { LeadingCauses } from '../view/leading-causes.ts';
import type { Report } from '../schema/report.ts';
import { IMPACTS, type Impact } from '../../core/scan/impacts.ts';
import { type Flow, placeOf } from './flow.ts';
import { colored, GROUND, SEVERITIES, severityIcon, TYPE, verdictIcon, VERDICTS } from './palette.ts';
import { CONTENT_WIDTH, type Element } from './tagged-document.ts';
import { causeTexts } from '../causes/element-names.ts';
import type { ThresholdRow } from '../view/verdict.ts';
import { drawTable, type Cell } from './table.ts';
import type { ReportWords } from '../words/words.ts';

/** Draws a bar chart of the severities that is also a table. */
export function drawSeverities(flow: Flow, parent: Element, report: Report, i18n: ReportWords): void {
  const { texts, number } = i18n;
  const { doc } = flow.pdf;
  const causes = (impact: Impact): number => report.groups.filter((group) => group.impact === impact).length;
  const most = Math.max(1, ...IMPACTS.map((impact) => report.counts[impact]));
  const bar = 230;
  const rows = IMPACTS.map((impact): Cell[] => [
    {
      text: texts.severities[impact],
      style: TYPE.strong,
      rowHeader: true,
      indent: 16,
      decorate: (x, middle) => severityIcon(doc, impact, x + 6, middle, 4.4),
    },
    {
      text: number(report.counts[impact]),
      style: TYPE.strong,
      decorate: (x, middle) => {
        doc.rect(x, middle - 5, bar, 10).fill(GROUND);
        const share = report.counts[impact] / most;
        // Even the smallest bar must be visible: at least two points.
        if (share > 0) doc.rect(x, middle - 5, Math.max(2, bar * share), 10).fill(SEVERITIES[impact]);
      },
    },
    { text: number(causes(impact)), style: TYPE.body },
  ]);
  drawTable(
    flow,
    parent,
    [
      { heading: texts.severity, width: 130 },
      { heading: texts.violations, width: 280, side: 'right' },
      { heading: texts.rootCauses, width: CONTENT_WIDTH - 410 + 8, side: 'right' },
    ],
    rows,
    2,
  );
}

export function drawThresholds(flow: Flow, parent: Element, i18n: ReportWords, rows: readonly ThresholdRow[]): void {
  const { texts } = i18n;
  const { doc } = flow.pdf;
  drawTable(
    flow,
    parent,
    [
      { heading: texts.threshold, width: 190 },
      { heading: texts.allowed, width: 90 },
      { heading: texts.measured, width: 115 },
      { heading: texts.result, width: CONTENT_WIDTH - 395 },
    ],
    rows.map(({ name, allowed, measured, met }): Cell[] => {
      const color = met ? VERDICTS.passed.strong : VERDICTS.missed.strong;
      return [
        { text: name, style: TYPE.body, rowHeader: true },
        { text: allowed, style: TYPE.body },
        { text: measured, style: TYPE.body },
        {
          text: met ? texts.met : texts.missed,
          style: colored(TYPE.strong, color),
          indent: 15,
          decorate: (x, middle) => verdictIcon(doc, met, x + 5.5, middle, 5.5, color),
        },
      ];
    }),
    2,
  );
}

/** Draws the leading causes, each with its share of the violations as a bar, and a link to its card. */
export function drawLeadingCauses(
  flow: Flow,
  parent: Element,
  report: Report,
  causes: LeadingCauses['causes'],
  i18n: ReportWords,
  shownInFull: number,
): void {
  const { texts, number, locale } = i18n;
  const { doc } = flow.pdf;
  const bar = 70;
  const known = causeTexts(report.groups, locale);
  const rows = causes.map(({ cause, index }): Cell[] => {
    const { title, element } = known.get(report.groups[index]!)!;
    return [
      {
        text: title,
        style: index < shownInFull ? { ...TYPE.url, size: 9, breakAnywhere: false } : TYPE.cellStrong,
        rowHeader: true,
        maxLines: 2,
        below: element === undefined ? undefined : { text: element, style: { ...TYPE.code, size: 7, leading: 10 } },
        indent: 14,
        link:
          index < shownInFull
            ? { target: { place: placeOf(index) }, contents: element === undefined ? title : `${title} · ${element}` }
            : undefined,
        decorate: (x, middle) => severityIcon(doc, cause.impact, x + 5, middle, 4),
      },
      {
        text: number(cause.elements),
        style: TYPE.strong,
        decorate: (x, middle) => {
          doc.rect(x, middle - 4, bar, 8).fill(GROUND);
          doc.rect(x, middle - 4, Math.max(2, (bar * cause.elements) / report.counts.total), 8).fill(SEVERITIES[cause.impact]);
        },
      },
      { text: number(cause.pages), style: TYPE.body },
    ];
  });
  drawTable(
    flow,
    parent,
    [
      { heading: texts.rootCauses, width: 310 },
      { heading: texts.violations, width: 122, side: 'right' },
      { heading: texts.pages, width: CONTENT_WIDTH - 432 + 8, side: 'right' },
    ],
    rows,
    2,
  );
}
