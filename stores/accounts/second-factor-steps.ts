/**
 * What changes the second factors of an account, as pure functions from the stored document to the next one. The store applies
 * each with one compare-and-set.
 */
import { matchTotp } from '../../core/totp.ts';

export const PASSKEYS_MAX = 20;
export const PASSKEY_NAME_MAX = 60;
/** How long a secret that was not confirmed can be. */
const NEW_TOTP_MS = 3_600_000;

export const SECOND_FACTORS = ['passkey', 'totp', 'recovery'] as const;
/** What a person has proved besides a password. */
export type SecondFactor = (typeof SECOND_FACTORS)[number];

/** A passkey as its owner sees it. */
export interface Passkey {
  /** The ID of the credential, in base64url. */
  id: string;
  name: string;
  /** The host that it was made for. It works for no other one. */
  rpId: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export interface StoredPasskey extends Passkey {
  /** COSE key, in base64url. */
  publicKey: string;
  /** The signature counter of the authenticator; 0 if it has none. */
  counter: number;
  transports: string[];
}

/**
 * The factors in the document of a user. `passkeys` is absent instead of empty, because the unique index treats two empty arrays
 * as duplicates.
 */
export interface FactorsDocument {
  /** Rises with every change: the compare-and-set of all changes. */
  version: number;
  /** The account's name for authenticators, which must not be personal: random, in base64url. */
  handle: string;
  passkeys?: StoredPasskey[];
  totp?: { secret: string; createdAt: Date; lastStep: number; lastUsedAt: Date };
  /** A secret that counts once a code of it was entered. */
  newTotp?: { secret: string; createdAt: Date };
  recovery?: { hashes: string[]; createdAt: Date; lastUsedAt?: Date };
}

type Refused<Reason extends string> = { ok: false; reason: Reason };
export type Step<Reason extends string> = { ok: true; document: FactorsDocument } | Refused<Reason>;

/** Whether an account has a second factor. Recovery codes alone are none: they exist only beside one. */
export const hasFactor = ({ passkeys = [], totp }: Pick<FactorsDocument, 'passkeys' | 'totp'>): boolean =>
  passkeys.length > 0 || totp !== undefined;

const done = (document: FactorsDocument) => ({ ok: true, document }) as const;
const refused = <Reason extends string>(reason: Reason): Refused<Reason> => ({ ok: false, reason });

/** The first factor brings recovery codes; further ones keep those that there are. */
const withRecovery = (document: FactorsDocument, hashes: string[], at: Date): FactorsDocument =>
  document.recovery === undefined ? { ...document, recovery: { hashes, createdAt: at } } : document;

/** The last factor takes the recovery codes along. */
function without(document: FactorsDocument, keepOne: boolean): Step<'last_factor'> {
  if (hasFactor(document)) return done(document);
  if (keepOne) return refused('last_factor');
  const { recovery: _, ...rest } = document;
  return done(rest);
}

export function addPasskey(document: FactorsDocument, passkey: StoredPasskey, hashes: string[]): Step<'already_added' | 'too_many'> {
  const { passkeys = [] } = document;
  if (passkeys.some(({ id }) => id === passkey.id)) return refused('already_added');
  if (passkeys.length >= PASSKEYS_MAX) return refused('too_many');
  return done(withRecovery({ ...document, passkeys: [...passkeys, passkey] }, hashes, passkey.createdAt));
}

function changePasskey(document: FactorsDocument, id: string, change: Partial<StoredPasskey>): Step<'not_found'> {
  const { passkeys = [] } = document;
  if (!passkeys.some((passkey) => passkey.id === id)) return refused('not_found');
  return done({ ...document, passkeys: passkeys.map((passkey) => (passkey.id === id ? { ...passkey, ...change } : passkey)) });
}

export const renamePasskey = (document: FactorsDocument, id: string, name: string): Step<'not_found'> =>
  changePasskey(document, id, { name });

/** @param keepOne whether the last factor must stay */
export function removePasskey(document: FactorsDocument, id: string, keepOne: boolean): Step<'not_found' | 'last_factor'> {
  const { passkeys = [], ...rest } = document;
  const left = passkeys.filter((passkey) => passkey.id !== id);
  if (left.length === passkeys.length) return refused('not_found');
  return without(left.length === 0 ? rest : { ...rest, passkeys: left }, keepOne);
}

/**
 * Records a use of a passkey, whose signature was verified. A counter that does not rise is a sign that the passkey was copied.
 * @param counter that of the authenticator; 0 if it has none
 */
export function usePasskey(document: FactorsDocument, id: string, counter: number, at: Date): Step<'not_found' | 'copied'> {
  const before = document.passkeys?.find((passkey) => passkey.id === id)?.counter ?? 0;
  if ((counter > 0 || before > 0) && counter <= before) return refused('copied');
  return changePasskey(document, id, { counter, lastUsedAt: at });
}

export const beginTotp = (document: FactorsDocument, secret: string, at: Date): Step<never> =>
  done({ ...document, newTotp: { secret, createdAt: at } });

/** The secret that waits for its first code; null if there is none, or it is too old. */
export function waitingTotp({ newTotp }: FactorsDocument, at: Date): string | null {
  return newTotp === undefined || at.getTime() - newTotp.createdAt.getTime() >= NEW_TOTP_MS ? null : newTotp.secret;
}

const secretOf = (text: string): Buffer => Buffer.from(text, 'base64url');

/** The first code makes the secret count, in place of an earlier one. The code is used with it. */
export function confirmTotp(document: FactorsDocument, code: string, hashes: string[], at: Date): Step<'not_found' | 'wrong' | 'used'> {
  const { newTotp: _, ...rest } = document;
  const secret = waitingTotp(document, at);
  if (secret === null) return refused('not_found');
  const match = matchTotp({ secret: secretOf(secret), code, lastStep: -1, at });
  if (!match.ok) return match;
  return done(withRecovery({ ...rest, totp: { secret, createdAt: at, lastStep: match.step, lastUsedAt: at } }, hashes, at));
}

export function useTotp(document: FactorsDocument, code: string, at: Date): Step<'not_found' | 'wrong' | 'used'> {
  const { totp } = document;
  if (totp === undefined) return refused('not_found');
  const match = matchTotp({ secret: secretOf(totp.secret), code, lastStep: totp.lastStep, at });
  return match.ok ? done({ ...document, totp: { ...totp, lastStep: match.step, lastUsedAt: at } }) : match;
}

export function removeTotp(document: FactorsDocument, keepOne: boolean): Step<'not_found' | 'last_factor'> {
  const { totp, ...rest } = document;
  return totp === undefined ? refused('not_found') : without(rest, keepOne);
}

export const replaceRecovery = (document: FactorsDocument, hashes: string[], at: Date): Step<'not_found'> =>
  hasFactor(document) ? done({ ...document, recovery: { hashes, createdAt: at } }) : refused('not_found');

export function useRecovery(document: FactorsDocument, hash: string, at: Date): Step<'wrong'> {
  const { recovery } = document;
  if (recovery === undefined || !hasFactor(document) || !recovery.hashes.includes(hash)) return refused('wrong');
  return done({ ...document, recovery: { ...recovery, hashes: recovery.hashes.filter((one) => one !== hash), lastUsedAt: at } });
}
