/** Webhooks as MongoDB holds them. */
import {
  SECRET_OVERLAP_MS,
  SECRETS_MAX,
  type DisabledReason,
  type WebhookEvent,
  type WebhookFormat,
} from '../../core/webhooks/webhooks.ts';
import type { ManifestVersion } from '../accounts/organisation-document.ts';

export type WebhookManager = 'api' | 'manifest';

export interface Webhook {
  id: string;
  organisation: string;
  name: string;
  url: string;
  events: readonly WebhookEvent[];
  format: WebhookFormat;
  /** `credits.low` is sent when fewer credits than this can be reserved. */
  creditsBelow: number;
  managedBy: WebhookManager;
  /** Null: it gets deliveries. */
  disabled: { reason: DisabledReason; at: Date } | null;
  /** Since when every attempt failed. Null: the last one succeeded, or there was none. */
  failingSince: Date | null;
  createdAt: Date;
  /** As the audit log names actors. */
  createdBy: string;
}

/** What its writer sets. */
export type WebhookFields = Pick<Webhook, 'name' | 'url' | 'events' | 'format' | 'creditsBelow'>;

/** What can be changed: the version of a webhook. */
export const changeableOf = ({ name, url, events, format, creditsBelow, disabled }: Webhook) => ({
  ...{ name, url, format, creditsBelow, disabled },
  events: [...events],
});

/** Secrets are stored as they are: a signature cannot be made from a hash. */
export interface StoredSecret {
  secret: string;
  /** Until when it signs. Null: it is the current one. */
  until: Date | null;
  /** The ID of the rotation that made it. */
  rotation?: string;
}

export type WebhookDocument = Omit<Webhook, 'id' | 'events'> & {
  _id: string;
  events: Webhook['events'][number][];
  /** The current one first. */
  secrets: StoredSecret[];
  /** See `KeyCreator`. Absent in those of manifests. */
  rootCreator?: string;
  /** Whether `credits.low` was sent since the balance was high enough, and how often it has become low. */
  low: boolean;
  crossings: number;
  /** When the last attempt failed. */
  failedAt?: Date;
  changedAt?: Date;
  /** Absent in those of manifests. */
  slot?: string;
  /** The version of the Organisation resource that has declared it last. */
  manifest?: ManifestVersion;
};

export function toWebhook({ _id: id, ...document }: WebhookDocument): Webhook {
  const { secrets: _s, rootCreator: _r, low: _l, crossings: _c, failedAt: _f, changedAt: _a, slot: _p, manifest: _m, ...rest } = document;
  return { id, ...rest };
}

/** The secrets after one was replaced. Those before it sign until their time is over, because a receiver may still have any of them. */
export function replacedSecret(secrets: readonly StoredSecret[], current: Omit<StoredSecret, 'until'>, now: Date): StoredSecret[] {
  const before = secrets
    .map((one) => ({ ...one, until: one.until ?? new Date(now.getTime() + SECRET_OVERLAP_MS) }))
    .filter((one) => one.secret !== current.secret && one.until > now);
  return [{ ...current, until: null }, ...before].slice(0, SECRETS_MAX);
}
