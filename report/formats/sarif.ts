/**
 * SARIF 2.1.0 (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/): for code scanning and editors, within the limits and by
 * the requirements of GitHub (https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support). Pure.
 */
import { gzipSync } from 'node:zlib';
import type { Artifact, Log, ReportingDescriptor, Result, Run, ToolComponent } from 'sarif';
import type { Metadata } from '../../core/scan/metadata.ts';
import { criterionTitle, criterionUrl } from '../rules/success-criteria.ts';
import type { RuleInfo } from '../rules/rules.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import type { ReportPage } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { LEVELS, notificationsOf, resultsOf, rulesOfFile, worstOf } from './sarif-results.ts';
import { firstFindings, relativeUriOf, targetOf, uriOf } from './shared.ts';

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
const PROJECT = 'https://github.com/dequelabs/axe-core';

/** GitHub refuses a file with more. */
const GITHUB_LIMITS = { results: 25_000, gzipBytes: 10_000_000, tags: 20, descriptionLength: 1024 } as const;
/** Another version of zlib may compress a little less. */
const GZIP_TARGET = GITHUB_LIMITS.gzipBytes * 0.95;

/** The standards as SARIF taxonomies: a rule refers to their entries. */
const TAXONOMIES = [
  { name: 'WCAG', organization: 'W3C', fullName: 'Web Content Accessibility Guidelines', of: (rule: RuleInfo) => rule.wcag },
  {
    name: 'EN 301 549',
    organization: 'ETSI',
    fullName: 'EN 301 549: Accessibility requirements for ICT products and services',
    of: (rule: RuleInfo) => rule.en_301_549,
  },
  {
    name: 'RGAA 4',
    organization: 'DINUM',
    fullName: 'Référentiel général d’amélioration de l’accessibilité',
    of: (rule: RuleInfo) => rule.rgaa_4,
  },
  {
    name: 'Trusted Tester 5',
    organization: 'U.S. Department of Homeland Security',
    fullName: 'Trusted Tester Conformance Test Process for the revised Section 508',
    of: (rule: RuleInfo) => rule.trusted_tester_5,
  },
  { name: 'ACT Rules', organization: 'W3C', fullName: 'Accessibility Conformance Testing Rules', of: (rule: RuleInfo) => rule.act_rules },
] as const;

/**
 * Converts a report to SARIF. Each failing element is a result of kind `fail`; each element that a person must check is one of
 * kind `review`. Everything that was not tested is a notification. A rendered page has no source lines: regions are the start of
 * line 1 and quote the element's HTML, because GitHub and others require a region.
 */
export function sarifOf(report: Report): Log {
  const results = resultsOf(report);
  return logOf(report, results, GITHUB_LIMITS.results);
}

/** Returns a report as a SARIF file that GitHub accepts: if it would be too large, the least severe results are left out. */
export function sarifText(report: Report): string {
  const results = resultsOf(report);
  let max = Math.min(results.length, GITHUB_LIMITS.results);
  for (;;) {
    const text = `${JSON.stringify(logOf(report, results, max))}\n`;
    const size = gzipSize(text);
    if (size <= GZIP_TARGET || max === 0) return text;
    max = Math.floor((max * GZIP_TARGET * 0.95) / size);
  }
}

/** The size of a text as gzip, or a bound of it that is small enough. */
function gzipSize(text: string): number {
  const bytes = Buffer.byteLength(text);
  return bytes <= GZIP_TARGET ? bytes : gzipSync(text).length;
}

function logOf(report: Report, results: readonly Result[], max: number): Log {
  return { $schema: SCHEMA, version: '2.1.0', runs: [runOf(report, results, max)] };
}

