/**
 * Sign-ins with a correct password that wait for the second factor: ten minutes, in one browser, and with few attempts. They end
 * with a new password, and when the user ends all sessions.
 */
import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { newToken, tokenHash } from './one-time-links.ts';
import type { UserDocument } from './user-document.ts';

/** How long each of these steps of a sign-in can be completed. */
export const PENDING_MS = 600_000;
/** Attempts of one sign-in. */
export const PENDING_ATTEMPTS = 10;

export interface PendingSignIn {
  /** SHA-256 of the token. */
  id: string;
  email: string;
  /** Where to go afterwards. */
  next: string;
  /** The organisation that the session will act for. Null: the one that the user chose last. */
  organisation: string | null;
  /** The generation of the user when the password was checked. A session of another one must not start. */
  generation: string;
  /** Whether the user came by a mail to an address that is not verified. The second factor completes the proof. */
  mailed: boolean;
}

interface PendingDocument extends Omit<PendingSignIn, 'id'> {
  _id: string;
  attempts: number;
  expiresAt: Date;
}

export function createPendingSignIns(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const pending = db.collection<PendingDocument>('pendingSignIns');
  const users = db.collection<UserDocument>('users');

  async function generationOf(email: string): Promise<string | null> {
    const user = await users.findOne({ _id: email });
    return user === null ? null : user.generation;
  }

  async function current(document: PendingDocument | null): Promise<PendingSignIn | null> {
    if (document === null || document.expiresAt <= now() || (await generationOf(document.email)) !== document.generation) return null;
    const { _id, email, next, organisation, generation, mailed } = document;
    return { id: _id, email, next, organisation, generation, mailed };
  }

  return {
    /**
     * Starts a sign-in.
     * @param request.generation that of the user when the password was checked. Default: the current one
     * @returns the token for the browser
     */
    async start({
      email,
      next,
      organisation,
      generation: checked,
      mailed = false,
    }: {
      email: string;
      next: string;
      organisation?: string;
      generation?: string;
      mailed?: boolean;
    }): Promise<string> {
      const token = newToken();
      const generation = checked ?? (await generationOf(email)) ?? '';
      const expiresAt = new Date(now().getTime() + PENDING_MS);
      await pending.insertOne({
        _id: tokenHash(token)!,
        email,
        next,
        organisation: organisation ?? null,
        generation,
        mailed,
        attempts: 0,
        expiresAt,
      });
      return token;
    },

    /** Returns the sign-in of a token, or null if it is unknown or has ended. */
    async find(token: string): Promise<PendingSignIn | null> {
      const id = tokenHash(token);
      return id === null ? null : current(await pending.findOne({ _id: id }));
    },

    /** As `find`, and counts an attempt. */
    async attempt(token: string): Promise<PendingSignIn | null> {
      const id = tokenHash(token);
      if (id === null) return null;
      return current(await pending.findOneAndUpdate({ _id: id, attempts: { $lt: PENDING_ATTEMPTS } }, { $inc: { attempts: 1 } }));
    },

    /** As `find`, and ends it. Of several simultaneous calls, one gets it. */
    async take(token: string): Promise<PendingSignIn | null> {
      const id = tokenHash(token);
      return id === null ? null : current(await pending.findOneAndDelete({ _id: id }));
    },
  };
}

/** Challenges for passkeys. Each can be answered once, within ten minutes, by the one to whom it was given. */
export function createPasskeyChallenges(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const challenges = db.collection<{ _id: string; subject: string; expiresAt: Date }>('passkeyChallenges');
  return {
    /** Makes a challenge. @param subject what it is for and whose it is @returns it in base64url */
    async issue(subject: string): Promise<string> {
      const challenge = randomBytes(32).toString('base64url');
      await challenges.insertOne({ _id: challenge, subject, expiresAt: new Date(now().getTime() + PENDING_MS) });
      return challenge;
    },

    /** Uses up a challenge. @returns false if it is unknown, used, too old, or of another subject */
    async take(challenge: string, subject: string): Promise<boolean> {
      const found = await challenges.findOneAndDelete({ _id: challenge, subject });
      return found !== null && found.expiresAt > now();
    },
  };
}

/** What the answer of the provider is checked with. */
export interface OidcChecks {
  state: string;
  nonce: string;
  verifier: string;
}

/** A sign-in in progress at the identity provider. It can be completed once, by the browser that started it. */
export interface OidcFlow extends OidcChecks {
  /** Where to go afterwards. */
  next: string;
  /** The ID of the invitation that was opened before. Null: none. */
  invitation: string | null;
}

export function createOidcFlows(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const flows = db.collection<OidcFlow & { _id: string; expiresAt: Date }>('oidcFlows');
  return {
    /** Stores a flow. @returns the token for the browser */
    async start(flow: OidcFlow): Promise<string> {
      const token = newToken();
      await flows.insertOne({ _id: tokenHash(token)!, ...flow, expiresAt: new Date(now().getTime() + PENDING_MS) });
      return token;
    },

    /** Returns the flow of a token, which works once; null if it is unknown, used or older than ten minutes. */
    async take(token: string): Promise<OidcFlow | null> {
      const hash = tokenHash(token);
      const found = hash === null ? null : await flows.findOneAndDelete({ _id: hash });
      if (found === null || found.expiresAt <= now()) return null;
      const { state, nonce, verifier, next, invitation } = found;
      return { state, nonce, verifier, next, invitation };
    },
  };
}
