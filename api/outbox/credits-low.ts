/** Sends `credits.low` to webhooks when the balance of their organisation becomes low: once until it has been high enough again. */
import { CREDITS_PATH } from '../../core/web-paths.ts';
import { bodyOf, type EventContent } from '../../core/webhooks/bodies.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import type { Deliveries } from '../../stores/outbox/deliveries.ts';
import type { CreditsWatcher, Webhooks } from '../../stores/webhooks/webhooks.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import type { StoreMetrics } from '../../stores/process-metrics.ts';

export interface CreditsTaskDeps {
  webhooks: Pick<Webhooks, 'creditsWatchers' | 'setLow'>;
  credits: Pick<Credits, 'accounts'>;
  deliveries: Pick<Deliveries, 'enqueue'>;
  metrics: Pick<StoreMetrics, 'webhookEvent'>;
  publicBaseUrl: string | null;
  now: () => Date;
  everyMs?: number;
}

const EVERY_MS = 30_000;

/** It reads the accounts of all organisations in one command. */
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
  const { webhooks, deliveries, metrics, publicBaseUrl, now } = deps;
  const { id, organisation, creditsBelow: below, format, low, crossings, createdAt } = watcher;
  const isLow = balance < below;
  if (isLow === low) return;
  if (!isLow) return webhooks.setLow(id, false, crossings);
  const body = bodyOf(contentOf(balance, below, now(), publicBaseUrl), format);
  // Before it is recorded: after a crash in between, the same event is stored once. A webhook of a manifest that was deleted and
  // added again has the same ID, and counts from the beginning.
  const event = `credits.low:${createdAt.getTime()}:${crossings + 1}`;
  const [stored] = await deliveries.enqueue([{ webhook: id, organisation, event, type: 'credits.low', scan: null, order: 0, body }]);
  if (stored!.added) metrics.webhookEvent('credits.low');
  await webhooks.setLow(id, true, crossings + 1);
}

const contentOf = (balance: number, below: number, at: Date, publicBaseUrl: string | null): EventContent => ({
  type: 'credits.low',
  at,
  data: { balance, credits_below: below },
  slack: {
    headline: 'Few credits are left',
    facts: [`${balance} credits can be used, fewer than ${below}.`],
    link: publicBaseUrl === null ? null : { text: 'Open the credits', url: publicBaseUrl + CREDITS_PATH },
  },
});
