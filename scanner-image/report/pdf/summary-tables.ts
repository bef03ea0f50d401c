/** The first page's two tables: violations by severity, and thresholds. */
import type { Report } from '../../../core/report/schema.ts';
import { IMPACTS, type Impact } from '../../../core/scan/impacts.ts';
import type { Flow } from './flow.ts';
import { GROUND, SEVERITIES, TYPE, VERDICTS, colored } from './palette.ts';
import { CONTENT_WIDTH, type Element } from './tagged-document.ts';
import { severitySign, verdictSign } from './icons.ts';
import { drawTable, type Cell } from './table.ts';
import type { Wording } from './i18n.ts';

/** One threshold that was set, measured. */
export interface Checked {
  name: string;
  allowed: string;
  measured: string;
  met: boolean;
}

/** The thresholds that were set, in the report's language, each met or missed. */
export function checkedThresholds(report: Report, wording: Wording): Checked[] {
  const { min_score: minScore, max_violations: maxViolations, fail_on_severity: failOn } = report.scan.thresholds;
  const { texts, say, number } = wording;
  const checked: Checked[] = [];
  if (minScore !== null)
    checked.push({
      name: texts.minScore,
      allowed: say(texts.atLeast, { n: minScore }),
      measured: number(report.score.value),
      met: report.score.value >= minScore,
    });
  if (maxViolations !== null)
    checked.push({
      name: texts.maxViolations,
      allowed: say(texts.atMost, { n: maxViolations }),
      measured: number(report.counts.total),
      met: report.counts.total <= maxViolations,
    });
  if (failOn !== null) {
    const worst = IMPACTS.slice(0, IMPACTS.indexOf(failOn) + 1);
    const found = worst.filter((impact) => report.counts[impact] > 0);
    checked.push({
      name: say(texts.failOnSeverity, { severity: texts.severities[failOn] }),
      allowed: texts.noneAllowed,
      measured:
        found.length === 0 ? number(0) : found.map((impact) => `${texts.severities[impact]}: ${number(report.counts[impact])}`).join(', '),
      met: found.length === 0,
    });
  }
  return checked;
}

/** The severities as a chart that is also a table. */
export function drawSeverities(flow: Flow, parent: Element, report: Report, wording: Wording): void {
  const { texts, number } = wording;
  const { doc } = flow.sheet;
  const causes = (impact: Impact): number => report.groups.filter((group) => group.impact === impact).length;
  const most = Math.max(1, ...IMPACTS.map((impact) => report.counts[impact]));
  const bar = 230;
  const rows = IMPACTS.map((impact): Cell[] => [
    {
      text: texts.severities[impact],
      style: TYPE.strong,
      names: true,
      indent: 16,
      decorate: (x, middle) => severitySign(doc, impact, x + 6, middle, 4.4),
    },
    {
      text: number(report.counts[impact]),
      style: TYPE.strong,
      decorate: (x, middle) => {
        doc.rect(x, middle - 5, bar, 10).fill(GROUND);
        const share = report.counts[impact] / most;
        // What is there at all must be seen: two points at least.
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
    3.5,
  );
}

/** Each threshold that was set, met or missed. */
export function drawThresholds(flow: Flow, parent: Element, wording: Wording, checked: readonly Checked[]): void {
  const { texts } = wording;
  const { doc } = flow.sheet;
  drawTable(
    flow,
    parent,
    [
      { heading: texts.threshold, width: 190 },
      { heading: texts.allowed, width: 90 },
      { heading: texts.measured, width: 115 },
      { heading: texts.result, width: CONTENT_WIDTH - 395 },
    ],
    checked.map(({ name, allowed, measured, met }): Cell[] => {
      const color = met ? VERDICTS.passed.strong : VERDICTS.missed.strong;
      return [
        { text: name, style: TYPE.body, names: true },
        { text: allowed, style: TYPE.body },
        { text: measured, style: TYPE.body },
        {
          text: met ? texts.met : texts.missed,
          style: colored(TYPE.strong, color),
          indent: 15,
          decorate: (x, middle) => verdictSign(doc, met, x + 5.5, middle, 5.5, color),
        },
      ];
    }),
    3.5,
  );
}
