/** The members of organisations: who joins, with which role, and what ends when someone leaves. */
import type { Db } from 'mongodb';
import type { Role } from '../../core/accounts.ts';
import type { Organisation } from '../../core/organisation.ts';
import { deleteEach } from '../mongo-retry.ts';
import { SUBSCRIPTIONS } from '../outbox/subscriptions.ts';
import { createInvitations, type Invitation, type Invitations } from './invitations.ts';
import { createMemberships, type MembershipChange, type Memberships } from './memberships.ts';
import { toOrganisation, type OrganisationDocument } from './organisation-document.ts';
import { isConfirmed, toMember, UNVERIFIED, userIdOf, type Member, type User, type UserDocument } from './user-document.ts';

/** One of the organisations that a user belongs to. */
export interface Belonging {
  organisation: Organisation;
  role: Role;
  /** See `Member`. */
  confirmed: boolean;
}

/** `before`: the role until then. */
export type ChangedMember = { ok: true; member: Member; before: Role } | Extract<MembershipChange, { ok: false }>;

export type Accepted<U extends User = User> =
  | { ok: true; user: U; invitation: Invitation }
  /** `ended`: the invitation was used or canceled, has expired, or its sender may not invite any more. `no_account`: as the caller decided. */
  | { ok: false; reason: 'ended' | 'no_account' };

export type DeletedAccount =
  | { ok: true; organisations: string[] }
  /** `organisations`: those of which the user is the only owner. The account still exists. */
  | { ok: false; reason: 'last_owner'; organisations: string[] }
  | { ok: false; reason: 'not_found' };

export function createMembers(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const users = db.collection<UserDocument>('users');
  const organisations = db.collection<OrganisationDocument>('organisations');
  const memberships = createMemberships(db);
  const invitations = createInvitations(db, { now });

  async function find(organisation: string, email: string): Promise<Member | null> {
    const document = await users.findOne({ _id: userIdOf(email) });
    const role = (await memberships.rolesOf(organisation)).get(userIdOf(email));
    return document === null || role === undefined ? null : toMember(document, organisation, role);
  }

  /** Ends what a former member has in the organisation. */
  async function endAccess(organisation: string, email: string): Promise<void> {
    await deleteEach(db.collection('sessions'), { email, organisation });
    await invitations.cancelBy(organisation, email);
    await deleteEach(db.collection(SUBSCRIPTIONS), { email, organisation });
    await users.updateOne({ _id: email }, { $pull: { unconfirmed: organisation } });
  }

  async function remove(organisation: string, email: string, { lastOwner = false }: { lastOwner?: boolean } = {}): Promise<ChangedMember> {
    const id = userIdOf(email);
    const member = await find(organisation, id);
    // An invitation of the same address must not bring the member back. A member does not need it.
    if (member !== null) await invitations.cancelFor(organisation, id);
    const removed = await memberships.remove(organisation, id, { lastOwner });
    // Also for someone who is no member any more: an earlier attempt may have failed half-way.
    if (removed.ok || removed.reason === 'not_found') await endAccess(organisation, id);
    if (!removed.ok) return removed;
    return member === null ? { ok: false, reason: 'not_found' } : { ok: true, member, before: removed.before };
  }

  /**
   * Notes whether the account that joins needs to confirm this later. @returns false if the account was deleted meanwhile
   */
  async function note({ email, createdAt }: User, organisation: string): Promise<boolean> {
    const unverified = await users.updateOne({ _id: email, createdAt, ...UNVERIFIED }, { $addToSet: { unconfirmed: organisation } });
    if (unverified.matchedCount === 1) return true;
    return (await users.updateOne({ _id: email, createdAt }, { $pull: { unconfirmed: organisation } })).matchedCount === 1;
  }

  async function setRole(
    organisation: string,
    email: string,
    role: Role,
    { lastOwner = false }: { lastOwner?: boolean } = {},
  ): Promise<ChangedMember> {
    const changed = await memberships.change(organisation, userIdOf(email), role, { lastOwner });
    if (!changed.ok) return changed;
    if (role !== 'owner') await invitations.cancelBy(organisation, userIdOf(email));
    const member = await find(organisation, email);
    return member === null ? { ok: false, reason: 'not_found' } : { ok: true, member, before: changed.before };
  }

  async function confirm(organisation: string, email: string): Promise<boolean> {
    const waiting = { _id: userIdOf(email), unconfirmed: organisation };
    return (await users.updateOne(waiting, { $pull: { unconfirmed: organisation } })).matchedCount === 1;
  }

  async function join(user: User, { organisation, role, createdBy }: Invitation): Promise<boolean> {
    if ((await memberships.rolesOf(organisation)).has(user.email)) {
      if (user.verified) await confirm(organisation, user.email);
      return true;
    }
    if (!(await note(user, organisation)) || !(await memberships.join(organisation, user.email, role, createdBy))) return false;
    // The next account of the address must not inherit the membership.
    const { email, createdAt } = user;
    if ((await users.countDocuments({ _id: email, createdAt }, { limit: 1 })) === 1) return true;
    await memberships.remove(organisation, email, { lastOwner: true });
    return false;
  }

  return {
    /** Returns the members of an organisation by e-mail address. */
    async list(organisation: string): Promise<Member[]> {
      const roles = await memberships.rolesOf(organisation);
      const documents = await users
        .find({ _id: { $in: [...roles.keys()] } })
        .sort({ _id: 1 })
        .toArray();
      return documents.map((document) => toMember(document, organisation, roles.get(document._id)!));
    },

    find,

    /** Returns the organisations of a user, by name. */
    async of(email: string): Promise<Belonging[]> {
      const document = await users.findOne({ _id: userIdOf(email) });
      if (document === null) return [];
      const roles = await memberships.organisationsOf(document._id);
      const found = await organisations.find({ _id: { $in: [...roles.keys()] } }).toArray();
      return found
        .map((one) => ({ organisation: toOrganisation(one), role: roles.get(one._id)!, confirmed: isConfirmed(document, one._id) }))
        .sort((a, b) => a.organisation.displayName.localeCompare(b.organisation.displayName, 'en'));
    },

    /** Adds a user without an invitation. */
    add: (organisation: string, email: string, role: Role) => memberships.add(organisation, userIdOf(email), role),

    /** Changes a role. What a member invited ends when the member stops being an owner. */
    setRole,

    /**
     * Gives a user the role that the identity provider says, or none. The provider alone decides, so that the last owner is no
     * exception. @returns the role before; null: none
     */
    async assign(organisation: string, email: string, role: Role | null): Promise<Role | null> {
      const before = (await memberships.rolesOf(organisation)).get(userIdOf(email)) ?? null;
      if (role === null) await remove(organisation, email, { lastOwner: true });
      else if (before === null) await memberships.add(organisation, userIdOf(email), role);
      else if (before !== role) await setRole(organisation, email, role, { lastOwner: true });
      if (role !== null) await confirm(organisation, email);
      return before;
    },

    /**
     * Accepts an invitation: reserves it, asks for the account that joins, and removes it at the end. If a step fails, the
     * invitation still works. Of several simultaneous calls, one succeeds.
     * @param invited the invitation and its address: nobody can reserve an invitation of someone else, whose ID can be guessed
     * @param account returns the account of the invited address, or null to refuse
     */
    accept: <U extends User>(invited: Pick<Invitation, 'id' | 'email'>, account: (invitation: Invitation) => Promise<U | null>) =>
      accept(invitations, join, invited, account),

    /** Confirms what someone joined before the address was verified. @returns false if there is nothing to confirm */
    confirm,

    /**
     * Removes a member: sessions in the organisation end, and so does what the member invited.
     * @param options.lastOwner whether the last owner may be removed too
     */
    remove,

    /** Removes a user from every organisation, and the account. */
    deleteAccount: (email: string, { lastOwner = false }: { lastOwner?: boolean } = {}) =>
      deleteAccount({ db, memberships, endAccess }, email, lastOwner),
  };
}

