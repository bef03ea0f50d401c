/** Requests for a new password: a link that works once, for one hour, and only while the password is the same. */
import type { Db } from 'mongodb';
import { newToken, tokenHash } from './one-time-token.ts';
import type { UserDocument } from './user-document.ts';

const VALID_MS = 3_600_000;

export interface PasswordReset {
  email: string;
  expiresAt: Date;
}

export interface PasswordResets {
  /** Creates the link of a user. Earlier links stop working. @returns null if there is no user who signs in with a password */
  create(email: string): Promise<(PasswordReset & { id: string; token: string }) | null>;
  /** Returns the request of a link that still works. */
  find(token: string): Promise<PasswordReset | null>;
  /** As `find`, and the link stops working. Of several simultaneous calls, one gets it. */
  take(token: string): Promise<PasswordReset | null>;
}

interface ResetDocument extends PasswordReset {
  /** SHA-256 of the token. */
  _id: string;
  generation: string;
}

/** Requests in MongoDB. */
export function createPasswordResets(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): PasswordResets {
  const resets = db.collection<ResetDocument>('passwordResets');
  const users = db.collection<UserDocument>('users');

  async function current(document: ResetDocument | null): Promise<PasswordReset | null> {
    if (document === null || document.expiresAt <= now()) return null;
    const user = await users.findOne({ _id: document.email });
    // A new password, or the end of all sessions, also ends the links that were sent before.
    if (user?.password === undefined || (user.generation ?? '') !== document.generation) return null;
    return { email: document.email, expiresAt: document.expiresAt };
  }

  return {
    async create(email) {
      const user = await users.findOne({ _id: email });
      if (user?.password === undefined) return null;
      const token = newToken();
      const expiresAt = new Date(now().getTime() + VALID_MS);
      const id = tokenHash(token)!;
      await resets.insertOne({ _id: id, email, generation: user.generation ?? '', expiresAt });
      await resets.deleteMany({ email, _id: { $ne: id } });
      return { id, email, expiresAt, token };
    },

    async find(token) {
      const hash = tokenHash(token);
      return hash === null ? null : current(await resets.findOne({ _id: hash }));
    },

    async take(token) {
      const hash = tokenHash(token);
      return hash === null ? null : current(await resets.findOneAndDelete({ _id: hash }));
    },
  };
}
