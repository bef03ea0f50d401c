/** Bounds how many statuses are written because of their amounts alone. */

/** The maximum number per interval: of many busy organisations, each is written in time. */
export const OLDEST_MAX = 100;

/**
 * Removes from `due` those whose statuses are the oldest.
 * @param writtenAt the time of the last write of a status in milliseconds; 0 if there was none
 * @returns what was removed, at most `OLDEST_MAX`
 */
export function takeOldest(due: Set<string>, writtenAt: (id: string) => number): string[] {
  const next = [...due].toSorted((one, other) => writtenAt(one) - writtenAt(other)).slice(0, OLDEST_MAX);
  for (const id of next) due.delete(id);
  return next;
}
