/** When a delivery is tried again. Pure. */
import { RETRIED_FOR_MS } from '../../core/webhooks/webhooks.ts';
import { doublingDelay } from './back-off.ts';

/** From 10 seconds to 6 hours: about 20 attempts in three days. */
const RETRY = { firstMs: 10_000, longestMs: 6 * 3_600_000 };

/** Returns the time of the next attempt, or null if the delivery is given up. @param random from 0 to 1 */
export function nextAttempt(attempts: number, createdAt: Date, now: Date, random: number): Date | null {
  const next = new Date(now.getTime() + doublingDelay(attempts, RETRY, random));
  return isLate(createdAt, next) ? null : next;
}

/** Whether a delivery is too old for an attempt. */
export const isLate = (createdAt: Date, at: Date): boolean => at.getTime() - createdAt.getTime() > RETRIED_FOR_MS;
