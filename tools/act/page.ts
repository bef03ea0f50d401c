/** Writes docs/contributing/act.md from the rows. */
import { CONSISTENCIES, type ActRuleRow, type CaseLine } from './tally.ts';

export interface Provenance {
  /** The day of the run, such as `2026-02-03`. */
  date: string;
  /** Which test cases: their commit or date, as far as known. */
  source: string;
  sha256: string;
  curbcut: string;
  axeCore: string;
  browser: string;
  /** The default conformance target, such as `WCAG 2.1 AA`. */
  target: string;
}

export interface ActPage {
  provenance: Provenance;
  /** ACT rules that our rules cover: by the default target, and by level AAA. */
  standard: ActRuleRow[];
  aaa: ActRuleRow[];
  /** ACT rules without a rule of ours. */
  uncovered: Pick<ActRuleRow, 'id' | 'name' | 'page' | 'approved'>[];
  /** Files that cases refer to and the folder does not have. */
  missing: string[];
}

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
const sum = (rows: readonly ActRuleRow[], of: (row: ActRuleRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
const link = ({ id, name, page }: Pick<ActRuleRow, 'id' | 'name' | 'page'>): string => `[${name.replaceAll('|', '\\|')}](${page}) (${id})`;
const isRun = ({ rules }: ActRuleRow): boolean => rules.length > 0;

/** The sums of a table, in sentences. */
export function summary(rows: readonly ActRuleRow[]): string {
  const levels = CONSISTENCIES.map((level) => `${rows.filter(({ consistency }) => consistency === level).length} ${level}`);
  const ofFailed = (key: keyof ActRuleRow['failed']): number => sum(rows, ({ failed }) => failed[key]);
  return [
    `ACT rules: ${rows.length} (${levels.join(', ')}).`,
    `Failed cases: ${ofFailed('total')} (${ofFailed('flagged')} flagged, ${ofFailed('review')} to review, ${ofFailed('missed')} missed).`,
    `Passed and inapplicable cases: ${sum(rows, ({ others }) => others.total)} (${sum(rows, ({ others }) => others.flagged)} falsely flagged).`,
    `Not tested: ${sum(rows, ({ untested }) => untested)}.`,
  ].join(' ');
}

function table(rows: readonly ActRuleRow[]): string {
  const lines = rows.map((row) => {
    const { failed, others, untested, consistency } = row;
    return `| ${[link(row), code(row.rules), failed.total, failed.flagged, failed.review, failed.missed, others.total, others.flagged, untested, consistency].join(' | ')} |`;
  });
  const head = [
    'ACT rule',
    'our rules',
    'failed cases',
    'flagged',
    'to review',
    'missed',
    'other cases',
    'false',
    'not tested',
    'consistency',
  ];
  return [`| ${head.join(' | ')} |`, `|${head.map((_, at) => (at > 1 && at < 9 ? '---:|' : '---|')).join('')}`, ...lines].join('\n');
}

function section(title: string, intro: string, rows: readonly ActRuleRow[]): string {
  const run = rows.filter(isRun);
  return run.length === 0 ? '' : `## ${title}\n\n${intro}${summary(run)}\n\n${table(run)}\n`;
}

/** What is wrong with the outcome of a case; null if nothing is. The tables count the cases to review. */
function fault({ testCase: { expected }, outcome, because }: CaseLine): string | null {
  if (outcome === 'untested') return `not tested (${because.join(', ')})`;
  if (expected === 'failed') return outcome === 'clear' ? 'missed' : null;
  return outcome === 'flagged' ? `falsely flagged (${code(because)})` : null;
}

function faults(rows: readonly ActRuleRow[]): string {
  return rows
    .filter(isRun)
    .map((row) => {
      const cases = row.cases.flatMap((line) => {
        const text = fault(line);
        return text === null ? [] : [`  - [${line.testCase.testcaseTitle}](${line.testCase.url}): ${text}`];
      });
      const { missing, additional } = row.criteria;
      if (missing.length > 0) cases.push(`  - success criteria of the ACT rule that were not reported: ${missing.join(', ')}`);
      if (additional.length > 0)
        cases.push(`  - success criteria that were reported and the ACT rule does not have: ${additional.join(', ')}`);
      return cases.length === 0 ? '' : [`- ${link(row)}`, ...cases].join('\n');
    })
    .filter((text) => text !== '')
    .join('\n');
}

const HOW_TO_READ = `Every case is a page with an expected outcome for one ACT rule. It is visited as the first page of a scan is, with default options. Only
the findings of our rules for this ACT rule count, and if some of its cases are approved by the W3C, only those.

- **flagged**: a failed case with a violation; **to review**: with needs-review only; **missed**: with neither
- **false**: a passed or inapplicable case with a violation. Needs-review is no error there
- **not tested**: a scan does not test such a page: it is not HTML, or it sends visitors to another page at once. Pages without
  visible content, such as a button without a text, are tested here, although a scan leaves them out

[**Consistency**](https://www.w3.org/WAI/standards-guidelines/act/implementations/#understanding-act-consistency) is defined by the W3C:

- *consistent*: no passed or inapplicable case is flagged, every failed case is flagged or to review, at least one is flagged, every
  case has an outcome, and our rules report the success criteria of the ACT rule
- *partial*: less than that, without a false flag; if no failed case is flagged, some case is to review and no inapplicable one is
- *inconsistent*: everything else

If several rules of a tool cover an ACT rule, the W3C's reports count only those with the best results. Here all of them count.`;

/** ACT rules as a list, approved ones first. */
function list<Row extends ActPage['uncovered'][number]>(rows: readonly Row[], after: (row: Row) => string = () => ''): string {
  const sorted = rows.toSorted((a, b) => Number(b.approved) - Number(a.approved));
  return sorted.map((row) => `- ${link(row)}${row.approved ? ', approved' : ''}${after(row)}`).join('\n') || 'None.';
}

/** The whole page. */
export function actPage({ provenance, standard, aaa, uncovered, missing }: ActPage): string {
  const { date, source, sha256, curbcut, axeCore, browser, target } = provenance;
  const approved = standard.filter((row) => row.approved);
  const proposed = standard.filter((row) => !row.approved);
  const all = (rows: readonly Pick<ActRuleRow, 'approved'>[]): number => rows.filter((row) => row.approved).length;
  const idle = [...standard, ...aaa].filter((row) => !isRun(row));
  const parts = [
    `# Consistency with the ACT test cases

Look up how far you can rely on a rule: what it finds, leaves to a person, misses and flags falsely on the
[test cases](https://www.w3.org/WAI/standards-guidelines/act/report/testcases/) for the Accessibility Conformance Testing (ACT) rules of the W3C.

This page is generated by [\`make act\`](development.md#compare-with-the-act-test-cases). Do not edit it. The names of the ACT rules and
cases are the W3C's.

| | |
|---|---|
| date | ${date} |
| test cases | ${source}; SHA-256 of \`testcases.json\`: \`${sha256}\` |
| Curbcut | ${curbcut} |
| axe-core | ${axeCore} |
| browser | ${browser} |
| conformance target | ${target} (the default), and AAA where a table says so |
`,
    `## How to read the tables\n\n${HOW_TO_READ}\n`,
    section(
      'Approved ACT rules',
      `The W3C has approved ${approved.length + all(aaa) + all(uncovered)} of the ACT rules. This table has those that a scan tests by default. `,
      approved,
    ),
    section('Proposed ACT rules', 'The W3C has not approved these rules and their cases; they may change. ', proposed),
    section('Level AAA', 'These need a scan with the conformance level AAA (`wcagLevel: AAA`). ', aaa),
    `## Missed, falsely flagged and untested cases\n\n${faults([...standard, ...aaa]) || 'None.'}\n`,
    `## ACT rules that a scan does not test

Our rules for these ACT rules are off, or applied to none of the cases:

${list(idle, ({ idle: rules, failed }) => `: ${code(rules)} (failed cases: ${failed.total})`)}

No rule of ours covers these ACT rules; most need a person's judgement:

${list(uncovered)}
`,
    missing.length === 0
      ? ''
      : `## Files that were missing\n\nCases refer to these files, and the folder of this run did not have them:\n\n${missing.map((path) => `- \`${path}\``).join('\n')}\n`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}
