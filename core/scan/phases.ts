/** Which phase may follow which. A scan never moves backwards, and nothing follows an end. */
import { PHASES, type Phase } from './options.ts';

const TERMINAL: ReadonlySet<Phase> = new Set<Phase>(['done', 'failed', 'canceled']);

/** True for `done`, `failed` and `canceled`. */
export function isTerminal(phase: Phase): boolean {
  return TERMINAL.has(phase);
}

/**
 * True if a scan in `from` may be moved to `to`. Phases may be passed over (a message may be lost),
 * but `done` is reached only from a phase in which the pod had the work. The same phase again is not a move.
 */
export function mayMove(from: Phase, to: Phase): boolean {
  if (isTerminal(from)) return false;
  if (to === 'failed' || to === 'canceled') return true;
  return PHASES.indexOf(to) > PHASES.indexOf(from);
}
