/** The results of a SARIF file, and which of them are kept if there are too many. Pure. */
import { createHash } from 'node:crypto';
import type { Notification, PhysicalLocation, Result, Suppression } from 'sarif';
import { type Impact, IMPACTS } from '../../core/scan/impacts.ts';
import { knownIssueFinder } from '../causes/known.ts';
import { rootCauseFingerprint } from '../causes/root-causes.ts';
import { type RuleInfo, unknownRule } from '../rules/rules.ts';
import {
  elementPath,
  FINDING_LISTS,
  type FindingList,
  findingsOf,
  type ReportNode,
  type ReportPage,
  type ReportViolation,
} from '../schema/page.ts';
import type { Report, ReportKnownIssue } from '../schema/report.ts';
import { isAttempted } from '../results/score.ts';
import { pageGaps, PARTIAL, scanNotes, untestedMessage } from '../view/gaps.ts';
import { acceptance, elements, relativeUriOf } from './shared.ts';

export const LEVELS: Readonly<Record<Impact, Result.level>> = { critical: 'error', serious: 'error', moderate: 'warning', minor: 'note' };

/** What a result is about: a violation by its impact, an element that needs review, or advice. */
export type Severity = Impact | 'review' | 'advice';
/** Worst first. */
const SEVERITIES: readonly Severity[] = [...IMPACTS, 'review', 'advice'];

const KINDS = { violations: 'fail', needs_review: 'review', advice: 'advice' } as const satisfies Record<FindingList, string>;
type Kind = (typeof KINDS)[FindingList];

/** The rules of a file: those that ran, then those of the advice, which belong to no standard. */
export const rulesOfFile = ({ rules, advice_groups }: Report): RuleInfo[] => [
  ...rules,
  ...[...new Set(advice_groups.map(({ rule }) => rule))].sort().map((id) => ({ ...unknownRule(id, []), tags: ['best-practice'] })),
];

/** Returns a result for each element that a report describes, in the order of the report. */
export function resultsOf(report: Report): Result[] {
  const resultOf = resultsIn(report);
  return report.pages.flatMap((page, index) => {
    if (!page.tested) return [];
    const artifact = { uri: relativeUriOf(page.url), index };
    return FINDING_LISTS.flatMap((list) =>
      page[list].flatMap((finding) => finding.nodes.map((node) => resultOf(finding, node, KINDS[list], { page, artifact }))),
    );
  });
}

/** Whether root causes are new, by fingerprint. A root cause of which only some elements are new has no state. */
function baselineStates({ groups }: Report): ReadonlyMap<string, Result.baselineState> {
  return new Map(
    groups.flatMap(({ fingerprint, elements, new_elements: added }): [string, Result.baselineState][] =>
      added === 0 ? [[fingerprint, 'unchanged']] : added === elements ? [[fingerprint, 'new']] : [],
    ),
  );
}

interface Place {
  page: ReportPage;
  artifact: { uri: string; index: number };
}

/** Returns the function that makes the results of a report. It must be called in the order of the report. */
function resultsIn(report: Report): (finding: ReportViolation, node: ReportNode, kind: Kind, place: Place) => Result {
  const ruleIndexes = new Map(rulesOfFile(report).map(({ id }, index) => [id, index]));
  const alertFingerprint = alertFingerprints();
  const states = baselineStates(report);
  const accepted = report.known_issues === undefined ? null : knownIssueFinder(report);
  return (finding, node, kind, { page, artifact }) => {
    const ruleIndex = ruleIndexes.get(finding.rule);
    const fingerprint = rootCauseFingerprint(finding.rule, node);
    return {
      ruleId: finding.rule,
      ...(ruleIndex !== undefined && { ruleIndex }),
      ...kindAndLevel(kind, finding.impact),
      ...(kind === 'fail' && states.has(fingerprint) && { baselineState: states.get(fingerprint)! }),
      // The standard demands that all results have the list, or none.
      ...(accepted !== null && { suppressions: kind === 'fail' ? suppressionsOf(accepted.of(finding.rule, node)) : [] }),
      message: { text: [finding.help, node.state?.label, node.failure_summary].filter(Boolean).join('\n') || finding.rule },
      locations: [
        {
          physicalLocation: locationOf(artifact, node.html),
          logicalLocations: [{ fullyQualifiedName: elementPath(node), kind: 'element' }],
        },
      ],
      ...(node.related !== undefined &&
        node.related.length > 0 && {
          relatedLocations: node.related.map(({ selector, html }, id) => ({
            id,
            message: { text: html },
            physicalLocation: locationOf(artifact, html),
            logicalLocations: [{ fullyQualifiedName: selector, kind: 'element' }],
          })),
        }),
      partialFingerprints: {
        [`rootCause/v${report.fingerprint_version}`]: fingerprint,
        // The only one that GitHub uses.
        primaryLocationLineHash: alertFingerprint(finding.rule, kind, artifact.uri, fingerprint),
      },
      properties: {
        url: page.url,
        impact: finding.impact,
        ...(kind === 'advice' && { advice: true }),
        wcag: finding.wcag,
        landmark: node.landmark,
        ...(node.contrast !== undefined && { contrast: node.contrast }),
        ...(node.checks !== undefined && { checks: node.checks }),
        ...(node.state !== undefined && { state: node.state }),
        ...(node.also_in !== undefined && { also_in: node.also_in }),
      },
    };
  };
}

