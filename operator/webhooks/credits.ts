/** Sends `credits.low` to webhooks when the balance of their organisation becomes low: once until it has been high enough again. */
import { bodyOf } from '../../core/webhooks/bodies.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import type { Deliveries } from '../../stores/webhooks/deliveries.ts';
import type { CreditsWatcher, Webhooks } from '../../stores/webhooks/webhooks.ts';
import type { PeriodicTask } from '../runtime/manager.ts';
import { enqueueCounted } from './announce.ts';
import { creditsContent } from './contents.ts';
import type { WebhookMetrics } from './metrics.ts';

export interface CreditsTaskDeps {
  webhooks: Pick<Webhooks, 'creditsWatchers' | 'setLow'>;
  credits: Pick<Credits, 'accounts'>;
  deliveries: Pick<Deliveries, 'enqueue'>;
  metrics: Pick<WebhookMetrics, 'announced'>;
  publicBaseUrl: string | null;
  now: () => Date;
  everyMs?: number;
}

const EVERY_MS = 30_000;

/** Creates the leader's task. It reads the accounts of all organisations in one command. */
export function createCreditsTask(deps: CreditsTaskDeps): PeriodicTask {
  return {
    name: 'webhooks about credits',
    everyMs: deps.everyMs ?? EVERY_MS,
    async run(signal) {
      const watchers = await deps.webhooks.creditsWatchers();
      const accounts = await deps.credits.accounts([...new Set(watchers.map(({ organisation }) => organisation))]);
      for (const watcher of watchers) {
        signal.throwIfAborted();
        await check(deps, watcher, accounts.get(watcher.organisation)?.balance ?? 0);
      }
    },
  };
}

async function check(deps: CreditsTaskDeps, watcher: CreditsWatcher, balance: number): Promise<void> {
  const { webhooks, publicBaseUrl, now } = deps;
  const { id, organisation, creditsBelow: below, format, low, crossings, createdAt } = watcher;
  const isLow = balance < below;
  if (isLow === low) return;
  if (!isLow) return webhooks.setLow(id, false, crossings);
  const content = creditsContent({ balance, below }, now(), publicBaseUrl);
  // Before it is recorded: after a crash in between, the same event is stored once. A webhook of a manifest that was deleted and
  // added again has the same ID, and counts from the beginning.
  const event = `credits.low:${createdAt.getTime()}:${crossings + 1}`;
  const delivery = { webhook: id, organisation, event, type: content.type, scan: null, order: 0, body: bodyOf(content, format) };
  await enqueueCounted(deps, [delivery]);
  await webhooks.setLow(id, true, crossings + 1);
}
