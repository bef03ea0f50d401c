/** Who a mail about an organisation goes to, as it is at the moment of sending. */
import type { Organisation } from '../../core/organisation.ts';
import { type Reader, readerOf } from '../../core/reader.ts';
import type { MailTopic } from '../../stores/outbox/subscriptions.ts';
import type { AllStores } from '../../stores/stores.ts';

export type SubscriberStores = Pick<AllStores, 'subscriptions' | 'members' | 'organisations'>;

export interface Subscriber extends Reader {
  organisation: Organisation;
  /** Of the links that end mails. */
  token: string;
  /** False: someone without an account, who agreed. */
  isMember: boolean;
}

/**
 * Returns the recipient of a subscription. Null if the mail must not be sent: it was ended, the organisation is blocked or deleted, or
 * its member left, or has not proved that the
 * address is theirs. Others must have agreed.
 */
export async function subscriberOf(stores: SubscriberStores, id: string, topic: MailTopic): Promise<Subscriber | null> {
  const subscription = await stores.subscriptions.findById(id);
  if (subscription === null || !subscription.topics.includes(topic)) return null;
  const [organisation, member] = await Promise.all([
    stores.organisations.find(subscription.organisation),
    stores.members.find(subscription.organisation, subscription.email),
  ]);
  if (organisation === null || organisation.blocked || organisation.deletedAt !== null) return null;
  const { token, recipient } = subscription;
  if (member?.verified && member.confirmed) return { ...readerOf(member), organisation, token, isMember: true };
  return recipient?.agreedAt === undefined ? null : { ...readerOf(recipient), organisation, token, isMember: false };
}
