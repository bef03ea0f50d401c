/** Remembers which targets could not be had and why, so that a page's failure can say "refused" instead of a browser's error code. */
import type { TargetRefusal } from '../../core/scan/targets.ts';
import { portOf } from '../../core/scan/targets.ts';

/** `refused` by the address rule, `unresolvable` name, `unreachable` host, or `cut` off at a limit. */
export type ProblemKind = 'refused' | 'unresolvable' | 'unreachable' | 'cut';

export interface Problem {
  kind: ProblemKind;
  host: string;
  port: number;
  message: string;
  /** How often it happened in this scan. */
  count: number;
}

export interface EgressRecord {
  /** Notes a problem. @returns true the first time for this host, port and kind */
  note(host: string, port: number, kind: ProblemKind, message: string): boolean;
  /** Forgets a target's problem: it was reached after all. */
  reached(host: string, port: number): void;
  /** What last went wrong with a URL's host and port, if the last attempt did. */
  problemOf(url: URL): Problem | undefined;
  /** Every problem of this scan, in the order of their first time. */
  problems(): readonly Problem[];
}

/** A header that the proxy alone may set: the answer is its own and not the site's. Its value is the problem's kind. */
export const EGRESS_HEADER = 'x-curbcut-egress';

const MOST = 1000;

/** How a refusal of the vetting is told. */
export function kindOf(reason: TargetRefusal): ProblemKind {
  return reason === 'unresolvable' || reason === 'dns_unavailable' ? 'unresolvable' : 'refused';
}

export function createRecord(): EgressRecord {
  const all = new Map<string, Problem>();
  const latest = new Map<string, Problem>();
  const target = (host: string, port: number): string => `${host.replace(/^\[|\]$/g, '')}:${port}`;
  return {
    note(host, port, kind, message) {
      const key = `${kind} ${target(host, port)}`;
      const known = all.get(key);
      const problem = known ?? { kind, host, port, message, count: 0 };
      problem.count += 1;
      problem.message = message;
      if (known === undefined && all.size < MOST) all.set(key, problem);
      if (latest.size < MOST || latest.has(target(host, port))) latest.set(target(host, port), problem);
      return known === undefined && all.size < MOST;
    },
    reached(host, port) {
      latest.delete(target(host, port));
    },
    problemOf: (url) => latest.get(target(url.hostname, portOf(url))),
    problems: () => [...all.values()],
  };
}

/** The system's short name of a network error, for a sentence. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : String(error));
}
