/** Follows the dependencies of a process in the background: each one by itself, within a time limit. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from './logger.ts';
import { TimeLimitExceeded, withTimeLimit } from './time-limits.ts';

/** Checks one dependency. */
export interface Probe {
  /** False if a new replica of the process is of use without the dependency. */
  required: boolean;
  /** @throws if the dependency is unavailable */
  check(): Promise<unknown>;
}

/** Probes by the name of the dependency, as `/readyz` reports it. */
export type Probes = Readonly<Record<string, Probe>>;

export interface Readiness {
  /** False if a required dependency is unavailable, or if the process has just started and another one has not answered yet. */
  ready: boolean;
  /** The names of the unavailable dependencies, required or not, in the order of the probes. */
  missing: string[];
  /** The state of each dependency. */
  dependencies: Record<string, 'ok' | 'missing'>;
}

export interface DependencyMonitor {
  /** The result of the last check of each dependency. Until its first check has succeeded, a dependency is missing. */
  readiness(): Readiness;
  /** Resolves when a dependency has become available for the first time, or when the signal is aborted. */
  available(name: string, signal: AbortSignal): Promise<void>;
  /** Ends the checks. */
  stop(): void;
}

export interface MonitorOptions {
  logger: Logger;
  /** Called at once with false for each dependency, and then after each check. */
  onDependency: (name: string, up: boolean) => void;
  /** The pause between two checks of a dependency, in milliseconds. Default 5,000. */
  everyMs?: number;
  /** The pause while the dependency is unavailable, in milliseconds. Default 1,000. */
  retryMs?: number;
  /** The time limit of one check, in milliseconds. Default 2,000. */
  limitMs?: number;
  /**
   * How long a process that starts waits for the first answers of the dependencies that it does not require, in milliseconds. The
   * network of a new pod may reach them a few seconds later. Until then it must not take the place of a replica that reaches all.
   * Default 0.
   */
  startMs?: number;
}

/**
 * Starts to check every dependency. A check that fails or exceeds the time limit makes its dependency unavailable, and
 * delays no other. Does not keep the process alive.
 */
export function monitorDependencies(probes: Probes, options: MonitorOptions): DependencyMonitor {
  const { logger, onDependency, everyMs = 5_000, retryMs = 1_000, limitMs = 2_000, startMs = 0 } = options;
  const startedAt = performance.now();
  const unanswered = new Set(Object.keys(probes));
  const up = new Map<string, boolean>();
  const stopping = new AbortController();

  async function follow(name: string, probe: Probe): Promise<void> {
    let known: boolean | null = null;
    // Whether the log has a reason. That the check took too long, as when a process starts on a busy node, is none.
    let explained = false;
    while (!stopping.signal.aborted) {
      const failure = await failureOf(name, probe, limitMs);
      if (stopping.signal.aborted) return;
      const isUp = failure === null;
      up.set(name, isUp);
      if (isUp) {
        unanswered.delete(name);
        first.get(name)?.resolve();
      }
      onDependency(name, isUp);
      const explains = !(failure instanceof TimeLimitExceeded);
      if (!isUp && (isUp !== known || (explains && !explained))) logger.warn({ dependency: name, err: failure }, 'dependency unavailable');
      explained = !isUp && (explained || explains);
      if (isUp && known === false) logger.info({ dependency: name }, 'dependency available again');
      known = isUp;
      // Rejected only by `stop`.
      await sleep(isUp ? everyMs : retryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  const names = Object.keys(probes);
  const first = new Map(names.map((name) => [name, Promise.withResolvers<void>()]));
  for (const name of names) onDependency(name, false);
  for (const name of names) void follow(name, probes[name]!);

  return {
    async available(name, signal) {
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      if (!signal.aborted) await Promise.race([first.get(name)?.promise, aborted]);
    },
    readiness() {
      const missing = names.filter((name) => up.get(name) !== true);
      return {
        ready: missing.every((name) => !probes[name]!.required) && (unanswered.size === 0 || performance.now() - startedAt >= startMs),
        missing,
        dependencies: Object.fromEntries(names.map((name) => [name, up.get(name) === true ? 'ok' : 'missing'])),
      };
    },
    stop: () => stopping.abort(),
  };
}

/** @returns null if the dependency is available */
async function failureOf(name: string, probe: Probe, limitMs: number): Promise<unknown> {
  try {
    await withTimeLimit(probe.check(), limitMs, `check of ${name}`);
    return null;
  } catch (error) {
    return error ?? new Error(`check of ${name} failed`);
  }
}
