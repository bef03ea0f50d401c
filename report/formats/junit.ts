/** JUnit XML, by the schema of Jenkins: for the test reports of CI systems. Pure. */
import { XMLBuilder } from 'fast-xml-parser';
import { coverageOf } from '../../core/scan/counts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { checkThresholds } from '../../core/scan/thresholds.ts';
import { snakeCase } from '../../core/schemas.ts';
import { knownIssueFinder, type KnownIssueFinder } from '../causes/known.ts';
import { isAttempted } from '../results/score.ts';
import { thresholdsOf } from '../../core/scan/submitted-options.ts';
import { outcomeOf } from '../results/results.ts';
import { elementPath, type ReportPage, type ReportViolation, type TestedPage } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { criteriaText } from '../rules/success-criteria.ts';
import { pageGaps, scanNotes, untestedMessage } from '../view/gaps.ts';
import { acceptance, elements, targetOf } from './shared.ts';

interface TestCase {
  '@_name': string;
  '@_classname': string;
  '@_time'?: string;
  skipped?: string;
  error?: { '@_type': string; '@_message': string; '#text': string };
  failure?: { '@_type': string; '@_message': string; '#text': string };
  'system-out'?: string;
}

const builder = new XMLBuilder({ ignoreAttributes: false, format: true, suppressEmptyNode: true });

/**
 * Converts a report to JUnit XML. The first suite has a test for each threshold. Each page is a suite, whose first test says
 * whether the page was tested. Each rule that failed is a failed test, or a skipped one if all its elements are known issues. What
 * a person must check, and what was not tested, is a skipped test; a page that could not be tested is an error.
 */
export function junitOf(report: Report): string {
  const thresholds = thresholdCases(report);
  const started = report.scan.started_at;
  const accepted = knownIssueFinder(report);
  const suites = [
    ...(thresholds.length === 0 ? [] : [suiteOf('thresholds', thresholds, 0, started)]),
    ...report.pages.map((page) => suiteOf(page.url, pageCases(page, report.scan.options.locale, accepted), page.duration_ms, started)),
    ...notesSuite(report, started),
  ];
  const sum = (name: 'tests' | 'failures' | 'errors'): number => suites.reduce((total, suite) => total + suite[`@_${name}`], 0);
  return builder.build({
    '?xml': { '@_version': '1.0', '@_encoding': 'UTF-8' },
    testsuites: {
      '@_name': text(`Curbcut: ${report.scan.url} (${targetOf(report.scan)}, score ${report.score.value})`),
      '@_time': seconds(Date.parse(report.scan.finished_at) - Date.parse(started)),
      '@_tests': sum('tests'),
      '@_failures': sum('failures'),
      '@_errors': sum('errors'),
      testsuite: suites.map((suite, id) => ({ ...suite, '@_id': id })),
    },
  });
}

function suiteOf(name: string, testcase: readonly TestCase[], durationMs: number, timestamp: string) {
  const having = (field: keyof TestCase): number => testcase.filter((test) => test[field] !== undefined).length;
  return {
    '@_name': text(name),
    '@_tests': testcase.length,
    '@_failures': having('failure'),
    '@_errors': having('error'),
    '@_skipped': having('skipped'),
    '@_time': seconds(durationMs),
    '@_timestamp': timestamp,
    testcase,
  };
}

function thresholdCases(report: Report): TestCase[] {
  const outcome = outcomeOf(report);
  return checkThresholds(thresholdsOf(report.scan.thresholds), outcome).map(({ name, allowed, measured, met }) => {
    const said =
      measured === null
        ? 'nothing, because there is no comparison'
        : typeof measured === 'number'
          ? String(measured)
          : JSON.stringify(measured);
    const message = `${snakeCase(name)}: measured ${said}, allowed ${allowed} (coverage ${coverageOf(outcome.pages)}%)`;
    return test(
      snakeCase(name),
      'thresholds',
      met && !report.partial ? {} : { failure: failed('threshold', message, report.scan.verdict.message ?? message) },
    );
  });
}

function pageCases(page: ReportPage, locale: Locale, accepted: KnownIssueFinder): TestCase[] {
  const name = 'page was tested';
  if (!page.tested) {
    const message = untestedMessage(page);
    return isAttempted(page.reason)
      ? [test(name, page.url, { error: failed(page.reason, message, message) })]
      : [test(name, page.url, { skipped: text(`${page.reason}: ${message}`) })];
  }
  const summary = `${page.title}\nscore ${page.score}, final address ${page.final_url}`;
  return [
    test(name, page.url, { 'system-out': text(summary), '@_time': seconds(page.duration_ms) }),
    ...page.violations.map((violation) => violationCase(violation, page, locale, accepted)),
    ...page.needs_review.map((finding) =>
      test(`${finding.rule} (needs review)`, page.url, {
        skipped: text(`A person must check ${elements(finding.nodes_total)}: ${finding.help}\n${details(finding, locale)}`),
      }),
    ),
    ...pageGaps(page).map(({ kind, message }, index) => test(`${kind} ${index + 1}`, page.url, { skipped: text(message) })),
  ];
}

/** A rule that fails only on known issues is a skipped test. */
function violationCase(violation: ReportViolation, page: TestedPage, locale: Locale, accepted: KnownIssueFinder): TestCase {
  const { rule, impact, help, nodes_total: total } = violation;
  const message = `${help} (${impact}, ${elements(total)})`;
  const body = details(violation, locale, accepted);
  if (accepted.coversAll(violation)) return test(rule, page.url, { skipped: text(`Known issue: ${message}\n${body}`) });
  return test(rule, page.url, { failure: failed(impact, message, body) });
}

function details(
  { rule, nodes, nodes_total: total, help_url, wcag }: ReportViolation,
  locale: Locale,
  accepted?: KnownIssueFinder,
): string {
  const listed = nodes.map((node) => {
    const known = accepted?.of(rule, node) ?? null;
    const mark = known === null ? '' : `\nKnown issue: ${acceptance(known)}`;
    return `${elementPath(node)}\n${node.html}\n${node.failure_summary}${mark}`;
  });
  const beyond = total > nodes.length ? [`${nodes.length} of ${elements(total)} are listed.`] : [];
  return [...(wcag.length === 0 ? [] : [`WCAG ${criteriaText(wcag, locale)}`]), help_url, ...listed, ...beyond].join('\n\n');
}

function notesSuite(report: Report, timestamp: string) {
  const notes = scanNotes(report).map(({ kind, message }) => test(kind, 'scan', { skipped: text(message) }));
  return notes.length === 0 ? [] : [suiteOf('scan', notes, 0, timestamp)];
}

const test = (name: string, classname: string, rest: Partial<TestCase>): TestCase => ({
  '@_name': text(name),
  '@_classname': text(classname),
  ...rest,
});

const failed = (type: string, message: string, body: string) => ({ '@_type': type, '@_message': text(message), '#text': text(body) });

const seconds = (ms: number): string => (Math.max(0, ms) / 1000).toFixed(3);

/** XML 1.0 cannot hold these characters, not even escaped. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const text = (value: string): string => value.toWellFormed().replace(FORBIDDEN, '\ufffd');
