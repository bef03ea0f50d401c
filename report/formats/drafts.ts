/**
 * Two drafts by success criterion, which a person completes: of an accessibility conformance report in OpenACR's YAML
 * (https://github.com/GSA/openacr), and of the known barriers for an accessibility statement, as Markdown. They have what automated
 * tests found. Neither claims conformance: what rules passed is not evaluated. Pure.
 */
import { stringify } from 'yaml';
import type { WcagLevel, WcagVersion } from '../../core/scan/options.ts';
import { code, link, plain } from '../comment/comment.ts';
import { type CriterionState, criterionState } from '../results/rule-outcomes.ts';
import { criteriaOf, criterionTitle } from '../rules/success-criteria.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { testedPages } from '../schema/page.ts';
import type { Report, ReportCriterion } from '../schema/report.ts';
import { gapsLine } from '../view/gaps.ts';
import { partialSentence } from '../view/sentences.ts';
import { type ReportWords, wordsIn } from '../words/words.ts';
import { targetOf, uriOf } from './shared.ts';

/** What a draft names of the pages on which a rule fails. The notes of OpenACR are cells of a table. */
const PAGES_IN_NOTES = 3;
const PAGES_IN_LIST = 20;
/** The longest label of an address in characters. */
const ADDRESS_MAX = 200;
/** The same of a rule, or of a tool. */
const NAME_MAX = 100;

interface Failure {
  elements: number;
  /** Those that known issues cover. */
  known: number;
  pages: string[];
}

/** The rules that fail, with the number of elements, also of those that are only counted. */
function failuresOf({ pages, groups }: Report): Map<string, Failure> {
  const failures = new Map<string, Failure>();
  for (const { url, violations } of testedPages(pages))
    for (const { rule, nodes_total: total } of violations) {
      const { elements, pages: before } = failures.get(rule) ?? { elements: 0, pages: [] };
      failures.set(rule, { elements: elements + total, known: 0, pages: [...before, url] });
    }
  for (const { rule, known_elements: known = 0 } of groups) {
    const failure = failures.get(rule);
    if (failure !== undefined) failure.known += known;
  }
  return failures;
}

const rulesOf = ({ rules }: Report, criterion: ReportCriterion): string[] => criterion.rules.map((at) => rules[at]!.id);

/** List items of Markdown: a rule, and the pages on which it fails. What a page can choose is only in code spans and encoded addresses. */
function failureLines(rule: string, failure: Failure, { locale, texts, count, number }: ReportWords, most: number): string[] {
  const { elements, known, pages } = failure;
  const help = plain(ruleText(rule, locale)?.help.replace(/\.$/, '') ?? '');
  const accepted = known === 0 ? '' : ` (${wordsIn(locale, 'findings').texts.states.known}: ${number(known)})`;
  const numbers = `${count(texts.elements, elements)}${accepted} ${count(texts.onPages, pages.length)}`;
  const left = pages.length - most;
  return [
    `- ${help === '' ? '' : `${help} `}(${code(rule, NAME_MAX)}): ${numbers}`,
    ...pages.slice(0, most).map((url) => `  - ${link(code(url, ADDRESS_MAX), url)}`),
    ...(left > 0 ? [`  - ${count(texts.morePages, left)}`] : []),
  ];
}

/** OpenACR's catalogs of WCAG alone. */
const CATALOGS: Readonly<Record<WcagVersion, string>> = { '2.1': '2.4-edition-wcag-2.1-en', '2.2': '2.5-edition-wcag-2.2-en' };
const CHAPTERS = {
  success_criteria_level_a: 'A',
  success_criteria_level_aa: 'AA',
  success_criteria_level_aaa: 'AAA',
} as const satisfies Record<string, WcagLevel>;
/** The catalog of WCAG 2.2 still lists this criterion of level A. */
const REMOVED = '4.1.1';

const NO_CLAIM =
  'This is a draft from automated tests. It does not claim conformance. Rules test only parts of some criteria, so a person must ' +
  'evaluate every criterion and complete this report before anyone relies on it.';
/** The catalogs have the term, but keep it for AAA. No other term is true for what nobody has evaluated. */
const TERM =
  'VPAT allows “Not Evaluated” only at level AAA. Here it marks what a person must still evaluate: replace each one at the levels A and AA.';

const UNDECIDED: Readonly<Record<Exclude<CriterionState, 'failed'>, string>> = {
  needs_review: 'Automated tests found elements that they could not decide.',
  passed: 'The rules that ran passed. They test only a part of the criterion.',
  untested: 'No tested page has what its rules are about.',
};

const toFillIn = (what: string): string => `TO FILL IN: ${what}`;
const contact = (who: string) => ({
  name: toFillIn(`name of ${who}`),
  company_name: toFillIn(`company of ${who}`),
  email: toFillIn(`email address of ${who}`),
});

