/**
 * Puts events into the queue of each webhook of their organisation. An event stays in its store until this is done, and a delivery
 * is stored once for an event and an endpoint, so that a crash neither loses nor repeats one.
 */
import { isTerminal } from '../../core/scan/phases.ts';
import { bodyOf, type EventContent } from '../../core/webhooks/bodies.ts';
import type { WebhookEvent } from '../../core/webhooks/webhooks.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { Deliveries, NewDelivery } from '../../stores/webhooks/deliveries.ts';
import type { WebhookEventRecord, WebhookEvents } from '../../stores/webhooks/events.ts';
import type { Webhooks } from '../../stores/webhooks/webhooks.ts';
import { rowsOf } from '../rows-of.ts';
import type { PeriodicTask } from '../runtime/manager.ts';
import { regressionContent, scanContent } from './contents.ts';
import type { WebhookMetrics } from './metrics.ts';

export interface AnnounceDeps {
  scans: Pick<Scans, 'unannounced' | 'announced' | 'findMany'>;
  webhooks: Pick<Webhooks, 'enabledOf'>;
  webhookEvents: Pick<WebhookEvents, 'pending' | 'remove'>;
  deliveries: Pick<Deliveries, 'enqueue'>;
  metrics: Pick<WebhookMetrics, 'announced'>;
  /** The organisations whose events wait for the webhooks of a manifest; null: all. */
  undeclared: () => readonly string[] | null;
  /** Null: it is not configured. */
  publicBaseUrl: string | null;
  now: () => Date;
  everyMs?: number;
}

const EVERY_MS = 1_000;
const BATCH = 200;
/** How long a regression waits for the end of its scan, which precedes it. The row follows the resource within seconds. */
const SCAN_WITHIN_MS = 600_000;
/** Creates the leader's task. */
export function createAnnounceTask(deps: AnnounceDeps): PeriodicTask {
  return {
    name: 'queue webhooks',
    everyMs: deps.everyMs ?? EVERY_MS,
    async run(signal) {
      for (;;) {
        const except = deps.undeclared();
        if (except === null) return;
        const rows = await deps.scans.unannounced(BATCH, { except });
        await announceScans(deps, rows);
        if (rows.length < BATCH) break;
        signal.throwIfAborted();
      }
      await announceRegressions(deps, signal);
    },
  };
}

/** An event that is put into queues. */
interface Announced {
  organisation: string;
  scan: string;
  /** Its place among the events of its scan. */
  order: number;
  content: EventContent;
}

async function announceScans(deps: AnnounceDeps, rows: readonly ScanRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ends = rows.map((row) => ({
    organisation: row.organisation,
    scan: row.id,
    order: 0,
    content: scanContent(row, deps.publicBaseUrl),
  }));
  await enqueue(deps, ends);
  await deps.scans.announced(rows.map(({ id }) => id));
}

async function announceRegressions(deps: AnnounceDeps, signal: AbortSignal): Promise<void> {
  const except = deps.undeclared();
  if (except === null) return;
  const events = await deps.webhookEvents.pending(BATCH, except);
  if (events.length === 0) return;
  const ids = events.map(({ scan }) => scan);
  const rows = await rowsOf(deps.scans, ids);
  for (const event of events) {
    signal.throwIfAborted();
    const row = rows.get(event.scan);
    if (row !== undefined && !isTerminal(row.phase) && !isLate(event, deps.now())) continue;
    // First the end of the scan, which may have been stored a moment ago.
    await announceScans(deps, await deps.scans.unannounced(1, { ids: [event.scan] }));
    const { organisation, scan } = event;
    await enqueue(deps, [{ organisation, scan, order: 1, content: regressionContent(event, deps.publicBaseUrl) }]);
    await deps.webhookEvents.remove(event.scan);
  }
}

const isLate = ({ at }: WebhookEventRecord, now: Date): boolean => now.getTime() - at.getTime() > SCAN_WITHIN_MS;

async function enqueue({ webhooks, deliveries, metrics }: AnnounceDeps, events: readonly Announced[]): Promise<void> {
  const endpoints = await webhooks.enabledOf([...new Set(events.map(({ organisation }) => organisation))]);
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
  await enqueueCounted({ deliveries, metrics }, found);
}

/** Queues deliveries, and counts those that were not queued before. */
export async function enqueueCounted(
  { deliveries, metrics }: Pick<AnnounceDeps, 'deliveries' | 'metrics'>,
  found: readonly NewDelivery[],
): Promise<void> {
  const stored = await deliveries.enqueue(found);
  for (const [at, { type }] of found.entries()) if (stored[at]!.added) metrics.announced(type as WebhookEvent);
}
