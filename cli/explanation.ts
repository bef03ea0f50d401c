/** Why a scan did not pass, and what to fix first, as text. Loaded only at the end of a scan, because it needs the report's words. */
import { ruleText } from '../report/rule-texts/rule-texts.ts';
import { elementPath } from '../report/schema/page.ts';
import type { Report } from '../report/schema/report.ts';
import type { CauseChange } from '../report/schema/root-cause.ts';
import { causesToFix } from '../report/view/fix-to-pass.ts';
import { explainScore, scoreFactsOf, type ScoreFacts, toPassSentence } from '../report/view/verdict.ts';
import { printable } from './errors.ts';
import { paint, type Terminal } from './terminal.ts';
import { plural, textWidth, wrapped } from './values.ts';

/** As many root causes as a person reads at the end of a log. */
const CAUSES = 5;
/** The longest title of a rule that this version does not know, in characters. */
const TITLE_MAX = 300;

export interface Explanation {
  /** Why it did not pass, also if the score is high. Null if it passed, or has no thresholds. */
  reasons: string | null;
  /** What to fix to pass, or the worst root causes, with a heading; empty if there are none. */
  causes: string[];
}

/** Explains a report, in English. @param wide whole selectors, and the fingerprints of root causes */
export function explain(report: Report, terminal: Pick<Terminal, 'color' | 'columns'>, wide: boolean): Explanation {
  const { toPass, causes } = causesToFix(report);
  const sentence = toPass === null ? [] : ['', ...wrapped(toPassSentence(toPass, 'en'), '', textWidth(terminal))];
  const shown = toPass !== null && toPass.causes.length > 0 ? causes : causes.slice(0, CAUSES);
  const heading =
    shown === causes && toPass !== null ? sentence : [...sentence, '', `Fix first: ${whatOf(report, causes.length, shown.length)}`];
  return {
    reasons: explainScore(scoreFactsOf(report), 'en').reasons,
    causes:
      causes.length === 0
        ? sentence
        : [
            ...heading.map((line) => (line === '' ? line : paint(terminal, 'bold', line))),
            ...shown.flatMap((cause) => linesOf(cause, terminal, wide)),
          ],
  };
}

/** What the list without a sentence is about. */
function whatOf({ baseline }: Report, all: number, shown: number): string {
  const compared = baseline !== undefined && baseline.new !== null;
  return `${shown < all ? `the worst ${shown} of ${all}` : all} ${compared ? 'new ' : ''}root cause${all === 1 ? '' : 's'}`;
}

/** Why a scan did not pass, where there is no report. */
export const explainFacts = (facts: ScoreFacts): Explanation => ({ reasons: explainScore(facts, 'en').reasons, causes: [] });

function linesOf(cause: CauseChange, terminal: Pick<Terminal, 'color' | 'columns'>, wide: boolean): string[] {
  const width = textWidth(terminal);
  const known = ruleText(cause.rule, 'en');
  const [example] = cause.examples;
  const title = `- ${cause.impact}: ${known?.help ?? cause.help.slice(0, TITLE_MAX)} (${cause.rule})`;
  const facts = `${plural(cause.elements, 'element')} on ${plural(cause.pages, 'page')}`;
  const indented = (text: string): string[] => wrapped(printable(text), '    ', width);
  const cut = (text: string): string => (wide || text.length <= width - 4 ? text : `${text.slice(0, width - 5)}…`);
  const [first, ...rest] = wrapped(printable(title), '  ', width) as [string, ...string[]];
  return [
    '',
    paint(terminal, 'bold', first),
    ...rest.map((line) => paint(terminal, 'bold', `  ${line}`)),
    ...indented(example === undefined ? facts : `${facts}, such as on ${example.page}`),
    ...(example === undefined ? [] : [`    ${cut(printable(elementPath(example)))}`]),
    ...(known === null || known.fix === '' ? [] : indented(`How to fix: ${known.fix}`)),
    ...(wide ? [`    root cause ${cause.fingerprint}`] : []),
  ];
}
