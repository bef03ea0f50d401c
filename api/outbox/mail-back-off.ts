/** When a mail is tried again. Pure. */
import { doublingDelay } from './back-off.ts';

const MINUTE_MS = 60_000;
const RETRY = { firstMs: MINUTE_MS, longestMs: 240 * MINUTE_MS };
/** The delays between these attempts add up to about a day. */
export const ATTEMPTS_MAX = 13;

/**
 * Returns the delay before the next attempt in milliseconds, or null if the mail is given up. Delays double from a minute to
 * four hours.
 * @param attempts attempts so far
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number | null {
  return attempts >= ATTEMPTS_MAX ? null : doublingDelay(attempts, RETRY, random);
}

const PAUSE = { firstMs: 5_000, longestMs: 300_000 };

/** Returns how long nothing is sent after `failures` failures of the mail server in a row, in milliseconds. */
export const pauseDelay = (failures: number, random: number): number => doublingDelay(failures, PAUSE, random);
