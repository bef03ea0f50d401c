/** Turns what a scan found into the JSON export: score, verdict, counts and root causes over its pages. */
import { groupViolations } from '../../core/report/fingerprints.ts';
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import type { Report, ReportPage, TestedPage } from '../../core/report/schema.ts';
import { SCORE_VERSION, countViolations, scanScore, sumCounts } from '../../core/report/score.ts';
import { judge } from '../../core/scan/thresholds.ts';

/**
 * Builds the report of a scan.
 * @param found.pages in the scan's order, tested and untested
 * @param found.tools versions of Curbcut, axe-core and the browser
 * @throws RangeError when no page was tested: such a scan has failed and has no report
 */
export function buildReport(found: {
  input: PodInput;
  pages: ReportPage[];
  tools: Report['tools'];
  startedAt: Date;
  finishedAt: Date;
}): Report {
  const { input, pages, tools } = found;
  const { options } = input;
  const tested = pages.filter((page): page is TestedPage => page.tested);
  const counts = sumCounts(tested.map((page) => countViolations(page.violations)));
  const score = scanScore(
    tested.map((page) => page.rules),
    counts.total,
  );
  return {
    schema_version: 1,
    scan: {
      id: input.scanId,
      url: options.url,
      options: {
        max_pages: options.maxPages,
        pages_requested: input.pagesRequested,
        wcag_level: options.wcagLevel,
        wcag_version: options.wcagVersion,
        include: options.crawl.include,
        exclude: options.crawl.exclude,
        sitemap: options.crawl.sitemap,
        respect_robots: options.crawl.respectRobots,
        locale: options.locale,
      },
      thresholds: {
        min_score: options.thresholds.minScore ?? null,
        max_violations: options.thresholds.maxViolations ?? null,
        fail_on_severity: options.thresholds.failOnSeverity ?? null,
      },
      verdict: judge(options.thresholds, score, counts),
      submitted_at: input.submittedAt,
      started_at: found.startedAt.toISOString(),
      finished_at: found.finishedAt.toISOString(),
    },
    tools,
    score: {
      value: score,
      score_version: SCORE_VERSION,
      pages_tested: tested.length,
      pages_found: pages.length,
      needs_review: sumCounts(tested.map((page) => countViolations(page.needs_review))).total,
    },
    counts,
    pages,
    groups: groupViolations(pages),
  };
}
