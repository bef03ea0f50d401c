/** Verifies a pod's export. The pod has opened hostile pages, so the operator recomputes everything that it can. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { Compile } from 'typebox/compile';
import { type ChosenBaseline, type NamedBaseline, readBaseline, type ReadReport } from '../../../report/diff/baseline.ts';
import { countPages, pageScore } from '../../../report/results/score.ts';
import { uncounted } from '../../../report/results/cap-nodes.ts';
import { isParseable } from '../../../report/schema/export-size.ts';
import { toReportOptions } from '../../../core/scan/submitted-options.ts';
import { picturesMismatch } from '../../../report/results/pictures.ts';
import { deriveResults, statesOfReport } from '../../../report/results/results.ts';
import { type ReportPage, type ReportViolation, type TestedPage, testedPages } from '../../../report/schema/page.ts';
import { Report } from '../../../report/schema/report.ts';
import { outcomesOn, ruleResults } from '../../../report/results/rule-outcomes.ts';
import { decidePages, undecidedPage } from '../../../report/causes/decisions.ts';
import { examplesOf } from '../../../report/causes/known.ts';
import { rootCauseFingerprint } from '../../../report/causes/root-causes.ts';
import type { ChosenKnownIssues, KnownIssueExample } from '../../../core/scan/known-issues.ts';
import type { Metadata } from '../../../core/scan/metadata.ts';
import type { ScanOptions } from '../../../core/scan/options.ts';
import type { Outcome } from '../../../core/scan/outcome.ts';
import type { Verdict } from '../../../core/scan/thresholds.ts';
import { viewObjectsOf } from '../../../report/view/view.ts';
const schema = Compile(Report);

export interface ResultObjects {
  export: Uint8Array;
  /** Null if the pod stored none. */
  pictures: Uint8Array | null;
  /** What the object store holds of the baseline's export. Null if the scan has none, or if there is nothing to read. */
  baseline?: ReadReport | null;
}

export interface Expectation {
  scanId: string;
  options: ScanOptions;
  metadata?: Metadata;
  /** Pages for which credits are reserved. */
  reserved: number;
  /** The scan was canceled, so that its export may be partial. */
  canceled?: boolean;
  announced: { scanned: number; failed: number };
  baseline?: NamedBaseline;
  /** The known issues that were chosen at the launch. Absent: none. */
  knownIssues?: ChosenKnownIssues;
}

export type Judgement = { ok: true; outcome: Outcome; verdict: Verdict; partial: boolean } | { ok: false; reason: string };

/** The scanner may round a page's score to one decimal. */
const ROUNDING = 0.1;

const refuse = (reason: string): Judgement => ({ ok: false, reason });

/**
 * Verifies an export's bytes, and the pictures whose places it has. `reason` is the end of the sentence "The scanner's results were refused: …".
 * @param onReport called with an accepted report
 */
export function verifyExport(
  { export: bytes, pictures, baseline }: ResultObjects,
  expected: Expectation,
  onReport?: (report: Report) => void,
): Judgement {
  // First, so that only one export is in memory at a time.
  const chosen = expected.baseline && readBaseline(expected.baseline, baseline ?? null);
  if (!isParseable(bytes)) return refuse('the export holds more values than its size allows.');
  let report: unknown;
  try {
    report = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return refuse('the export is not JSON.');
  }
  if (!schema.Check(report)) {
    const [first] = schema.Errors(report);
    return refuse(`the export does not match its schema (${first?.instancePath || '/'} ${first?.message ?? 'does not match'}).`);
  }
  const judgement = mismatch(report, expected) ?? recompute(report, expected, pictures, chosen);
  if (judgement.ok) onReport?.(report);
  return judgement;
}

