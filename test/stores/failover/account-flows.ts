/** Flows of accounts: a person accepts an invitation, an owner removes a member, and an account goes to the owner of its address. */
import type { Db } from 'mongodb';
import { apiStores, addOrganisation, isUnavailable } from './key-flows.ts';
import { openStores } from '../../../stores/stores.ts';
import { accountOf } from '../../support/account-of.ts';
import type { FlowOf } from './flow.ts';

const [OWNER, PERSON, FRIEND] = ['owner@people.example', 'person@people.example', 'friend@people.example'];
const INVITATION = `acme/${PERSON}`;

async function addOwner(healthy: Db) {
  await addOrganisation(healthy);
  const stores = openStores(healthy);
  await stores.users.add({ email: OWNER, organisation: 'acme', password: null });
  return stores;
}

async function endOf(healthy: Db): Promise<unknown> {
  const all = (collection: string) => healthy.collection(collection).find().toArray();
  return {
    memberships: await all('memberships'),
    invitations: (await all('invitations')).map(({ _id }) => String(_id)),
    sessions: (await all('sessions')).map(({ email }) => email as string),
    unconfirmed: (await all('users')).map(({ unconfirmed = [] }) => unconfirmed as string[]),
  };
}

/** Whichever command fails, the person is a member or the invitation still works, and at the end the person is a member once. */
export const acceptance: FlowOf = (db, healthy) => ({
  async prepare() {
    const { users, invitations } = await addOwner(healthy);
    await users.add({ email: PERSON, password: null });
    await invitations.create({ organisation: 'acme', email: PERSON, role: 'member', createdBy: OWNER, mailed: false });
  },
  async attempt() {
    const { members, users } = apiStores(db);
    const accepted = await members.accept({ id: INVITATION, email: PERSON }, () => users.find(PERSON));
    if (!accepted.ok && (await members.find('acme', PERSON)) === null) throw new Error('the invitation and the membership are lost');
  },
  /** The lease of a request that failed has ended. */
  async wait() {
    await healthy.collection('invitations').updateMany({}, { $unset: { claimedUntil: true, holder: true } });
  },
  isOutage: isUnavailable,
  async end() {
    // An invitation of which only the removal failed ends by itself; used again, it changes nothing.
    const { members, users } = openStores(healthy);
    await members.accept({ id: INVITATION, email: PERSON }, () => users.find(PERSON));
    return endOf(healthy);
  },
});

export const removal: FlowOf = (db, healthy) => ({
  async prepare() {
    const { users, sessions, invitations } = await addOwner(healthy);
    await users.add({ email: PERSON, organisation: 'acme', password: null });
    await sessions.start({ email: PERSON, method: 'oidc', browser: 'test' });
    for (const [email, createdBy] of [
      [FRIEND, PERSON],
      [PERSON, OWNER],
    ] as const)
      // prettier-ignore
      await invitations.create({ organisation: 'acme', email, role: 'owner', createdBy, mailed: true });
  },
  async attempt() {
    await apiStores(db).members.remove('acme', PERSON);
  },
  isOutage: isUnavailable,
  end: () => endOf(healthy),
});

/** The first sign-in at the identity provider gives an account whose address is not verified to the owner of the address. */
export const takeover: FlowOf = (db, healthy) => ({
  async prepare() {
    const { users, sessions, secondFactors } = openStores(healthy);
    await users.add({ email: PERSON, password: null });
    const passkey = { id: 'id', name: 'of someone else', rpId: 'curbcut.example', publicKey: 'a2V5', counter: 0, transports: [] };
    await secondFactors.addPasskey(await accountOf(healthy, PERSON), passkey);
    await sessions.start({ email: PERSON, method: 'password', browser: 'test' });
  },
  async attempt() {
    const linked = await apiStores(db).users.link(PERSON, { issuer: 'https://idp.example', subject: 'person' });
    if (!linked.ok) throw new Error(linked.reason);
  },
  isOutage: isUnavailable,
  async end() {
    const { users, sessions, secondFactors } = openStores(healthy);
    return {
      verified: (await users.find(PERSON))?.verified,
      sessions: await sessions.list(PERSON),
      factors: await secondFactors.find(PERSON),
    };
  },
});
