/**
 * Follows one scan as server-sent events. The stored row is what is told; messages only say that it is worth a look. So
 * any replica can serve any stream, nothing is lost while messages are away, and no event is older than one before it.
 */
import { isTerminal } from '../core/scan/phases.ts';
import type { Bus } from '../stores/nats.ts';
import type { ScanRow } from '../stores/scans/scans.ts';

export interface StreamTimings {
  /** Between two keepalive comments. */
  keepaliveMs: number;
  /** Between two looks at the row that nobody asked for. */
  rereadMs: number;
  /** The same while messages are away. */
  rereadAloneMs: number;
}

export const STREAM_TIMINGS: StreamTimings = { keepaliveMs: 15_000, rereadMs: 5_000, rereadAloneMs: 1_000 };

const KEEPALIVE = ': keepalive\n\n';

export interface Following {
  /** Reads the row; null where it was forgotten. A rejection is waited out. */
  read(): Promise<ScanRow | null>;
  bus: Pick<Bus, 'connected' | 'followStatus'>;
  organisation: string;
  scanId: string;
  /** What the caller has seen already; events up to it are not sent again, but the last one always is. */
  lastEventId: number | null;
  timings: StreamTimings;
  /** Ends the stream. */
  signal: AbortSignal;
}

/** A scan that can be followed: its row was read, and every change since will wake the stream. */
export interface OpenStream {
  /** Null where there is no such scan. */
  row: ScanRow | null;
  /** The stream's text, piece by piece, until the scan's end or the signal. */
  text(): AsyncGenerator<string>;
  /** Must be called where `text` is not iterated. */
  close(): void;
}

/** Listens first and reads second, so that no change falls in between. @throws what the first read throws */
export async function openStream(following: Following): Promise<OpenStream> {
  const { bus, organisation, scanId, signal, timings } = following;
  const alarm = createAlarm();
  const unfollow = bus.followStatus(organisation, scanId, () => alarm.ring());
  signal.addEventListener('abort', alarm.ring, { once: true });
  const close = (): void => {
    unfollow();
    alarm.stop();
    signal.removeEventListener('abort', alarm.ring);
  };

  let row: ScanRow | null;
  try {
    row = await following.read();
  } catch (error) {
    close();
    throw error;
  }

  async function* text(): AsyncGenerator<string> {
    const keepalive = createTicker(timings.keepaliveMs, alarm.ring);
    let seen = following.lastEventId ?? -1;
    let latest: ScanRow | null = row;
    try {
      // Nothing new for whoever resumes: a comment, so that the answer's headers leave at once.
      if (latest !== null && latest.version <= seen && !isTerminal(latest.phase)) yield KEEPALIVE;
      while (!signal.aborted) {
        if (latest === null) return;
        if (isTerminal(latest.phase)) {
          yield eventText(latest);
          return;
        }
        if (latest.version > seen) {
          seen = latest.version;
          yield eventText(latest);
        }
        await alarm.wait(bus.connected ? timings.rereadMs : timings.rereadAloneMs);
        if (keepalive.due()) yield KEEPALIVE;
        if (signal.aborted) return;
        // A read that fails is tried again at the next look; meanwhile the stream stays open.
        latest = await following.read().catch(() => latest);
      }
    } finally {
      keepalive.stop();
      close();
    }
  }

  return { row, text, close };
}

/** One event of the stream: `progress`, or `complete` once the scan is at its end. */
export function eventText(row: ScanRow): string {
  return `id: ${row.version}\ndata: ${JSON.stringify(isTerminal(row.phase) ? completeEvent(row) : progressEvent(row))}\n\n`;
}

/** The scan is under way. */
export function progressEvent(row: ScanRow) {
  return {
    event: 'progress' as const,
    status: row.phase,
    scan_id: row.id,
    pages_scanned: row.pages.scanned,
    pages_total: row.pages.total,
  };
}

/** The scan is at its end, whatever end that is. */
export function completeEvent(row: ScanRow) {
  return { event: 'complete' as const, scan_id: row.id, status: row.phase, ...findings(row), passed: row.passed, message: row.message };
}

/** Score and counts as the contract names them; null before there are any. */
export function findings({ outcome }: Pick<ScanRow, 'outcome'>) {
  return {
    score: outcome?.score ?? null,
    violations_count: outcome?.violations.total ?? null,
    violations_critical: outcome?.violations.critical ?? null,
    violations_serious: outcome?.violations.serious ?? null,
    violations_moderate: outcome?.violations.moderate ?? null,
    violations_minor: outcome?.violations.minor ?? null,
  };
}

/** `Last-Event-ID` as a version; null where it is absent or none of ours. */
export function lastEventIdOf(header: unknown): number | null {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

/** Wakes one waiter, now or at its next wait: a ring that nobody waited for is not lost. */
function createAlarm() {
  let rung = false;
  let wake: (() => void) | null = null;
  let timer: NodeJS.Timeout | undefined;
  return {
    ring: (): void => {
      rung = true;
      wake?.();
    },
    wait: async (ms: number): Promise<void> => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, ms);
        });
        clearTimeout(timer);
        wake = null;
      }
      rung = false;
    },
    stop: (): void => {
      clearTimeout(timer);
      wake?.();
    },
  };
}

/** Rings every `ms`, and knows whether it has rung since it was last asked. */
function createTicker(ms: number, ring: () => void) {
  let ticked = false;
  const timer = setInterval(() => {
    ticked = true;
    ring();
  }, ms);
  return {
    due: (): boolean => {
      const was = ticked;
      ticked = false;
      return was;
    },
    stop: (): void => clearInterval(timer),
  };
}
