/** Code Quality of GitLab (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format): for its merge requests. Pure. */
import { createHash } from 'node:crypto';
import type { Impact } from '../../core/scan/impacts.ts';
import { pathOnSite } from '../../core/scan/site.ts';
import { knownIssueFinder } from '../causes/known.ts';
import { rootCauseFingerprint } from '../causes/root-causes.ts';
import { elementPath } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { relativeUriOf } from './shared.ts';

/** A violation as GitLab reads it. */
export interface CodeQualityIssue {
  description: string;
  check_name: string;
  /** Unique in the file. GitLab calls an issue new if the report of the target branch does not have it. */
  fingerprint: string;
  severity: 'info' | 'minor' | 'major' | 'critical' | 'blocker';
  location: { path: string; lines: { begin: number } };
}

const SEVERITIES: Readonly<Record<Impact, CodeQualityIssue['severity']>> = {
  critical: 'critical',
  serious: 'major',
  moderate: 'minor',
  minor: 'info',
};
/** In characters. */
const SELECTOR_MAX = 300;

/**
 * Converts the violations of a report, one for each element that it describes. The fingerprint has the page without the host, so
 * that the scan of a preview can be compared with that of the site. It has no selector, so that an element may move. Known issues
 * are left out, because GitLab knows no accepted ones.
 */
export function codeQualityOf(report: Report): CodeQualityIssue[] {
  const { scan, pages } = report;
  const known = knownIssueFinder(report);
  const seen = new Map<string, number>();
  const issues: CodeQualityIssue[] = [];
  for (const page of pages) {
    if (!page.tested) continue;
    const place = pathOnSite(page.url, scan.url) ?? page.url;
    for (const { rule, impact, help, nodes } of page.violations)
      for (const node of nodes) {
        const cause = [rule, place, rootCauseFingerprint(rule, node)].join('\0');
        const occurrence = (seen.get(cause) ?? 0) + 1;
        seen.set(cause, occurrence);
        if (known.of(rule, node) !== null) continue;
        issues.push({
          description: `${help}: ${elementPath(node).slice(0, SELECTOR_MAX).toWellFormed()}`,
          check_name: rule,
          fingerprint: createHash('sha256').update(`${cause}\0${occurrence}`).digest('hex'),
          severity: SEVERITIES[impact],
          location: { path: relativeUriOf(page.url), lines: { begin: 1 } },
        });
      }
  }
  return issues;
}
