/** In-memory state per schedule, by uid. */
import type { ScheduleState } from './policy/facts.ts';

export interface ScheduleStates {
  /** Returns the state of a schedule. Callers mutate it. Only for schedules that the cache holds, because their deletion forgets it. */
  of(uid: string): ScheduleState;
  /** Returns the state of a schedule if it has one. */
  find(uid: string): ScheduleState | undefined;
  forget(uid: string): void;
}

export const newScheduleState = (): ScheduleState => ({
  confirmed: false,
  created: new Map(),
  refusal: null,
  comparison: null,
  recorded: null,
});

export function createScheduleStates(): ScheduleStates {
  const states = new Map<string, ScheduleState>();
  return {
    of(uid) {
      const state = states.get(uid) ?? newScheduleState();
      states.set(uid, state);
      return state;
    },
    find: (uid) => states.get(uid),
    forget: (uid) => void states.delete(uid),
  };
}