/** Accepts an invitation. @param join makes the account a member; false if it may not become one any more */
async function accept<U extends User>(
  invitations: Invitations,
  join: (user: User, invitation: Invitation) => Promise<boolean>,
  { id, email }: Pick<Invitation, 'id' | 'email'>,
  account: (invitation: Invitation) => Promise<U | null>,
): Promise<Accepted<U>> {
  const claim = await invitations.claim(email, id);
  if (claim === null) return { ok: false, reason: 'ended' };
  const { invitation } = claim;
  try {
    const user = await account(invitation);
    if (user === null || user.email !== invitation.email) {
      await invitations.release(claim);
      return { ok: false, reason: 'no_account' };
    }
    const joined = await join(user, invitation);
    await (joined ? invitations.finish(claim) : invitations.release(claim));
    return joined ? { ok: true, user, invitation } : { ok: false, reason: 'ended' };
  } catch (error) {
    // Not to hide the error: the claim ends by itself.
    await invitations.release(claim).catch(() => undefined);
    throw error;
  }
}

async function deleteAccount(
  { db, memberships, endAccess }: { db: Db; memberships: Memberships; endAccess: (organisation: string, email: string) => Promise<void> },
  email: string,
  lastOwner: boolean,
): Promise<DeletedAccount> {
  const users = db.collection<UserDocument>('users');
  const document = await users.findOne({ _id: userIdOf(email) });
  if (document === null) return { ok: false, reason: 'not_found' };
  const { _id, createdAt } = document;
  /** Someone who has not confirmed the membership never owned the organisation. */
  const may = (id: string): boolean => lastOwner || !isConfirmed(document, id);
  const belongs = [...(await memberships.organisationsOf(_id)).keys()];
  const owned = (await memberships.onlyOwnedBy(_id)).filter((id) => !may(id));
  if (owned.length > 0) return { ok: false, reason: 'last_owner', organisations: owned };
  for (const id of belongs) {
    const removed = await memberships.remove(id, _id, { lastOwner: may(id) });
    if (!removed.ok && removed.reason === 'last_owner') return { ok: false, reason: 'last_owner', organisations: [id] };
  }
  await users.deleteOne({ _id, createdAt });
  // What was joined meanwhile.
  const late = [...(await memberships.organisationsOf(_id)).keys()];
  for (const id of late) await memberships.remove(id, _id, { lastOwner: true });
  for (const id of new Set([...belongs, ...late])) await endAccess(id, _id);
  for (const name of ['sessions', SUBSCRIPTIONS]) await deleteEach(db.collection(name), { email: _id });
  await db.collection<{ _id: string }>('passwordResets').deleteOne({ _id });
  return { ok: true, organisations: belongs };
}
