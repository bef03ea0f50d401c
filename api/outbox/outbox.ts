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
import { createCompose } from './compose.ts';
import { createCreditsTask } from './credits-low.ts';
import { createSenderTask } from './mail-transport.ts';
import { openMailServer } from './smtp.ts';
import type { OutboxMetrics } from './metrics.ts';
import { createPost } from './post.ts';
import { createResultMailTask } from './result-mails.ts';
import { createWebhookSender } from './webhook-transport.ts';

export interface OutboxSettings {
  /** The service's base address without a slash at its end. Null: it is not configured, and messages have no links. */
  publicBaseUrl: string | null;
  /** Null: no mails are queued or sent. `publicBaseUrl` is then set. */
  mail: { smtpUrl: Credential; from: string } | null;
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

const REMOVE_ADDRESSES_EVERY_MS = 3_600_000;

/** Runs until the signal aborts, and then until deliveries have ended, for a bounded time. */
export async function runOutbox(deps: OutboxDeps, signal: AbortSignal): Promise<void> {
  const { logger, clock = systemClock } = deps;
  await Promise.all(tasksOf({ ...deps, clock }).map((task) => runPeriodically(task, clock, logger, signal)));
}

function tasksOf({ stores, reports, resolver, settings, metrics, logger, clock }: OutboxDeps & { clock: Clock }): PeriodicTask[] {
  const { outbox } = stores;
  const { mail, publicBaseUrl, proxy, targets: rules } = settings;
  const tasks: PeriodicTask[] = [
    { name: 'remove addresses of mails', everyMs: REMOVE_ADDRESSES_EVERY_MS, run: async () => void (await outbox.removeAddresses()) },
    createResultMailTask({ ...stores, outbox: mail === null ? null : outbox, now: clock.now }),
  ];
  if (mail !== null)
    tasks.push(
      createSenderTask({
        ...stores,
        compose: createCompose({ ...stores, reports, publicBaseUrl: publicBaseUrl! }),
        openServer: (connections) => openMailServer({ ...mail, connections, proxy }),
        metrics,
        logger,
        clock,
      }),
    );
  if (settings.webhooks) {
    const contact = publicBaseUrl === null ? '' : ` (+${publicBaseUrl})`;
    const post = createPost({ rules, resolver, proxy, userAgent: `Curbcut-Webhooks/${CURBCUT_VERSION}${contact}` });
    tasks.push(
      createCreditsTask({ ...stores, metrics, publicBaseUrl, now: clock.now }),
      createWebhookSender({ stores, post, mailed: mail !== null, metrics, logger, clock }),
    );
  }
  return tasks;
}
