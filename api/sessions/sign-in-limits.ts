/**
 * The limits of attempts to sign in. Most are counted per address and account together, so that a stranger cannot lock a user
 * out. The limit of the account alone bounds guessing from many addresses; it does not apply to the user's own networks.
 */
import type { RateLimitRule } from '../../stores/rate-limits/sliding-window.ts';
import type { LimitSize } from '../rate-limits.ts';

export const SIGN_IN_LIMITS = {
  /** Attempts of one client address on one account. */
  'sign-in': { limit: 10, windowSeconds: 900 },
  /** Attempts of one client address on any account. */
  'sign-in-address': { limit: 60, windowSeconds: 900 },
  /** Attempts on one account from addresses where its user did not sign in before. */
  'sign-in-account': { limit: 100, windowSeconds: 3600 },
} as const satisfies Record<string, LimitSize>;

interface Attempt {
  /** The network of the client (`networkOf`). */
  network: string;
  email: string;
  /** Whether the user has signed in from this network before. */
  known: boolean;
}

/** The rules that an attempt counts against. */
export function signInRules({ network, email, known }: Attempt, sizes: Record<keyof typeof SIGN_IN_LIMITS, LimitSize>): RateLimitRule[] {
  const rule = (policy: keyof typeof SIGN_IN_LIMITS, subject: string): RateLimitRule => ({ policy, subject, ...sizes[policy] });
  const rules = [rule('sign-in-address', network), rule('sign-in', `${network}/${email}`)];
  return known ? rules : [...rules, rule('sign-in-account', email)];
}
