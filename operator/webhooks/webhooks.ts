/** Webhooks: queues their events, and sends them. */
import type { Resolver } from '../../core/scan/targets.ts';
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { hostOf } from '../../core/webhooks/webhooks.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { SendableWebhook } from '../../stores/webhooks/webhooks.ts';
import type { Manager } from '../runtime/manager.ts';
import type { OperatorSettings } from '../settings.ts';
import { createAnnounceTask } from './announce.ts';
import { createCreditsTask } from './credits.ts';
import type { WebhookMetrics } from './metrics.ts';
import { createPost } from './post.ts';
import { createWebhookSender } from './sender.ts';

export interface WebhookDeps {
  stores: Pick<AllStores, 'scans' | 'webhooks' | 'webhookEvents' | 'deliveries' | 'credits' | 'members' | 'organisations' | 'outbox'>;
  settings: Pick<OperatorSettings, 'targets' | 'publicBaseUrl' | 'mail' | 'webhooks' | 'proxy'>;
  resolver: Resolver;
  /** The organisations whose events wait for the webhooks of a manifest; null: all. */
  undeclared: () => string[] | null;
  metrics: WebhookMetrics;
  logger: Logger;
  clock: Clock;
}

/** Adds the tasks of the leader. If webhooks are off, events are dropped, so that none is sent when they are turned on. */
export function addWebhookTasks(manager: Pick<Manager, 'addTask'>, deps: WebhookDeps): void {
  const { stores, settings, resolver, undeclared, metrics, logger, clock } = deps;
  const { publicBaseUrl, targets: rules } = settings;
  if (!settings.webhooks) {
    logger.warn({}, 'webhooks are off, events are dropped');
    const none = { enabledOf: async () => [] };
    manager.addTask(createAnnounceTask({ ...stores, webhooks: none, undeclared: () => [], metrics, publicBaseUrl, now: clock.now }));
    return;
  }
  const shared = { ...stores, undeclared, metrics, publicBaseUrl, now: clock.now };
  manager.addTask(createAnnounceTask(shared));
  manager.addTask(createCreditsTask(shared));
  const contact = publicBaseUrl === null ? '' : ` (+${publicBaseUrl})`;
  const post = createPost({ rules, resolver, proxy: settings.proxy, userAgent: `Curbcut-Webhooks/${CURBCUT_VERSION}${contact}` });
  const notifyStopped = createStopNotice(stores, settings.mail !== null);
  manager.addTask(createWebhookSender({ ...stores, post, notifyStopped, metrics, logger, clock }));
}

/** Mails the owners of the organisation. Without a mail server, the dashboard, the API and the metrics show what happened. */
export function createStopNotice(
  { members, organisations, outbox }: Pick<WebhookDeps['stores'], 'members' | 'organisations' | 'outbox'>,
  mailed: boolean,
) {
  return async ({ id, organisation, name, url }: SendableWebhook, reason: 'gone' | 'failing', since: Date): Promise<void> => {
    if (!mailed) return;
    const { displayName = organisation } = (await organisations.find(organisation)) ?? {};
    const owners = (await members.list(organisation)).filter(({ role }) => role === 'owner');
    const data = {
      organisation: displayName,
      webhook: name,
      host: hostOf({ url }),
      reason,
      since: since.toISOString(),
      path: `${WEBHOOKS_PATH}/${id}`,
    };
    for (const { email: to } of owners)
      await outbox.enqueue({
        id: `webhook-stopped:${id}:${since.getTime()}:${to}`,
        kind: 'webhook_stopped',
        to,
        locale: 'en',
        organisation,
        data,
      });
  };
}
