/** Stores a webhook with one delivery that waits, for tests. */
import type { AllStores } from '../../stores/stores.ts';
import type { Webhook, WebhookFields } from '../../stores/webhooks/webhooks.ts';

export async function addWebhook(
  { webhooks, deliveries }: Pick<AllStores, 'webhooks' | 'deliveries'>,
  { organisation, createdBy = 'ada@example.com', ...over }: Partial<WebhookFields & Pick<Webhook, 'createdBy'>> & { organisation: string },
): Promise<{ webhook: Webhook; secret: string; delivery: string }> {
  const fields = { name: 'Chat', url: 'https://example.com/hook', events: ['scan.completed'], format: 'json', creditsBelow: 100 } as const;
  const added = await webhooks.add({ ...fields, ...over, organisation, createdBy });
  if (!added.ok) throw new Error(added.reason);
  const { webhook, secret } = added;
  const one = { webhook: webhook.id, organisation, scan: null, order: 0, body: '{}' };
  const [stored] = await deliveries.enqueue([{ ...one, event: 'webhook.test:first', type: 'webhook.test' }]);
  return { webhook, secret, delivery: stored!.id };
}
