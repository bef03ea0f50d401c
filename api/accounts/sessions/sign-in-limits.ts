/**
 * The limits of attempts to sign in, across replicas. Most are counted per address and account together, so that nobody else can
 * lock a user out. The limit of the account alone bounds guessing from many addresses, and that of the address alone guessing of
 * many accounts. Neither applies to the networks that an account knows.
 */
import { mailboxOf } from '../../../core/email-address.ts';
import type { RateLimitRule } from '../../../stores/rate-limits.ts';
import { NETWORK_LIMITS } from '../../http/networks/network-limits.ts';
import type { LimitSize } from '../../http/rate-limits.ts';

export const SIGN_IN_LIMITS = {
  /** Attempts of one client address on one account. */
  'sign-in': { limit: 10, windowSeconds: 900 },
  /** Attempts of one client address on accounts that do not know it. Each replica counts wider networks too. */
  'sign-in-address': NETWORK_LIMITS['sign-in-address'],
  /** Attempts on one account from addresses where its user did not sign in before. */
  'sign-in-account': { limit: 100, windowSeconds: 3600 },
} as const satisfies Record<string, LimitSize>;

/** The rule of an attempt to enter the password of an account again after sign-in, from whichever network. */
export function confirmationRule(email: string): RateLimitRule {
  return { policy: 'confirmation', subject: mailboxOf(email), ...SIGN_IN_LIMITS['sign-in'] };
}

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
  const mailbox = mailboxOf(email);
  const own = rule('sign-in', `${network}/${mailbox}`);
  return known ? [own] : [rule('sign-in-address', network), own, rule('sign-in-account', mailbox)];
}
