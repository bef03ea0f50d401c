/** Who wants which mails about an organisation: one document for each organisation and address. */
import type { Db, Filter } from 'mongodb';
import { uuidOf } from '../../core/uuid.ts';
import { isToken, newToken } from '../accounts/one-time-links.ts';
import { deleteEach, retryRace } from '../mongo-retry.ts';

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
}

type SubscriptionDocument = Omit<Subscription, 'id' | 'topics'> & { _id: string; topics: MailTopic[]; weeklyAt?: Date };

/** A subscription to weekly summaries, and when the next one is due. `NEVER`: it is not planned yet. */
export type DueSummary = Subscription & { weeklyAt: Date };
export const NEVER = new Date(0);

/** The sites that one person can watch in an organisation. */
export const WATCHED_MAX = 200;
export const SUBSCRIPTIONS = 'mail_subscriptions';

const idOf = (organisation: string, email: string): string => uuidOf(JSON.stringify([organisation, email]));
const toSubscription = ({ _id: id, weeklyAt: _, ...rest }: SubscriptionDocument): Subscription => ({ id, ...rest });

export function createSubscriptions(db: Db) {
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
      if (wanted) await retryRace(() => subscriptions.updateOne({ _id }, { $setOnInsert: created }, { upsert: true }));
      return (await subscriptions.updateOne({ _id, ...room(wanted) }, change(topic, wanted))).matchedCount === 1 || !wanted;
    },

    /** As `set`, by the token of a link. @returns null if the link does not work */
    async setByToken(token: string, topic: MailTopic, wanted: boolean): Promise<Subscription | null> {
      if (!isToken(token)) return null;
      const changed = await subscriptions.findOneAndUpdate({ token, ...room(wanted) }, change(topic, wanted), { returnDocument: 'after' });
      return changed && toSubscription(changed);
    },

    /** Returns who wants any of the topics in any of the organisations. */
    async wanting(organisations: readonly string[], topics: readonly MailTopic[]): Promise<Subscription[]> {
      if (topics.length === 0) return [];
      const found = subscriptions.find({ organisation: { $in: [...organisations] }, topics: { $in: [...topics] } });
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
