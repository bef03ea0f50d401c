/** User accounts of organisations: e-mail address, role, and how the user signs in. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { DEFAULT_ROLE, type Role } from '../../core/accounts.ts';
import { isDuplicate } from '../mongo-retry.ts';
import { createMemberships, type MembershipChange } from './memberships.ts';
import { hashPassword, matchesPassword, UNMATCHABLE } from './passwords.ts';
import { removeFactors } from './second-factors.ts';
import { identityKey, toUser, userIdOf, type Identity, type User, type UserDocument } from './user-document.ts';

export type { Identity, User } from './user-document.ts';

/** `email` is the address in its stored form. */
export type AddedUser = { ok: true; user: User } | { ok: false; reason: 'already_exists'; email: string };
export type ChangedUser = { ok: true; user: User } | Extract<MembershipChange, { ok: false }>;
export type LinkedUser = { ok: true } | { ok: false; reason: 'other_identity' };

export interface NewUser {
  email: string;
  organisation: string;
  /** Null: the user signs in at the identity provider. */
  password: string | null;
  /** Default: `DEFAULT_ROLE`. */
  role?: Role;
  name?: string | null;
  createdBy?: string | null;
}

export interface Users {
  add(user: NewUser): Promise<AddedUser>;
  /** Returns the user if the password is correct, else null. An unknown address, and one without a password, take the same time. */
  verify(email: string, password: string): Promise<User | null>;
  find(email: string): Promise<User | null>;
  findByIdentity(identity: Identity): Promise<User | null>;
  /** Links a user to an account at the identity provider, unless the user is linked to another one. */
  link(email: string, identity: Identity): Promise<LinkedUser>;
  /** Sets a new password, and ends the user's sessions. */
  resetPassword(email: string, password: string): Promise<boolean>;
  rename(email: string, name: string | null): Promise<boolean>;
  /** Ends all sessions of a user at once. */
  endSessions(email: string): Promise<boolean>;
  /** Returns whether the user signed in from a network lately. An unknown address takes the same time. */
  knowsNetwork(email: string, network: string): Promise<boolean>;
  /** Records a sign-in and its network. */
  recordSignIn(email: string, network: string): Promise<void>;
  setRole(organisation: string, email: string, role: Role): Promise<ChangedUser>;
  /** Removes a user and ends the sessions. @param options.lastOwner whether the last owner may be removed too */
  remove(email: string, options?: { organisation?: string; lastOwner?: boolean }): Promise<ChangedUser>;
  /** Returns the users of an organisation by e-mail address. */
  list(organisation: string): Promise<User[]>;
}

/** Networks that are remembered per user. */
const NETWORKS_MAX = 5;

/** User accounts in MongoDB. */
export function createUsers(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Users {
  const users = db.collection<UserDocument>('users');
  const memberships = createMemberships(db);

  /** Users without a role are being added or removed. */
  async function withRole(document: UserDocument | null): Promise<User | null> {
    if (document === null) return null;
    const role = (await memberships.rolesOf(document.organisation)).get(document._id);
    return role === undefined ? null : toUser(document, role);
  }

  async function update(email: string, change: Parameters<typeof users.updateOne>[1]): Promise<boolean> {
    return (await users.updateOne({ _id: userIdOf(email) }, change)).matchedCount === 1;
  }

  /** Stores a new user, also in place of one whose addition or removal was interrupted. @returns false if the address is taken */
  async function insert(document: UserDocument): Promise<boolean> {
    try {
      await users.insertOne(document);
      return true;
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
    const existing = await users.findOne({ _id: document._id });
    if (existing === null || (await withRole(existing)) !== null) return false;
    const { createdAt, organisation } = existing;
    return (await users.replaceOne({ _id: document._id, createdAt, organisation }, document)).matchedCount === 1;
  }

  return {
    async add({ email, organisation, password, role = DEFAULT_ROLE, name, createdBy }) {
      const document: UserDocument = {
        _id: userIdOf(email),
        organisation,
        createdAt: now(),
        generation: randomUUID(),
        ...(password !== null && { password: await hashPassword(password) }),
        ...(name && { name }),
        ...(createdBy && { createdBy }),
      };
      // Roles of users who are older than roles must be stored before there is a user with another role.
      await memberships.rolesOf(organisation);
      if (!(await insert(document))) return { ok: false, reason: 'already_exists', email: document._id };
      await removeFactors(db, document._id);
      await memberships.add(organisation, document._id, role);
      return { ok: true, user: toUser(document, role) };
    },

    async verify(email, password) {
      const document = await users.findOne({ _id: userIdOf(email) });
      const right = await matchesPassword(password, document?.password ?? UNMATCHABLE);
      return right && document?.password !== undefined ? withRole(document) : null;
    },

    find: async (email) => withRole(await users.findOne({ _id: userIdOf(email) })),

    findByIdentity: async (identity) => withRole(await users.findOne({ identity: identityKey(identity) })),

    async link(email, identity) {
      const key = identityKey(identity);
      const free = { _id: userIdOf(email), $or: [{ identity: { $exists: false } }, { identity: key }] };
      try {
        const { matchedCount } = await users.updateOne(free, { $set: { identity: key } });
        return matchedCount === 1 ? { ok: true } : { ok: false, reason: 'other_identity' };
      } catch (error) {
        // Another user has this identity.
        if (isDuplicate(error)) return { ok: false, reason: 'other_identity' };
        throw error;
      }
    },

    resetPassword: async (email, password) => update(email, { $set: { password: await hashPassword(password), generation: randomUUID() } }),

    rename: (email, name) => update(email, name === null ? { $unset: { name: '' } } : { $set: { name } }),

    endSessions: (email) => update(email, { $set: { generation: randomUUID() } }),

    async knowsNetwork(email, network) {
      const document = await users.findOne({ _id: userIdOf(email) }, { projection: { networks: 1 } });
      return document?.networks?.includes(network) ?? false;
    },

    async recordSignIn(email, network) {
      const document = await users.findOne({ _id: userIdOf(email) });
      const networks = [network, ...(document?.networks ?? []).filter((one) => one !== network)].slice(0, NETWORKS_MAX);
      await update(email, { $set: { lastSignInAt: now(), networks } });
    },

    async setRole(organisation, email, role) {
      const changed = await memberships.change(organisation, userIdOf(email), role);
      if (!changed.ok) return changed;
      const document = await users.findOne({ _id: userIdOf(email) });
      return document === null ? { ok: false, reason: 'not_found' } : { ok: true, user: toUser(document, role) };
    },

    async remove(email, { organisation, lastOwner = false } = {}) {
      const document = await users.findOne({ _id: userIdOf(email), ...(organisation !== undefined && { organisation }) });
      const user = await withRole(document);
      if (document === null || user === null) return { ok: false, reason: 'not_found' };
      const removed = await memberships.remove(document.organisation, document._id, { lastOwner });
      if (!removed.ok) return removed;
      await removeFactors(db, document._id);
      // Guarded, because the address may have been added again since.
      await users.deleteOne({ _id: document._id, createdAt: document.createdAt });
      return { ok: true, user };
    },

    async list(organisation) {
      const roles = await memberships.rolesOf(organisation);
      const documents = await users.find({ organisation }).sort({ _id: 1 }).toArray();
      return documents.flatMap((document) => {
        const role = roles.get(document._id);
        return role === undefined ? [] : [toUser(document, role)];
      });
    },
  };
}
