/** The result of a scan as text. */
import { CHECK_DOUBTS, type CheckAnswer, NOTHING_TO_FIX } from '../core/scan/baseline.ts';
import { IMPACTS } from '../core/scan/impacts.ts';
import { ENDING_DAYS } from '../core/scan/known-issues.ts';
import { isNote } from '../core/scan/thresholds.ts';
import { printable } from './errors.ts';
import type { ScanResult } from './service/messages.ts';
import type { Explanation } from './explanation.ts';
import { paint, type Terminal } from './terminal.ts';
import { plural, textWidth, wrapped } from './values.ts';

/** 0: passed, or done without thresholds; 1: not passed; 2: no verdict. @param isCheck whether only the answer of a check counts */
export function exitCodeOf(result: ScanResult, isCheck = result.baseline?.check !== undefined): 0 | 1 | 2 {
  if (isCheck) return CHECK_EXITS[result.baseline?.check?.answer ?? 'unknown'];
  if (result.passed === false) return 1;
  return result.status === 'done' ? 0 : 2;
}

const CHECK_EXITS = { fixed: 0, still_there: 1, new: 1, unknown: 2 } as const satisfies Record<CheckAnswer, number>;

/** Whether a scan ended with numbers and a report: it is done, or was canceled and has those of the pages that were tested until then. */
export const hasResult = ({ status, score }: ScanResult): boolean =>
  status === 'done' || (status === 'canceled' && typeof score === 'number');

/** Splits a message into sentences: one per missed threshold, and the coverage. */
const sentencesOf = (message: string): string[] => printable(message).split(/(?<=[.!?])\s+(?=\p{Lu})/u);

/** What is shown after the verdict. */
export interface Shown {
  saved?: readonly string[];
  wide?: boolean;
  /** Why it did not pass, and the worst root causes. Absent: the message of the result says why. */
  explanation?: Explanation | null;
  /** The page of the scan, and the address that returns a link to the PDF report. */
  link?: string | undefined;
  report?: string | undefined;
}

const signsOf = ({ unicode }: Pick<Terminal, 'unicode'>) => (unicode ? (['✓', '✗', '–'] as const) : (['+', 'x', '-'] as const));
const row = (name: string, value: string): string => `${name.padEnd(12)}${value}`;

/** Renders score, violations by severity, and the verdict. */
export function renderVerdict(result: ScanResult, terminal: Pick<Terminal, 'color' | 'unicode'>): string {
  const [good, bad, dash] = signsOf(terminal);
  const lines = ['', ...(hasResult(result) ? numbersOf(result, terminal, dash) : [])];
  lines.push(row('Verdict', verdictOf(result, terminal, good, bad, dash)));
  return `${lines.join('\n')}\n`;
}

/** Renders what follows the verdict: the reasons, what to fix first, and where the report is. Empty if there is none of it. */
export function renderDetails(result: ScanResult, terminal: Pick<Terminal, 'unicode' | 'columns'>, shown: Shown): string {
  const { saved = [], wide = false, explanation, link, report } = shown;
  const [, bad, dash] = signsOf(terminal);
  const width = textWidth(terminal);
  const lines: string[] = [];
  for (const sentence of reasonsOf(result, explanation))
    lines.push(...wrapped(`${missesThreshold(result, sentence) ? `${bad} ` : ''}${sentence}`, '  ', width));
  if (explanation && explanation.causes.length > 0) lines.push(...explanation.causes, '');
  if (wide) lines.push(row('Scan', result.scan_id), row('Report', report ?? dash));
  if (link !== undefined) lines.push(row('Open', link));
  if (saved.length > 0) lines.push(row('Saved', saved.join(', ')));
  return lines.map((line) => `${line}\n`).join('');
}

/** The sentence of the report's explanation replaces those of the missed thresholds; statements, such as the coverage, stay. */
function reasonsOf(result: ScanResult, explanation: Explanation | null | undefined): string[] {
  if (result.message === null) return [];
  if (result.status !== 'done') return [printable(result.message)];
  const sentences = sentencesOf(result.message);
  return explanation?.reasons ? [printable(explanation.reasons), ...sentences.filter(isNote)] : sentences;
}

