/** Mails: queues the results of public scans, sends due mails, and removes old addresses. Without a mail server, none is queued or sent. */
import type { Logger } from '../../platform/logger.ts';
import type { Reports } from '../../stores/reports.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Manager } from '../runtime/manager.ts';
import type { OperatorSettings } from '../settings.ts';
import { createCompose } from './compose.ts';
import type { MailMetrics } from './metrics.ts';
import { createResultMailTask } from './results.ts';
import { createSenderTask } from './sender.ts';
import { createMailTransport } from './transport.ts';

export interface MailDeps {
  stores: Pick<AllStores, 'scans' | 'publicScans' | 'outbox' | 'suppressions' | 'rateLimits'>;
  reports: Pick<Reports, 'readView'>;
  settings: OperatorSettings['mail'];
  proxy?: OperatorSettings['proxy'];
  metrics: MailMetrics;
  logger: Logger;
  clock: Clock;
}

const REMOVE_ADDRESSES_EVERY_MS = 3_600_000;

/** Adds the tasks of the leader. */
export function addMailTasks(manager: Pick<Manager, 'addTask'>, deps: MailDeps): void {
  const { stores, reports, settings, metrics, logger, clock } = deps;
  const { outbox, suppressions } = stores;
  manager.addTask({
    name: 'remove addresses of mails',
    everyMs: REMOVE_ADDRESSES_EVERY_MS,
    run: async () => void (await outbox.removeAddresses()),
  });
  manager.addTask(createResultMailTask({ ...stores, outbox: settings === null ? null : outbox, now: clock.now }));
  if (settings === null) return;
  const { smtpUrl, from, publicBaseUrl } = settings;
  manager.addTask(
    createSenderTask({
      outbox,
      suppressions,
      compose: createCompose({ ...stores, reports, publicBaseUrl }),
      openTransport: (connections) => createMailTransport({ smtpUrl, from, connections, proxy: deps.proxy }),
      metrics,
      logger,
      clock,
    }),
  );
}
