/**
 * Puts events into the queue of each webhook of their organisation, and mails about them into the outbox. A crash neither loses nor repeats
 * one: an event stays in its store until this is done, and a delivery is stored once for an event and an endpoint.
 */
import { isTerminal } from '../../core/scan/phases.ts';
import { bodyOf, type EventContent } from '../../core/webhooks/bodies.ts';
import type { ScheduleRegression, WebhookEvent } from '../../core/webhooks/webhooks.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { WebhookEventRecord } from '../../stores/webhooks/events.ts';
import { rowsOf } from '../../stores/scans/scans.ts';
import type { OperatorContext } from '../context.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { scanPath } from '../../core/web-paths.ts';
import { siteOf } from '../../core/scan/site.ts';
import { mailRegression, mailScanEnds } from './queue-mails.ts';
import { scanObject } from '../../stores/scans/scan-object.ts';

const EVERY_MS = 1_000;
const BATCH = 200;
/** How long a regression waits for the end of its scan, which precedes it. The row follows the resource within seconds. */
const SCAN_WITHIN_MS = 600_000;

/**
 * Creates the leader's task. While webhooks are off, it drops their events, so that none is sent when they are turned on.
 * @param undeclared the organisations whose events wait for the webhooks of a manifest; null: all
 */
export function announceTask(context: OperatorContext, undeclared: () => readonly string[] | null): PeriodicTask {
  const { scans } = context.stores;
  const waiting = () => (context.settings.webhooks ? undeclared() : []);
  return {
    name: 'queue webhooks',
    everyMs: EVERY_MS,
    async run(signal) {
      for (;;) {
        const except = waiting();
        if (except === null) return;
        const rows = await scans.unannounced(BATCH, { except });
        await announceScans(context, rows);
        if (rows.length < BATCH) break;
        signal.throwIfAborted();
      }
      const except = waiting();
      if (except !== null) await announceRegressions(context, except, signal);
    },
  };
}

interface Announced {
  organisation: string;
  scan: string;
  order: number;
  content: EventContent;
}

async function announceScans(context: OperatorContext, rows: readonly ScanRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ends = rows.map((row) => ({
    organisation: row.organisation,
    scan: row.id,
    order: 0,
    content: scanContent(row, context.settings.publicBaseUrl),
  }));
  await mailScanEnds(context, rows);
  await enqueue(context, ends);
  await context.stores.scans.announced(rows.map(({ id }) => id));
}

async function announceRegressions(context: OperatorContext, except: readonly string[], signal: AbortSignal): Promise<void> {
  const { stores, settings, clock } = context;
  const events = await stores.webhookEvents.pending(BATCH, except);
  if (events.length === 0) return;
  const ids = events.map(({ scan }) => scan);
  const rows = await rowsOf(stores.scans, ids);
  for (const event of events) {
    signal.throwIfAborted();
    const row = rows.get(event.scan);
    if (row !== undefined && row.organisation !== event.organisation) {
      await stores.webhookEvents.erase(event.scan);
      continue;
    }
    if (row !== undefined && !isTerminal(row.phase) && !isLate(event, clock.now())) continue;
    // First the end of the scan, which may have been stored a moment ago.
    await announceScans(context, await stores.scans.unannounced(1, { ids: [event.scan] }));
    await mailRegression(context, event);
    const { organisation, scan } = event;
    await enqueue(context, [{ organisation, scan, order: 1, content: regressionContent(event, settings.publicBaseUrl) }]);
    await stores.webhookEvents.remove(event.scan);
  }
}

const isLate = ({ at }: WebhookEventRecord, now: Date): boolean => now.getTime() - at.getTime() > SCAN_WITHIN_MS;

async function enqueue({ stores, settings, metrics }: OperatorContext, events: readonly Announced[]): Promise<void> {
  if (!settings.webhooks) return;
  const endpoints = await stores.webhooks.enabledOf([...new Set(events.map(({ organisation }) => organisation))]);
  const found = events.flatMap(({ organisation, scan, order, content }) =>
    endpoints
      .filter((webhook) => webhook.organisation === organisation && webhook.events.includes(content.type as WebhookEvent))
      .map((webhook) => ({
        webhook: webhook.id,
        organisation,
        event: `${content.type}:${scan}`,
        type: content.type,
        scan,
        order,
        body: bodyOf(content, webhook.format),
      })),
  );
  const stored = await stores.deliveries.enqueue(found);
  for (const [at, { type }] of found.entries()) if (stored[at]!.added) metrics.stores.webhookEvent(type as WebhookEvent);
}

/** @param base the service's base address; null: it is not configured, and messages have no links */
type Base = string | null;

const linkTo = (base: Base, text: string, path: string) => (base === null ? null : { text, url: base + path });
const violations = (count: number): string => `${count} ${count === 1 ? 'violation' : 'violations'}`;

function scanContent(row: ScanRow, base: Base): EventContent {
  const scan = scanObject(row);
  const site = siteOf(row.options.url) || row.options.url;
  const verdict = { true: 'passed', false: 'did not pass', null: 'is done' }[String(scan.passed) as 'true' | 'false' | 'null'];
  const done = row.phase === 'done';
  const numbers = done ? [`Score ${scan.score}, ${violations(scan.violations_count ?? 0)} on ${scan.pages_tested} pages.`] : [];
  return {
    type: done ? 'scan.completed' : 'scan.failed',
    at: row.finishedAt ?? row.updatedAt,
    data: scan,
    chat: {
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

function regressionContent({ data, at }: WebhookEventRecord, base: Base): EventContent {
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
    chat: {
      headline: `${siteOf(url) || url} got worse (schedule ${namespace}/${name})`,
      facts: [message],
      link: linkTo(base, 'Open the scan', scanPath(scanId)),
    },
  };
}
