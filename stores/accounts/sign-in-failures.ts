/**
 * Records failed sign-ins in the audit log, outside the requests: so the time of the answer does not reveal whether the address
 * has an account. An address without one leaves nothing. Each account has one entry an hour, however many attempts there are.
 */
import type { Db } from 'mongodb';
import { isEmailAddress } from '../../core/email-address.ts';
import { createAuditLog } from './audit.ts';
import { createCollector, type CollectedEvent } from './collector.ts';
import { createMemberships } from './memberships.ts';
import { userIdOf, type UserDocument } from './user-document.ts';

export interface SignInFailure {
  /** As it was typed. */
  email: string;
  /** The client's network as the audit log names it. */
  network: string;
}

/** Different addresses and networks of one write. The limit of password hashes admits far fewer attempts. */
const FAILURES_MAX = 1_000;

/** Failed sign-ins in MongoDB. */
export function createSignInFailures(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const users = db.collection<UserDocument>('users');
  const memberships = createMemberships(db);
  const { tally } = createAuditLog(db, now);

  /** The organisations of each address that has an account, without those that joined it before it was verified. */
  async function organisationsOf(emails: readonly string[]): Promise<Map<string, string[]>> {
    const found = await users.find({ _id: { $in: [...emails] } }, { projection: { unconfirmed: 1 } }).toArray();
    const of = new Map<string, string[]>();
    for (const { _id, unconfirmed = [] } of found) {
      const all = [...(await memberships.organisationsOf(_id)).keys()];
      of.set(_id, all.filter((id) => !unconfirmed.includes(id))); // prettier-ignore
    }
    return of;
  }

  async function write(failures: CollectedEvent<SignInFailure>[]): Promise<void> {
    const organisations = await organisationsOf([...new Set(failures.map(({ event }) => event.email))]);
    for (const { event, count } of failures) {
      const { email, network } = event;
      for (const organisation of organisations.get(email) ?? [])
        await tally({ organisation, actor: email, action: 'user.sign-in-failed', subject: null, network, per: 'hour', count });
    }
  }

  const collector = createCollector<SignInFailure>({ max: FAILURES_MAX, write });
  return {
    /** Records a failed attempt. Never throws. */
    add({ email: typed, network }: SignInFailure) {
      const email = userIdOf(typed);
      if (isEmailAddress(email)) collector.add(`${email} ${network}`, { email, network });
    },
    /** Writes the collected failures now. Never rejects. Call it before the connection is closed. */
    flush: collector.flush,
  };
}
