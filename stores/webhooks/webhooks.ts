/** The webhook endpoints of organisations. An endpoint has one writer: REST and the dashboard, or the organisation's manifest. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Collection, Db, Filter, UpdateFilter } from 'mongodb';
import { SECRET_BYTES, secretText } from '../../core/webhooks/signature.ts';
import { STOPPED_AFTER_MS, WEBHOOKS_MAX, type DisabledReason } from '../../core/webhooks/webhooks.ts';
import { insertNew } from '../mongo-retry.ts';
import { afterPosition, NEWEST_FIRST, type Position } from '../scans/positions.ts';
import { freeSlots } from '../slots.ts';
import { createManifestWebhooks } from './manifest-webhooks.ts';
import {
  replacedSecret,
  changeableOf,
  toWebhook,
  type StoredSecret,
  type Webhook,
  type WebhookDocument,
  type WebhookFields,
} from './webhook-document.ts';

export { changeableOf, type Webhook, type WebhookFields } from './webhook-document.ts';

export type WebhookChange = Partial<WebhookFields> & { enabled?: boolean };

/** A webhook for its sender. */
export interface SendableWebhook extends Webhook {
  /** Secrets that sign now, the newest first. */
  secrets: readonly string[];
}

/** `changed`: it is not as it was read any more. */
export type ChangedWebhook<T = { webhook: Webhook }> =
  ({ ok: true } & T) | { ok: false; reason: 'not_found' | 'managed_by_manifest' | 'changed' };

/** `already_added`: there is a webhook with the ID. Its secret is not shown again. */
export type AddedWebhook = { ok: true; webhook: Webhook; secret: string } | { ok: false; reason: 'too_many_webhooks' | 'already_added' };

/** A webhook that gets `credits.low`, and whether it got one since the balance was high enough. */
export interface CreditsWatcher extends SendableWebhook {
  low: boolean;
  /** How often the balance has become low. */
  crossings: number;
}

/** An attempt that failed this long ago says nothing about the time since. */
const GAP_MS = 86_400_000;

/** Whether a webhook is stopped, given since when every attempt has failed. */
export const isStopped = (failingSince: Date, now: Date): boolean => now.getTime() - failingSince.getTime() >= STOPPED_AFTER_MS;

