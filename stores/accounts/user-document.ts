/** Users as MongoDB holds them. */
import type { Role } from '../../core/accounts.ts';

export interface User {
  email: string;
  organisation: string;
  role: Role;
  name: string | null;
  createdAt: Date;
  /** The e-mail address of the user who invited this one, or `curbcut-admin`. Null: not known. */
  createdBy: string | null;
  lastSignInAt: Date | null;
  /** Whether the user can sign in with a password. Others sign in at the identity provider only. */
  hasPassword: boolean;
}

/** An account at an OpenID Connect provider. */
export interface Identity {
  issuer: string;
  subject: string;
}

/** Fields other than those of the first version may be absent. The role is in the document of the organisation's memberships. */
export type UserDocument = Pick<User, 'organisation' | 'createdAt'> & {
  _id: string;
  name?: string;
  createdBy?: string;
  lastSignInAt?: Date;
  /** Absent: the user cannot sign in with a password. */
  password?: string;
  /** Sessions of another generation have ended. */
  generation?: string;
  /** The networks of the last sign-ins. */
  networks?: string[];
  /** The issuer and the subject of the linked account. */
  identity?: string;
};

/** Addresses are compared case-insensitively. */
export const userIdOf = (email: string): string => email.trim().toLowerCase();

/** The stored form of an identity: unique, because neither part contains a space. */
export const identityKey = ({ issuer, subject }: Identity): string => `${encodeURI(issuer)} ${encodeURIComponent(subject)}`;

export function toUser(document: UserDocument, role: Role): User {
  const { _id, organisation, createdAt, name = null, createdBy = null, lastSignInAt = null, password } = document;
  return { email: _id, organisation, role, name, createdAt, createdBy, lastSignInAt, hasPassword: password !== undefined };
}
