/** SARIF 2.1.0 (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/): for code scanning and editors. Pure. */
import { createHash } from 'node:crypto';
import type { Log, Notification, ReportingDescriptor, Result, Run, ToolComponent } from 'sarif';
import type { Impact } from '../../scan/impacts.ts';
import { criterionUrl } from '../../scan/success-criteria.ts';
import { isAttempted } from '../coverage.ts';
import { rootCauseFingerprint } from '../root-causes.ts';
import type { Report, ReportNode, ReportRule, ReportViolation } from '../schema.ts';
import { elementPath, elements, firstFindings, gapsOf, scanNotes, targetOf, uriOf } from './shared.ts';

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
const PROJECT = 'https://github.com/dequelabs/axe-core';

const LEVELS: Readonly<Record<Impact, Result.level>> = { critical: 'error', serious: 'error', moderate: 'warning', minor: 'note' };

/** The standards as SARIF taxonomies: a rule refers to their entries. */
const TAXONOMIES = [
  { name: 'WCAG', organization: 'W3C', fullName: 'Web Content Accessibility Guidelines', of: (rule: ReportRule) => rule.wcag },
  {
    name: 'EN 301 549',
    organization: 'ETSI',
    fullName: 'EN 301 549: Accessibility requirements for ICT products and services',
    of: (rule: ReportRule) => rule.en_301_549,
  },
  { name: 'Section 508', organization: 'U.S. Access Board', fullName: 'Section 508 Standards', of: (rule: ReportRule) => rule.section_508 },
  { name: 'ACT Rules', organization: 'W3C', fullName: 'Accessibility Conformance Testing Rules', of: (rule: ReportRule) => rule.act_rules },
] as const;

/**
 * Converts a report to SARIF. Each failing element is a result of kind `fail`; each element that a person must check is one of
 * kind `review`. Everything that was not tested is a notification. A rendered page has no source lines: regions are at line 1 and
 * quote the element's HTML, because many consumers need a line.
 */
export function sarifOf(report: Report): Log {
  return { $schema: SCHEMA, version: '2.1.0', runs: [runOf(report)] };
}

function runOf(report: Report): Run {
  const { scan, tools } = report;
  return {
    tool: {
      driver: {
        name: 'Curbcut',
        version: tools.curbcut,
        language: scan.options.locale,
        rules: rulesOf(report),
        notifications: notificationKinds(report),
        supportedTaxonomies: TAXONOMIES.map(({ name }, index) => ({ name, index })),
      },
      extensions: [
        { name: 'axe-core', version: tools.axe_core, informationUri: PROJECT },
        { name: tools.browser === '' ? 'browser' : tools.browser },
      ],
    },
    automationDetails: { id: `curbcut/${scan.url}/${scan.id}` },
    language: scan.options.locale,
    columnKind: 'utf16CodeUnits',
    taxonomies: taxonomiesOf(report),
    invocations: [
      {
        executionSuccessful: true,
        startTimeUtc: scan.started_at,
        endTimeUtc: scan.finished_at,
        toolExecutionNotifications: notificationsOf(report),
      },
    ],
    artifacts: report.pages.map((page) => ({
      location: { uri: uriOf(page.url) },
      roles: ['analysisTarget'],
      ...(page.tested && { mimeType: 'text/html', ...(page.title !== '' && { description: { text: page.title } }) }),
      properties: page.tested
        ? { tested: true, finalUrl: page.final_url, score: page.score, language: page.language }
        : { tested: false, reason: page.reason, ...(page.same_as !== undefined && { sameAs: page.same_as }) },
    })),
    results: resultsOf(report),
    properties: {
      scanId: scan.id,
      target: targetOf(scan),
      score: report.score.value,
      passed: scan.verdict.passed,
      counts: report.counts,
      pagesTested: report.score.pages_tested,
      pagesAttempted: report.score.pages_attempted,
      addressesLeft: report.addresses_left,
    },
  };
}

function rulesOf(report: Report): ReportingDescriptor[] {
  const found = firstFindings(report.pages);
  return report.rules.map((rule) => {
    const finding = found.get(rule.id);
    return {
      id: rule.id,
      ...(finding !== undefined && {
        shortDescription: { text: finding.help },
        fullDescription: { text: finding.description },
        ...(finding.help_url !== '' && { helpUri: uriOf(finding.help_url) }),
        help: { text: `${finding.description}\n${finding.help_url}` },
        defaultConfiguration: { level: LEVELS[finding.impact] },
      }),
      relationships: TAXONOMIES.flatMap(({ name, of }, taxonomy) =>
        [...new Set(of(rule))].map((id) => ({ target: { id, toolComponent: { name, index: taxonomy } }, kinds: ['relevant'] })),
      ),
      properties: { tags: [...new Set(['accessibility', ...rule.tags])] },
    };
  });
}

