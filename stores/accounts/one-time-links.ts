/**
 * Links that work once. The link has the token; the store keeps its SHA-256. Each address has one document per kind of link,
 * so that a new link replaces the earlier one in one step.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Collection, Db, Filter, OptionalUnlessRequiredId, UpdateFilter } from 'mongodb';
import { insertNew } from '../mongo-retry.ts';
import { hashPassword } from './passwords.ts';
import { ofGeneration, toUser, UNVERIFIED, type User, type UserDocument, WITH_FACTORS } from './user-document.ts';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** 256 bits, so that a token cannot be guessed. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Checks the form of a token. It may still be unknown. */
export const isToken = (token: string): boolean => TOKEN.test(token);

/** The stored form of a token; null if it is malformed. */
export const tokenHash = (token: string): string | null => (isToken(token) ? createHash('sha256').update(token).digest('hex') : null);

/** The document of a link. Its ID names the address. */
interface LinkDocument {
  _id: string;
  hash?: string;
}

/**
 * Stores a link in place of the earlier one, if no other link was stored since `earlier` was read. Of simultaneous requests,
 * such as those of a double click, one succeeds, and its link stays the live one.
 * @param free further conditions for the replacement
 */
export async function replaceLink<T extends LinkDocument>(
  links: Collection<T>,
  document: T,
  earlier: T | null,
  free: Filter<T> = {},
): Promise<boolean> {
  const { _id, ...rest } = document;
  if (earlier !== null) {
    const same = { $and: [{ _id, hash: earlier.hash }, free] } as Filter<T>;
    return (await links.replaceOne(same, rest)).matchedCount === 1;
  }
  return insertNew(links, document as OptionalUnlessRequiredId<T>);
}

/** Requests for a new password: a link that works once, for one hour, and only while the password is the same. */
const VALID_MS = 3_600_000;

interface PasswordReset {
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
     * Sets a new password, which ends the link and all sessions of the user in the same step. It also verifies the address, because
     * the link came by mail. If the account has second factors, a proof of a factor verifies an address that was not verified
     * (`Users.verifyAddress`). Of several simultaneous calls, one succeeds; if one fails, the link still works.
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
