/**
 * Addresses that mails were sent to, each with the token of its unsubscribe link, and whether mails to it are suppressed.
 * Only a hash of the address is stored.
 */
import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Locale } from '../../core/scan/locales.ts';
import { isToken, newToken } from '../accounts/one-time-links.ts';
import { retryRace } from '../mongo-retry.ts';
import type { MailPriority } from './mails.ts';

/** `bounced`: the mail server refused the address for good. `unsubscribed`: its owner wants no results of public scans. */
export const SUPPRESSIONS = ['bounced', 'unsubscribed'] as const;
export type SuppressionReason = (typeof SUPPRESSIONS)[number];

/** Why no mail is sent to an address, and until when. Null: until the recipient changes it. */
export interface Suppression {
  reason: SuppressionReason;
  until: Date | null;
}

/**
 * How sure a server's refusal is: `certain` if its code says that the address does not exist, `doubtful` if servers use the code
 * for other reasons, too.
 */
export type BounceKind = 'certain' | 'doubtful';

/** The recipient of an unsubscribe link. */
export interface Recipient {
  /** The language of the last mail. */
  locale: Locale;
  unsubscribed: boolean;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** For how long a bounce stops results of public scans, and other mails, in milliseconds: addresses can come back. */
export const BOUNCE_STOPS: Readonly<Record<BounceKind, { results: number; others: number }>> = {
  certain: { results: 90 * DAY_MS, others: 60 * MINUTE_MS },
  doubtful: { results: 7 * DAY_MS, others: 5 * MINUTE_MS },
};
/** How long an unsubscribe link works after the last mail. Someone who unsubscribed can undo it for ever. */
export const LINK_KEPT_DAYS = 400;

interface AddressDocument {
  /** SHA-256 of the address in its compared form. */
  _id: string;
  /** 32 random bytes. Absent until the first mail with an unsubscribe link. */
  token?: string;
  locale?: Locale;
  unsubscribedAt?: Date;
  /** Until when the last bounce stops results, and other mails. */
  bouncedUntil?: Date;
  othersFrom?: Date;
  /** When the server removes the document. Absent: never, because the address is unsubscribed. */
  expiresAt?: Date;
}

/** Addresses are compared case-insensitively. */
export const addressHash = (address: string): string => createHash('sha256').update(address.trim().toLowerCase()).digest('hex');

export function createSuppressions(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const addresses = db.collection<AddressDocument>('mail_addresses');
  const later = (days: number): Date => new Date(now().getTime() + days * DAY_MS);
  /** Raises `expiresAt`, except for an unsubscribed address, which has none. */
  const keep = async (_id: string, until: Date): Promise<void> => {
    await addresses.updateOne({ _id, unsubscribedAt: { $exists: false } }, { $max: { expiresAt: until } });
  };
  const toRecipient = (document: AddressDocument | null): Recipient | null =>
    document && { locale: document.locale ?? 'en', unsubscribed: document.unsubscribedAt !== undefined };

  return {
    /**
     * Returns why no mail of the priority is sent to the address, or null. If both apply, it bounced. A bounce stops results for
     * days and other mails for minutes (`BOUNCE_STOPS`), because users cannot sign in without them. Only results can be
     * unsubscribed.
     */
    async find(address: string, priority: MailPriority): Promise<Suppression | null> {
      const found = await addresses.findOne({ _id: addressHash(address) });
      const until = priority === 'public' ? found?.bouncedUntil : found?.othersFrom;
      if (until !== undefined && until > now()) return { reason: 'bounced', until };
      return priority === 'public' && found?.unsubscribedAt !== undefined ? { reason: 'unsubscribed', until: null } : null;
    },

    /** Records that the address bounced. */
    async bounced(address: string, kind: BounceKind) {
      const _id = addressHash(address);
      const [until, othersFrom] = [BOUNCE_STOPS[kind].results, BOUNCE_STOPS[kind].others].map((ms) => new Date(now().getTime() + ms));
      // A doubtful bounce does not shorten a certain one.
      const change = { $max: { bouncedUntil: until, othersFrom }, $setOnInsert: { expiresAt: until } };
      await retryRace(() => addresses.updateOne({ _id }, change, { upsert: true }));
      await keep(_id, until!);
    },

    /** Forgets that the address bounced, because a delivery or its owner proved that it works. @returns whether it had bounced */
    async lift(address: string): Promise<boolean> {
      const bounced = { _id: addressHash(address), bouncedUntil: { $exists: true } };
      const { modifiedCount } = await addresses.updateOne(bounced, { $unset: { bouncedUntil: true, othersFrom: true } });
      return modifiedCount === 1;
    },

    /** Returns the token of the address' unsubscribe link, the same for each mail. The link works for `LINK_KEPT_DAYS` from now. */
    async tokenFor(address: string, locale: Locale): Promise<string> {
      const _id = addressHash(address);
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

    /** Returns the recipient of an unsubscribe link, or null if the link is malformed (checked without a command), unknown or expired. */
    recipient: async (token: string): Promise<Recipient | null> =>
      isToken(token) ? toRecipient(await addresses.findOne({ token })) : null,

    /** Unsubscribes the recipient of a link. Idempotent. @returns null if the link is unknown or expired */
    async unsubscribe(token: string): Promise<Recipient | null> {
      if (!isToken(token)) return null;
      const change = { $set: { unsubscribedAt: now() }, $unset: { expiresAt: true as const } };
      await addresses.updateOne({ token, unsubscribedAt: { $exists: false } }, change);
      return toRecipient(await addresses.findOne({ token }));
    },

    /** Undoes `unsubscribe`. @returns as `unsubscribe` */
    async resubscribe(token: string): Promise<Recipient | null> {
      if (!isToken(token)) return null;
      const change = { $set: { expiresAt: later(LINK_KEPT_DAYS) }, $unset: { unsubscribedAt: true as const } };
      await addresses.updateOne({ token, unsubscribedAt: { $exists: true } }, change);
      return toRecipient(await addresses.findOne({ token }));
    },
  };
}
export type Suppressions = ReturnType<typeof createSuppressions>;
