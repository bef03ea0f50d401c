/** A webhook whose secret is replaced by a request that is repeated. */
import type { WebhookDocument } from '../../../stores/webhooks/webhook-document.ts';
import { createWebhooks } from '../../../stores/webhooks/webhooks.ts';
import { openStores } from '../../../stores/stores.ts';
import { addWebhook } from '../../support/add-webhook.ts';
import { apiStores, isUnavailable } from './key-flows.ts';
import type { FlowOf } from './flow.ts';

export const rotation: FlowOf = (db, healthy) => {
  let id = '';
  return {
    async prepare() {
      id = (await addWebhook(openStores(healthy), { organisation: 'acme' })).webhook.id;
    },
    async attempt() {
      await apiStores(db).webhooks.rotate('acme', id, 'the request');
    },
    isOutage: isUnavailable,
    async end() {
      const stored = await healthy.collection<WebhookDocument>('webhooks').findOne({ _id: id });
      const { secrets } = (await createWebhooks(healthy).sendable(id))!;
      return { signing: secrets.length, rotations: stored!.secrets.map(({ rotation: request = null }) => request) };
    },
  };
};
