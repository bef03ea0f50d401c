/** Readiness of a process: checks all dependencies in parallel, each within a time limit. */
import { withTimeLimit } from './time-limits.ts';

/** Checks one dependency. */
export interface Probe {
  /** False if the process still does its work without the dependency, only more slowly. */
  required: boolean;
  /** @throws if the dependency is unavailable */
  check(): Promise<unknown>;
}

/** Probes by the name of the dependency, as `/readyz` reports it. */
export type Probes = Readonly<Record<string, Probe>>;

export interface Readiness {
  /** False if a required dependency is unavailable. */
  ready: boolean;
  /** The names of the unavailable dependencies, required or not, in the order of the probes. */
  missing: string[];
  /** The state of each dependency. */
  dependencies: Record<string, 'ok' | 'missing'>;
}

/** The time limit of one check, in milliseconds. The kubelet waits for the whole response, so checks run in parallel. */
export const READINESS_LIMIT_MS = 2_000;

/** Runs every check. A check that fails, or that takes longer than `limitMs`, makes its dependency unavailable. Never throws. */
export async function checkReadiness(probes: Probes, { limitMs = READINESS_LIMIT_MS }: { limitMs?: number } = {}): Promise<Readiness> {
  const names = Object.keys(probes);
  const available = await Promise.all(names.map((name) => isAvailable(name, probes[name]!, limitMs)));
  const missing = names.filter((_, index) => !available[index]);
  return {
    ready: missing.every((name) => !probes[name]!.required),
    missing,
    dependencies: Object.fromEntries(names.map((name, index) => [name, available[index] ? 'ok' : 'missing'])),
  };
}

async function isAvailable(name: string, probe: Probe, limitMs: number): Promise<boolean> {
  try {
    await withTimeLimit(probe.check(), limitMs, `readiness check of ${name}`);
    return true;
  } catch {
    return false;
  }
}
