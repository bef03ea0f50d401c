/** The second factors of accounts: passkeys, an authenticator app (TOTP), recovery codes. One document per account. */
import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { TOTP_SECRET_BYTES } from '../../core/totp.ts';
import { isDuplicate } from '../mongo-retry.ts';
import { newRecoveryCodes, recoveryHash } from './recovery-codes.ts';
import {
  addPasskey,
  beginTotp,
  confirmTotp,
  hasFactor,
  removePasskey,
  removeTotp,
  renamePasskey,
  replaceRecovery,
  usePasskey,
  useRecovery,
  useTotp,
  waitingTotp,
  type FactorsDocument,
  type Step,
  type StoredPasskey,
} from './second-factor-steps.ts';
import { userIdOf } from './user-document.ts';

type Changed<Reason extends string> = { ok: true } | { ok: false; reason: Reason };
/** `codes` are new recovery codes, which are shown once; null if there were some before. */
export type AddedFactor<Reason extends string> = { ok: true; codes: string[] | null } | { ok: false; reason: Reason };

/** What an account has. */
export interface Factors {
  /** Whether signing in needs more than the password. */
  any: boolean;
  passkeys: StoredPasskey[];
  totp: { createdAt: Date; lastUsedAt: Date } | null;
  /** `left` is the number of codes that were not used. */
  recovery: { createdAt: Date; left: number; lastUsedAt: Date | null } | null;
}

export interface SecondFactors {
  find(email: string): Promise<Factors>;
  /** Returns those of the accounts that have a second factor. */
  protected(emails: readonly string[]): Promise<Set<string>>;
  /** Returns the account of a passkey, and its name for authenticators. */
  findByPasskey(id: string): Promise<{ email: string; handle: string; passkey: StoredPasskey } | null>;
  /** Returns the account's name for authenticators, in base64url. */
  handleOf(email: string): Promise<string>;
  addPasskey(email: string, passkey: Omit<StoredPasskey, 'createdAt' | 'lastUsedAt'>): Promise<AddedFactor<'already_added' | 'too_many'>>;
  renamePasskey(email: string, id: string, name: string): Promise<Changed<'not_found'>>;
  /** @param options.keepOne whether the last factor must stay */
  removePasskey(email: string, id: string, options: { keepOne: boolean }): Promise<Changed<'not_found' | 'last_factor'>>;
  /** Records a use of a passkey, whose signature was verified. Of two uses with the same counter, one succeeds. */
  usePasskey(email: string, id: string, counter: number): Promise<Changed<'not_found' | 'copied'>>;
  /** Makes a secret, which counts once a code of it is entered. */
  beginTotp(email: string): Promise<void>;
  /** Returns the secret that waits for its first code, or null. */
  waitingTotp(email: string): Promise<Uint8Array | null>;
  confirmTotp(email: string, code: string): Promise<AddedFactor<'not_found' | 'wrong' | 'used'>>;
  /** Uses a code. Of several simultaneous uses, one succeeds. */
  useTotp(email: string, code: string): Promise<Changed<'not_found' | 'wrong' | 'used'>>;
  removeTotp(email: string, options: { keepOne: boolean }): Promise<Changed<'not_found' | 'last_factor'>>;
  /** Replaces all recovery codes. @returns the new ones, which are shown once */
  replaceRecovery(email: string): Promise<{ ok: true; codes: string[] } | { ok: false; reason: 'not_found' }>;
  /** Uses up a recovery code. Of several simultaneous uses, one succeeds. */
  useRecovery(email: string, code: string): Promise<Changed<'wrong'>>;
  /** Removes everything. @returns whether there was something */
  reset(email: string): Promise<boolean>;
}

/** Far more than there can be simultaneous changes of one account by people. */
const ATTEMPTS = 20;

const newDocument = (email: string): FactorsDocument => ({ _id: email, version: 0, handle: randomBytes(32).toString('base64url') });

function toFactors(document: FactorsDocument | null): Factors {
  if (document === null) return { any: false, passkeys: [], totp: null, recovery: null };
  const { passkeys = [], totp, recovery } = document;
  return {
    any: hasFactor(document),
    passkeys,
    totp: totp === undefined ? null : { createdAt: totp.createdAt, lastUsedAt: totp.lastUsedAt },
    recovery:
      recovery === undefined
        ? null
        : { createdAt: recovery.createdAt, left: recovery.hashes.length, lastUsedAt: recovery.lastUsedAt ?? null },
  };
}

const collectionOf = (db: Db) => db.collection<FactorsDocument>('secondFactors');

/**
 * Removes all factors of an address. Whoever changes who owns an account calls it: the factors of an earlier owner must neither
 * open the account nor lock its owner out.
 * @returns what there was
 */
export const removeFactors = (db: Db, email: string): Promise<FactorsDocument | null> =>
  collectionOf(db).findOneAndDelete({ _id: userIdOf(email) });