const suppressionsOf = (known: ReportKnownIssue | null): Suppression[] =>
  known === null ? [] : [{ kind: 'external', status: 'accepted', justification: acceptance(known) }];

/** The standard requires the level `none` for every kind but `fail`. */
function kindAndLevel(kind: Kind, impact: Impact): Pick<Result, 'kind' | 'level'> {
  if (kind === 'review') return { kind, level: 'none' };
  return { kind: 'fail', level: kind === 'advice' ? 'note' : LEVELS[impact] };
}

/** GitHub requires all four numbers. */
const locationOf = (artifactLocation: Place['artifact'], html: string): PhysicalLocation => ({
  artifactLocation,
  region: { startLine: 1, startColumn: 1, endLine: 1, endColumn: 1, snippet: { text: html } },
});

/**
 * Returns the function that identifies the alert of an element: the root cause on its page, and how many elements of the same one
 * precede it there. The selector is not part of it, so an alert survives when the element moves.
 */
function alertFingerprints(): (rule: string, kind: Kind, uri: string, fingerprint: string) => string {
  const seen = new Map<string, number>();
  return (...parts) => {
    const hash = createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
    const occurrence = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, occurrence);
    return `${hash}:${occurrence}`;
  };
}

function severityOf({ kind, properties }: Result): Severity {
  if (kind === 'review') return 'review';
  return properties!.advice === true ? 'advice' : (properties!.impact as Impact);
}

/**
 * Keeps the worst results, those of one severity in their order.
 * @returns the kept results in their order, and the numbers of the others by severity
 */
export function worstOf(results: readonly Result[], max: number): { kept: Result[]; left: Map<Severity, number> } {
  const left = new Map<Severity, number>();
  const kept = new Set<Result>();
  for (const severity of SEVERITIES)
    for (const result of results) {
      if (severityOf(result) !== severity) continue;
      if (kept.size < max) kept.add(result);
      else left.set(severity, (left.get(severity) ?? 0) + 1);
    }
  return { kept: results.filter((result) => kept.has(result)), left };
}

/** The notes on the scan that say that results may be missing. */
const NOTES_TO_HEED: ReadonlySet<string> = new Set([PARTIAL, 'consent_failed', 'consent_shown_again']);

/** @param left the numbers of results that are left out, by severity */
export function notificationsOf(report: Report, left: ReadonlyMap<Severity, number>): Notification[] {
  const notifications: Notification[] = [];
  const add = (id: string, level: 'note' | 'warning', text: string, page?: { url: string; index: number }): void => {
    notifications.push({
      descriptor: { id },
      level,
      message: { text },
      ...(page !== undefined && {
        locations: [{ physicalLocation: { artifactLocation: { uri: relativeUriOf(page.url), index: page.index } } }],
        properties: { url: page.url },
      }),
    });
  };
  for (const [index, page] of report.pages.entries()) {
    const at = { url: page.url, index };
    if (!page.tested) {
      add(`page_${page.reason}`, isAttempted(page.reason) ? 'warning' : 'note', untestedMessage(page), at);
      continue;
    }
    for (const { kind, message } of pageGaps(page)) add(kind, 'warning', message || kind, at);
    for (const { rule, nodes, nodes_total: total } of findingsOf(page))
      if (total > nodes.length) add('elements_not_listed', 'warning', `${rule}: ${nodes.length} of ${elements(total)} are listed.`, at);
  }
  for (const { kind, message } of scanNotes(report)) add(kind, NOTES_TO_HEED.has(kind) ? 'warning' : 'note', message);
  if (left.size > 0) add('results_not_listed', 'warning', leftMessage(left));
  return notifications;
}

const WORDS: Readonly<Record<Severity, string>> = {
  critical: 'critical',
  serious: 'serious',
  moderate: 'moderate',
  minor: 'minor',
  review: 'to review',
  advice: 'of advice',
};

function leftMessage(left: ReadonlyMap<Severity, number>): string {
  const total = [...left.values()].reduce((sum, count) => sum + count, 0).toLocaleString('en');
  const each = [...left].map(([severity, count]) => `${count.toLocaleString('en')} ${WORDS[severity]}`);
  return `${total} more results (${each.join(', ')}) are left out, because code scanning accepts no larger file. The JSON export has them.`;
}