function runOf(report: Report, results: readonly Result[], max: number): Run {
  const { scan, tools } = report;
  const { kept, left } = worstOf(results, max);
  const notifications = notificationsOf(report, left);
  return {
    tool: {
      driver: {
        name: 'Curbcut',
        version: tools.curbcut,
        language: scan.options.locale,
        rules: rulesOf(report),
        notifications: [...new Set(notifications.map(({ descriptor }) => descriptor!.id!))].sort().map((id) => ({ id })),
        supportedTaxonomies: TAXONOMIES.map(({ name }, index) => ({ name, index })),
      },
      extensions: [
        { name: 'axe-core', version: tools.axe_core, informationUri: PROJECT },
        { name: tools.browser === '' ? 'browser' : tools.browser },
      ],
    },
    ...provenanceOf(scan.metadata),
    automationDetails: { id: `curbcut/${scan.url}/${scan.id}` },
    language: scan.options.locale,
    columnKind: 'utf16CodeUnits',
    taxonomies: taxonomiesOf(report),
    invocations: [
      {
        executionSuccessful: true,
        startTimeUtc: scan.started_at,
        endTimeUtc: scan.finished_at,
        toolExecutionNotifications: notifications,
      },
    ],
    artifacts: report.pages.map(artifactOf),
    results: kept,
    properties: {
      scanId: scan.id,
      target: targetOf(scan),
      ...(Object.keys(scan.metadata).length > 0 && { metadata: scan.metadata }),
      score: report.score.value,
      passed: scan.verdict.passed,
      counts: report.counts,
      pagesTested: report.score.pages_tested,
      pagesAttempted: report.score.pages_attempted,
      addressesLeft: report.addresses_left,
    },
  };
}

/** The revision that was scanned, if its repository is known by an absolute URI, which SARIF requires. */
function provenanceOf({ repository = '', commit, branch }: Metadata = {}): Pick<Run, 'versionControlProvenance'> {
  if (commit === undefined || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(repository)) return {};
  return { versionControlProvenance: [{ repositoryUri: uriOf(repository), revisionId: commit, ...(branch !== undefined && { branch }) }] };
}

const artifactOf = (page: ReportPage): Artifact => ({
  location: { uri: relativeUriOf(page.url) },
  roles: ['analysisTarget'],
  ...(page.tested && { mimeType: 'text/html', ...(page.title !== '' && { description: { text: page.title } }) }),
  properties: page.tested
    ? { url: page.url, tested: true, finalUrl: page.final_url, score: page.score, language: page.language }
    : {
        url: page.url,
        tested: false,
        reason: page.reason,
        ...(page.same_as !== undefined && { sameAs: page.same_as }),
        ...(page.linked_from !== undefined && { linkedFrom: page.linked_from }),
      },
});

function rulesOf(report: Report): ReportingDescriptor[] {
  const found = firstFindings(report.pages);
  const advice = new Set(report.advice_groups.map((group) => group.rule));
  return rulesOfFile(report).map((rule) => {
    const finding = found.get(rule.id);
    // GitHub requires the three texts, and none may be empty.
    const known = finding ?? ruleText(rule.id, report.scan.options.locale);
    const help = known?.help || rule.id;
    const description = known?.description || help;
    return {
      id: rule.id,
      shortDescription: { text: described(help) },
      fullDescription: { text: described(description) },
      help: { text: finding === undefined ? description : `${description}\n${finding.help_url}`.trim() },
      ...(finding !== undefined && {
        ...(finding.help_url !== '' && { helpUri: uriOf(finding.help_url) }),
        defaultConfiguration: { level: advice.has(rule.id) ? 'note' : LEVELS[finding.impact] },
      }),
      relationships: TAXONOMIES.flatMap(({ name, of }, taxonomy) =>
        [...new Set(of(rule))].map((id) => ({ target: { id, toolComponent: { name, index: taxonomy } }, kinds: ['relevant'] })),
      ),
      properties: { tags: [...new Set(['accessibility', ...rule.tags])].slice(0, GITHUB_LIMITS.tags) },
    };
  });
}

const described = (text: string): string => text.slice(0, GITHUB_LIMITS.descriptionLength).toWellFormed();

function taxonomiesOf(report: Report): ToolComponent[] {
  return TAXONOMIES.map(({ name, organization, fullName, of }) => ({
    name,
    organization,
    fullName,
    taxa: [...new Set(report.rules.flatMap(of))].sort().map((id) => {
      const url = name === 'WCAG' ? criterionUrl(id) : null;
      return { id, ...(url !== null && { name: criterionTitle(id, report.scan.options.locale), helpUri: url }) };
    }),
  }));
}
