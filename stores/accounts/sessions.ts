/**
 * Sessions of users who are signed in. The browser holds a random secret; the store keeps its SHA-256. A session ends 12 hours
 * after its last use and 30 days after sign-in. It ends at once when the user is deleted, ends all sessions, or is removed from the
 * organisation of the session. A session acts for one organisation and never changes it: to switch is to start another session.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import type { Organisation } from '../../core/organisation.ts';
import type { Role } from '../../core/accounts.ts';
import { createMemberships, MEMBERSHIPS, roleIn, type MembershipDocument, type Memberships } from './memberships.ts';
import { toOrganisation, type OrganisationDocument } from './organisation-document.ts';
import type { SecondFactor } from './second-factor-steps.ts';
import { isConfirmed, toUser, type UserDocument } from './user-document.ts';
import type { VerifiedUser } from './users.ts';

export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_MAX_MS = 30 * 24 * 3_600_000;
/** The minimum interval between two writes of `lastSeenAt` of one session. */
const RECORD_EVERY_MS = 60_000;
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** Checks the form of a secret. It may still be unknown. */
export const isSessionSecret = (secret: string): boolean => SECRET.test(secret);

/** A new sign-in ends the oldest sessions of a user beyond this number. */
export const SESSIONS_PER_USER = 20;
const BROWSER_MAX = 200;

export const SIGN_IN_METHODS = ['password', 'oidc', 'passkey'] as const;
export type SignInMethod = (typeof SIGN_IN_METHODS)[number];

export interface Session {
  id: string;
  email: string;
  method: SignInMethod;
  /** What the user proved besides a password; null: nothing. */
  secondFactor: SecondFactor | null;
  /** When the user last proved who they are. A session that only continues an earlier one keeps the time. */
  provedAt: Date;
  createdAt: Date;
  /** Accurate to the minute. */
  lastSeenAt: Date;
  /** The User-Agent header of the sign-in. */
  browser: string;
}

export interface SignedIn {
  session: Session;
  /** With the generation of the session: what the session starts in its turn must not outlive the end of all sessions. */
  user: VerifiedUser;
  /** The organisation of the session, which may be blocked. Null: the user belonged to none at its start. */
  membership: { organisation: Organisation; role: Role } | null;
}

export interface SessionRequest {
  email: string;
  method: SignInMethod;
  browser: string;
  /** The organisation to act for. Default: the one that the user chose last, else the first one. */
  organisation?: string;
  /** The generation of the user when the password was checked. Default: the current one. */
  generation?: string;
  /** What the user proved besides the password. Default: null. */
  secondFactor?: SecondFactor | null;
  /** When the user proved who they are. Default: now. */
  provedAt?: Date;
}

/**
 * Whether the organisation of the session requires a second factor that the session lacks. A sign-in by OpenID Connect has it:
 * the provider decides what it asks for.
 */
export const lacksFactor = ({ session, membership }: Pick<SignedIn, 'session' | 'membership'>): boolean =>
  membership !== null && membership.organisation.requireSecondFactor && session.method !== 'oidc' && session.secondFactor === null;

interface SessionDocument extends Omit<Session, 'id' | 'secondFactor'> {
  /** SHA-256 of the secret. */
  _id: string;
  /** Absent: none. */
  secondFactor?: SecondFactor;
  /** Null: none. */
  organisation: string | null;
  generation: string;
  /** When the session ends unless it is used. */
  expiresAt: Date;
}

type FoundSession = SessionDocument & { users: UserDocument[]; organisations: OrganisationDocument[]; memberships: MembershipDocument[] };

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const toSession = ({ _id, email, method, secondFactor, provedAt, createdAt, lastSeenAt, browser }: SessionDocument): Session => ({
  id: _id,
  email,
  method,
  secondFactor: secondFactor ?? null,
  provedAt,
  createdAt,
  lastSeenAt,
  browser,
});

/** When a session ends that is used at `at`. */
function expiryOf(createdAt: Date, at: Date): Date {
  return new Date(Math.min(at.getTime() + SESSION_IDLE_MS, createdAt.getTime() + SESSION_MAX_MS));
}

const lookup = (from: string, localField: string, as: string) => ({ $lookup: { from, localField, foreignField: '_id', as } });