/** Checks that the export is about the submitted scan. */
function mismatch(
  { scan, partial }: Report,
  { scanId, options, metadata = {}, reserved, canceled = false }: Expectation,
): Judgement | null {
  if (partial && !canceled) return refuse('the export is partial, but the scan was not canceled.');
  if (scan.id !== scanId) return refuse('the export is about another scan.');
  if (scan.local !== undefined) return refuse('the export is not of a scan of the service.');
  if (scan.url !== options.url) return refuse('the export is about another URL.');
  const submitted = toReportOptions(options, reserved);
  if (!isDeepStrictEqual(scan.options, submitted.options)) return refuse('the export was made with other options.');
  if (!isDeepStrictEqual(scan.metadata, metadata)) return refuse('the export was made with other metadata.');
  return isDeepStrictEqual(scan.thresholds, submitted.thresholds) ? null : refuse('the export was made with other thresholds.');
}

function recompute(
  report: Report,
  { options, reserved, announced, knownIssues }: Expectation,
  pictures: Uint8Array | null,
  chosen?: ChosenBaseline,
): Judgement {
  const { pages, score, scan, partial = false } = report;
  const tested = testedPages(pages);
  if (tested.length === 0) return refuse('the export has no tested page.');
  if (tested.length > reserved) return refuse(`${tested.length} pages were tested, but credits are reserved for ${reserved}.`);
  const { scanned, failed } = countPages(pages);
  if (scanned !== announced.scanned || failed !== announced.failed) return refuse("page counts differ from the scanner's summary.");
  const decided = decidePages(
    pages.map((page) => (page.tested ? undecidedPage(page) : page)),
    knownIssues?.issues ?? [],
  );
  if (!isDeepStrictEqual(decided, pages)) return refuse('the decisions about elements to review are not those of the site.');
  const wrong = tested.find((page) => !isConsistent(page));
  if (wrong !== undefined) return refuse(`the score of page ${wrong.url} does not follow from its violations.`);
  // Decided elements may have been the examples of others, so that the findings are checked as they were.
  const miscounted = tested.find((page) => ![...page.violations, ...undecidedPage(page).needs_review, ...page.advice].every(isCounted));
  if (miscounted !== undefined) return refuse(`the numbers of elements on page ${miscounted.url} contradict each other.`);

  const ids = report.rules.map(({ id }) => id);
  const derived = deriveResults(pages, options.thresholds, {
    partial,
    found: { discovery: report.discovery, maxPages: scan.options.pages_requested },
    ...(chosen && { baseline: { chosen, scan, tools: report.tools, rules: ids } }),
    ...(knownIssues && { known: knownIssues }),
  });
  const { outcome, verdict } = derived;
  const { rules, criteria } = ruleResults(pages, ids, scan.options);
  const parts: readonly [said: unknown, derived: unknown, refusal: string][] = [
    [report.counts, outcome.violations, 'the counts do not follow from the violations.'],
    [score.value, outcome.score, 'the score does not follow from the pages.'],
    [score.score_version, derived.score.score_version, 'the score does not follow from the pages.'],
    [score, derived.score, 'the coverage does not follow from the pages.'],
    [report.known_issues, derived.known_issues, 'the known issues are not those of the site, or do not follow from the violations.'],
    [report.baseline, derived.baseline, 'the comparison with the baseline does not follow from both scans.'],
    [scan.verdict, verdict, 'the verdict does not follow from score, violations and coverage.'],
    [report.fingerprint_version, derived.fingerprint_version, 'the root causes were made by another rule.'],
    [report.groups, derived.groups, 'the root causes do not follow from the violations.'],
    [report.review_groups, derived.review_groups, 'the root causes of elements to review do not follow from the pages.'],
    [report.advice_groups, derived.advice_groups, 'the root causes of the advice do not follow from the pages.'],
    [tested.every((page) => isInOrder(page, ids)), true, 'the rules that ran on the pages contradict each other.'],
    [report.states, statesOfReport(pages, options).states, 'the coverage of states does not follow from the pages.'],
    [report.rules, rules, 'the rules do not follow from the pages.'],
    [report.criteria, criteria, 'the success criteria do not follow from the rules.'],
  ];
  const wrongPart = parts.find(([said, recomputed]) => !isDeepStrictEqual(said, recomputed));
  if (wrongPart !== undefined) return refuse(wrongPart[2]);
  const wrongPictures = picturesMismatch(report, pictures);
  if (wrongPictures !== null) return refuse(wrongPictures);
  return { ok: true, outcome, verdict, partial };
}

