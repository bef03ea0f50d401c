/** Builds the JSON export of a scan: score, verdict, counts and root causes over its pages. */
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import type { ChosenBaseline } from '../diff/baseline.ts';
import type { ReportConsent } from './consent.ts';
import { toReportOptions } from '../../core/scan/submitted-options.ts';
import { deriveResults } from './results.ts';
import { numberRules, ruleResults } from './rule-outcomes.ts';
import type { Report, ReportPage } from '../schema/schema.ts';

/**
 * Builds the report of a scan.
 * @param found.pages in the scan's order, tested and untested; their rules as `positionsOf` gives them
 * @param found.tools versions of Curbcut, axe-core and the browser
 * @throws RangeError if no page was tested, because such a scan has failed and has no report
 */
export function buildReport(found: {
  input: PodInput;
  pages: ReportPage[];
  tools: Report['tools'];
  startedAt: Date;
  finishedAt: Date;
  consent?: ReportConsent;
  /** The scan was canceled before all pages were tested. */
  partial?: boolean;
  /** The scan to compare with. Absent: none was named. */
  baseline?: ChosenBaseline;
  /** The number of addresses that were found and are not in `pages`. */
  addressesLeft?: number;
}): Report {
  const { input, tools, partial = false, addressesLeft = 0 } = found;
  const { pages, ids } = numberRules(found.pages);
  const target = toReportOptions(input.options, input.pagesReserved);
  const { outcome, verdict, baseline, known_issues, score, fingerprint_version, groups, review_groups, advice_groups } = deriveResults(
    pages,
    input.options.thresholds,
    {
      partial,
      ...(found.baseline && { baseline: { chosen: found.baseline, scan: { url: input.options.url, options: target.options }, tools } }),
      ...(input.knownIssues && { known: input.knownIssues }),
    },
  );
  return {
    schema_version: 1,
    scan: {
      id: input.scanId,
      url: input.options.url,
      ...target,
      metadata: input.metadata ?? {},
      verdict,
      submitted_at: input.submittedAt,
      started_at: found.startedAt.toISOString(),
      finished_at: found.finishedAt.toISOString(),
    },
    tools,
    score,
    counts: outcome.violations,
    ...(partial && { partial }),
    ...(baseline && { baseline }),
    ...(known_issues && { known_issues }),
    ...(found.consent && { consent: found.consent }),
    pages,
    fingerprint_version,
    groups,
    review_groups,
    advice_groups,
    ...ruleResults(pages, ids, target.options),
    // `fitReport` places them.
    pictures: [],
    addresses_left: addressesLeft,
  };
}