/** Whether an account has a factor. */
export async function hasFactors(db: Db, email: string): Promise<boolean> {
  const document = await collectionOf(db).findOne({ _id: userIdOf(email) });
  return document !== null && hasFactor(document);
}

/** Second factors in MongoDB. */
export function createSecondFactors(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): SecondFactors {
  const accounts = collectionOf(db);

  const read = (email: string): Promise<FactorsDocument | null> => accounts.findOne({ _id: userIdOf(email) });

  /** Stores the next document unless another change came first. */
  async function swap(before: FactorsDocument, after: FactorsDocument): Promise<boolean> {
    const { _id, version } = before;
    const next = { ...after, version: version + 1 };
    if (version > 0) return (await accounts.replaceOne({ _id, version }, next)).matchedCount === 1;
    await accounts.insertOne(next);
    return true;
  }

  /** Applies a step to the current document. If another change comes first, the step decides again. */
  async function change<Reason extends string>(email: string, step: (document: FactorsDocument) => Step<Reason>): Promise<Step<Reason>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = (await read(email)) ?? newDocument(userIdOf(email));
      const next = step(before);
      if (!next.ok) return next;
      try {
        if (await swap(before, next.document)) return next;
      } catch (error) {
        // Another request created the document, or another account has this passkey: the step or the caller decides.
        if (!isDuplicate(error)) throw error;
        if (await isElsewhere(next.document)) return { ok: false, reason: 'already_added' as Reason };
      }
    }
    throw new Error(`the second factors of ${email} changed ${ATTEMPTS} times during one request`);
  }

  async function isElsewhere({ _id, passkeys = [] }: FactorsDocument): Promise<boolean> {
    return (await accounts.findOne({ 'passkeys.id': { $in: passkeys.map(({ id }) => id) }, _id: { $ne: _id } })) !== null;
  }

  const outcome = <Reason extends string>(step: Step<Reason>): Changed<Reason> => (step.ok ? { ok: true } : step);

  /** Adds a factor with recovery codes, which count only if there are none. */
  async function add<Reason extends string>(
    email: string,
    step: (document: FactorsDocument, hashes: string[]) => Step<Reason>,
  ): Promise<AddedFactor<Reason>> {
    const codes = newRecoveryCodes();
    const hashes = codes.map(recoveryHash);
    const added = await change(email, (document) => step(document, hashes));
    if (!added.ok) return added;
    return { ok: true, codes: added.document.recovery?.hashes === hashes ? codes : null };
  }

  return {
    find: async (email) => toFactors(await read(email)),

    async protected(emails) {
      const found = await accounts.find({ _id: { $in: emails.map(userIdOf) } }, { batchSize: emails.length + 1 }).toArray();
      return new Set(found.filter(hasFactor).map(({ _id }) => _id));
    },

    async findByPasskey(id) {
      const document = await accounts.findOne({ 'passkeys.id': id });
      const passkey = document?.passkeys?.find((one) => one.id === id);
      return document === null || passkey === undefined ? null : { email: document._id, handle: document.handle, passkey };
    },

    async handleOf(email) {
      const document = await read(email);
      if (document !== null) return document.handle;
      const made = await change(email, (current) => ({ ok: true, document: current }));
      return made.ok ? made.document.handle : '';
    },

    addPasskey: (email, passkey) =>
      add(email, (document, hashes) => addPasskey(document, { ...passkey, createdAt: now(), lastUsedAt: null }, hashes)),
    renamePasskey: async (email, id, name) => outcome(await change(email, (document) => renamePasskey(document, id, name))),
    removePasskey: async (email, id, { keepOne }) => outcome(await change(email, (document) => removePasskey(document, id, keepOne))),
    usePasskey: async (email, id, counter) => outcome(await change(email, (document) => usePasskey(document, id, counter, now()))),

    async beginTotp(email) {
      await change(email, (document) => beginTotp(document, randomBytes(TOTP_SECRET_BYTES).toString('base64url'), now()));
    },

    async waitingTotp(email) {
      const document = await read(email);
      const secret = document === null ? null : waitingTotp(document, now());
      return secret === null ? null : Buffer.from(secret, 'base64url');
    },

    confirmTotp: (email, code) => add(email, (document, hashes) => confirmTotp(document, code, hashes, now())),
    useTotp: async (email, code) => outcome(await change(email, (document) => useTotp(document, code, now()))),
    removeTotp: async (email, { keepOne }) => outcome(await change(email, (document) => removeTotp(document, keepOne))),

    async replaceRecovery(email) {
      const codes = newRecoveryCodes();
      const replaced = await change(email, (document) => replaceRecovery(document, codes.map(recoveryHash), now()));
      return replaced.ok ? { ok: true, codes } : replaced;
    },

    useRecovery: async (email, code) => outcome(await change(email, (document) => useRecovery(document, recoveryHash(code), now()))),

    async reset(email) {
      const before = await removeFactors(db, email);
      return before !== null && hasFactor(before);
    },
  };
}
