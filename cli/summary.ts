/** The result of a scan as text. */
import { IMPACTS } from '../core/scan/impacts.ts';
import { ENDING_DAYS } from '../core/scan/known-issues.ts';
import { isNote } from '../core/scan/thresholds.ts';
import { printable } from './errors.ts';
import type { ScanResult } from './service/messages.ts';
import { paint, type Terminal } from './terminal.ts';

/** 0: passed, or done without thresholds; 1: not passed; 2: no verdict. */
export function exitCodeOf(result: ScanResult): 0 | 1 | 2 {
  if (result.passed === false) return 1;
  return result.status === 'done' ? 0 : 2;
}

/** Splits a message into sentences: one per missed threshold, and the coverage. */
const sentencesOf = (message: string): string[] => printable(message).split(/(?<=[.!?])\s+(?=\p{Lu})/u);

/** Renders score, violations by severity, verdict and missed thresholds; with `wide` also the scan ID and where its report is. */
export function renderSummary(
  result: ScanResult,
  terminal: Pick<Terminal, 'color' | 'unicode'>,
  { saved = [], wide = false }: { saved?: readonly string[]; wide?: boolean } = {},
): string {
  const [good, bad, dash] = terminal.unicode ? ['✓', '✗', '–'] : ['+', 'x', '-'];
  const row = (name: string, value: string): string => `${name.padEnd(12)}${value}`;
  const lines = [''];
  if (result.status === 'done') {
    const counts = {
      critical: result.violations_critical,
      serious: result.violations_serious,
      moderate: result.violations_moderate,
      minor: result.violations_minor,
    };
    const width = Math.max(...Object.values(counts).map((count) => String(count ?? dash).length));
    lines.push(row('Score', `${paint(terminal, 'bold', String(result.score ?? dash))} of 100`));
    lines.push(row('Violations', paint(terminal, 'bold', String(result.violations_count ?? dash))));
    for (const impact of IMPACTS) lines.push(`  ${impact.padEnd(10)}${String(counts[impact] ?? dash).padStart(width)}`);
  }
  if (result.status === 'done' && result.known_issues) lines.push(...knownRows(result, result.known_issues, row));
  const { baseline } = result;
  if (result.status === 'done' && baseline && baseline.new !== null) {
    const { fixed, unchanged, not_tested: notTested, new_known: known } = baseline;
    const accepted = known ? ` (${known} known)` : '';
    const rest = (notTested ?? 0) > 0 ? `, ${notTested} on pages not tested` : '';
    lines.push(
      row('Baseline', `${paint(terminal, 'bold', String(baseline.new))} new${accepted}, ${fixed} fixed, ${unchanged} unchanged${rest}`),
    );
  }
  lines.push(row('Verdict', verdictOf(result, terminal, good, bad, dash)));
  if (result.message !== null) {
    const sentences = result.status === 'done' ? sentencesOf(result.message) : [printable(result.message)];
    for (const sentence of sentences) lines.push(`  ${missesThreshold(result, sentence) ? `${bad} ` : ''}${sentence}`);
  }
  if (wide) lines.push(row('Scan', result.scan_id), row('Report', result.report_url ?? dash));
  if (saved.length > 0) lines.push(row('Saved', saved.join(', ')));
  return `${lines.join('\n')}\n`;
}

/** What the scan has without known issues, and what people must see to. */
function knownRows(
  { violations_count: total, violations_new_or_open: open, score_without_known: score }: ScanResult,
  { unmatched, ending }: NonNullable<ScanResult['known_issues']>,
  row: (name: string, value: string) => string,
): string[] {
  const notes = [
    ...((unmatched ?? 0) > 0 ? [`${unmatched} matched nothing`] : []),
    ...((ending ?? 0) > 0 ? [`${ending} end${ending === 1 ? 's' : ''} within ${ENDING_DAYS} days`] : []),
  ];
  return [
    row('Known', `${(total ?? 0) - (open ?? 0)} of the violations; without them ${open} and score ${score}`),
    ...(notes.length === 0 ? [] : [row('', `known issues: ${notes.join(', ')}`)]),
  ];
}

/** The message of a scan that passed, or has no thresholds, is a statement. So is a coverage that is sufficient. */
const missesThreshold = ({ status, passed }: ScanResult, sentence: string): boolean =>
  status === 'done' && passed === false && !isNote(sentence);

function verdictOf(result: ScanResult, terminal: Pick<Terminal, 'color'>, good: string, bad: string, dash: string): string {
  if (result.status === 'canceled') return paint(terminal, 'yellow', `${dash} the scan was canceled`);
  if (result.status === 'failed')
    return paint(terminal, 'red', `${bad} the scan failed${result.passed === false ? ', so it did not pass' : ''}`);
  if (result.status !== 'done') return `${dash} the scan ended as ${printable(result.status)}`;
  if (result.passed === null) return `${dash} none: no thresholds were set`;
  return result.passed ? paint(terminal, 'green', `${good} passed`) : paint(terminal, 'red', `${bad} did not pass`);
}
