/**
 * Limits of requests for each network, counted in the memory of this replica before anything is looked up. They protect the
 * database and the processor from requests without a valid key or session; the exact limits of the contract are in
 * `stores/rate-limits`.
 */
import type { RateLimitDecision, RateLimitState } from '../../../stores/rate-limits.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { LimitSize } from '../rate-limits.ts';
import { networksOf } from './networks.ts';

/** Requests of one IPv4 address or one /64 of IPv6. */
export const NETWORK_LIMITS = {
  /** Unknown keys and sessions. */
  'invalid-keys': { limit: 60, windowSeconds: 60 },
  /** Requests for public scans, whatever their outcome, so that name servers and Turnstile are not asked without bound. */
  'public-requests': { limit: 60, windowSeconds: 60 },
  /** Requests with an Idempotency-Key, each of which may write a record. */
  'idempotency-keys': { limit: 60, windowSeconds: 60 },
  /** Polls of public scans: one per second for each of several visitors behind one address. */
  'public-status': { limit: 300, windowSeconds: 60 },
  /** Pages behind a token: public results and their pictures, invitations, password resets, unsubscribing. */
  links: { limit: 600, windowSeconds: 60 },
  /** Passwords for accounts that do not know the network. */
  'sign-in-address': { limit: 60, windowSeconds: 900 },
  /** Starts and ends of sign-ins at the identity provider. An office may start many at nine o'clock. */
  'sign-in-provider': { limit: 240, windowSeconds: 60 },
  /** Requests for a mail with a link to set a new password. */
  'reset-address': { limit: 10, windowSeconds: 3600 },
} as const satisfies Record<string, LimitSize>;

export type NetworkPolicy = keyof typeof NETWORK_LIMITS;

/**
 * How much of the limit the networks around an address have: a /24 of IPv4, then a /56 and a /48 of IPv6. One subscriber has a
 * whole /56 or /48; the addresses of a /24 are different clients.
 */
export const NETWORK_SHARES = { ipv4: [1, 8], ipv6: [1, 2, 4] } as const;
/** Networks in the memory of one policy. Further ones replace those that were not seen for the longest time. An entry takes about 150 bytes. */
const NETWORKS_MAX = 50_000;

interface Window {
  used: number;
  /** Milliseconds of the clock. */
  until: number;
}

interface NetworkLimitOptions {
  sizes?: Partial<Record<NetworkPolicy, LimitSize>>;
  monotonic?: () => number;
  onDenied?: (policy: NetworkPolicy) => void;
}

/** A window starts with the first request of a network, and ends after its length. */
export function createNetworkLimits(options: NetworkLimitOptions = {}) {
  const { monotonic = () => performance.now(), onDenied = () => undefined } = options;
  const sizes: Record<NetworkPolicy, LimitSize> = { ...NETWORK_LIMITS, ...options.sizes };
  const memories = Object.fromEntries(
    Object.keys(NETWORK_LIMITS).map((policy) => [policy, new BoundedMap<Window>({ max: NETWORKS_MAX, monotonic })]),
  ) as Record<NetworkPolicy, BoundedMap<Window>>;

  return {
    /** Counts a request of an address. A denied one is not counted. @param address the client's address, as `request.address` states it */
    admit(policy: NetworkPolicy, address: string): RateLimitDecision {
      const { limit, windowSeconds } = sizes[policy];
      const memory = memories[policy];
      const networks = networksOf(address);
      const shares = networks.length === 3 ? NETWORK_SHARES.ipv6 : NETWORK_SHARES.ipv4;
      const counted = networks.map((network, width) => ({ network, limit: limit * shares[width]!, window: memory.get(network) }));
      const stateOf = ({ limit: most, window }: (typeof counted)[number], added: number): RateLimitState => {
        const remaining = most - (window?.used ?? 0) - added;
        const resetSeconds = remaining > 0 || window === null ? 0 : Math.max(1, Math.ceil((window.until - monotonic()) / 1000));
        return { policy, limit: most, windowSeconds, remaining, resetSeconds };
      };
      const full = counted.find((one) => (one.window?.used ?? 0) >= one.limit);
      if (full !== undefined) {
        onDenied(policy);
        const state = stateOf(full, 0);
        return { ok: false, reason: 'rate_limited', states: [state], retryAfterSeconds: state.resetSeconds };
      }
      const state = stateOf(counted[0]!, 1);
      for (const { network, window } of counted) {
        if (window !== null) window.used += 1;
        else memory.set(network, { used: 1, until: monotonic() + windowSeconds * 1000 }, windowSeconds * 1000);
      }
      return { ok: true, states: [state] };
    },

    /** Takes back a request that was admitted, because it turned out to have a valid credential. */
    refund(policy: NetworkPolicy, address: string) {
      for (const network of networksOf(address)) {
        const window = memories[policy].get(network);
        if (window !== null && window.used > 0) window.used -= 1;
      }
    },
  };
}
export type NetworkLimits = ReturnType<typeof createNetworkLimits>;
