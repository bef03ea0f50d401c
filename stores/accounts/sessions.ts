/**
 * Sessions of users who are signed in. The browser holds a random secret; the store keeps its SHA-256. A session ends 12 hours
 * after its last use and 30 days after sign-in, and at once when the user is removed or ends all sessions.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import type { Organisation } from '../../core/organisation.ts';
import { MEMBERSHIPS, roleIn, type MembershipDocument } from './memberships.ts';
import { toOrganisation, type OrganisationDocument } from './organisation-document.ts';
import type { SecondFactor } from './second-factor-steps.ts';
import { toUser, type User, type UserDocument } from './user-document.ts';

export const SESSION_IDLE_MS = 12 * 3_600_000;
export const SESSION_MAX_MS = 30 * 24 * 3_600_000;
/** The minimum interval between two writes of `lastSeenAt` of one session. */
const RECORD_EVERY_MS = 60_000;
const SECRET_BYTES = 32;
/** The number of characters of a secret. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;
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
  createdAt: Date;
  /** Accurate to the minute. */
  lastSeenAt: Date;
  /** The User-Agent header of the sign-in. */
  browser: string;
}

/** A session with its user and organisation, which may be blocked. */
export interface SignedIn {
  session: Session;
  user: User;
  organisation: Organisation;
}

/**
 * Whether the organisation requires a second factor that the session lacks. A sign-in by OpenID Connect has it: the provider
 * decides what it asks for.
 */
export const lacksFactor = ({ session, organisation }: Pick<SignedIn, 'session' | 'organisation'>): boolean =>
  organisation.requireSecondFactor && session.method !== 'oidc' && session.secondFactor === null;

export interface Sessions {
  /** Starts a session of a user. @returns the secret for the browser; null if the user was removed meanwhile */
  start(request: {
    email: string;
    method: SignInMethod;
    /** Default: null. */
    secondFactor?: SecondFactor | null;
    browser: string;
  }): Promise<{ secret: string; session: Session } | null>;
  /** Returns the session of a secret, or null if it is unknown or has ended. */
  recognise(secret: string): Promise<SignedIn | null>;
  /** Returns those of the sessions that have not ended, whose organisation is not blocked, and that have the second factor that it requires. It does not extend them. */
  usable(ids: readonly string[]): Promise<Set<string>>;
  /** Returns the sessions of a user, the last used first. */
  list(email: string): Promise<Session[]>;
  /** Ends a session of a user. */
  end(email: string, id: string): Promise<boolean>;
}

interface SessionDocument extends Omit<Session, 'id' | 'secondFactor'> {
  /** SHA-256 of the secret. */
  _id: string;
  /** Absent: none. */
  secondFactor?: SecondFactor;
  organisation: string;
  generation: string;
  /** When the session ends unless it is used. */
  expiresAt: Date;
}

type FoundSession = SessionDocument & { users: UserDocument[]; organisations: OrganisationDocument[]; memberships: MembershipDocument[] };

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const toSession = ({ _id, email, method, secondFactor, createdAt, lastSeenAt, browser }: SessionDocument): Session => ({
  id: _id,
  email,
  method,
  secondFactor: secondFactor ?? null,
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
export function createSessions(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Sessions {
  const sessions = db.collection<SessionDocument>('sessions');
  const users = db.collection<UserDocument>('users');

  /** Extends a session that is in use. */
  async function touch({ _id, createdAt, lastSeenAt }: SessionDocument, at: Date): Promise<void> {
    if (at.getTime() - lastSeenAt.getTime() < RECORD_EVERY_MS) return;
    await sessions.updateOne({ _id, lastSeenAt }, { $set: { lastSeenAt: at, expiresAt: expiryOf(createdAt, at) } });
  }

  /** Removes ended sessions of a user, and the oldest beyond the limit. */
  async function prune(email: string, generation: string): Promise<void> {
    await sessions.deleteMany({ email, $or: [{ generation: { $ne: generation } }, { expiresAt: { $lte: now() } }] });
    const extra = await sessions.find({ email }).sort({ lastSeenAt: -1, _id: 1 }).skip(SESSIONS_PER_USER).toArray();
    if (extra.length > 0) await sessions.deleteMany({ _id: { $in: extra.map(({ _id }) => _id) } });
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

  return {
    async start({ email, method, secondFactor, browser }) {
      const user = await users.findOne({ _id: email });
      if (user === null) return null;
      const secret = randomBytes(SECRET_BYTES).toString('base64url');
      const at = now();
      const document: SessionDocument = {
        _id: hashOf(secret),
        email,
        organisation: user.organisation,
        generation: user.generation ?? '',
        method,
        ...(secondFactor != null && { secondFactor }),
        createdAt: at,
        lastSeenAt: at,
        expiresAt: expiryOf(at, at),
        browser: browser.slice(0, BROWSER_MAX),
      };
      await sessions.insertOne(document);
      await prune(email, document.generation);
      return { secret, session: toSession(document) };
    },

    async recognise(secret) {
      if (!SECRET.test(secret)) return null;
      const at = now();
      const [found] = await find([hashOf(secret)]);
      const signedIn = found === undefined ? null : signedInOf(found, at);
      if (signedIn !== null) await touch(found!, at);
      return signedIn;
    },

    async usable(ids) {
      const at = now();
      const signedIn = (await find(ids)).map((found) => signedInOf(found, at)).filter((one) => one !== null);
      return new Set(signedIn.filter((one) => !one.organisation.blocked && !lacksFactor(one)).map(({ session }) => session.id));
    },

    async list(email) {
      const user = await users.findOne({ _id: email });
      const current = { email, generation: user?.generation ?? '', expiresAt: { $gt: now() } };
      return (await sessions.find(current).sort({ lastSeenAt: -1, _id: 1 }).limit(SESSIONS_PER_USER).toArray()).map(toSession);
    },

    async end(email, id) {
      return (await sessions.deleteOne({ _id: id, email })).deletedCount === 1;
    },
  };
}

/** Null if the session has ended. */
function signedInOf(found: FoundSession, at: Date): SignedIn | null {
  const [user, organisation] = [found.users[0], found.organisations[0]];
  if (user === undefined || organisation === undefined || found.expiresAt <= at) return null;
  const role = roleIn(found.memberships[0], found.email);
  if (role === null || user.organisation !== found.organisation || (user.generation ?? '') !== found.generation) return null;
  return { session: toSession(found), user: toUser(user, role), organisation: toOrganisation(organisation) };
}
