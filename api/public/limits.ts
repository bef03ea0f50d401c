/** The rate limits of public scans. */
import { createHash } from 'node:crypto';
import type { RateLimitRule } from '../../stores/rate-limits/sliding-window.ts';
import { networkOf } from '../key-check.ts';
import type { PublicScanOptions } from './settings.ts';

const HOUR_SECONDS = 3_600;

/** Requests of one client address, whatever their outcome, so that name servers and Turnstile are not asked without bound. */
export function attemptRules(address: string): RateLimitRule[] {
  return [{ policy: 'public-requests', subject: networkOf(address), limit: 60, windowSeconds: 60 }];
}

/** Polls of one client address: one per second for each of several visitors behind it. */
export function pollRules(address: string): RateLimitRule[] {
  return [{ policy: 'public-status', subject: networkOf(address), limit: 300, windowSeconds: 60 }];
}

/** Accepted scans of one client address and for one e-mail address, which is stored as a hash. */
export function scanRules({ address, email }: { address: string; email: string }, options: PublicScanOptions): RateLimitRule[] {
  const network = networkOf(address);
  const recipient = createHash('sha256').update(email.toLowerCase()).digest('hex');
  return [
    { policy: 'public-hour', subject: network, limit: options.perAddressAndHour, windowSeconds: HOUR_SECONDS },
    { policy: 'public-day', subject: network, limit: options.perAddressAndDay, windowSeconds: 24 * HOUR_SECONDS },
    { policy: 'public-email', subject: recipient, limit: options.perEmailAndHour, windowSeconds: HOUR_SECONDS },
  ];
}
