/** The difference of two scans as text. */
import type { CauseChange, ChangedElement, NewCauseChange, ReportDiff } from '../report/diff/diff.ts';
import { elementPath } from '../report/schema/parts.ts';
import { printable } from './errors.ts';
import { paint, type Paint, type Terminal } from './terminal.ts';
import { plural } from './text-lines.ts';

/** Longer selectors are cut off. */
const SELECTOR_MAX = 160;

/** Renders a difference: the numbers, new violations, fixed ones, those that were not tested, and notes about the scans. */
export function renderDiff(diff: ReportDiff, terminal: Pick<Terminal, 'color' | 'unicode'>, wide = false): string {
  const [good, bad, dash] = terminal.unicode ? ['✓', '✗', '–'] : ['+', 'x', '-'];
  const lines = [
    ...section(`New: ${plural(elementsOf(diff.new), 'violation')}`, diff.new, { mark: bad, colour: 'red', terminal, wide }),
    ...section(`Fixed: ${plural(elementsOf(diff.fixed), 'violation')}`, diff.fixed, { mark: good, colour: 'green', terminal, wide }),
    `Unchanged: ${plural(diff.unchanged, 'violation')}`,
  ];
  if (diff.not_tested.length > 0) {
    const heading = `Not tested again: ${plural(elementsOf(diff.not_tested), 'violation')} on pages that only the first scan tested`;
    lines.push(...section(heading, diff.not_tested, { mark: dash, colour: 'yellow', terminal, wide }));
  }
  const { in_both, only_before, only_after } = diff.pages;
  lines.push(`Pages: ${in_both} compared, ${only_before} only in the first scan, ${only_after} only in the second`);
  for (const { message, before, after } of diff.comparable)
    lines.push(`Note: ${message} (${printable(before)} ${dash} ${printable(after)})`);
  return `${lines.join('\n')}\n`;
}

const elementsOf = (changes: readonly CauseChange[]): number => changes.reduce((sum, { elements }) => sum + elements, 0);

interface Style {
  mark: string;
  colour: Paint;
  terminal: Pick<Terminal, 'color'>;
  wide: boolean;
}

function section(heading: string, changes: readonly (CauseChange | NewCauseChange)[], style: Style): string[] {
  return [
    paint(style.terminal, 'bold', heading),
    ...changes.flatMap((change) => causeLines(change, style)),
    ...(changes.length > 0 ? [''] : []),
  ];
}

function causeLines(change: CauseChange | NewCauseChange, { mark, colour, terminal, wide }: Style): string[] {
  const { rule, impact, wcag, help, elements, pages, examples, fingerprint, help_url } = change;
  const onNewPages = 'on_new_pages' in change ? change.on_new_pages : 0;
  const facts = [
    impact,
    ...(wcag.length > 0 ? [`WCAG ${wcag.join(', ')}`] : []),
    `${plural(elements, 'element')} on ${plural(pages, 'page')}`,
    ...(onNewPages > 0 ? [onNewPages === elements ? 'only on new pages' : `${onNewPages} of them on new pages`] : []),
    ...(wide ? [`root cause ${fingerprint}`] : []),
  ];
  const more = elements - examples.length;
  return [
    `  ${paint(terminal, colour, mark)} ${printable(`${rule}: ${help}`)}`,
    `    ${printable(facts.join(', '))}`,
    ...(wide ? [`    ${printable(help_url)}`] : []),
    ...examples.map((example) => `    ${printable(example.page)}  ${selectorOf(example)}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

function selectorOf(element: ChangedElement): string {
  const path = printable(elementPath(element));
  return path.length <= SELECTOR_MAX ? path : `${path.slice(0, SELECTOR_MAX)}…`;
}