/** Sessions in MongoDB. Nothing is cached, so every replica rejects an ended session immediately. */
export function createSessions(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const sessions = db.collection<SessionDocument>('sessions');
  const users = db.collection<UserDocument>('users');
  const memberships = createMemberships(db);

  /** Extends a session that is in use. */
  async function touch({ _id, createdAt, lastSeenAt }: SessionDocument, at: Date): Promise<void> {
    if (at.getTime() - lastSeenAt.getTime() < RECORD_EVERY_MS) return;
    await sessions.updateOne({ _id, lastSeenAt }, { $set: { lastSeenAt: at, expiresAt: expiryOf(createdAt, at) } });
  }

  /** The user, the role and the organisation are never copied, so that each change takes effect immediately. */
  const find = (ids: readonly string[]): Promise<FoundSession[]> =>
    sessions
      .aggregate<FoundSession>([
        { $match: { _id: { $in: [...ids] } } },
        lookup('users', 'email', 'users'),
        lookup('organisations', 'organisation', 'organisations'),
        lookup(MEMBERSHIPS, 'organisation', 'memberships'),
      ])
      .toArray();

  async function recogniseAll(secrets: readonly string[]): Promise<Map<string, SignedIn>> {
    const byHash = new Map(secrets.filter(isSessionSecret).map((secret) => [hashOf(secret), secret]));
    const recognised = new Map<string, SignedIn>();
    if (byHash.size === 0) return recognised;
    const at = now();
    for (const found of await find([...byHash.keys()])) {
      const signedIn = signedInOf(found, at);
      if (signedIn === null) continue;
      await touch(found, at);
      recognised.set(byHash.get(found._id)!, signedIn);
    }
    return recognised;
  }

  return {
    /**
     * Starts a session of a user, and remembers an organisation that was asked for.
     * @returns the secret for the browser; null if the user was deleted or has another generation, or does not belong to the
     * organisation
     */
    async start({
      email,
      method,
      browser,
      organisation: wanted,
      generation,
      secondFactor,
      provedAt,
    }: SessionRequest): Promise<(SignedIn & { secret: string }) | null> {
      const user = await users.findOne({ _id: email });
      if (generation !== undefined && user?.generation !== generation) return null;
      const organisation = user === null ? undefined : await choose(memberships, user, wanted);
      if (user === null || organisation === undefined) return null;
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
      const at = now();
      const document: SessionDocument = {
        _id: hashOf(secret),
        email,
        organisation,
        generation: user.generation,
        method,
        ...(secondFactor != null && { secondFactor }),
        provedAt: provedAt ?? at,
        createdAt: at,
        lastSeenAt: at,
        expiresAt: expiryOf(at, at),
        browser: browser.slice(0, BROWSER_MAX),
      };
      await sessions.insertOne(document);
      // A removal or a new password at the same time may have missed the session.
      const [found] = await find([document._id]);
      const signedIn = found === undefined ? null : signedInOf(found, at);
      if (signedIn === null) {
        await sessions.deleteOne({ _id: document._id });
        return null;
      }
      if (wanted !== undefined) await users.updateOne({ _id: email }, { $set: { lastOrganisation: wanted } });
      await prune(sessions, email);
      return { secret, ...signedIn };
    },

    /** Returns the session of a secret, or null if it is malformed (checked without a command), unknown or has ended. */
    recognise: async (secret: string): Promise<SignedIn | null> => (await recogniseAll([secret])).get(secret) ?? null,

    /** The same for several secrets, in one command. Returns those of sessions that have not ended, by secret. */
    recogniseAll,

    /** Returns those of the sessions that have not ended, act for an organisation that is not blocked, and have the second factor that it requires. It does not extend them. */
    async usable(ids: readonly string[]): Promise<Set<string>> {
      const at = now();
      const signedIn = (await find(ids)).map((found) => signedInOf(found, at)).filter((one) => one !== null);
      const may = (one: SignedIn): boolean => one.membership?.organisation.blocked === false && !lacksFactor(one);
      return new Set(signedIn.filter(may).map(({ session }) => session.id));
    },

    /** Returns the sessions of a user, the last used first. */
    async list(email: string): Promise<Session[]> {
      const user = await users.findOne({ _id: email });
      if (user === null) return [];
      const current = { email, generation: user.generation, expiresAt: { $gt: now() } };
      return (await sessions.find(current).sort({ lastSeenAt: -1, _id: 1 }).limit(SESSIONS_PER_USER).toArray()).map(toSession);
    },

    /** Ends a session of a user. */
    async end(email: string, id: string): Promise<boolean> {
      return (await sessions.deleteOne({ _id: id, email })).deletedCount === 1;
    },
  };
}

/** Chooses the organisation of a new session. @returns undefined if the user does not belong to the one that is wanted */
async function choose(memberships: Memberships, user: UserDocument, wanted: string | undefined): Promise<string | null | undefined> {
  const roles = await memberships.organisationsOf(user._id);
  const open = [...roles.keys()].filter((organisation) => isConfirmed(user, organisation)).sort();
  if (wanted !== undefined) return open.find((organisation) => organisation === wanted);
  return open.find((organisation) => organisation === user.lastOrganisation) ?? open[0] ?? null;
}

/** Removes the oldest sessions of a user beyond the limit. Those of earlier generations are older than the others. */
async function prune(sessions: Collection<SessionDocument>, email: string): Promise<void> {
  const extra = await sessions.find({ email }).sort({ lastSeenAt: -1, _id: 1 }).skip(SESSIONS_PER_USER).toArray();
  if (extra.length > 0) await sessions.deleteMany({ _id: { $in: extra.map(({ _id }) => _id) } });
}

/** Null if the session has ended. */
function signedInOf(found: FoundSession, at: Date): SignedIn | null {
  const user = found.users[0];
  if (user === undefined || found.expiresAt <= at || user.generation !== found.generation) return null;
  const signedIn = { session: toSession(found), user: { ...toUser(user), generation: found.generation } };
  if (found.organisation === null) return { ...signedIn, membership: null };
  const [organisation, role] = [found.organisations[0], roleIn(found.memberships[0], found.email)];
  if (organisation === undefined || role === null || !isConfirmed(user, found.organisation)) return null;
  return { ...signedIn, membership: { organisation: toOrganisation(organisation), role } };
}