function numbersOf(result: ScanResult, terminal: Pick<Terminal, 'color'>, dash: string): string[] {
  const counts = {
    critical: result.violations_critical,
    serious: result.violations_serious,
    moderate: result.violations_moderate,
    minor: result.violations_minor,
  };
  const width = Math.max(...Object.values(counts).map((count) => String(count ?? dash).length));
  return [
    row('Score', `${paint(terminal, 'bold', String(result.score ?? dash))} of 100`),
    row('Violations', paint(terminal, 'bold', String(result.violations_count ?? dash))),
    ...IMPACTS.map((impact) => `  ${impact.padEnd(10)}${String(counts[impact] ?? dash).padStart(width)}`),
    ...(result.known_issues ? knownRows(result, result.known_issues) : []),
    ...(result.baseline && result.baseline.new !== null && result.baseline.check === undefined
      ? [baselineRow(result.baseline, terminal)]
      : []),
  ];
}

function baselineRow(baseline: NonNullable<ScanResult['baseline']>, terminal: Pick<Terminal, 'color'>): string {
  const { fixed, unchanged, not_tested: notTested, new_known: known } = baseline;
  const accepted = known ? ` (${known} known)` : '';
  const rest = (notTested ?? 0) > 0 ? `, ${notTested} on pages not tested` : '';
  return row('Baseline', `${paint(terminal, 'bold', String(baseline.new))} new${accepted}, ${fixed} fixed, ${unchanged} unchanged${rest}`);
}

/** What the scan has without known issues and decisions, and what people must see to. */
function knownRows(result: ScanResult, { matched, unmatched, ending }: NonNullable<ScanResult['known_issues']>): string[] {
  const {
    violations_count: total,
    violations_new_or_open: open,
    score,
    score_without_known: rest,
    score_without_decisions: undecided,
  } = result;
  const known = (total ?? 0) - (open ?? 0);
  const rows: string[] = [];
  if (known > 0) rows.push(row('Known', `${known} of the violations; without them ${open} and score ${rest}`));
  if ((undecided ?? score) !== score) rows.push(row('Decided', `score ${undecided} without faults that a person confirmed`));
  // What matched is no violation, or a violation only by a decision.
  else if (known === 0 && (matched ?? 0) > 0) rows.push(row('Decided', `${plural(matched!, 'decision')} about what needs review`));
  const notes = [
    ...((unmatched ?? 0) > 0 ? [`${unmatched} matched nothing`] : []),
    ...((ending ?? 0) > 0 ? [`${ending} end${ending === 1 ? 's' : ''} within ${ENDING_DAYS} days`] : []),
  ];
  if (notes.length > 0) rows.push(row('', `known issues and decisions: ${notes.join(', ')}`));
  return rows;
}

/** The message of a scan that passed, or has no thresholds, is a statement. So is a coverage that is sufficient. */
const missesThreshold = ({ status, passed }: ScanResult, sentence: string): boolean =>
  status === 'done' && passed === false && !isNote(sentence);

function verdictOf(result: ScanResult, terminal: Pick<Terminal, 'color'>, good: string, bad: string, dash: string): string {
  if (result.status === 'canceled')
    return paint(terminal, 'yellow', `${dash} the scan was canceled${hasResult(result) ? ', and the report is partial' : ''}`);
  if (result.status === 'failed')
    return paint(terminal, 'red', `${bad} the scan failed${result.passed === false ? ', so it did not pass' : ''}`);
  if (result.status !== 'done') return `${dash} the scan ended as ${printable(result.status)}`;
  const { check } = result.baseline ?? {};
  if (check !== undefined) return answerOf(check, terminal, good, bad, dash);
  if (result.passed === null) return `${dash} none: no thresholds were set`;
  return result.passed ? paint(terminal, 'green', `${good} passed`) : paint(terminal, 'red', `${bad} did not pass`);
}

type Check = NonNullable<NonNullable<ScanResult['baseline']>['check']>;

function answerOf(check: Check, terminal: Pick<Terminal, 'color'>, good: string, bad: string, dash: string): string {
  const { answer, reason } = check;
  const [before, left, added] = [check.before ?? 0, check.left ?? 0, check.new ?? 0];
  const others = added > 0 ? `; ${plural(added, 'violation')} on the page that the earlier scan does not have there` : '';
  if (answer === 'fixed' && before === 0) return paint(terminal, 'green', `${good} ${NOTHING_TO_FIX}`) + others;
  if (answer === 'fixed') return paint(terminal, 'green', `${good} fixed: ${plural(before, 'violation')}`) + others;
  if (answer === 'still_there')
    return paint(terminal, 'red', `${bad} still there: ${left} of ${plural(Math.max(before, left), 'violation')}`) + others;
  if (answer === 'new') return paint(terminal, 'red', `${bad} new: ${plural(added, 'violation')}`);
  const why = reason === null ? 'The page was not compared.' : CHECK_DOUBTS[reason];
  return paint(terminal, 'yellow', `${dash} it is unknown whether this is fixed. ${why}`);
}
