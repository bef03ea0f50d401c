/** The shape of every controller's reconcile: gather facts, let a pure planner decide, execute its actions, and again until it rests. */
import type { Reconcile } from './controller.ts';

export interface Plan<Action> {
  /** In order. None: the object is at rest. */
  actions: readonly Action[];
  /** When to plan again if nothing happens until then, in milliseconds; null: only on an event. */
  wakeAfterMs: number | null;
}

/** What follows the actions: `again` plans once more at once; otherwise the key rests until an event or `requeueAfterMs`. */
export type Next = 'again' | { requeueAfterMs?: number };

export interface Planned<Facts, Action> {
  /** Everything the planner needs to know; null if the object is gone and nothing is left to do. */
  gather(key: string, signal: AbortSignal): Promise<Facts | null>;
  /** Pure. */
  plan(facts: Facts): Plan<Action>;
  /** Each action must be safe to repeat: the process may die between any two. */
  execute(plan: Plan<Action>, facts: Facts, signal: AbortSignal): Promise<Next>;
}

/** Plans in a row for one key, so that one object that is never at rest does not hold a worker. */
const ROUNDS_MAX = 8;
/** After that many, the key has its next turn after the other keys. */
const NEXT_TURN_MS = 10;

export function createPlannedReconcile<Facts, Action>({ gather, plan, execute }: Planned<Facts, Action>): Reconcile {
  return async (key, signal) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      signal.throwIfAborted();
      const facts = await gather(key, signal);
      if (facts === null) return {};
      const decided = plan(facts);
      if (decided.actions.length === 0) return decided.wakeAfterMs === null ? {} : { requeueAfterMs: decided.wakeAfterMs };
      const next = await execute(decided, facts, signal);
      if (next !== 'again') return next;
    }
    return { requeueAfterMs: NEXT_TURN_MS };
  };
}
