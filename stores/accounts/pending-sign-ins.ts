/**
 * Sign-ins with a correct password that wait for the second factor: ten minutes, in one browser, and with few attempts. They end
 * with a new password, and when the user ends all sessions.
 */
import type { Db } from 'mongodb';
import { newToken, tokenHash } from './one-time-token.ts';
import type { UserDocument } from './user-document.ts';

const VALID_MS = 600_000;
/** Attempts of one sign-in. */
export const PENDING_ATTEMPTS = 10;

export interface PendingSignIn {
  /** SHA-256 of the token. */
  id: string;
  email: string;
  /** Where to go afterwards. */
  next: string;
}

export interface PendingSignIns {
  /** Starts a sign-in. @returns the token for the browser */
  start(request: { email: string; next: string }): Promise<string>;
  /** Returns the sign-in of a token, or null if it is unknown or has ended. */
  find(token: string): Promise<PendingSignIn | null>;
  /** As `find`, and counts an attempt. */
  attempt(token: string): Promise<PendingSignIn | null>;
  /** As `find`, and ends it. Of several simultaneous calls, one gets it. */
  take(token: string): Promise<PendingSignIn | null>;
}

interface PendingDocument extends Omit<PendingSignIn, 'id'> {
  _id: string;
  generation: string;
  attempts: number;
  expiresAt: Date;
}

/** Sign-ins in MongoDB. */
export function createPendingSignIns(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): PendingSignIns {
  const pending = db.collection<PendingDocument>('pendingSignIns');
  const users = db.collection<UserDocument>('users');

  async function generationOf(email: string): Promise<string | null> {
    const user = await users.findOne({ _id: email });
    return user === null ? null : (user.generation ?? '');
  }

  async function current(document: PendingDocument | null): Promise<PendingSignIn | null> {
    if (document === null || document.expiresAt <= now() || (await generationOf(document.email)) !== document.generation) return null;
    const { _id, email, next } = document;
    return { id: _id, email, next };
  }

  return {
    async start({ email, next }) {
      const token = newToken();
      const generation = (await generationOf(email)) ?? '';
      const expiresAt = new Date(now().getTime() + VALID_MS);
      await pending.insertOne({ _id: tokenHash(token)!, email, next, generation, attempts: 0, expiresAt });
      return token;
    },

    async find(token) {
      const id = tokenHash(token);
      return id === null ? null : current(await pending.findOne({ _id: id }));
    },

    async attempt(token) {
      const id = tokenHash(token);
      if (id === null) return null;
      return current(await pending.findOneAndUpdate({ _id: id, attempts: { $lt: PENDING_ATTEMPTS } }, { $inc: { attempts: 1 } }));
    },

    async take(token) {
      const id = tokenHash(token);
      return id === null ? null : current(await pending.findOneAndDelete({ _id: id }));
    },
  };
}
