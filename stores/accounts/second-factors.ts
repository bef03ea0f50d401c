/** The second factors of accounts: passkeys, an authenticator app (TOTP), recovery codes. They are in the document of the user. */
import { createHash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import { TOTP_SECRET_BYTES } from '../../core/totp.ts';
import { isDuplicate } from '../mongo-retry.ts';
import {
  addPasskey,
  beginTotp,
  confirmTotp,
  type FactorsDocument,
  hasFactor,
  removePasskey,
  removeTotp,
  renamePasskey,
  replaceRecovery,
  type Step,
  type StoredPasskey,
  usePasskey,
  useRecovery,
  useTotp,
  waitingTotp,
} from './second-factor-steps.ts';
import { type UserDocument, userIdOf, WITH_FACTORS } from './user-document.ts';
import type { VerifiedUser } from './users.ts';

/**
 * Recovery codes: each replaces a second factor once. A code has 120 random bits, so an unsalted SHA-256 is enough to store it
 * (OWASP ASVS 6.5.2).
 */
export const RECOVERY_CODES = 10;
/** Without characters that look alike. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const GROUPS = 4;
const GROUP_CHARACTERS = 6;

const newGroup = (): string => Array.from({ length: GROUP_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Makes a set of codes such as `k7m2qx-0ad4fv-9sthwz-3n8c6r`. */
function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => Array.from({ length: GROUPS }, newGroup).join('-'));
}

/** The stored form of a code, however it was typed: case, spaces and hyphens do not count, and look-alikes are read as one. */
function recoveryHash(typed: string): string {
  const plain = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1');
  return createHash('sha256').update(plain).digest('hex');
}

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

/** An account, and its generation when the person of a request was recognised. */
type Account = Pick<VerifiedUser, 'email' | 'generation'>;

/** Far more than there can be simultaneous changes of one account by its user. */
const ATTEMPTS = 20;

const newDocument = (): FactorsDocument => ({ version: 0, handle: randomBytes(32).toString('base64url') });

