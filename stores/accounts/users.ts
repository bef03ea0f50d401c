/** Accounts of users: e-mail address, how they sign in, and what proves that the address is theirs. */
import { randomUUID } from 'node:crypto';
import type { Collection, Db, UpdateFilter } from 'mongodb';
import { DEFAULT_ROLE, type Role } from '../../core/accounts.ts';
import type { Reader } from '../../core/reader.ts';
import { insertNew, isDuplicate } from '../mongo-retry.ts';
import { createMemberships, type Memberships } from './memberships.ts';
import { hashPassword, matchesPassword, UNMATCHABLE } from './passwords.ts';
import {
  identityKey,
  issuerOf,
  isVerified,
  ofGeneration,
  toUser,
  UNVERIFIED,
  userIdOf,
  type Identity,
  type User,
  type UserDocument,
} from './user-document.ts';

export type { Identity, Member, User } from './user-document.ts';

/** `email` is the address in its stored form. */
export type AddedUser = { ok: true; user: User } | { ok: false; reason: 'already_exists'; email: string };
export type LinkedUser = { ok: true; first: boolean; user: VerifiedUser } | { ok: false; reason: 'other_identity' | 'not_found' };

/**
 * A user whose password was correct, or whom the identity provider named. A session of another generation must not start: the
 * password or the link may have changed since.
 */
export type VerifiedUser = User & { generation: string };

export interface NewUser {
  email: string;
  /** The organisation that the user belongs to from the start. Default: none. */
  organisation?: string;
  /** Null: the user signs in at the identity provider. */
  password: string | null;
  /** The role in `organisation`. Default: `DEFAULT_ROLE`. */
  role?: Role;
  name?: string | null;
  createdBy?: string | null;
  /** Whether a mail to the address has proved that it is the user's. Default: false. */
  verified?: boolean;
  /** The account at the identity provider, which has verified the address. */
  identity?: Identity;
}

/** Networks that are remembered per user. */
const NETWORKS_MAX = 5;

/** What goes in the write that gives an account to the person who proved to own its address: a passkey would still open it. */
const OF_EARLIER_OWNER = { networks: '', secondFactors: '' } as const;

