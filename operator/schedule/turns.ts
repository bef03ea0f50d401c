/** When the schedules of an organisation that are due together are worked on, so that their writes leave room for those of others. */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { ownedKeyOf } from './owners.ts';
import type { ScheduleFacts } from './policy/facts.ts';

/** The turns that a lane has at once after a pause. */
export const TURNS_AT_ONCE = 20;
/** The turns that a start takes, because its scan is then admitted, charged and launched. The status that follows takes one. */
export const TURNS_OF_START = 9;
/** The time between two more turns, in milliseconds. */
export const TURN_EVERY_MS = 50;

/** Whose turns a schedule takes: those of its organisation. While that is not known its own, so that organisations never share any. */
export const laneOf = ({ owner, schedule, apiNamespace }: Pick<ScheduleFacts, 'owner' | 'schedule' | 'apiNamespace'>): string =>
  owner.state === 'owned' ? `organisation ${owner.organisation}` : ownedKeyOf(schedule.metadata, apiNamespace);

// The generic cell rate algorithm (ITU-T I.371, virtual scheduling).
/** @returns a function that takes the next turns of a lane, and returns the time of the first one by the clock, which may be past */
export function createTurns(monotonic: () => number): (lane: string, turns: number) => number {
  const next = new BoundedMap<number>({ max: 10_000 });
  return (lane, turns) => {
    const at = Math.max(next.get(lane) ?? -Infinity, monotonic() - TURNS_AT_ONCE * TURN_EVERY_MS);
    next.set(lane, at + turns * TURN_EVERY_MS);
    return at;
  };
}
