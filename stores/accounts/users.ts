/** User accounts of organisations: e-mail address and password hash. */
import type { Db } from 'mongodb';

import { hashPassword, matchesPassword } from './passwords.ts';
import { isDuplicate } from '../mongo-retry.ts';

export interface User {
  email: string;
  organisation: string;
  createdAt: Date;
}

/** `email` is the address in its stored form. */
export type AddedUser = { ok: true; user: User } | { ok: false; reason: 'already_exists'; email: string };

export interface Users {
  add(user: { email: string; organisation: string; password: string }): Promise<AddedUser>;
  /** Returns the user if the password is correct, else null. An unknown address takes the same time. */
  verify(email: string, password: string): Promise<User | null>;
  find(email: string): Promise<User | null>;
  resetPassword(email: string, password: string): Promise<boolean>;
  remove(email: string): Promise<User | null>;
  list(organisation: string): Promise<User[]>;
}

type UserDocument = Omit<User, 'email'> & { _id: string; password: string };

/** Addresses are compared case-insensitively. */
const idOf = (email: string): string => email.trim().toLowerCase();

function toUser({ _id, organisation, createdAt }: UserDocument): User {
  return { email: _id, organisation, createdAt };
}

/** User accounts in MongoDB. */
export function createUsers(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Users {
  const users = db.collection<UserDocument>('users');
  /** The hash to check if the address is unknown, so that the check takes as long as for a known address. */
  let dummyHash: Promise<string> | undefined;

  return {
    async add({ email, organisation, password }) {
      const document = { _id: idOf(email), organisation, createdAt: now(), password: await hashPassword(password) };
      try {
        await users.insertOne(document);
      } catch (error) {
        if (isDuplicate(error)) return { ok: false, reason: 'already_exists', email: document._id };
        throw error;
      }
      return { ok: true, user: toUser(document) };
    },

    async verify(email, password) {
      const document = await users.findOne({ _id: idOf(email) });
      const right = await matchesPassword(password, document?.password ?? (await (dummyHash ??= hashPassword('nobody at all'))));
      return document !== null && right ? toUser(document) : null;
    },

    async find(email) {
      const document = await users.findOne({ _id: idOf(email) });
      return document && toUser(document);
    },

    async resetPassword(email, password) {
      const { matchedCount } = await users.updateOne({ _id: idOf(email) }, { $set: { password: await hashPassword(password) } });
      return matchedCount === 1;
    },

    async remove(email) {
      const document = await users.findOneAndDelete({ _id: idOf(email) });
      return document && toUser(document);
    },

    async list(organisation) {
      return (await users.find({ organisation }).sort({ _id: 1 }).toArray()).map(toUser);
    },
  };
}
