/**
 * The webhooks that an Organisation manifest declares. Each document has the version of the manifest that has declared it last, and
 * an older version cannot change or delete it. So a former leader of the operator that is late takes no webhook from its newer
 * manifest.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Collection } from 'mongodb';
import { uuidOf } from '../../core/uuid.ts';
import { WEBHOOKS_MAX } from '../../core/webhooks/webhooks.ts';
import { notNewer, type ManifestVersion } from '../accounts/organisation-document.ts';
import { insertNew } from '../mongo-retry.ts';
import { replacedSecret, toWebhook, type Webhook, type WebhookDocument, type WebhookFields } from './webhook-document.ts';

export interface DeclaredWebhook extends WebhookFields {
  secret: string;
}

/** A webhook as it was applied, and by which version of the manifest. Null: without one. */
export interface AppliedWebhook {
  webhook: DeclaredWebhook;
  version: ManifestVersion | null;
}

export interface ManifestChange {
  change: 'add' | 'change' | 'delete';
  webhook: Webhook;
}

export interface DeclareOptions {
  /** Names of others that stay as they are, if they exist. Default: none. */
  kept?: readonly string[];
  /** What a newer version has declared stays as it is. Default: everything is replaced. */
  version?: ManifestVersion;
}

/** The actor of the audit log. */
const ACTOR = 'manifest';

/** The ID of a webhook of a manifest: the same for the same name, so that two writers make one webhook. */
const idOf = (organisation: string, name: string): string => uuidOf(JSON.stringify([organisation, name]));

const fieldsOf = ({ name, url, events, format, creditsBelow }: WebhookFields) => ({ name, url, events: [...events], format, creditsBelow });

export function createManifestWebhooks(webhooks: Collection<WebhookDocument>, now: () => Date) {
  /** @returns what has changed; null if another writer has changed it in between */
  async function put(organisation: string, declared: DeclaredWebhook, version?: ManifestVersion): Promise<ManifestChange[] | null> {
    const _id = idOf(organisation, declared.name);
    const { secret } = declared;
    const wanted = fieldsOf(declared);
    const manifest = version && { manifest: version };
    const found = await webhooks.findOne({ _id });
    if (found === null) {
      const fresh = { organisation, managedBy: 'manifest', createdAt: now(), createdBy: ACTOR } as const;
      const state = { secrets: [{ secret, until: null }], disabled: null, failingSince: null, low: false, crossings: 0 };
      const document: WebhookDocument = { _id, ...fresh, ...wanted, ...state, ...manifest };
      return (await insertNew(webhooks, document)) ? [{ change: 'add', webhook: toWebhook(document) }] : null;
    }
    const rotated = found.secrets[0]?.secret !== secret;
    const isSame = !rotated && isDeepStrictEqual(fieldsOf(found), wanted);
    if (isSame && (version === undefined || isDeepStrictEqual(found.manifest, version))) return [];
    const restarts = rotated || found.url !== wanted.url;
    const $set = {
      ...wanted,
      ...manifest,
      ...(rotated && { secrets: replacedSecret(found.secrets, { secret }, now()) }),
      ...(restarts && { disabled: null, failingSince: null }),
    };
    const changed = await webhooks.findOneAndUpdate({ _id, ...(version && notNewer(version)) }, { $set }, { returnDocument: 'after' });
    return changed === null || isSame ? [] : [{ change: 'change', webhook: toWebhook(changed) }];
  }

  return {
    /**
     * Makes the webhooks of the manifest those that are declared. One whose address or secret changes gets deliveries again if it
     * was stopped. A secret that is replaced signs for `SECRET_OVERLAP_MS`, too. Idempotent.
     * @returns what has changed
     */
    async declare(
      organisation: string,
      declared: readonly DeclaredWebhook[],
      { kept = [], version }: DeclareOptions = {},
    ): Promise<ManifestChange[]> {
      const changes: ManifestChange[] = [];
      // If two writers insert it at the same time, the second one finds it.
      for (const one of declared)
        changes.push(...((await put(organisation, one, version)) ?? (await put(organisation, one, version)) ?? []));
      const guard = version && notNewer(version);
      for (const name of version === undefined ? [] : kept)
        await webhooks.updateOne({ _id: idOf(organisation, name), ...guard }, { $set: { manifest: version! } });
      const keep = new Set([...declared.map(({ name }) => name), ...kept].map((name) => idOf(organisation, name)));
      const stored = await webhooks.find({ organisation, managedBy: 'manifest' }).toArray();
      for (const document of stored.filter(({ _id }) => !keep.has(_id))) {
        const { deletedCount } = await webhooks.deleteOne({ _id: document._id, ...guard });
        if (deletedCount === 1) changes.push({ change: 'delete', webhook: toWebhook(document) });
      }
      return changes;
    },

    /** Returns the webhooks of the manifests of these organisations, in one command. */
    async applied(organisations: readonly string[]): Promise<Map<string, AppliedWebhook[]>> {
      const applied = new Map<string, AppliedWebhook[]>();
      if (organisations.length === 0) return applied;
      const filter = { organisation: { $in: [...organisations] }, managedBy: 'manifest' } as const;
      // One batch, so that the number of commands does not grow with that of organisations.
      const found = webhooks.find(filter, { batchSize: organisations.length * WEBHOOKS_MAX + 1 }).sort({ _id: 1 });
      for (const document of await found.toArray()) {
        const one = { webhook: { ...fieldsOf(document), secret: document.secrets[0]!.secret }, version: document.manifest ?? null };
        applied.set(document.organisation, [...(applied.get(document.organisation) ?? []), one]);
      }
      return applied;
    },
  };
}