function taxonomiesOf(report: Report): ToolComponent[] {
  return TAXONOMIES.map(({ name, organization, fullName, of }) => ({
    name,
    organization,
    fullName,
    taxa: [...new Set(report.rules.flatMap(of))].sort().map((id) => {
      const url = name === 'WCAG' ? criterionUrl(id) : null;
      return { id, ...(url !== null && { helpUri: url }) };
    }),
  }));
}

function resultsOf(report: Report): Result[] {
  const ruleIndexes = new Map(report.rules.map(({ id }, index) => [id, index]));
  const results: Result[] = [];
  for (const [artifact, page] of report.pages.entries()) {
    if (!page.tested) continue;
    const at = { uri: uriOf(page.url), index: artifact };
    for (const [kind, findings] of [['fail', page.violations] as const, ['review', page.needs_review] as const])
      for (const finding of findings)
        for (const node of finding.nodes)
          results.push(
            resultOf(finding, node, kind, { at, ruleIndex: ruleIndexes.get(finding.rule), version: report.fingerprint_version }),
          );
  }
  return results;
}

interface Place {
  at: { uri: string; index: number };
  ruleIndex: number | undefined;
  version: number;
}

function resultOf(finding: ReportViolation, node: ReportNode, kind: 'fail' | 'review', { at, ruleIndex, version }: Place): Result {
  const path = elementPath(node);
  return {
    ruleId: finding.rule,
    ...(ruleIndex !== undefined && { ruleIndex }),
    kind,
    // The standard requires `none` for every kind but `fail`.
    level: kind === 'fail' ? LEVELS[finding.impact] : 'none',
    message: { text: `${finding.help}\n${node.failure_summary}`.trim() || finding.rule },
    locations: [
      {
        physicalLocation: { artifactLocation: at, region: { startLine: 1, snippet: { text: node.html } } },
        logicalLocations: [{ fullyQualifiedName: path, kind: 'element' }],
      },
    ],
    ...(node.related !== undefined &&
      node.related.length > 0 && {
        relatedLocations: node.related.map(({ selector, html }, id) => ({
          id,
          message: { text: html },
          physicalLocation: { artifactLocation: at, region: { startLine: 1, snippet: { text: html } } },
          logicalLocations: [{ fullyQualifiedName: selector, kind: 'element' }],
        })),
      }),
    partialFingerprints: {
      [`rootCause/v${version}`]: rootCauseFingerprint(finding.rule, node),
      // GitHub recognises an alert of an earlier upload by this name.
      primaryLocationLineHash: createHash('sha256').update([finding.rule, at.uri, path].join('\0')).digest('hex').slice(0, 32),
    },
    properties: {
      impact: finding.impact,
      wcag: finding.wcag,
      landmark: node.landmark,
      ...(node.contrast !== undefined && { contrast: node.contrast }),
      ...(node.checks !== undefined && { checks: node.checks }),
    },
  };
}

function notificationsOf(report: Report): Notification[] {
  const notifications: Notification[] = [];
  const add = (id: string, level: 'note' | 'warning', text: string, page?: { url: string; index: number }): void => {
    const artifactLocation = page && { uri: uriOf(page.url), index: page.index };
    notifications.push({
      descriptor: { id },
      level,
      message: { text },
      ...(artifactLocation && { locations: [{ physicalLocation: { artifactLocation } }] }),
    });
  };
  for (const [index, page] of report.pages.entries()) {
    const at = { url: page.url, index };
    if (!page.tested) {
      add(`page_${page.reason}`, isAttempted(page.reason) ? 'warning' : 'note', page.message || page.reason, at);
      continue;
    }
    for (const { kind, message } of gapsOf(page)) add(kind, 'warning', message || kind, at);
    for (const { rule, nodes, nodes_total: total } of [...page.violations, ...page.needs_review])
      if (total > nodes.length) add('elements_not_listed', 'warning', `${rule}: ${nodes.length} of ${elements(total)} are listed.`, at);
  }
  for (const { kind, message } of scanNotes(report)) add(kind, /^consent_(?:failed|shown_again)$/.test(kind) ? 'warning' : 'note', message);
  return notifications;
}

/** The kinds of notifications that the run has, sorted. */
const notificationKinds = (report: Report): ReportingDescriptor[] =>
  [...new Set(notificationsOf(report).map(({ descriptor }) => descriptor!.id!))].sort().map((id) => ({ id }));
