/**
 * Recognises keys and sessions, and keeps the cost of unknown ones low. A credential that was valid lately is looked up on its
 * own, so that its revocation takes effect at once. All others are looked up together, whoever sends them: that bounds what
 * strangers cost, and a valid credential is accepted from every network. An unknown credential is remembered: it never becomes
 * known.
 */
import { createHash } from 'node:crypto';
import type { RateLimitDecision } from '../../../stores/rate-limits.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { TooBusy } from '../../../platform/concurrency/semaphore.ts';
import type { NetworkLimits } from './network-limits.ts';

export type CredentialResult<T> =
  | { ok: true; holder: T }
  | { ok: false; reason: 'invalid' }
  /** The client's network has sent too many unknown credentials. */
  | Extract<RateLimitDecision, { ok: false }>;

export interface Credentials<T> {
  /**
   * @param address the client's address
   * @param scan the ID of a scan to read with a credential that was valid lately
   * @throws TooBusy if too many look-ups wait
   */
  check(secret: string, address: string, scan?: string): Promise<CredentialResult<T>>;
}

interface CredentialStore<T> {
  recognise(secret: string, scan?: string): Promise<T | null>;
  recogniseAll(secrets: readonly string[]): Promise<ReadonlyMap<string, T>>;
}

interface CredentialDeps<T> {
  store: CredentialStore<T>;
  /** A malformed secret costs nothing and is not counted. */
  wellFormed(secret: string): boolean;
  limits: NetworkLimits;
  monotonic?: () => number;
}

const REMEMBER_UNKNOWN_MS = 60_000;
const REMEMBER_VALID_MS = 600_000;
/** Entries of each memory. An entry takes about 200 bytes. */
const REMEMBERED_MAX = 10_000;

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');

export function createCredentials<T>({ store, wellFormed, limits, monotonic }: CredentialDeps<T>): Credentials<T> {
  const unknown = new BoundedMap<true>({ max: REMEMBERED_MAX, monotonic });
  const valid = new BoundedMap<true>({ max: REMEMBERED_MAX, monotonic });
  const shared = createSharedLookups<T>(
    async (secrets) => {
      if (secrets.length > 1) return store.recogniseAll(secrets);
      const holder = await store.recognise(secrets[0]!);
      return new Map(holder === null ? [] : [[secrets[0]!, holder]]);
    },
    { monotonic },
  );

  /** Looks up a credential that this replica has not seen valid lately. The network is charged before it is known. */
  async function checkStranger(secret: string, address: string): Promise<CredentialResult<T>> {
    const counted = limits.admit('invalid-keys', address);
    const refund = (): void => void (counted.ok && limits.refund('invalid-keys', address));
    const holder = await shared.find(secret, { last: !counted.ok }).catch((error: unknown) => {
      refund();
      throw error;
    });
    if (holder === null) return counted.ok ? { ok: false, reason: 'invalid' } : counted;
    refund();
    return { ok: true, holder };
  }

  /** An unknown credential that costs no look-up. */
  function refused(address: string): CredentialResult<T> {
    const counted = limits.admit('invalid-keys', address);
    return counted.ok ? { ok: false, reason: 'invalid' } : counted;
  }

  return {
    async check(secret, address, scan) {
      if (!wellFormed(secret)) return { ok: false, reason: 'invalid' };
      const hash = hashOf(secret);
      if (unknown.get(hash) !== null) return refused(address);
      const holder = valid.get(hash) === null ? undefined : await store.recognise(secret, scan);
      const checked =
        holder === undefined ? await checkStranger(secret, address) : holder === null ? refused(address) : ({ ok: true, holder } as const);
      if (checked.ok) valid.set(hash, true, REMEMBER_VALID_MS);
      else {
        valid.delete(hash);
        unknown.set(hash, true, REMEMBER_UNKNOWN_MS);
      }
      return checked;
    },
  };
}

/** The interval between the starts of two commands, in milliseconds. */
const SHARED_LOOKUP_MS = 50;
/** How many look-ups one command makes. */
const TOGETHER_MAX = 500;
/** How many look-ups wait. */
const WAITING_MAX = 5_000;

interface Waiting<V> {
  name: string;
  resolve(value: V | null): void;
  reject(error: unknown): void;
}

/**
 * Makes look-ups of anonymous clients together: one command at a time, a few times per second. They need no connections of their
 * own, so that users whom this replica has not seen before do not wait for them.
 * @param lookUp makes several look-ups in one command
 */
export function createSharedLookups<V>(
  lookUp: (names: string[]) => Promise<ReadonlyMap<string, V>>,
  { monotonic = () => performance.now() }: { monotonic?: () => number } = {},
) {
  const first: Waiting<V>[] = [];
  const last: Waiting<V>[] = [];
  let next = -Infinity;
  /** Whether a command runs or is due. */
  let busy = false;

  async function run(): Promise<void> {
    next = monotonic() + SHARED_LOOKUP_MS;
    const batch = first.splice(0, TOGETHER_MAX);
    batch.push(...last.splice(0, TOGETHER_MAX - batch.length));
    try {
      const found = await lookUp([...new Set(batch.map(({ name }) => name))]);
      for (const { name, resolve } of batch) resolve(found.get(name) ?? null);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    busy = false;
    schedule();
  }

  function schedule(): void {
    if (busy || first.length + last.length === 0) return;
    busy = true;
    const wait = next - monotonic();
    if (wait <= 0) void run();
    else setTimeout(() => void run(), wait);
  }

  return {
    /**
     * Looks a name up: at once if no other look-up ran a moment ago, else together with others.
     * @param last whether all other look-ups are made before it
     * @throws TooBusy if too many look-ups wait
     */
    find: (name: string, options: { last?: boolean } = {}): Promise<V | null> =>
      new Promise((resolve, reject) => {
        const lane = options.last ? last : first;
        if (lane.length >= WAITING_MAX) return reject(new TooBusy('total'));
        lane.push({ name, resolve, reject });
        schedule();
      }),
  };
}
