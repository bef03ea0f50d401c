/** What the events of webhooks say. Pure. */
import { scanPath } from '../../core/web-paths.ts';
import { siteOf } from '../../core/scan/site.ts';
import type { EventContent } from '../../core/webhooks/bodies.ts';
import type { ScheduleRegression } from '../../core/webhooks/webhooks.ts';
import { scanObject } from '../../stores/scans/scan-object.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { WebhookEventRecord } from '../../stores/webhooks/events.ts';

/** @param base the service's base address; null: it is not configured, and messages have no links */
type Base = string | null;

const linkTo = (base: Base, text: string, path: string) => (base === null ? null : { text, url: base + path });
const violations = (count: number): string => `${count} ${count === 1 ? 'violation' : 'violations'}`;

/** The end of a scan, as the REST API shows it. */
export function scanContent(row: ScanRow, base: Base): EventContent {
  const scan = scanObject(row);
  const site = siteOf(row.options.url) || row.options.url;
  const verdict = { true: 'passed', false: 'did not pass', null: 'is done' }[String(scan.passed) as 'true' | 'false' | 'null'];
  const done = row.phase === 'done';
  const numbers = done ? [`Score ${scan.score}, ${violations(scan.violations_count ?? 0)} on ${scan.pages_tested} pages.`] : [];
  return {
    type: done ? 'scan.completed' : 'scan.failed',
    at: row.finishedAt ?? row.updatedAt,
    data: scan,
    slack: {
      headline: done ? `${site} ${verdict}` : `The scan of ${site} ${row.phase === 'canceled' ? 'was canceled' : 'failed'}`,
      facts: [...numbers, ...(row.message === null ? [] : [row.message])],
      link: linkTo(base, 'Open the scan', scanPath(row.id)),
    },
  };
}

/** Without the examples of the condition `Regressed`, which are findings. */
function regressionMessage({ passed, comparison }: ScheduleRegression): string {
  const verdict = passed === false ? ['The scan does not meet its thresholds.'] : [];
  const difference =
    comparison === null
      ? 'It could not be compared with the scan before it.'
      : `Compared with the scan before it: ${violations(comparison.new)} new${knownPart(comparison)}, ${comparison.fixed} fixed, ${comparison.unchanged} unchanged.`;
  return [...verdict, difference].join(' ');
}

const knownPart = ({ newKnown = 0 }: NonNullable<ScheduleRegression['comparison']>): string =>
  newKnown === 0 ? '' : `, of which ${newKnown} known`;

export function regressionContent({ data, at }: WebhookEventRecord, base: Base): EventContent {
  const { namespace, name, url, scanId, previousScanId, passed, comparison } = data;
  const message = regressionMessage(data);
  return {
    type: 'schedule.regressed',
    at,
    data: {
      schedule: { namespace, name, url },
      scan_id: scanId,
      previous_scan_id: previousScanId,
      passed,
      comparison: comparison && {
        new: comparison.new,
        on_new_pages: comparison.onNewPages,
        new_known: comparison.newKnown ?? 0,
        new_root_causes: comparison.newRootCauses,
        fixed: comparison.fixed,
        unchanged: comparison.unchanged,
        not_tested: comparison.notTested,
      },
      message,
    },
    slack: {
      headline: `${siteOf(url) || url} got worse (schedule ${namespace}/${name})`,
      facts: [message],
      link: linkTo(base, 'Open the scan', scanPath(scanId)),
    },
  };
}
