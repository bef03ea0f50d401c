/** When a mail is tried again. Pure. */

const MINUTE_MS = 60_000;
const FIRST_MS = MINUTE_MS;
const LONGEST_MS = 240 * MINUTE_MS;
/** The delays between these attempts add up to about a day. */
export const ATTEMPTS_MAX = 13;

/**
 * Returns the delay before the next attempt in milliseconds, or null if the mail is given up. Delays double from a minute to
 * four hours, and vary by a fifth, so that mails that failed together are not tried together.
 * @param attempts attempts so far
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number | null {
  if (attempts >= ATTEMPTS_MAX) return null;
  return Math.round(Math.min(FIRST_MS * 2 ** (attempts - 1), LONGEST_MS) * (0.8 + 0.4 * random));
}

const PAUSE_FIRST_MS = 5_000;
const PAUSE_LONGEST_MS = 300_000;

/** Returns how long nothing is sent after `failures` failures of the mail server in a row, in milliseconds. */
export function pauseDelay(failures: number, random: number): number {
  return Math.round(Math.min(PAUSE_FIRST_MS * 2 ** (failures - 1), PAUSE_LONGEST_MS) * (0.8 + 0.4 * random));
}
