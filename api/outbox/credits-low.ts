/** Sends `credits.low` to webhooks when the balance of their organisation becomes low: once until it has been high enough again. */
import { CREDITS_PATH } from '../../core/web-paths.ts';
import { bodyOf, type EventContent } from '../../core/webhooks/bodies.ts';
import type { StoreMetrics } from '../../stores/process-metrics.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { CreditsWatcher } from '../../stores/webhooks/webhooks.ts';

export interface CreditsLowContext {
  stores: Pick<AllStores, 'webhooks' | 'credits' | 'deliveries'>;
  metrics: Pick<StoreMetrics, 'webhookEvent'>;
  publicBaseUrl: string | null;
  now: () => Date;
}

/** It reads the accounts of all organisations in one command. */
export async function sayCreditsLow(context: CreditsLowContext, signal: AbortSignal): Promise<void> {
  const watchers = await context.stores.webhooks.creditsWatchers();
  const accounts = await context.stores.credits.accounts([...new Set(watchers.map(({ organisation }) => organisation))]);
  for (const watcher of watchers) {
    signal.throwIfAborted();
    await check(context, watcher, accounts.get(watcher.organisation)?.balance ?? 0);
  }
}

async function check(context: CreditsLowContext, watcher: CreditsWatcher, balance: number): Promise<void> {
  const { metrics, publicBaseUrl, now } = context;
  const { webhooks, deliveries } = context.stores;
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
  chat: {
    headline: 'Few credits are left',
    facts: [`${balance} credits can be used, fewer than ${below}.`],
    link: publicBaseUrl === null ? null : { text: 'Open the credits', url: publicBaseUrl + CREDITS_PATH },
  },
});