/** Checks that each position of a page names a rule, that positions are ascending, and that no rule has two outcomes. */
function isInOrder(page: TestedPage, table: readonly string[]): boolean {
  const { violations, needs_review, reviewed = [], rules_passed, rules_not_applicable } = page;
  const isAscending = (list: readonly number[]): boolean =>
    list.every((position, at) => position < table.length && (at === 0 || list[at - 1]! < position));
  const found = [...violations, ...needs_review, ...reviewed];
  const outcomes = [...rules_passed, ...rules_not_applicable].length + new Set(found.map(({ rule }) => rule)).size;
  return isAscending(rules_passed) && isAscending(rules_not_applicable) && outcomesOn(page, table).size === outcomes;
}

/** Checks that a finding describes elements, and that it has no fewer than it describes and counts by root cause. */
function isCounted(finding: ReportViolation): boolean {
  const { rule, nodes, nodes_beyond } = finding;
  if (nodes.length === 0 || uncounted(finding) < 0) return false;
  if (nodes_beyond === undefined) return true;
  const causes = new Set(nodes.map((node) => rootCauseFingerprint(rule, node)));
  const beyond = new Set(nodes_beyond.map(({ fingerprint, confirmed = false }) => `${fingerprint} ${confirmed}`));
  return beyond.size === nodes_beyond.length && nodes_beyond.every(({ fingerprint }) => causes.has(fingerprint));
}

/**
 * Checks that a page's score follows from its rules, and that every violation belongs to a failed rule. (A rule that failed
 * on no element that can be named lowers the score without a violation.)
 */
function isConsistent(page: TestedPage): boolean {
  const failed = Object.values(page.rules).reduce((sum, { failed }) => sum + failed, 0);
  return failed >= page.violations.length && Math.abs(page.score - pageScore(page.rules)) <= ROUNDING;
}

/** A page of an export, for the metrics. */
export interface PageVisit {
  /** `tested`, or the reason why the page was not tested. */
  outcome: string;
  seconds: number;
}

export interface Verified {
  judgement: Judgement;
  visits: PageVisit[];
  /** The view of an accepted export, as JSON, and the findings to which it refers; otherwise null. */
  view: Record<'json' | 'findings', Uint8Array<ArrayBuffer>> | null;
  /** The IDs of the known issues that matched no violation. */
  unmatchedIssues: string[];
  /** Examples of the others, by ID. */
  issueExamples: Record<string, KnownIssueExample>;
}

/** What a thread hands over instead of copying it: up to 19 MiB. */
export const handedOver = ({ view }: Verified): ArrayBuffer[] => (view === null ? [] : [view.json.buffer, view.findings.buffer]);

export function verified(objects: ResultObjects, expected: Expectation): Verified {
  let visits: PageVisit[] = [];
  let view: Verified['view'] = null;
  let unmatchedIssues: string[] = [];
  let issueExamples: Verified['issueExamples'] = {};
  const judgement = verifyExport(objects, expected, (report) => {
    visits = pageVisits(report.pages);
    unmatchedIssues = (report.known_issues?.issues ?? []).filter(({ elements }) => elements === 0).map(({ id }) => id);
    issueExamples = examplesOf(report);
    const { view: shown, findings } = viewObjectsOf(report);
    view = { json: new TextEncoder().encode(JSON.stringify(shown)), findings };
  });
  return { judgement, visits, view, unmatchedIssues, issueExamples };
}

/** Longer than any page takes, in seconds. The cap keeps forged durations from distorting the sums. */
const SECONDS_MAX = 3600;

export function pageVisits(pages: readonly ReportPage[]): PageVisit[] {
  return pages.map((page) => ({
    outcome: page.tested ? 'tested' : page.reason,
    seconds: Math.min(page.duration_ms / 1000, SECONDS_MAX),
  }));
}
