/** In-memory state per schedule, by uid. */
import { createStates, type States } from '../runtime/states.ts';
import type { ScheduleState } from './policy/facts.ts';

export type ScheduleStates = States<ScheduleState>;

export const newScheduleState = (): ScheduleState => ({
  confirmed: false,
  created: new Map(),
  refusal: null,
  comparison: null,
  recorded: null,
});

export const createScheduleStates = (): ScheduleStates => createStates(newScheduleState);
