/**
 * Makes look-ups that strangers cause together: one command at a time, a few times per second. They need no connections of their
 * own, so that people whom this replica has not seen before do not wait for those of strangers.
 */
import { TooBusy } from '../../../platform/concurrency/semaphore.ts';

/** The interval between the starts of two commands, in milliseconds. */
export const SHARED_LOOKUP_MS = 50;
/** How many look-ups one command makes. */
const TOGETHER_MAX = 500;
/** How many look-ups wait. */
const WAITING_MAX = 5_000;

interface Waiting<V> {
  name: string;
  resolve(value: V | null): void;
  reject(error: unknown): void;
}

/** @param lookUp makes several look-ups in one command */
export function createSharedLookups<V>(
  lookUp: (names: string[]) => Promise<ReadonlyMap<string, V>>,
  { monotonic = () => performance.now() }: { monotonic?: () => number } = {},
) {
  const first: Waiting<V>[] = [];
  const last: Waiting<V>[] = [];
  let next = -Infinity;
  /** Whether a command runs or is due. */
  let busy = false;

  async function run(): Promise<void> {
    next = monotonic() + SHARED_LOOKUP_MS;
    const batch = first.splice(0, TOGETHER_MAX);
    batch.push(...last.splice(0, TOGETHER_MAX - batch.length));
    try {
      const found = await lookUp([...new Set(batch.map(({ name }) => name))]);
      for (const { name, resolve } of batch) resolve(found.get(name) ?? null);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    busy = false;
    schedule();
  }

  function schedule(): void {
    if (busy || first.length + last.length === 0) return;
    busy = true;
    const wait = next - monotonic();
    if (wait <= 0) void run();
    else setTimeout(() => void run(), wait);
  }

  return {
    /**
     * Looks a name up: at once if no other look-up ran a moment ago, else together with others.
     * @param last whether all other look-ups are made before it
     * @throws TooBusy if too many look-ups wait
     */
    find: (name: string, options: { last?: boolean } = {}): Promise<V | null> =>
      new Promise((resolve, reject) => {
        const lane = options.last ? last : first;
        if (lane.length >= WAITING_MAX) return reject(new TooBusy('total'));
        lane.push({ name, resolve, reject });
        schedule();
      }),
  };
}
