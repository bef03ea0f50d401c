/** The states in which a scan tests a page, besides the one at rest. */

/** In the order in which they are tested. */
export const STATE_KINDS = ['dark', 'reflow', 'spacing', 'keyboard', 'opened'] as const;
export type StateKind = (typeof STATE_KINDS)[number];

/** States in which something is activated. Only scans that name them test them. */
const ACTIVE: readonly StateKind[] = ['opened'];

/**
 * Increase this if a state finds more or other elements. Findings in states of different versions are not compared.
 * 2: long words, boxes that cut to one side, shadow trees; not what is placed outside of a box; the canvas in the dark.
 */
export const STATES_VERSION = 2;

export interface WantedStates {
  kinds: readonly StateKind[];
  /** Whether violations in states count as those at rest do. If not, they are listed with what needs review, and fail nothing. */
  counted: boolean;
}

/** The states that a scan tests. They count only where the option names them, so that no gate fails because of an upgrade. */
export const statesOf = ({ states }: { states?: readonly StateKind[] }): WantedStates => ({
  kinds: STATE_KINDS.filter((kind) => states?.includes(kind) ?? !ACTIVE.includes(kind)),
  counted: states !== undefined,
});
