/** Who wants which mails about an organisation: one document for each organisation and address. */
import type { Db, Filter } from 'mongodb';
import { uuidOf } from '../../core/uuid.ts';
import { isToken, newToken } from '../accounts/one-time-links.ts';
import type { Reader } from '../../core/reader.ts';
import { deleteEach, insertNew, retryRace } from '../mongo-retry.ts';

/** `own_scans`: scans that the person started in the dashboard. `weekly`: a summary. A site: its schedules that got worse. */
export const PLAIN_TOPICS = ['own_scans', 'weekly'] as const;
export type MailTopic = (typeof PLAIN_TOPICS)[number] | `site:${string}`;

export const siteTopic = (site: string): MailTopic => `site:${site}`;
/** The site of a topic; null if it is about something else. */
export const siteOfTopic = (topic: string): string | null => (topic.startsWith('site:') ? topic.slice('site:'.length) : null);
export const isTopic = (text: string): text is MailTopic =>
  PLAIN_TOPICS.some((one) => one === text) || (siteOfTopic(text)?.length ?? 256) < 256;

export interface Subscription {
  id: string;
  organisation: string;
  /** In its stored form. */
  email: string;
  /** Of the links in its mails: 32 random bytes. */
  token: string;
  topics: readonly MailTopic[];
  /** Of someone without an account, whom an owner added. */
  recipient?: Recipient;
  /** When it ends unless the recipient agrees. Absent: it does not. */
  expiresAt?: Date;
}

export interface Recipient extends Reader {
  /** The e-mail address of the owner. */
  addedBy: string;
  /** When the recipient agreed. Nothing is sent before, except the question. */
  agreedAt?: Date;
  /** What the owner offered. The link of a mail begins nothing else again. */
  topics?: readonly MailTopic[];
}

type SubscriptionDocument = Omit<Subscription, 'id' | 'topics'> & { _id: string; topics: MailTopic[]; weeklyAt?: Date };

/** A subscription to weekly summaries, and when the next one is due. `NEVER`: it is not planned yet. */
export type DueSummary = Subscription & { weeklyAt: Date };
export const NEVER = new Date(0);

/** The sites that one person can watch in an organisation. */
export const WATCHED_MAX = 200;
/** Recipients without an account of one organisation, and how long each has to agree. */
export const RECIPIENTS_MAX = 100;
export const CONSENT_DAYS = 7;
export const SUBSCRIPTIONS = 'mail_subscriptions';

const idOf = (organisation: string, email: string): string => uuidOf(JSON.stringify([organisation, email]));
const toSubscription = ({ _id: id, weeklyAt: _, ...rest }: SubscriptionDocument): Subscription => ({ id, ...rest });

