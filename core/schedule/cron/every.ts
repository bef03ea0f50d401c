/** `@every` with a duration, as robfig/cron reads it: the next run is due a fixed time after the last one. */
import type { ZonedTimes } from './zoned-times.ts';

const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const SECOND_MS = 1000;
/** A run's name holds the minute at which it was due. */
const SHORTEST_MS = 60_000;
/** The longest duration of Go, in milliseconds. */
const LONGEST_MS = 2 ** 63 / 1e6;

const PREFIX = '@every ';

export const isEvery = (schedule: string): boolean => schedule.startsWith('@every');

/** The interval in milliseconds, in whole seconds. The message completes the sentence `The schedule "…" is invalid: `. */
export function parseEvery(schedule: string): { ok: true; intervalMs: number } | { ok: false; message: string } {
  const duration = schedule.startsWith(PREFIX) ? schedule.slice(PREFIX.length) : '';
  const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
  if (duration === '' || duration.replace(/^\+/, '').replaceAll(part, '') !== '')
    return { ok: false, message: `"${duration}" is not a duration such as 1h30m` };
  let total = 0;
  for (const [, amount, unit = ''] of duration.matchAll(part)) total += Number(amount) * (UNITS_MS[unit] ?? 0);
  if (total < SHORTEST_MS) return { ok: false, message: 'the shortest interval of @every is 1m' };
  if (total >= LONGEST_MS) return { ok: false, message: 'the interval of @every is too long' };
  return { ok: true, intervalMs: Math.floor(total / SECOND_MS) * SECOND_MS };
}

/** Runs at `after`, without its fraction of a second, plus each multiple of the interval. */
export function everyTimes(intervalMs: number): ZonedTimes {
  const startOf = (after: number): number => Math.floor(after / SECOND_MS) * SECOND_MS;
  const count = (after: number, upTo: number): number => Math.max(0, Math.floor((upTo - startOf(after)) / intervalMs));
  return {
    next: (after) => startOf(after) + intervalMs,
    previous: (upTo, after) => (count(after, upTo) === 0 ? null : startOf(after) + count(after, upTo) * intervalMs),
    count,
  };
}
