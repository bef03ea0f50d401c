/** Matches the violations of one page in two scans, rule by rule. Pure. */
import { matchElements } from './match.ts';
import type { ReducedElement, ReducedPage, UndescribedElements } from './reduce.ts';

/** Violations of one rule on one page that only one scan has. */
export interface UnmatchedElements {
  elements: readonly ReducedElement[];
  /** By fingerprint. */
  undescribed: ReadonlyMap<string, UndescribedElements>;
}

export const NO_ELEMENTS: ReadonlyMap<string, UndescribedElements> = new Map();

export interface MatchedPages {
  unchanged: number;
  /** By rule. */
  before: Map<string, UnmatchedElements>;
  after: Map<string, UnmatchedElements>;
}

/** Matches the elements that the exports describe, then the others by their root causes. */
export function matchPages(before: ReducedPage, after: ReducedPage): MatchedPages {
  const result: MatchedPages = { unchanged: 0, before: new Map(), after: new Map() };
  for (const rule of new Set([...before.rules.keys(), ...after.rules.keys()])) {
    const described = matchElements(before.rules.get(rule) ?? [], after.rules.get(rule) ?? []);
    const [one, other] = [new Map(before.undescribed.get(rule)), new Map(after.undescribed.get(rule))];
    const left = { before: withoutPartner(described.before, other), after: withoutPartner(described.after, one) };
    const byAnother = described.before.length - left.before.length + described.after.length - left.after.length;
    result.unchanged += described.matched + byAnother + matchCounts(one, other);
    result.before.set(rule, { elements: left.before, undescribed: one });
    result.after.set(rule, { elements: left.after, undescribed: other });
  }
  return result;
}

/** Returns the elements for which the other scan has no undescribed element of the same root cause left, and takes these away. */
function withoutPartner(elements: readonly ReducedElement[], others: Map<string, UndescribedElements>): readonly ReducedElement[] {
  return others.size === 0 ? elements : elements.filter(({ fingerprint }) => take(others, fingerprint, 1) === 0);
}

/** Takes the elements that both sides have away from both. @returns their number */
function matchCounts(one: Map<string, UndescribedElements>, other: Map<string, UndescribedElements>): number {
  let matched = 0;
  for (const [fingerprint, { elements }] of one) {
    const taken = take(other, fingerprint, elements);
    take(one, fingerprint, taken);
    matched += taken;
  }
  return matched;
}

/** Takes at most `wanted` elements of a root cause. @returns the number taken */
function take(from: Map<string, UndescribedElements>, fingerprint: string, wanted: number): number {
  const known = from.get(fingerprint);
  if (known === undefined) return 0;
  const taken = Math.min(wanted, known.elements);
  if (taken === known.elements) from.delete(fingerprint);
  else from.set(fingerprint, { ...known, elements: known.elements - taken });
  return taken;
}
