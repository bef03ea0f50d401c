/** EARL 1.0 (W3C, https://www.w3.org/TR/EARL10-Schema/) as JSON-LD: for accessibility tools that exchange results. Pure. */
import { criterionTitle, criterionUrl } from '../rules/success-criteria.ts';
import { knownIssueFinder, type KnownIssueFinder } from '../causes/known.ts';
import { criterionOutcome, outcomesOn, type Outcome } from '../results/rule-outcomes.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { elementPath, type ReportNode, type ReportPage, type ReportViolation } from '../schema/page.ts';
import type { Report, ReportKnownIssue } from '../schema/report.ts';
import { pageGaps, scanNotes } from '../view/gaps.ts';
import { acceptance, elements, firstFindings, targetOf, uriOf } from './shared.ts';

/** Not by reference: readers then need no network, and the meaning of a report never changes. */
const CONTEXT = {
  earl: 'http://www.w3.org/ns/earl#',
  dct: 'http://purl.org/dc/terms/',
  doap: 'http://usefulinc.com/ns/doap#',
  foaf: 'http://xmlns.com/foaf/0.1/',
  ptr: 'http://www.w3.org/2009/pointers#',
  rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  assertedBy: { '@id': 'earl:assertedBy', '@type': '@id' },
  subject: { '@id': 'earl:subject', '@type': '@id' },
  test: { '@id': 'earl:test', '@type': '@id' },
  mode: { '@id': 'earl:mode', '@type': '@id' },
  result: 'earl:result',
  outcome: { '@id': 'earl:outcome', '@type': '@id' },
  info: 'earl:info',
  pointer: 'earl:pointer',
  title: 'dct:title',
  description: 'dct:description',
  date: { '@id': 'dct:date', '@type': 'xsd:dateTime' },
  isPartOf: { '@id': 'dct:isPartOf', '@type': '@id' },
  source: { '@id': 'dct:source', '@type': '@id' },
  hasVersion: 'dct:hasVersion',
  hasPart: 'dct:hasPart',
  seeAlso: { '@id': 'rdfs:seeAlso', '@type': '@id' },
  expression: 'ptr:expression',
  reference: { '@id': 'ptr:reference', '@type': '@id' },
} as const;

const ASSERTOR = '_:curbcut';
const SPECIFICATIONS = { '2.1': 'https://www.w3.org/TR/WCAG21/', '2.2': 'https://www.w3.org/TR/WCAG22/' } as const;

/** A JSON-LD document: a context and a graph of nodes. */
export interface Earl {
  '@context': typeof CONTEXT;
  '@graph': Record<string, unknown>[];
}

/** What the rules of a criterion say about a page on which none failed. They test a part of it, so a person decides. */
const UNDECIDED: Readonly<Record<Exclude<Outcome, 'failed'>, string>> = {
  needs_review: 'Rules could not decide.',
  passed: 'The rules passed. They test a part of the criterion.',
  not_applicable: 'The page has nothing that the rules test.',
};

/**
 * Converts a report to EARL. Each page has one assertion about the conformance target: `failed`, `untested`, or `cantTell`, because
 * automated tests cannot show conformance. It has one for each success criterion that a rule tests, with the same outcomes. It has
 * one for each rule that failed or that a person must check, with a pointer to each element. Criteria that no rule tests have one
 * assertion for the whole scan, `untested`.
 */
export function earlOf(report: Report): Earl {
  const criteria = testedCriteria(report);
  return {
    '@context': CONTEXT,
    '@graph': [
      assertorOf(report),
      ...requirementsOf(report),
      siteOf(report),
      ...untestedCriteria(report),
      ...report.pages.flatMap((page) => [subjectOf(page), ...assertionsOf(page, report, criteria)]),
    ],
  };
}

const assertorOf = ({ tools }: Report) => ({
  '@id': ASSERTOR,
  '@type': ['earl:Assertor', 'earl:Software'],
  title: 'Curbcut',
  hasVersion: tools.curbcut,
  hasPart: [
    { '@type': 'earl:Software', title: 'axe-core', hasVersion: tools.axe_core },
    { '@type': 'earl:Software', title: tools.browser },
  ],
});

/** The rules as test cases, and the criteria and the target as requirements. */
function requirementsOf(report: Report): Record<string, unknown>[] {
  const findings = firstFindings(report.pages);
  const { locale } = report.scan.options;
  const named = [...report.criteria.map(({ id }) => id), ...report.rules.flatMap(({ wcag }) => wcag)];
  const criteria = [...new Set(named)].filter((one) => criterionUrl(one) !== null);
  const notes = scanNotes(report).map(({ message }) => message);
  return [
    {
      '@id': targetId(report),
      '@type': 'earl:TestRequirement',
      title: targetOf(report.scan),
      isPartOf: SPECIFICATIONS[report.scan.options.wcag_version],
      ...(notes.length > 0 && { description: notes.join(' ') }),
    },
    ...criteria.map((one) => ({
      '@id': criterionUrl(one),
      '@type': 'earl:TestRequirement',
      title: `WCAG ${criterionTitle(one, locale)}`,
      isPartOf: targetId(report),
    })),
    ...report.rules.map((rule) => {
      const finding = findings.get(rule.id);
      const partOf = rule.wcag.flatMap((one) => criterionUrl(one) ?? []);
      return {
        '@id': ruleId(rule.id),
        '@type': 'earl:TestCase',
        title: finding?.help ?? ruleText(rule.id, locale)?.help ?? rule.id,
        ...(finding !== undefined && {
          description: finding.description,
          ...(isWeb(finding.help_url) && { source: uriOf(finding.help_url) }),
        }),
        ...(partOf.length > 0 && { isPartOf: partOf }),
        ...(rule.act_rules.length > 0 && {
          seeAlso: rule.act_rules.map((id) => `https://act-rules.github.io/rules/${encodeURIComponent(id)}`),
        }),
      };
    }),
  ];
}

