/**
 * Who belongs to an organisation, and with which role: one document per organisation. Because each change is one guarded
 * update of it, an organisation with owners always keeps one, also if two owners demote each other at the same time.
 */
import type { Db, Filter } from 'mongodb';
import { ROLES, type Role } from '../../core/accounts.ts';
import { retryRace } from '../mongo-retry.ts';

/** The e-mail addresses with each role. An address has at most one. */
export type MembershipDocument = { _id: string } & Partial<Record<Role, string[]>>;

export const MEMBERSHIPS = 'memberships';

export type MembershipChange = { ok: true; before: Role } | { ok: false; reason: 'not_found' | 'last_owner' };

/** Returns the role of an address; null if it does not belong to the organisation. */
export function roleIn(document: Partial<Record<Role, string[]>> | null | undefined, email: string): Role | null {
  return ROLES.find((role) => document?.[role]?.includes(email)) ?? null;
}

export function createMemberships(db: Db) {
  const memberships = db.collection<MembershipDocument>(MEMBERSHIPS);

  const anyRole = (email: string): Filter<MembershipDocument> => ({ $or: ROLES.map((role) => ({ [role]: email })) });
  const without = (email: string, roles: readonly Role[]) => Object.fromEntries(roles.map((role) => [role, email])) as never;
  const others = (role: Role): Role[] => ROLES.filter((other) => other !== role);
  /** Not the only owner. */
  const replaceable = (email: string): Filter<MembershipDocument> => ({ owner: { $ne: [email] } });

  async function refusal(organisation: string, email: string): Promise<MembershipChange> {
    const role = roleIn(await memberships.findOne({ _id: organisation }), email);
    return { ok: false, reason: role === null ? 'not_found' : 'last_owner' };
  }

  return {
    /** The role of each address of an organisation. */
    async rolesOf(organisation: string): Promise<Map<string, Role>> {
      const document = await memberships.findOne({ _id: organisation });
      return new Map(ROLES.flatMap((role) => (document?.[role] ?? []).map((email) => [email, role] as const)));
    },

    /** The role of an address in each organisation that it belongs to. */
    async organisationsOf(email: string): Promise<Map<string, Role>> {
      const found = await memberships.find(anyRole(email)).toArray();
      return new Map(found.map((document) => [document._id, roleIn(document, email)!]));
    },

    /** The organisations that have no other owner. */
    async onlyOwnedBy(email: string): Promise<string[]> {
      return (await memberships.find({ owner: [email] as never }).toArray()).map(({ _id }) => _id);
    },

    /**
     * As `add`, if the address that invited it is still an owner: an invitation ends with the right to invite.
     * @returns whether the address belongs to the organisation now
     */
    async join(organisation: string, email: string, role: Role, invitedBy: string): Promise<boolean> {
      const none = ROLES.map((one) => ({ [one]: { $ne: email } }));
      const free = { _id: organisation, owner: invitedBy, $and: none } as never;
      const { matchedCount } = await memberships.updateOne(free, { $addToSet: { [role]: email } });
      return matchedCount === 1 || roleIn(await memberships.findOne({ _id: organisation }), email) !== null;
    },

    /** Gives an address a role in an organisation that it may not belong to yet. */
    async add(organisation: string, email: string, role: Role) {
      await retryRace(() =>
        memberships.updateOne(
          { _id: organisation },
          { $addToSet: { [role]: email }, $pull: without(email, others(role)) },
          {
            upsert: true,
          },
        ),
      );
    },

    /** @param lastOwner whether the last owner may be demoted too */
    async change(organisation: string, email: string, role: Role, { lastOwner = false } = {}): Promise<MembershipChange> {
      const guards = role === 'owner' || lastOwner ? [anyRole(email)] : [anyRole(email), replaceable(email)];
      const update = { $addToSet: { [role]: email }, $pull: without(email, others(role)) };
      const before = roleIn(await memberships.findOneAndUpdate({ _id: organisation, $and: guards }, update), email);
      return before !== null ? { ok: true, before } : refusal(organisation, email);
    },

    /**
     * Keys of the member, and of those keys, keep the rights of the role. It is recorded in them first, so that they never have more; again
     * if the role changes meanwhile.
     * @param lastOwner whether the last owner may be removed too
     */
    async remove(organisation: string, email: string, { lastOwner }: { lastOwner: boolean }): Promise<MembershipChange> {
      for (;;) {
        const document = await memberships.findOne({ _id: organisation });
        const cap = roleIn(document, email);
        if (cap === null) return { ok: false, reason: 'not_found' };
        if (cap === 'owner' && document!.owner!.length === 1 && !lastOwner) return { ok: false, reason: 'last_owner' };
        await db.collection('keys').updateMany({ organisation, rootCreator: email, revokedAt: null }, { $set: { cap } });
        const guards = [{ [cap]: email }, ...(lastOwner ? [] : [replaceable(email)])];
        const { matchedCount } = await memberships.updateOne({ _id: organisation, $and: guards }, { $pull: without(email, ROLES) });
        if (matchedCount === 1) return { ok: true, before: cap };
      }
    },
  };
}
export type Memberships = ReturnType<typeof createMemberships>;
