/** Matches the elements that fail one rule on one page in two scans. Pure. */
import type { ReducedElement } from './diff-reduce.ts';

/** What two elements have in common if they are the same one, surest first. Null: this element has no such key. */
const TIERS: readonly ((element: ReducedElement) => string | null)[] = [
  // The same element at the same place.
  ({ location, identity }) => `${location} ${identity.html}`,
  // It moved.
  ({ identity }) => identity.html,
  // It changed, but its ID, name or address is the same.
  ({ identity }) => identity.anchor,
  // It changed, but users know it by the same name.
  ({ identity }) => identity.name,
  // Another text, in the same component at the same place.
  ({ location, fingerprint }) => `${location} ${fingerprint}`,
  // The same component at another place.
  ({ fingerprint }) => fingerprint,
  // Another component at the same place: it was rendered with other attributes.
  ({ location, identity }) => `${location} ${identity.tag}`,
];

export interface Matched {
  /** The number of elements that both scans have. */
  matched: number;
  /** The elements that only the first scan has. */
  before: ReducedElement[];
  /** The elements that only the second scan has. */
  after: ReducedElement[];
}

/**
 * Matches elements tier by tier. Of several elements with the same key, as many are matched as both scans have; those that
 * are left over are the last on their page, whichever scan comes first.
 */
export function matchElements(before: readonly ReducedElement[], after: readonly ReducedElement[]): Matched {
  let left = [...before];
  let right = [...after];
  for (const keyOf of TIERS) {
    if (left.length === 0 || right.length === 0) break;
    const common = commonKeys(left, right, keyOf);
    left = withoutCommon(left, keyOf, common);
    right = withoutCommon(right, keyOf, common);
  }
  return { matched: before.length - left.length, before: left, after: right };
}

type KeyOf = (element: ReducedElement) => string | null;

/** How many elements with each key both sides have. */
function commonKeys(left: readonly ReducedElement[], right: readonly ReducedElement[], keyOf: KeyOf): Map<string, number> {
  const common = new Map<string, number>();
  const counts = countKeys(right, keyOf);
  for (const [key, count] of countKeys(left, keyOf)) {
    const both = Math.min(count, counts.get(key) ?? 0);
    if (both > 0) common.set(key, both);
  }
  return common;
}

function countKeys(elements: readonly ReducedElement[], keyOf: KeyOf): Map<string, number> {
  const counts = new Map<string, number>();
  for (const element of elements) {
    const key = keyOf(element);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Removes the first elements of each common key. */
function withoutCommon(elements: readonly ReducedElement[], keyOf: KeyOf, common: ReadonlyMap<string, number>): ReducedElement[] {
  const open = new Map(common);
  return elements.filter((element) => {
    const key = keyOf(element);
    const count = key === null ? 0 : (open.get(key) ?? 0);
    if (count === 0) return true;
    open.set(key!, count - 1);
    return false;
  });
}
