/** The reconcile loop of a controller with a planner: gather facts, plan with a pure function, execute the actions, repeat until no action is left. */
import type { Reconcile } from './controller.ts';

export interface Plan<Action> {
  /** The actions, in order. Empty if there is nothing to do. */
  actions: readonly Action[];
  /** The delay until the next plan if no event arrives, in milliseconds; null waits for an event. */
  wakeAfterMs: number | null;
}

/** What follows the actions: `again` plans again at once; otherwise the key waits for an event or `requeueAfterMs`. */
export type Next = 'again' | { requeueAfterMs?: number };

export interface Planned<Facts, Action> {
  /** Returns the planner's input, or null if the object is gone and nothing is left to do. */
  gather(key: string, signal: AbortSignal): Promise<Facts | null>;
  /** Must be pure. */
  plan(facts: Facts): Plan<Action>;
  /** Each action must be idempotent, because the process may crash between any two. */
  execute(plan: Plan<Action>, facts: Facts, signal: AbortSignal): Promise<Next>;
}

/** The maximum number of consecutive plans for one key, so that one object does not occupy a worker forever. */
const ROUNDS_MAX = 8;
/** The delay after that many plans, so that other keys get a turn. */
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
