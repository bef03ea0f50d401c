/** A clock that a test advances. */
import type { Clock } from '../../platform/clock.ts';

export interface FakeClock extends Clock {
  /** Advances by `ms`, calls the due timers in order, and lets promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Advances without calling timers, as if the process was suspended. The next `advance` calls the due timers. */
  jump(ms: number): void;
  /** The number of pending timers. */
  readonly pending: number;
}

/** Turns of the event loop within which short promise chains settle. */
const TURNS = 5;

export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function createFakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let elapsed = 0;
  let serial = 0;
  const timers = new Map<number, { due: number; run: () => void }>();
  return {
    now: () => new Date(start + elapsed),
    monotonic: () => elapsed,
    after(ms, run) {
      const id = serial++;
      timers.set(id, { due: elapsed + Math.max(0, ms), run });
      return () => void timers.delete(id);
    },
    async advance(ms) {
      const end = elapsed + ms;
      await settle();
      for (;;) {
        const next = [...timers].filter(([, { due }]) => due <= end).sort((a, b) => a[1].due - b[1].due || a[0] - b[0])[0];
        if (!next) break;
        timers.delete(next[0]);
        elapsed = Math.max(elapsed, next[1].due);
        next[1].run();
        await settle();
      }
      elapsed = end;
    },
    jump(ms) {
      elapsed += ms;
    },
    get pending() {
      return timers.size;
    },
  };
}
