/** The webhooks that an Organisation manifest declares. The operator replaces them all at once, whenever the manifest changes. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Collection } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';
import { replacedSecret, toWebhook, type Webhook, type WebhookDocument, type WebhookFields } from './webhook-document.ts';

/** A webhook of a manifest, with its secret. */
export interface DeclaredWebhook extends WebhookFields {
  secret: string;
}

export interface ManifestChange {
  change: 'add' | 'change' | 'delete';
  webhook: Webhook;
}

export interface ManifestWebhooks {
  /**
   * Makes the webhooks of the manifest those that are declared. One whose address or secret changes gets deliveries again if it
   * was stopped. A secret that is replaced signs for `SECRET_OVERLAP_MS`, too. Idempotent.
   * @param kept names of others that stay as they are, if they exist
   * @returns what has changed
   */
  declare(organisation: string, declared: readonly DeclaredWebhook[], kept?: readonly string[]): Promise<ManifestChange[]>;
}

/** The actor of the audit log. */
const ACTOR = 'manifest';

/** The ID of a webhook of a manifest: the same for the same name, so that two writers make one webhook. */
function idOf(organisation: string, name: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([organisation, name]))
    .digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

export function createManifestWebhooks(webhooks: Collection<WebhookDocument>, now: () => Date): ManifestWebhooks {
  async function put(organisation: string, { secret, ...fields }: DeclaredWebhook): Promise<ManifestChange[]> {
    const _id = idOf(organisation, fields.name);
    const wanted = { ...fields, events: [...fields.events] };
    const found = await webhooks.findOne({ _id });
    if (found === null) {
      const fresh = { organisation, managedBy: 'manifest', createdAt: now(), createdBy: ACTOR } as const;
      const state = { secrets: [{ secret, until: null }], disabled: null, failingSince: null, low: false, crossings: 0 };
      const document: WebhookDocument = { _id, ...fresh, ...wanted, ...state };
      const { _id: _, ...insert } = document;
      const { upsertedCount } = await retryRace(() => webhooks.updateOne({ _id }, { $setOnInsert: insert }, { upsert: true }));
      return upsertedCount === 1 ? [{ change: 'add', webhook: toWebhook(document) }] : [];
    }
    const { name, url, events, format, creditsBelow, secrets } = found;
    const rotated = secrets[0]?.secret !== secret;
    if (!rotated && isDeepStrictEqual({ name, url, events, format, creditsBelow }, wanted)) return [];
    const restarts = rotated || url !== wanted.url;
    const $set = {
      ...wanted,
      ...(rotated && { secrets: replacedSecret(secrets, secret, now()) }),
      ...(restarts && { disabled: null, failingSince: null }),
    };
    const changed = await webhooks.findOneAndUpdate({ _id }, { $set }, { returnDocument: 'after' });
    return changed === null ? [] : [{ change: 'change', webhook: toWebhook(changed) }];
  }

  return {
    async declare(organisation, declared, kept = []) {
      const changes: ManifestChange[] = [];
      for (const one of declared) changes.push(...(await put(organisation, one)));
      const keep = new Set([...declared.map(({ name }) => name), ...kept].map((name) => idOf(organisation, name)));
      const stored = await webhooks.find({ organisation, managedBy: 'manifest' }).toArray();
      for (const document of stored.filter(({ _id }) => !keep.has(_id))) {
        const { deletedCount } = await webhooks.deleteOne({ _id: document._id });
        if (deletedCount === 1) changes.push({ change: 'delete', webhook: toWebhook(document) });
      }
      return changes;
    },
  };
}