export function createUsers(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const users = db.collection<UserDocument>('users');
  const memberships = createMemberships(db);
  const asUser = (document: UserDocument | null): User | null => document && toUser(document);
  const asVerified = (document: UserDocument): VerifiedUser => ({ ...toUser(document), generation: document.generation });

  async function update(email: string, change: Parameters<typeof users.updateOne>[1]): Promise<boolean> {
    return (await users.updateOne({ _id: userIdOf(email) }, change)).matchedCount === 1;
  }

  return {
    /** Adds an account. It takes the place of one that is not verified and belongs to no organisation. */
    async add({
      email,
      organisation,
      password,
      role = DEFAULT_ROLE,
      name,
      createdBy,
      verified = false,
      identity,
    }: NewUser): Promise<AddedUser> {
      const createdAt = now();
      const document: UserDocument = {
        _id: userIdOf(email),
        createdAt,
        generation: randomUUID(),
        ...(password !== null && { password: await hashPassword(password) }),
        ...(name && { name }),
        ...(createdBy && { createdBy }),
        ...((verified || identity !== undefined) && { verifiedAt: createdAt }),
        ...(identity !== undefined && { identity: identityKey(identity) }),
      };
      if (!(await insert(users, memberships, document))) return { ok: false, reason: 'already_exists', email: document._id };
      if (organisation !== undefined) await memberships.add(organisation, document._id, role);
      return { ok: true, user: toUser(document) };
    },

    /** Returns the user if the password is correct, else null. An unknown address, and one without a password, take the same time. */
    async verify(email: string, password: string): Promise<VerifiedUser | null> {
      const document = await users.findOne({ _id: userIdOf(email) });
      const right = await matchesPassword(password, document?.password ?? UNMATCHABLE);
      return right && document?.password !== undefined ? asVerified(document) : null;
    },

    find: async (email: string): Promise<User | null> => asUser(await users.findOne({ _id: userIdOf(email) })),

    async findByIdentity(identity: Identity): Promise<VerifiedUser | null> {
      const document = await users.findOne({ identity: identityKey(identity) });
      return document && asVerified(document);
    },

    /** Returns the addresses of the users who are linked to an account at a provider, by its issuer. */
    async linked(): Promise<Map<string, string[]>> {
      const found = await users.find({ identity: { $exists: true } }, { projection: { identity: 1 } }).toArray();
      const byIssuer = Map.groupBy(found, ({ identity }) => issuerOf(identity!));
      return new Map([...byIssuer].map(([issuer, documents]) => [issuer, documents.map(({ _id }) => _id)]));
    },

    /**
     * Removes the link of a user to an account at a provider, and ends the user's sessions.
     * @param issuer the only one whose link is removed. Default: any @returns null if there is no such link
     */
    async unlink(email: string, issuer?: string): Promise<{ email: string; issuer: string } | null> {
      const document = await users.findOne({ _id: userIdOf(email) });
      if (document?.identity === undefined || (issuer !== undefined && issuerOf(document.identity) !== issuer)) return null;
      const { _id, identity } = document;
      const { matchedCount } = await users.updateOne({ _id, identity }, { $unset: { identity: '' }, $set: { generation: randomUUID() } });
      return matchedCount === 1 ? { email: _id, issuer: issuerOf(identity) } : null;
    },

    /**
     * Links a user to an account at the identity provider that has verified the address, unless the user is linked to another
     * one. The first time it also verifies the address, removes the password and ends all sessions, in the same step.
     */
    async link(email: string, identity: Identity): Promise<LinkedUser> {
      const key = identityKey(identity);
      const _id = userIdOf(email);
      const first = { _id, identity: { $exists: false } };
      try {
        const mine = { identity: key, verifiedAt: now(), generation: randomUUID() };
        const change = { $set: mine, $unset: { password: '', ...OF_EARLIER_OWNER } } as const;
        const linked = await users.findOneAndUpdate(first, change, { returnDocument: 'after' });
        if (linked !== null) return { ok: true, first: true, user: asVerified(linked) };
      } catch (error) {
        // Another user has this identity.
        if (isDuplicate(error)) return { ok: false, reason: 'other_identity' };
        throw error;
      }
      const user = await users.findOne({ _id });
      if (user === null) return { ok: false, reason: 'not_found' };
      return user.identity === key ? { ok: true, first: false, user: asVerified(user) } : { ok: false, reason: 'other_identity' };
    },

    /**
     * Gives an account whose address is not verified to the person who has proved to own the address by a mail. It then has a new
     * password, and no sessions of others. @returns null if the address was verified meanwhile
     */
    async reclaim(email: string, { password, name }: { password: string; name: string | null }): Promise<User | null> {
      const mine = { password: await hashPassword(password), verifiedAt: now(), generation: randomUUID() };
      const change: UpdateFilter<UserDocument> =
        name === null ? { $set: mine, $unset: { ...OF_EARLIER_OWNER, name: '' } } : { $set: { ...mine, name }, $unset: OF_EARLIER_OWNER };
      const unverified = { _id: userIdOf(email), ...UNVERIFIED };
      return asUser(await users.findOneAndUpdate(unverified, change, { returnDocument: 'after' }));
    },

    /** Verifies the address of a user who has proved it by a mail, unless the user has another generation since. */
    async verifyAddress(email: string, generation: string) {
      await users.updateOne({ _id: userIdOf(email), generation, ...UNVERIFIED }, { $set: { verifiedAt: now() } });
    },

    /**
     * Replaces the password that was verified, and ends the user's sessions.
     * @returns the user of the new generation; null if the user was deleted or has another generation
     */
    async changePassword({ email, generation: verified }: VerifiedUser, password: string): Promise<VerifiedUser | null> {
      const generation = randomUUID();
      const change = { $set: { password: await hashPassword(password), generation } };
      const changed = await users.findOneAndUpdate(ofGeneration(email, verified), change, { returnDocument: 'after' });
      return changed && { ...toUser(changed), generation };
    },

    /** Sets a new password, and ends the user's sessions. */
    resetPassword: async (email: string, password: string): Promise<boolean> =>
      update(email, { $set: { password: await hashPassword(password), generation: randomUUID() } }),

    rename: (email: string, name: string | null) => update(email, name === null ? { $unset: { name: '' } } : { $set: { name } }),

    /** Sets in which language and time zone a user reads. */
    setReader: (email: string, { locale, timeZone }: Reader) => update(email, { $set: { locale, timeZone } }),

    /** Ends all sessions of a user at once. */
    endSessions: (email: string) => update(email, { $set: { generation: randomUUID() } }),

    /** Returns the networks from which users signed in lately, in one command. Unknown addresses, and users without any, are not in it. */
    async networksOf(emails: readonly string[]): Promise<Map<string, readonly string[]>> {
      const byId = new Map(emails.map((email) => [userIdOf(email), email]));
      const found = await users.find({ _id: { $in: [...byId.keys()] } }, { projection: { networks: 1 } }).toArray();
      return new Map(found.flatMap(({ _id, networks }) => (networks === undefined ? [] : [[byId.get(_id)!, networks]])));
    },

    /** Records a sign-in and its network. */
    async recordSignIn(email: string, network: string) {
      const document = await users.findOne({ _id: userIdOf(email) });
      const networks = [network, ...(document?.networks ?? []).filter((one) => one !== network)].slice(0, NETWORKS_MAX);
      await update(email, { $set: { lastSignInAt: now(), networks } });
    },
  };
}
export type Users = ReturnType<typeof createUsers>;

/** Stores a new account. It replaces one whose address was never verified. @returns false if the address is taken */
async function insert(users: Collection<UserDocument>, memberships: Memberships, document: UserDocument): Promise<boolean> {
  if (await insertNew(users, document)) return true;
  const existing = await users.findOne({ _id: document._id });
  if (existing === null || isVerified(existing)) return false;
  if ((await memberships.organisationsOf(existing._id)).size > 0) return false;
  const { _id, createdAt, unconfirmed } = existing;
  // The account may be joining an organisation at this moment. Its new owner must not become a member without a confirmation.
  const same = { _id, createdAt, ...UNVERIFIED, unconfirmed: unconfirmed ?? { $exists: false } };
  const kept = unconfirmed === undefined ? document : { ...document, unconfirmed };
  return (await users.replaceOne(same, kept)).matchedCount === 1;
}