function toFactors(document: FactorsDocument | undefined): Factors {
  if (document === undefined) return { any: false, passkeys: [], totp: null, recovery: null };
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

/** Changes by a person are refused as `not_found` if the account has another generation since: it may belong to someone else. */
export function createSecondFactors(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const users = db.collection<UserDocument>('users');

  const read = (email: string) => readFactors(users, email);
  const change = createChange(users);
  const outcome = <Reason extends string>(step: Step<Reason>): Changed<Reason> => (step.ok ? { ok: true } : step);

  /** Adds a factor with recovery codes, which count only if there are none. */
  async function add<Reason extends string>(
    { email, generation }: Account,
    step: (document: FactorsDocument, hashes: string[]) => Step<Reason>,
  ): Promise<AddedFactor<Reason | 'not_found'>> {
    const codes = newRecoveryCodes();
    const hashes = codes.map(recoveryHash);
    const added = await change(email, (document) => step(document, hashes), generation);
    if (!added.ok) return added;
    return { ok: true, codes: added.document.recovery?.hashes === hashes ? codes : null };
  }

  return {
    find: async (email: string): Promise<Factors> => toFactors((await read(email))?.secondFactors),

    /** Returns those of the accounts that have a second factor. */
    async protected(emails: readonly string[]): Promise<Set<string>> {
      const having = { _id: { $in: emails.map(userIdOf) }, ...WITH_FACTORS };
      const found = await users.find(having, { projection: { _id: 1 }, batchSize: emails.length + 1 }).toArray();
      return new Set(found.map(({ _id }) => _id));
    },

    /** Returns the account of a passkey, and its name for authenticators. */
    async findByPasskey(id: string): Promise<{ email: string; handle: string; passkey: StoredPasskey } | null> {
      const user = await users.findOne({ 'secondFactors.passkeys.id': id });
      const passkey = user?.secondFactors?.passkeys?.find((one) => one.id === id);
      return passkey === undefined ? null : { email: user!._id, handle: user!.secondFactors!.handle, passkey };
    },

    /** Returns the account's name for authenticators, in base64url. */
    async handleOf(email: string): Promise<string> {
      const factors = (await read(email))?.secondFactors;
      if (factors !== undefined) return factors.handle;
      const made = await change(email, (current) => ({ ok: true, document: current }));
      return made.ok ? made.document.handle : '';
    },

    addPasskey: (account: Account, passkey: Omit<StoredPasskey, 'createdAt' | 'lastUsedAt'>) =>
      add(account, (document, hashes) => addPasskey(document, { ...passkey, createdAt: now(), lastUsedAt: null }, hashes)),
    renamePasskey: async ({ email, generation }: Account, id: string, name: string): Promise<Changed<'not_found'>> =>
      outcome(await change(email, (document) => renamePasskey(document, id, name), generation)),
    /** @param options.keepOne whether the last factor must stay */
    removePasskey: async (
      { email, generation }: Account,
      id: string,
      { keepOne }: { keepOne: boolean },
    ): Promise<Changed<'not_found' | 'last_factor'>> =>
      outcome(await change(email, (document) => removePasskey(document, id, keepOne), generation)),
    /** Records a use of a passkey, whose signature was verified. Of two uses with the same counter, one succeeds. */
    usePasskey: async (email: string, id: string, counter: number): Promise<Changed<'not_found' | 'copied'>> =>
      outcome(await change(email, (document) => usePasskey(document, id, counter, now()))),

    /** Makes a secret, which counts once a code of it is entered. */
    async beginTotp({ email, generation }: Account) {
      const secret = randomBytes(TOTP_SECRET_BYTES).toString('base64url');
      await change(email, (document) => beginTotp(document, secret, now()), generation);
    },

    /** Returns the secret that waits for its first code, or null. */
    async waitingTotp(email: string): Promise<Uint8Array | null> {
      const factors = (await read(email))?.secondFactors;
      const secret = factors === undefined ? null : waitingTotp(factors, now());
      return secret === null ? null : Buffer.from(secret, 'base64url');
    },

    confirmTotp: (account: Account, code: string) => add(account, (document, hashes) => confirmTotp(document, code, hashes, now())),
    /** Uses a code. Of several simultaneous uses, one succeeds. */
    useTotp: async (email: string, code: string): Promise<Changed<'not_found' | 'wrong' | 'used'>> =>
      outcome(await change(email, (document) => useTotp(document, code, now()))),
    removeTotp: async ({ email, generation }: Account, { keepOne }: { keepOne: boolean }): Promise<Changed<'not_found' | 'last_factor'>> =>
      outcome(await change(email, (document) => removeTotp(document, keepOne), generation)),

    /** Replaces all recovery codes. @returns the new ones, which are shown once */
    async replaceRecovery({ email, generation }: Account): Promise<{ ok: true; codes: string[] } | { ok: false; reason: 'not_found' }> {
      const codes = newRecoveryCodes();
      const replaced = await change(email, (document) => replaceRecovery(document, codes.map(recoveryHash), now()), generation);
      return replaced.ok ? { ok: true, codes } : replaced;
    },

    /** Uses up a recovery code. Of several simultaneous uses, one succeeds. */
    async useRecovery(email: string, code: string): Promise<Changed<'wrong'>> {
      const used = await change(email, (document) => useRecovery(document, recoveryHash(code), now()));
      return used.ok ? { ok: true } : { ok: false, reason: 'wrong' };
    },

    /** Removes everything, and ends all sessions of the user. @returns whether there was something */
    async reset(email: string): Promise<boolean> {
      const change = { $unset: { secondFactors: '' }, $set: { generation: randomUUID() } } as const;
      const before = await users.findOneAndUpdate({ _id: userIdOf(email) }, change);
      return before?.secondFactors !== undefined && hasFactor(before.secondFactors);
    },
  };
}

const readFactors = (users: Collection<UserDocument>, email: string) =>
  users.findOne({ _id: userIdOf(email) }, { projection: { generation: 1, secondFactors: 1 } });

function createChange(users: Collection<UserDocument>) {
  /**
   * Applies a step to the current factors. If another change of them or of the generation comes first, the step decides again.
   * @param expected the generation that the account must have. Default: any
   */
  return async function change<Reason extends string>(
    email: string,
    step: (document: FactorsDocument) => Step<Reason>,
    expected?: string,
  ): Promise<Step<Reason | 'not_found'>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const user = await readFactors(users, email);
      const generation = user?.generation;
      if (expected !== undefined && (user === null || generation !== expected)) return { ok: false, reason: 'not_found' };
      const before = user?.secondFactors ?? newDocument();
      const next = step(before);
      if (!next.ok) return next;
      if (user === null) return { ok: false, reason: 'not_found' };
      const version = before.version === 0 ? { $exists: false } : before.version;
      const same = { _id: user._id, generation, 'secondFactors.version': version };
      const secondFactors = { ...next.document, version: before.version + 1 };
      try {
        if ((await users.updateOne(same, { $set: { secondFactors } })).matchedCount === 1) return next;
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // Another account has this passkey.
        return { ok: false, reason: 'already_added' as Reason };
      }
    }
    throw new Error(`the second factors of ${email} changed ${ATTEMPTS} times during one request`);
  };
}