/** All pages of the scan together. */
const siteOf = (report: Report) => ({
  '@id': siteId(report),
  '@type': 'earl:TestSubject',
  title: report.scan.url,
  source: uriOf(report.scan.url),
});

const subjectOf = (page: ReportPage) => ({
  '@id': uriOf(page.url),
  '@type': ['earl:TestSubject', 'foaf:Document'],
  ...(page.tested && page.title !== '' && { title: page.title }),
  ...(page.final_url !== null && page.final_url !== page.url && { source: uriOf(page.final_url) }),
});

/** The criteria of the target that rules test, with the IDs of the rules. */
const testedCriteria = ({ criteria, rules }: Report): { url: string; rules: string[] }[] =>
  criteria
    .filter((criterion) => criterion.rules.length > 0)
    .map((criterion) => ({ url: criterionUrl(criterion.id)!, rules: criterion.rules.map((at) => rules[at]!.id) }));

const untestedCriteria = (report: Report): Record<string, unknown>[] =>
  report.criteria
    .filter(({ rules }) => rules.length === 0)
    .map(({ id }) =>
      assertion(report, siteId(report), criterionUrl(id)!, { outcome: 'earl:untested', info: 'No rule tests the criterion.' }),
    );

const assertion = ({ scan }: Report, subject: string, test: string, result: Record<string, unknown>) => ({
  '@type': 'earl:Assertion',
  assertedBy: ASSERTOR,
  subject,
  test,
  mode: 'earl:automatic',
  result: { '@type': 'earl:TestResult', date: scan.finished_at, ...result },
});

function assertionsOf(page: ReportPage, report: Report, criteria: ReturnType<typeof testedCriteria>): Record<string, unknown>[] {
  const accepted = knownIssueFinder(report);
  const about = (test: string, result: Record<string, unknown>) => assertion(report, uriOf(page.url), test, result);
  if (!page.tested) {
    const same = page.same_as === undefined ? [] : [`Same as ${page.same_as}`];
    const info = [...same, ...(page.linked_from ?? []).map((url) => `Linked from ${url}`)];
    return [
      about(targetId(report), {
        outcome: 'earl:untested',
        title: page.reason,
        description: page.message,
        ...(info.length > 0 && { info }),
      }),
    ];
  }
  const gaps = pageGaps(page).map(({ message }) => message);
  const outcomes = outcomesOn(
    page,
    report.rules.map(({ id }) => id),
  );
  return [
    about(targetId(report), {
      outcome: page.violations.length > 0 ? 'earl:failed' : 'earl:cantTell',
      ...(gaps.length > 0 && { info: gaps }),
    }),
    ...criteria.map(({ url, rules }) => about(url, criterionResult(criterionOutcome(outcomes, rules)))),
    ...page.violations.map((finding) => about(ruleId(finding.rule), findingResult(finding, 'earl:failed', page.url, accepted))),
    ...page.needs_review.map((finding) => about(ruleId(finding.rule), findingResult(finding, 'earl:cantTell', page.url))),
  ];
}

function criterionResult(outcome: Outcome | undefined): Record<string, unknown> {
  if (outcome === undefined) return { outcome: 'earl:untested', info: 'No rule of the criterion ran.' };
  return outcome === 'failed' ? { outcome: 'earl:failed' } : { outcome: 'earl:cantTell', info: UNDECIDED[outcome] };
}

const findingResult = (finding: ReportViolation, outcome: string, url: string, accepted?: KnownIssueFinder) => ({
  outcome,
  title: finding.help,
  description: `${elements(finding.nodes_total)}, impact: ${finding.impact}`,
  ...(finding.nodes_total > finding.nodes.length && { info: `${finding.nodes.length} of ${elements(finding.nodes_total)} are listed.` }),
  pointer: finding.nodes.map((node) => ({
    '@type': 'ptr:CSSSelectorPointer',
    expression: elementPath(node),
    reference: uriOf(url),
    title: node.html,
    description: describe(node, accepted?.of(finding.rule, node) ?? null),
  })),
});

const describe = ({ failure_summary: summary }: ReportNode, known: ReportKnownIssue | null): string =>
  known === null ? summary : `${summary}\nKnown issue: ${acceptance(known)}`;

const targetId = ({ scan }: Report): string => `urn:curbcut:target:${targetOf(scan).replaceAll(' ', '-')}`;

const siteId = ({ scan }: Report): string => `urn:curbcut:scan:${encodeURIComponent(scan.id.toWellFormed())}`;

const ruleId = (rule: string): string => `urn:curbcut:rule:${encodeURIComponent(rule.toWellFormed())}`;

const isWeb = (url: string): boolean => /^https?:\/\//i.test(url);