export function createWebhooks(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const webhooks = db.collection<WebhookDocument>('webhooks');
  const document = async (organisation: string, id: string) => webhooks.findOne({ _id: id, organisation });

  const listOf = async (filter: Filter<WebhookDocument>, limit = 0): Promise<Webhook[]> =>
    (await webhooks.find(filter).sort(NEWEST_FIRST).limit(limit).toArray()).map(toWebhook);

  /** Changes a webhook in one guarded update. @param guard default: REST manages it */
  async function update(
    organisation: string,
    id: string,
    change: UpdateFilter<WebhookDocument>,
    guard: Filter<WebhookDocument> = OWN,
  ): Promise<ChangedWebhook> {
    const changed = await webhooks.findOneAndUpdate({ _id: id, organisation, ...guard }, change, { returnDocument: 'after' });
    if (changed !== null) return { ok: true, webhook: toWebhook(changed) };
    const found = await document(organisation, id);
    if (found === null) return { ok: false, reason: 'not_found' };
    return { ok: false, reason: found.managedBy === 'manifest' ? 'managed_by_manifest' : 'changed' };
  }
  const enabling = (enabled: boolean): Partial<WebhookDocument> =>
    enabled ? { disabled: null, failingSince: null } : { disabled: { reason: 'requested', at: now() } };

  return {
    ...createManifestWebhooks(webhooks, now),
    ...senderSide(webhooks, now),

    /** Adds a webhook with a new secret. An organisation has at most `WEBHOOKS_MAX` of them, also under races. @param webhook.id default: a random one */
    async add({
      organisation,
      createdBy,
      rootCreator = createdBy,
      id = randomUUID(),
      ...fields
    }: WebhookFields & Pick<Webhook, 'organisation' | 'createdBy'> & { id?: string; rootCreator?: string }): Promise<AddedWebhook> {
      const secret = newSecret();
      const base = { organisation, createdBy, rootCreator, ...fields, managedBy: 'api', secrets: [{ secret, until: null }] } as const;
      const one = { ...base, _id: id, events: [...fields.events], secrets: [...base.secrets], createdAt: now(), ...FRESH };
      const refusal = await insertIntoSlot(webhooks, one);
      return refusal === null ? { ok: true, webhook: toWebhook(one), secret } : { ok: false, reason: refusal };
    },

    async find(organisation: string, id: string): Promise<Webhook | null> {
      const found = await document(organisation, id);
      return found && toWebhook(found);
    },

    /** Returns the webhooks of an organisation, newest first. Without a limit, all: at most twice `WEBHOOKS_MAX`. */
    list: (organisation: string, { after, limit }: { after?: Position | null; limit?: number } = {}) =>
      listOf({ organisation, ...(after && afterPosition<WebhookDocument>(after)) }, limit),
    /** Returns those that a person created, or that keys of the person created. */
    createdBy: (organisation: string, person: string) => listOf({ organisation, $or: [{ rootCreator: person }, { createdBy: person }] }),

    /**
     * Changes what the writer sets, unless the manifest is the writer. Another address, and enabling, end the time of failures.
     * @param read what was read, if only that may be changed
     */
    change: (organisation: string, id: string, { events, enabled, ...fields }: WebhookChange, read?: Webhook) =>
      update(
        organisation,
        id,
        {
          $set: {
            ...fields,
            ...(fields.url !== undefined && { failingSince: null }),
            ...(events && { events: [...events] }),
            ...(enabled !== undefined && enabling(enabled)),
            changedAt: now(),
          },
        },
        read && { ...OWN, ...changeableOf(read) },
      ),

    /** Enables or disables a webhook, also one of a manifest, for `curbcut-admin`. */
    setEnabled: (organisation: string, id: string, enabled: boolean) => update(organisation, id, { $set: enabling(enabled) }, {}),

    /** Disables every webhook of an organisation that REST manages. @returns those that were enabled */
    async disableAll(organisation: string): Promise<Webhook[]> {
      const disabled: Webhook[] = [];
      for (const { _id } of await webhooks.find({ organisation, managedBy: 'api', disabled: null }).toArray()) {
        const changed = await update(organisation, _id, { $set: enabling(false) });
        if (changed.ok) disabled.push(changed.webhook);
      }
      return disabled;
    },

    /**
     * Makes a new secret. Those before it sign for `SECRET_OVERLAP_MS`, too, unless they leaked.
     * @param rotation an ID @param keepPrevious false: those before it sign no more @returns `secret` null if the secret was replaced under the ID before
     */
    async rotate(
      organisation: string,
      id: string,
      rotation: string,
      keepPrevious = true,
    ): Promise<ChangedWebhook<{ webhook: Webhook; secret: string | null }>> {
      for (;;) {
        const found = await document(organisation, id);
        if (found === null) return { ok: false, reason: 'not_found' };
        if (found.secrets.some((one) => one.rotation === rotation)) return { ok: true, webhook: toWebhook(found), secret: null };
        const secret = newSecret();
        const secrets = replacedSecret(keepPrevious ? found.secrets : [], { secret, rotation }, now());
        const changed = await webhooks.findOneAndUpdate(
          { _id: id, organisation, managedBy: 'api', 'secrets.0.secret': found.secrets[0]!.secret },
          { $set: { secrets } },
          { returnDocument: 'after' },
        );
        if (changed !== null) return { ok: true, webhook: toWebhook(changed), secret };
        if (found.managedBy === 'manifest') return { ok: false, reason: 'managed_by_manifest' };
      }
    },

    async remove(organisation: string, id: string): Promise<ChangedWebhook> {
      const removed = await webhooks.findOneAndDelete({ _id: id, organisation, managedBy: 'api' });
      if (removed !== null) return { ok: true, webhook: toWebhook(removed) };
      return { ok: false, reason: (await document(organisation, id)) === null ? 'not_found' : 'managed_by_manifest' };
    },
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;

const OWN = { managedBy: 'api' } as const;

/** What nothing has happened to yet. */
const FRESH = { disabled: null, failingSince: null, low: false, crossings: 0 } as const;

const newSecret = (): string => secretText(randomBytes(SECRET_BYTES));

/** Stores a webhook in a free slot of its organisation. @returns why it is not stored, or null */
async function insertIntoSlot(
  webhooks: Collection<WebhookDocument>,
  one: WebhookDocument,
): Promise<'too_many_webhooks' | 'already_added' | null> {
  // Each conflict means that one slot fewer is free.
  for (let attempt = 0; attempt <= WEBHOOKS_MAX; attempt += 1) {
    const all = await webhooks.find({ organisation: one.organisation }).toArray();
    const same = all.find(({ _id }) => _id === one._id);
    // With the same secret, the answer to an insert that succeeded was lost, and the driver repeated it.
    if (same !== undefined) return same.secrets[0]!.secret === one.secrets[0]!.secret ? null : 'already_added';
    const taken = all.map(({ slot }) => slot);
    const [slot] = freeSlots(one.organisation, WEBHOOKS_MAX, taken);
    if (slot === undefined) return 'too_many_webhooks';
    if (await insertNew(webhooks, { ...one, slot })) return null;
  }
  return 'too_many_webhooks';
}

function senderSide(webhooks: Collection<WebhookDocument>, now: () => Date) {
  const signing = (secrets: readonly StoredSecret[]) =>
    secrets.filter(({ until }) => until === null || until > now()).map(({ secret }) => secret);
  const toSendable = (document: WebhookDocument): SendableWebhook => ({ ...toWebhook(document), secrets: signing(document.secrets) });
  return {
    /** Returns the enabled webhooks of the organisations, in one command. */
    async enabledOf(organisations: readonly string[]): Promise<Webhook[]> {
      if (organisations.length === 0) return [];
      return (await webhooks.find({ organisation: { $in: [...organisations] }, disabled: null }).toArray()).map(toWebhook);
    },

    /** Returns a webhook of any organisation for the sender; null if it was deleted. */
    async sendable(id: string): Promise<SendableWebhook | null> {
      const found = await webhooks.findOne({ _id: id });
      return found && toSendable(found);
    },

    /** Records a failed attempt. @returns since when every attempt has failed; a day without an attempt begins a new time */
    async failed(id: string, at: Date): Promise<Date> {
      const recent = { $gt: ['$failedAt', new Date(at.getTime() - GAP_MS)] };
      const since = { $cond: [recent, { $ifNull: ['$failingSince', at] }, at] };
      const changed = await webhooks.findOneAndUpdate({ _id: id }, [{ $set: { failingSince: since, failedAt: at } }], {
        returnDocument: 'after',
      });
      return changed?.failingSince ?? at;
    },

    /** Records a delivery: the time of failures is over. */
    async succeeded(id: string) {
      await webhooks.updateOne({ _id: id }, { $set: { failingSince: null } });
    },

    /** Disables an enabled webhook. @returns whether this call did */
    async stop(id: string, reason: Exclude<DisabledReason, 'requested'>): Promise<boolean> {
      return (await webhooks.updateOne({ _id: id, disabled: null }, { $set: { disabled: { reason, at: now() } } })).modifiedCount === 1;
    },

    /** Returns the enabled webhooks that get `credits.low`. */
    async creditsWatchers(): Promise<CreditsWatcher[]> {
      const found = await webhooks.find({ events: 'credits.low', disabled: null }).toArray();
      return found.map((document) => ({ ...toSendable(document), low: document.low, crossings: document.crossings }));
    },

    /** Records that the balance became low, or is not low any more. */
    async setLow(id: string, low: boolean, crossings: number) {
      await webhooks.updateOne({ _id: id }, { $set: { low, crossings } });
    },
  };
}