/** Makes the draft of an accessibility conformance report, in English as its catalog. AAA is part of it if the scan tested AAA. */
export function openAcrOf(report: Report): string {
  const { scan, score, tools, partial } = report;
  const { wcag_level: level, wcag_version: version } = scan.options;
  const versions = [tools.curbcut, tools.axe_core, tools.browser].map((tool) => code(tool, NAME_MAX));
  const gaps = gapsLine(report, wordsIn('en', 'report'));
  const failures = failuresOf(report);
  const listed = [...criteriaOf('AAA', version), ...(version === '2.2' ? [{ id: REMOVED, level: 'A' as const }] : [])];
  const chapter = (its: WcagLevel) =>
    its === 'AAA' && level !== 'AAA'
      ? { disabled: true, notes: 'The scan did not test level AAA.' }
      : {
          notes: `${NO_CLAIM}${its === 'AAA' ? '' : ` ${TERM}`}`,
          criteria: listed
            .filter((one) => one.level === its)
            .map(({ id }) => ({ num: id, components: [{ name: 'web', adherence: adherenceOf(id, report, failures) }] })),
        };
  const draft = {
    // The tools of OpenACR add `Accessibility Conformance Report`.
    title: `DRAFT: ${uriOf(scan.url)}`,
    product: {
      name: toFillIn('name of the product'),
      description: `The pages of ${code(scan.url, ADDRESS_MAX)}`,
    },
    author: contact('the author'),
    vendor: contact('the vendor'),
    report_date: scan.finished_at.slice(0, 10),
    version: 1,
    notes: [
      NO_CLAIM,
      `${toFillIn('everything that begins with these words')}, and \`license\`: without it, the tools of OpenACR assume CC-BY-4.0.`,
      ...(partial === true ? [`**${partialSentence('en')}**`] : []),
    ].join('\n\n'),
    evaluation_methods_used: [
      `Automated tests only, with Curbcut, axe-core and a browser: ${versions.join(', ')}.`,
      `Target: ${targetOf(scan)}. Tested pages: ${score.pages_tested}.${gaps === '' ? '' : ` ${gaps}.`} No person has evaluated the product.`,
    ].join(' '),
    legal_disclaimer: 'This draft is no certificate, no proof of conformance and no legal statement.',
    catalog: CATALOGS[version],
    chapters: Object.fromEntries(Object.entries(CHAPTERS).map(([name, its]) => [name, chapter(its)])),
  };
  // As YAML 1.1, by which older readers would take an unquoted date for a time.
  return stringify(draft, { schema: 'yaml-1.1', lineWidth: 0 });
}

/** What tests say about a criterion. It is never `supports`, and never `not-applicable`. */
function adherenceOf(id: string, report: Report, failures: ReadonlyMap<string, Failure>): { level: string; notes: string } {
  const criterion = report.criteria.find((one) => one.id === id);
  const notEvaluated = (why: string) => ({ level: 'not-evaluated', notes: `Not evaluated. ${why}` });
  if (criterion === undefined)
    return notEvaluated(
      id === REMOVED ? 'WCAG 2.2 has removed this criterion.' : `It is not part of the target of the scan, ${targetOf(report.scan)}.`,
    );
  const state = criterionState(criterion);
  const why = criterion.rules.length === 0 ? 'No rule tests it.' : state === 'failed' ? null : UNDECIDED[state];
  if (why !== null) return notEvaluated(`${why} A person must evaluate it.`);
  const { failed, needs_review, passed } = criterion.pages;
  const applied = failed + needs_review + passed;
  const found = rulesOf(report, criterion).flatMap((rule) => {
    const failure = failures.get(rule);
    return failure === undefined ? [] : failureLines(rule, failure, wordsIn('en', 'report'), PAGES_IN_NOTES);
  });
  return {
    level: failed === applied ? 'does-not-support' : 'partially-supports',
    notes: [
      `Automated tests failed on ${failed} of the ${applied} tested pages to which rules of this criterion apply.`,
      'What the rules do not test is not evaluated.\n',
      ...found,
    ].join('\n'),
  };
}

/** Makes the list of known barriers for an accessibility statement, in the language of the scan. */
export function barriersOf(report: Report): string {
  const { scan, score, partial } = report;
  const { locale, wcag_level: level, wcag_version: version } = scan.options;
  const i18n = wordsIn(locale, 'report');
  const { texts, format, date, number } = i18n;
  const failures = failuresOf(report);
  const section = (heading: string, rules: readonly string[]): string[] => {
    const lines = rules.flatMap((rule) => (failures.has(rule) ? failureLines(rule, failures.get(rule)!, i18n, PAGES_IN_LIST) : []));
    return lines.length === 0 ? [] : [`## ${heading}`, lines.join('\n')];
  };
  const sections = report.criteria.map((one) => ({
    heading: plain([criterionTitle(one.id, locale), ...clauseOf(one, report)].join(' · ')),
    rules: rulesOf(report, one),
  }));
  const named = new Set(sections.flatMap(({ rules }) => rules));
  const others = [...failures.keys()].filter((rule) => !named.has(rule));
  const gaps = gapsLine(report, i18n);
  return `${[
    `# ${texts.barriers.heading}: ${link(code(scan.url, ADDRESS_MAX), scan.url)}`,
    texts.barriers.intro,
    [
      `- ${format(texts.testedOn, { date: date(scan.finished_at) })}`,
      `- ${format(texts.target, { version, level })}`,
      `- ${texts.pagesTested}: ${number(score.pages_tested)}${gaps === '' ? '' : ` (${gaps})`}`,
    ].join('\n'),
    ...(partial === true ? [`**${texts.partialReportDetail}**`] : []),
    ...(failures.size === 0 ? [texts.noViolationsDetail] : []),
    ...sections.flatMap(({ heading, rules }) => section(heading, rules)),
    ...section(texts.barriers.others, others),
    texts.aboutAutomated,
  ].join('\n\n')}\n`;
}

/** Chapter 9 of EN 301 549 numbers its clauses as WCAG. Only those are named that the export has for a rule of the criterion. */
function clauseOf({ id, rules }: ReportCriterion, report: Report): string[] {
  const clause = `9.${id}`;
  return rules.some((at) => report.rules[at]!.en_301_549.includes(clause)) ? [`EN 301 549, ${clause}`] : [];
}
