/** Requests for a new password: a link that works once, for one hour, and only while the password is the same. */
import { randomUUID } from 'node:crypto';
import type { Db, Filter, UpdateFilter } from 'mongodb';
import { newToken, replaceLink, tokenHash } from './one-time-links.ts';
import { hashPassword } from './passwords.ts';
import { ofGeneration, toUser, UNVERIFIED, WITH_FACTORS, type User, type UserDocument } from './user-document.ts';

const VALID_MS = 3_600_000;

export interface PasswordReset {
  email: string;
  expiresAt: Date;
}

interface ResetDocument {
  /** The address. */
  _id: string;
  /** SHA-256 of the token. */
  hash: string;
  /** The link ends when the user has another generation. */
  generation: string;
  expiresAt: Date;
}

/** Requests in MongoDB. */
export function createPasswordResets(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const resets = db.collection<ResetDocument>('passwordResets');
  const users = db.collection<UserDocument>('users');

  async function live(token: string): Promise<ResetDocument | null> {
    const hash = tokenHash(token);
    const document = hash === null ? null : await resets.findOne({ hash });
    return document === null || document.expiresAt <= now() ? null : document;
  }

  return {
    /**
     * Creates the link of a user in place of an earlier one.
     * @returns null if there is no user who signs in with a password, or if a simultaneous request created the link
     */
    async create(email: string): Promise<(PasswordReset & { id: string; token: string }) | null> {
      const [user, earlier] = await Promise.all([users.findOne({ _id: email }), resets.findOne({ _id: email })]);
      if (user?.password === undefined) return null;
      const token = newToken();
      const hash = tokenHash(token)!;
      const expiresAt = new Date(now().getTime() + VALID_MS);
      const document: ResetDocument = { _id: email, hash, generation: user.generation, expiresAt };
      return (await replaceLink(resets, document, earlier)) ? { id: hash, email, expiresAt, token } : null;
    },

    /** Returns the request of a link that still works. */
    async find(token: string): Promise<PasswordReset | null> {
      const document = await live(token);
      if (document === null) return null;
      const { _id: email, generation, expiresAt } = document;
      return (await users.findOne(ofGeneration(email, generation))) === null ? null : { email, expiresAt };
    },

    /**
     * Sets a new password, which ends the link and all sessions of the user in the same step. It also verifies the address,
     * because the link came by mail, unless it was not verified and the account has second factors:
     * then a proof of a factor verifies it (`Users.verifyAddress`). Of several simultaneous calls, one succeeds; if one fails, the link still works.
     * @returns null if the link does not work
     */
    async use(token: string, password: string): Promise<User | null> {
      // First, because it may fail: then nothing was changed.
      const hashed = await hashPassword(password);
      const document = await live(token);
      if (document === null) return null;
      const { _id: email, generation, hash } = document;
      const verifiedAt = now();
      const same = ofGeneration(email, generation);
      const mine = { password: hashed, generation: randomUUID() };
      // A secret that was not confirmed was shown in a session that ends.
      const $unset = { networks: '', 'secondFactors.newTotp': '' } as const;
      const change = (account: Filter<UserDocument>, to: UpdateFilter<UserDocument>) =>
        users.findOneAndUpdate(account, to, { returnDocument: 'after' });
      // Nobody knows whose the factors of an address are that was never verified. To remove them would let the mailbox replace them.
      const unclear = { ...UNVERIFIED, ...WITH_FACTORS };
      const changed =
        (await change({ ...same, ...unclear }, { $set: mine, $unset })) ??
        (await change({ ...same, $nor: [unclear] }, { $set: { ...mine, verifiedAt }, $unset }));
      // The new generation has ended the link already; a failure here changes nothing for the user.
      if (changed !== null) await resets.deleteOne({ _id: email, hash }).catch(() => undefined);
      return changed && toUser(changed);
    },
  };
}
