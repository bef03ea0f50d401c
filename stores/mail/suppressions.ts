/**
 * Addresses that mails were sent to, each with the token of its unsubscribe link, and whether mails to it are suppressed.
 * Only a hash of the address is stored.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Locale } from '../../core/scan/locales.ts';
import { retryRace } from '../mongo-retry.ts';

/** `bounced`: the mail server refused the address for good. `unsubscribed`: its owner wants no results of public scans. */
export const SUPPRESSIONS = ['bounced', 'unsubscribed'] as const;
export type SuppressionReason = (typeof SUPPRESSIONS)[number];

/** The recipient of an unsubscribe link. */
export interface Recipient {
  /** The language of the last mail. */
  locale: Locale;
  unsubscribed: boolean;
}

export interface Suppressions {
  /** Returns why no mail is sent to the address, or null. If both apply, it bounced. */
  find(address: string): Promise<SuppressionReason | null>;
  /** Records that the address bounced. It is forgotten after `BOUNCE_KEPT_DAYS`, because addresses can come back. */
  bounced(address: string): Promise<void>;
  /** Returns the token of the address' unsubscribe link, the same for each mail. The link works for `LINK_KEPT_DAYS` from now. */
  tokenFor(address: string, locale: Locale): Promise<string>;
  /** Returns the recipient of an unsubscribe link, or null if the link is unknown or expired. */
  recipient(token: string): Promise<Recipient | null>;
  /** Unsubscribes the recipient of a link. Idempotent. @returns null if the link is unknown or expired */
  unsubscribe(token: string): Promise<Recipient | null>;
  /** Undoes `unsubscribe`. @returns as `unsubscribe` */
  resubscribe(token: string): Promise<Recipient | null>;
}

const DAY_MS = 86_400_000;
export const BOUNCE_KEPT_DAYS = 90;
/** How long an unsubscribe link works after the last mail. Someone who unsubscribed can undo it for ever. */
export const LINK_KEPT_DAYS = 400;

interface AddressDocument {
  /** SHA-256 of the address in its compared form. */
  _id: string;
  /** 32 random bytes. Absent until the first mail with an unsubscribe link. */
  token?: string;
  locale?: Locale;
  unsubscribedAt?: Date;
  bouncedUntil?: Date;
  /** When the server removes the document. Absent: never, because the address is unsubscribed. */
  expiresAt?: Date;
}

/** Addresses are compared case-insensitively. */
const hashOf = (address: string): string => createHash('sha256').update(address.trim().toLowerCase()).digest('hex');

/** Suppressed addresses in MongoDB. */
export function createSuppressions(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Suppressions {
  const addresses = db.collection<AddressDocument>('mail_addresses');
  const later = (days: number): Date => new Date(now().getTime() + days * DAY_MS);
  /** Raises `expiresAt`, except for an unsubscribed address, which has none. */
  const keep = async (_id: string, until: Date): Promise<void> => {
    await addresses.updateOne({ _id, unsubscribedAt: { $exists: false } }, { $max: { expiresAt: until } });
  };
  const toRecipient = (document: AddressDocument | null): Recipient | null =>
    document && { locale: document.locale ?? 'en', unsubscribed: document.unsubscribedAt !== undefined };

  return {
    async find(address) {
      const found = await addresses.findOne({ _id: hashOf(address) });
      if (found?.bouncedUntil !== undefined && found.bouncedUntil > now()) return 'bounced';
      return found?.unsubscribedAt === undefined ? null : 'unsubscribed';
    },

    async bounced(address) {
      const _id = hashOf(address);
      const until = later(BOUNCE_KEPT_DAYS);
      const change = { $set: { bouncedUntil: until }, $setOnInsert: { expiresAt: until } };
      await retryRace(() => addresses.updateOne({ _id }, change, { upsert: true }));
      await keep(_id, until);
    },

    async tokenFor(address, locale) {
      const _id = hashOf(address);
      const until = later(LINK_KEPT_DAYS);
      await retryRace(() =>
        addresses.updateOne({ _id }, { $set: { locale }, $setOnInsert: { expiresAt: until, token: newToken() } }, { upsert: true }),
      );
      // The document of an address that bounced before its first mail has no token.
      await addresses.updateOne({ _id, token: { $exists: false } }, { $set: { token: newToken() } });
      await keep(_id, until);
      const found = await addresses.findOne({ _id });
      if (found?.token === undefined) throw new Error('the unsubscribe token was removed by another process');
      return found.token;
    },

    recipient: async (token) => toRecipient(await addresses.findOne({ token })),

    async unsubscribe(token) {
      const change = { $set: { unsubscribedAt: now() }, $unset: { expiresAt: true as const } };
      await addresses.updateOne({ token, unsubscribedAt: { $exists: false } }, change);
      return toRecipient(await addresses.findOne({ token }));
    },

    async resubscribe(token) {
      const change = { $set: { expiresAt: later(LINK_KEPT_DAYS) }, $unset: { unsubscribedAt: true as const } };
      await addresses.updateOne({ token, unsubscribedAt: { $exists: true } }, change);
      return toRecipient(await addresses.findOne({ token }));
    },
  };
}

const newToken = (): string => randomBytes(32).toString('base64url');
