/** The phases of a scan: one table, from which every list of phases is derived. */

/** Phases in the order in which a scan goes through them, then the three in which it ends. */
export const PHASE_TABLE = {
  queued: { kind: 'waiting', meaning: 'Waits for its turn in the queue, then for its pod to start.' },
  crawling: { kind: 'pod', meaning: 'The pod runs and looks for pages.' },
  scanning: { kind: 'pod', meaning: 'The pod tests pages.' },
  aggregating: { kind: 'pod', meaning: 'The pod groups the findings.' },
  generating: { kind: 'pod', meaning: 'The pod writes and uploads the reports.' },
  done: { kind: 'terminal', meaning: 'The results are verified and stored.' },
  failed: { kind: 'terminal', meaning: 'The scan ended without a result; `status.message` gives the reason.' },
  canceled: { kind: 'terminal', meaning: 'The scan was canceled or deleted. Pages that a canceled scan had tested have a partial report.' },
} as const satisfies Record<string, { kind: 'waiting' | 'pod' | 'terminal'; meaning: string }>;

type Table = typeof PHASE_TABLE;
export type Phase = keyof Table;
type PhaseOf<Kind> = { [P in Phase]: Table[P]['kind'] extends Kind ? P : never }[Phase];
export type TerminalPhase = PhaseOf<'terminal'>;
export type LivePhase = Exclude<Phase, TerminalPhase>;
/** The phases that a pod reports. */
export type PodPhase = PhaseOf<'pod'>;

export const PHASES = Object.keys(PHASE_TABLE) as [Phase, ...Phase[]];
export const TERMINAL_PHASES = PHASES.filter(isTerminal);
export const LIVE_PHASES = PHASES.filter((phase): phase is LivePhase => !isTerminal(phase));
export const POD_PHASES = PHASES.filter((phase): phase is PodPhase => PHASE_TABLE[phase].kind === 'pod');

/** Returns false for an unknown phase: clients must keep following a scan whose phase is newer than they are. */
export function isTerminal(phase: string): phase is TerminalPhase {
  return Object.hasOwn(PHASE_TABLE, phase) && PHASE_TABLE[phase as Phase].kind === 'terminal';
}

/**
 * Whether a scan in `from` may move to `to`. A scan never moves backwards and never leaves a terminal phase. It may skip
 * phases, because messages can be lost. The same phase again is not a move.
 */
export function mayMove(from: Phase, to: Phase): boolean {
  if (isTerminal(from)) return false;
  if (to === 'failed' || to === 'canceled') return true;
  return PHASES.indexOf(to) > PHASES.indexOf(from);
}
