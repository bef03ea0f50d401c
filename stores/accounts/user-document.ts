/** Users as MongoDB holds them. */
import type { Filter } from 'mongodb';
import type { Role } from '../../core/accounts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { FactorsDocument } from './second-factor-steps.ts';

/** The account of a person. Which organisations it belongs to is in their memberships. */
export interface User {
  email: string;
  name: string | null;
  createdAt: Date;
  /** The e-mail address of the user who invited this one, or `curbcut-admin`. Null: not known. */
  createdBy: string | null;
  lastSignInAt: Date | null;
  /** Whether the user can sign in with a password. Others sign in at the identity provider only. */
  hasPassword: boolean;
  /** Whether a mail to the address, or a verified sign-in at the identity provider, has proved that the user owns it. */
  verified: boolean;
  /** The language and the time zone that the user reads in. Null: not known. */
  locale: Locale | null;
  timeZone: string | null;
}

/** A user as a member of one organisation. */
export interface Member extends User {
  organisation: string;
  role: Role;
  /** False: someone joined before the address was verified, and its owner has not confirmed it. Such a member has no access. */
  confirmed: boolean;
}

/** An account at an OpenID Connect provider. */
export interface Identity {
  issuer: string;
  subject: string;
}

export type UserDocument = Pick<User, 'createdAt'> & {
  _id: string;
  name?: string;
  createdBy?: string;
  lastSignInAt?: Date;
  /** Absent: the user cannot sign in with a password. */
  password?: string;
  /** Sessions of another generation have ended. */
  generation: string;
  /** The networks of the last sign-ins. */
  networks?: string[];
  /** The issuer and the subject of the linked account. */
  identity?: string;
  /** In this document, so that one write gives the account to another person and removes them. */
  secondFactors?: FactorsDocument;
  /** When the address was first verified. Absent: it is not. */
  verifiedAt?: Date;
  /** Organisations that were joined while the address was not verified. Once it is, each needs a confirmation. */
  unconfirmed?: string[];
  /** The organisation that was chosen last. */
  lastOrganisation?: string;
  locale?: Locale;
  timeZone?: string;
};

/** Matches accounts whose address is not verified. */
export const UNVERIFIED = { verifiedAt: { $exists: false } } as const satisfies Filter<UserDocument>;

/** Matches accounts with a second factor. */
export const WITH_FACTORS = {
  $or: [{ 'secondFactors.passkeys': { $exists: true } }, { 'secondFactors.totp': { $exists: true } }],
} satisfies Filter<UserDocument>;

/** Matches a user with a password by the generation. */
export const ofGeneration = (_id: string, generation: string): Filter<UserDocument> & { _id: string } => ({
  _id,
  generation,
  password: { $exists: true },
});

export const isVerified = ({ verifiedAt }: UserDocument): boolean => verifiedAt !== undefined;

/** Whether the owner of a verified address has accepted the membership, or the address is not verified. */
export const isConfirmed = (document: UserDocument, organisation: string): boolean =>
  !isVerified(document) || document.unconfirmed?.includes(organisation) !== true;

/** Addresses are compared case-insensitively. */
export const userIdOf = (email: string): string => email.trim().toLowerCase();

/** The stored form of an identity: unique, because neither part contains a space. */
export const identityKey = ({ issuer, subject }: Identity): string => `${encodeURI(issuer)} ${encodeURIComponent(subject)}`;

/** The issuer of a stored identity. */
export const issuerOf = (key: string): string => decodeURI(key.split(' ')[0]!);

export function toUser(document: UserDocument): User {
  const { _id, createdAt, name = null, createdBy = null, lastSignInAt = null, password, locale = null, timeZone = null } = document;
  const proved = { hasPassword: password !== undefined, verified: isVerified(document) };
  return { email: _id, name, createdAt, createdBy, lastSignInAt, ...proved, locale, timeZone };
}

export function toMember(document: UserDocument, organisation: string, role: Role): Member {
  return { ...toUser(document), organisation, role, confirmed: isConfirmed(document, organisation) };
}
