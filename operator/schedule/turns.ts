/** When the schedules of an organisation that are due together are worked on, so that their writes leave room for those of others. */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';

/** The turns that an organisation has at once after a pause. A start takes two: its scan, then the schedule's status. */
export const TURNS_AT_ONCE = 20;
/** The time between two more turns, in milliseconds. */
export const TURN_EVERY_MS = 50;
const ORGANISATIONS_MAX = 10_000;

/** Follows the generic cell rate algorithm (ITU-T I.371, virtual scheduling). @param monotonic milliseconds */
export function createTurns(monotonic: () => number) {
  const next = new BoundedMap<number>({ max: ORGANISATIONS_MAX, monotonic });
  return {
    /** Gives the organisation its next turn. @returns when it is, which may be now or past */
    take(organisation: string): number {
      const at = Math.max(next.get(organisation) ?? -Infinity, monotonic() - TURNS_AT_ONCE * TURN_EVERY_MS);
      next.set(organisation, at + TURN_EVERY_MS);
      return at;
    },
  };
}
