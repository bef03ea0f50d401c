/**
 * The outbox: mails and webhooks that wait in MongoDB until they are sent. Every replica of the API runs it. Each entry is claimed with a
 * lease, so that one replica sends it; what queues entries is idempotent, so that replicas may do it at the same time.
 */
import type { Resolver, TargetRules } from '../../core/scan/targets.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { OutboundProxy } from '../../platform/outbound-proxy.ts';
import { runPeriodically, type PeriodicTask } from '../../platform/periodic.ts';
import type { Credential } from '../../platform/setting-files.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { Reports } from '../../stores/reports.ts';
import type { StoreMetrics } from '../../stores/process-metrics.ts';
import type { AllStores } from '../../stores/stores.ts';
import { compose } from './compose.ts';
import { sayCreditsLow } from './credits-low.ts';
import { deliver, POLL_MS } from './delivery-loop.ts';
import type { LegalLinks } from '../web/legal.ts';
import { sendMails, type MailContext } from './mail-transport.ts';
import type { OutboxMetrics } from './metrics.ts';
import { createPost } from './post.ts';
import { queueResultMails } from './result-mails.ts';
import { openMailServer } from './smtp.ts';
import { queueSummaries } from './weekly-summary.ts';
import { createWebhookTransport } from './webhook-transport.ts';

export interface OutboxSettings {
  /** The service's base address without a slash at its end. Null: it is not configured, and messages have no links. */
  publicBaseUrl: string | null;
  /** Null: no mails are queued or sent. `publicBaseUrl` is then set. */
  mail: { smtpUrl: Credential; from: string } | null;
  legal?: LegalLinks;
  /** Whether webhooks are sent. */
  webhooks: boolean;
  /** Which addresses webhooks may have. */
  targets: TargetRules;
  /** The proxy for mails and webhooks. Default: none. */
  proxy?: OutboundProxy;
}

export interface OutboxDeps {
  stores: AllStores;
  reports: Pick<Reports, 'readView'>;
  resolver: Resolver;
  settings: OutboxSettings;
  metrics: OutboxMetrics & Pick<StoreMetrics, 'webhookEvent'>;
  logger: Logger;
  /** Default: the system's. */
  clock?: Clock;
}

const HOUR_MS = 3_600_000;

/** Runs until the signal aborts, and then until deliveries have ended, for a bounded time. */
export async function runOutbox(deps: OutboxDeps, signal: AbortSignal): Promise<void> {
  const { logger, clock = systemClock } = deps;
  await Promise.all(tasksOf({ ...deps, clock }).map((task) => runPeriodically(task, clock, logger, signal)));
}

function tasksOf({ stores, reports, resolver, settings, metrics, logger, clock }: OutboxDeps & { clock: Clock }): PeriodicTask[] {
  const { mail, publicBaseUrl, legal, proxy, targets: rules } = settings;
  const { now } = clock;
  const context = { stores, metrics, logger, clock };
  const tasks: PeriodicTask[] = [
    { name: 'remove addresses of mails', everyMs: HOUR_MS, run: async () => void (await stores.outbox.removeAddresses()) },
    { name: 'queue result mails', everyMs: 2_000, run: (signal) => queueResultMails({ stores, now, mailed: mail !== null }, signal) },
  ];
  if (mail !== null) {
    const about = { stores, reports, publicBaseUrl: publicBaseUrl!, ...(legal && { legal }) };
    const mails: MailContext = {
      ...context,
      compose: (entry) => compose(about, entry),
      openServer: (connections) => openMailServer({ ...mail, connections, proxy }),
    };
    tasks.push({ name: 'queue weekly summaries', everyMs: 60_000, run: (signal) => queueSummaries({ stores, now }, signal) });
    tasks.push({ name: 'send mails', everyMs: POLL_MS, run: (signal) => sendMails(mails, signal) });
  }
  if (settings.webhooks) {
    const contact = publicBaseUrl === null ? '' : ` (+${publicBaseUrl})`;
    const post = createPost({ rules, resolver, proxy, userAgent: `Curbcut-Webhooks/${CURBCUT_VERSION}${contact}` });
    const webhooks = createWebhookTransport({ ...context, post, mailed: mail !== null });
    tasks.push(
      { name: 'webhooks about credits', everyMs: 30_000, run: (signal) => sayCreditsLow({ stores, metrics, publicBaseUrl, now }, signal) },
      { name: 'send webhooks', everyMs: POLL_MS, run: (signal) => deliver(webhooks, context, signal) },
    );
  }
  return tasks;
}
