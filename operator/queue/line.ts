/** The waiting scans of one organisation, in the order in which they are admitted. */
import { priorityOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';

export interface Line {
  readonly length: number;
  /** The scan that is admitted next. Call it only if the line is not empty. */
  head(): AccessibilityScan;
  /** Removes and returns the head. */
  take(): AccessibilityScan;
  /** The scans that are left, in any order. */
  rest(): readonly AccessibilityScan[];
}

/** Sorts only when the first scan is taken: while all places are taken, lines are long and none is sorted. */
export function createLine(scans: AccessibilityScan[]): Line {
  let sorted: AccessibilityScan[] | null = null;
  let taken = 0;
  const inOrder = () => (sorted ??= scans.toSorted(byPriority));
  return {
    get length() {
      return scans.length - taken;
    },
    head: () => inOrder()[taken]!,
    take() {
      const head = inOrder()[taken]!;
      taken += 1;
      return head;
    },
    rest: () => (taken === 0 ? scans : inOrder().slice(taken)),
  };
}

export function linesOf(scans: readonly AccessibilityScan[], organisationOf: (scan: AccessibilityScan) => string): Map<string, Line> {
  const groups = Map.groupBy(scans, organisationOf);
  return new Map([...groups].map(([organisation, own]) => [organisation, createLine(own)]));
}

function byPriority(a: AccessibilityScan, b: AccessibilityScan): number {
  return priorityOf(b) - priorityOf(a) || byCreation(a, b);
}

/**
 * Creation times are whole seconds in one format, so they compare as text. The uid gives scans of the same second a stable
 * order: nothing else that the API server sets tells them apart, and authors can write annotations.
 */
export function byCreation(a: AccessibilityScan, b: AccessibilityScan): number {
  return compare(a.metadata.creationTimestamp!, b.metadata.creationTimestamp!) || compare(a.metadata.uid!, b.metadata.uid!);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