export function createSubscriptions(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const subscriptions = db.collection<SubscriptionDocument>(SUBSCRIPTIONS);
  const first = async (filter: Filter<SubscriptionDocument>): Promise<Subscription | null> => {
    const found = await subscriptions.findOne(filter);
    return found && toSubscription(found);
  };
  const room = (wanted: boolean) => (wanted ? { [`topics.${WATCHED_MAX}`]: { $exists: false } } : {});
  const change = (topic: MailTopic, wanted: boolean) => ({
    ...(wanted ? { $addToSet: { topics: topic } } : { $pull: { topics: topic } }),
    ...(topic === 'weekly' && (wanted ? { $set: { weeklyAt: NEVER } } : { $unset: { weeklyAt: true as const } })),
  });

  return {
    find: (organisation: string, email: string) => first({ _id: idOf(organisation, email) }),
    findById: (id: string) => first({ _id: id }),
    /** Returns the subscription of a link; null if the link is malformed (checked without a command) or its subscription has ended. */
    findByToken: async (token: string): Promise<Subscription | null> => (isToken(token) ? first({ token }) : null),

    /** Begins or ends mails about a topic. @returns false if the person watches as many sites as allowed */
    async set(organisation: string, email: string, topic: MailTopic, wanted: boolean): Promise<boolean> {
      const _id = idOf(organisation, email);
      const created = { organisation, email, token: newToken(), topics: [] };
      // A member needs no consent, which someone may have asked for before.
      const first = { $setOnInsert: created, $unset: { recipient: true, expiresAt: true } } as const;
      if (wanted) await retryRace(() => subscriptions.updateOne({ _id }, first, { upsert: true }));
      return (await subscriptions.updateOne({ _id, ...room(wanted) }, change(topic, wanted))).matchedCount === 1 || !wanted;
    },

    /** Adds someone without an account, in place of one who has not agreed yet. @returns null if there are too many, or the address has mails */
    async add({
      organisation,
      email,
      topics,
      recipient,
    }: Pick<Subscription, 'organisation' | 'email'> & { topics: MailTopic[]; recipient: Recipient }) {
      if ((await subscriptions.countDocuments({ organisation, recipient: { $exists: true } })) >= RECIPIENTS_MAX) return null;
      const _id = idOf(organisation, email);
      await subscriptions.deleteOne({ _id, expiresAt: { $exists: true } });
      const expiresAt = new Date(now().getTime() + CONSENT_DAYS * 86_400_000);
      const document = { _id, organisation, email, token: newToken(), topics, recipient: { ...recipient, topics }, expiresAt };
      return (await insertNew(subscriptions, document)) ? { ...toSubscription(document), expiresAt } : null;
    },
    /** Records that a recipient agrees, once. @returns false if the link does not work, or was used */
    async agree(token: string): Promise<boolean> {
      const pending = { token, expiresAt: { $gt: now() } };
      const agreed = { 'recipient.agreedAt': now(), weeklyAt: NEVER };
      return (await subscriptions.updateOne(pending, { $set: agreed, $unset: { expiresAt: true } })).matchedCount === 1;
    },
    /** Removes a recipient, by the recipient's link or by an ID in the organisation. @returns null if there is none */
    async removeRecipient(by: { token: string } | { id: string; organisation: string }): Promise<Subscription | null> {
      const which = 'token' in by ? by : { _id: by.id, organisation: by.organisation };
      const removed = await subscriptions.findOneAndDelete({ ...which, recipient: { $exists: true } });
      return removed && toSubscription(removed);
    },
    /** Returns the recipients of an organisation, by address. */
    async recipients(organisation: string): Promise<Subscription[]> {
      const found = subscriptions.find({ organisation, recipient: { $exists: true } }).sort({ email: 1 });
      return (await found.limit(RECIPIENTS_MAX).toArray()).map(toSubscription);
    },

    /** As `set`, by the token of a link: recipients begin only what they were offered. @returns null if the link does not work */
    async setByToken(token: string, topic: MailTopic, wanted: boolean): Promise<Subscription | null> {
      if (!isToken(token)) return null;
      const may = wanted ? { $or: [{ recipient: { $exists: false } }, { 'recipient.topics': topic }] } : {};
      const which = { token, ...room(wanted), ...may };
      const changed = await subscriptions.findOneAndUpdate(which, change(topic, wanted), { returnDocument: 'after' });
      return changed && toSubscription(changed);
    },

    /** Returns who wants any of the topics in any of the organisations, without those who have not agreed. */
    async wanting(organisations: readonly string[], topics: readonly MailTopic[]): Promise<Subscription[]> {
      if (topics.length === 0) return [];
      const found = subscriptions.find({
        organisation: { $in: [...organisations] },
        topics: { $in: [...topics] },
        expiresAt: { $exists: false },
      });
      return (await found.toArray()).map(toSubscription);
    },

    /** Returns at most `limit` subscriptions whose summary is due or to be planned, those first that wait for the longest time. */
    async dueSummaries(now: Date, limit: number): Promise<DueSummary[]> {
      const found = subscriptions.find({ weeklyAt: { $lte: now } }).sort({ weeklyAt: 1 });
      return (await found.limit(limit).toArray()).map((one) => ({ ...toSubscription(one), weeklyAt: one.weeklyAt! }));
    },
    /** Plans the next summary, unless another process has done it. */
    async planSummary({ id, weeklyAt }: DueSummary, next: Date) {
      await subscriptions.updateOne({ _id: id, weeklyAt }, { $set: { weeklyAt: next } });
    },
    /** Has the summaries of a person planned again, whose time zone has changed. */
    async replan(email: string) {
      await subscriptions.updateMany({ email, topics: 'weekly' }, { $set: { weeklyAt: NEVER } });
    },

    /** Ends the mails about a site that was deleted. */
    async forgetSite(organisation: string, site: string) {
      await subscriptions.updateMany({ organisation, topics: siteTopic(site) }, { $pull: { topics: siteTopic(site) } });
    },

    /** Ends all mails about an organisation to an address. */
    remove: (organisation: string, email: string) => deleteEach(subscriptions, { organisation, email }),
  };
}
