/**
 * Recognises API keys, and keeps the cost of unknown ones low. An unknown key is remembered: it never becomes known. A client
 * address that keeps sending unknown keys gets 429, and the keys from it that this replica has not seen before are looked up
 * together, a few times per second. A valid key is always accepted, also from such an address.
 */
import { createLocalLimits } from '../stores/rate-limits/local-limits.ts';
import type { RateLimitState } from '../stores/rate-limits/sliding-window.ts';
import { hashOf, isWellFormed } from '../stores/accounts/key-format.ts';
import type { KeyHolder, Keys } from '../stores/accounts/keys.ts';
import { createExpiringMap } from './expiring-map.ts';
import { INVALID_KEYS } from './rate-limits.ts';

export type KeyCheckResult =
  | { ok: true; holder: KeyHolder }
  | { ok: false; reason: 'invalid' }
  /** The address has sent too many unknown keys. */
  | { ok: false; reason: 'rate_limited'; states: RateLimitState[]; retryAfterSeconds: number };

export interface KeyCheck {
  /** @param address the client's IP address */
  check(secret: string, address: string): Promise<KeyCheckResult>;
}

const REMEMBER_UNKNOWN_MS = 60_000;
const REMEMBER_VALID_MS = 600_000;
/** Entries of each memory. An entry takes about 200 bytes. */
const REMEMBERED_MAX = 10_000;
/** The interval between two look-ups of keys from addresses that sent too many unknown ones, in milliseconds. */
const SHARED_LOOKUP_MS = 100;
/** How many keys one of these look-ups covers. */
const SHARED_LOOKUP_MAX = 1_000;

interface KeyCheckDeps {
  keys: Pick<Keys, 'recognise' | 'recogniseAll'>;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

export function createKeyCheck({ keys, now = () => performance.now() }: KeyCheckDeps): KeyCheck {
  const unknown = createExpiringMap<true>({ max: REMEMBERED_MAX, now });
  const valid = createExpiringMap<true>({ max: REMEMBERED_MAX, now });
  const suspects = createExpiringMap<true>({ max: REMEMBERED_MAX, now });
  const failures = createLocalLimits(now);
  const recogniseShared = shareLookups(keys);

  async function failed(address: string): Promise<KeyCheckResult> {
    const decision = await failures.admit([{ policy: 'invalid-keys', subject: address, ...INVALID_KEYS }]);
    if (decision.ok) return { ok: false, reason: 'invalid' };
    suspects.set(address, true, decision.retryAfterSeconds * 1000);
    return decision;
  }

  return {
    async check(secret, address) {
      // A key without a valid checksum costs nothing and is not counted.
      if (!isWellFormed(secret)) return { ok: false, reason: 'invalid' };
      const hash = hashOf(secret);
      const subject = networkOf(address);
      if (unknown.get(hash) !== null) return failed(subject);
      const suspicious = suspects.get(subject) !== null && valid.get(hash) === null;
      const holder = await (suspicious ? recogniseShared(secret) : keys.recognise(secret));
      if (holder !== null) {
        valid.set(hash, true, REMEMBER_VALID_MS);
        return { ok: true, holder };
      }
      valid.delete(hash);
      unknown.set(hash, true, REMEMBER_UNKNOWN_MS);
      return failed(subject);
    },
  };
}

/** The part of an address that one client has: all of an IPv4 address, the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Collects look-ups for a moment and makes them with one command. */
function shareLookups(keys: Pick<Keys, 'recogniseAll'>): (secret: string) => Promise<KeyHolder | null> {
  interface Waiting {
    secret: string;
    resolve(holder: KeyHolder | null): void;
    reject(error: unknown): void;
  }
  const waiting: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    const batch = waiting.splice(0, SHARED_LOOKUP_MAX);
    try {
      const holders = await keys.recogniseAll(batch.map(({ secret }) => secret));
      for (const { secret, resolve } of batch) resolve(holders.get(secret) ?? null);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    running = waiting.length > 0;
    if (running) setTimeout(() => void run(), SHARED_LOOKUP_MS);
  }

  return (secret) =>
    new Promise((resolve, reject) => {
      waiting.push({ secret, resolve, reject });
      if (running) return;
      running = true;
      setTimeout(() => void run(), SHARED_LOOKUP_MS);
    });
}
