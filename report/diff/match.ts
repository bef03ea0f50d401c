/** Matches the elements that fail one rule on one page in two scans. Pure. */
import type { ReducedElement, ReducedPage, UndescribedElements } from './reduce.ts';

/**
 * What two elements have in common if they are the same one, surest first. Null: this element has no such key. Elements of the
 * same component are matched first, so that the one that is left over shows the right root cause.
 */
const TIERS: readonly ((element: ReducedElement) => string | null)[] = [
  // The same element at the same place.
  ({ location, identity }) => `${location} ${identity.html}`,
  // It moved.
  ({ identity }) => identity.html,
  // It has another text or state: it is known by its ID or address, by its name, or by its place.
  ({ identity, fingerprint }) => identity.anchor && `${identity.anchor} ${fingerprint}`,
  ({ identity, fingerprint }) => identity.name && `${identity.name} ${fingerprint}`,
  ({ location, fingerprint }) => `${location} ${fingerprint}`,
  // It looks different, but its ID or address, or its name, is the same.
  ({ identity }) => identity.anchor,
  ({ identity }) => identity.name,
  // The same component at another place.
  ({ fingerprint }) => fingerprint,
  // The site was built again, and classes and files have other hashes.
  ({ identity }) => identity.shape,
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

/** The most work that the search for further pairs may need on one page; the rest of its elements stay as they are. */
const SEARCH_MAX = 2_000_000;

/**
 * Matches elements tier by tier. Of several elements with the same key, as many are matched as both scans have; those that are left
 * over are the last on their page. Then pairs are exchanged as long as more elements find a partner of their own component. One may
 * have been matched by its text with another component, although only its text has changed.
 */
export function matchElements(before: readonly ReducedElement[], after: readonly ReducedElement[]): Matched {
  // The search begins on one side. It is always the same one, so that the result does not depend on which scan comes first.
  const [left, right, flipped] = comesFirst(after, before) ? [after, before, true] : [before, after, false];
  const pairs = pairsByTier(left, right);
  augmentPairs(left, right, pairs);
  const onlyLeft = left.filter((_, at) => pairs.ofLeft[at] === NONE);
  const onlyRight = right.filter((_, at) => pairs.ofRight[at] === NONE);
  const matched = left.length - onlyLeft.length;
  return flipped ? { matched, before: onlyRight, after: onlyLeft } : { matched, before: onlyLeft, after: onlyRight };
}

const NONE = -1;

/** The index of each element's partner on the other side, or NONE. */
interface Pairs {
  ofLeft: Int32Array;
  ofRight: Int32Array;
}

function comesFirst(one: readonly ReducedElement[], other: readonly ReducedElement[]): boolean {
  if (one.length !== other.length) return one.length < other.length;
  for (const [at, element] of one.entries()) {
    const [a, b] = [`${element.location} ${element.identity.html}`, `${other[at]!.location} ${other[at]!.identity.html}`];
    if (a !== b) return a < b;
  }
  return false;
}

function pairsByTier(left: readonly ReducedElement[], right: readonly ReducedElement[]): Pairs {
  const pairs: Pairs = { ofLeft: new Int32Array(left.length).fill(NONE), ofRight: new Int32Array(right.length).fill(NONE) };
  let open = [...left.keys()];
  for (const keyOf of TIERS) {
    if (open.length === 0) break;
    const free = new Map<string, number[]>();
    for (const [at, element] of right.entries()) if (pairs.ofRight[at] === NONE) addTo(free, keyOf(element), at);
    // The first one of each list is taken first.
    for (const list of free.values()) list.reverse();
    open = open.filter((at) => {
      const key = keyOf(left[at]!);
      const partner = key === null ? undefined : free.get(key)?.pop();
      if (partner === undefined) return true;
      pairs.ofLeft[at] = partner;
      pairs.ofRight[partner] = at;
      return false;
    });
  }
  return pairs;
}

function addTo(lists: Map<string, number[]>, key: string | null, at: number): void {
  if (key === null) return;
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [at]);
  else list.push(at);
}

/**
 * Maximum bipartite matching by augmenting paths (Berge), each found by breadth-first search. A path begins and ends at elements
 * without a partner, on either side, and alternates between possible and chosen pairs. A pair is possible within a component only,
 * so that a sure pair is never given up for a vague one.
 */
function augmentPairs(left: readonly ReducedElement[], right: readonly ReducedElement[], pairs: Pairs): void {
  if (!pairs.ofLeft.includes(NONE) || !pairs.ofRight.includes(NONE)) return;
  const components = new Map<string, number[]>();
  for (const [at, { fingerprint }] of right.entries()) addTo(components, fingerprint, at);
  const search: Search = { left, components, pairs, dead: new Set(), work: 0 };
  for (const start of left.keys()) {
    if (pairs.ofLeft[start] !== NONE) continue;
    augmentFrom(search, start);
    if (search.work > SEARCH_MAX) return;
  }
}

interface Search {
  left: readonly ReducedElement[];
  /** The elements of the right side by component. */
  components: ReadonlyMap<string, readonly number[]>;
  pairs: Pairs;
  /** The components that a search without success has seen: they lead nowhere later either. */
  dead: Set<string>;
  work: number;
}

function augmentFrom(search: Search, start: number): void {
  const { left, components, pairs, dead } = search;
  const seen = new Set<string>();
  const from = new Map<number, number>();
  const queue = [start];
  let end = NONE;
  for (let at = 0; at < queue.length && end === NONE; at += 1) {
    const { fingerprint } = left[queue[at]!]!;
    if (dead.has(fingerprint) || seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    for (const partner of components.get(fingerprint) ?? []) {
      search.work += 1;
      from.set(partner, queue[at]!);
      if (pairs.ofRight[partner] !== NONE) queue.push(pairs.ofRight[partner]!);
      else if (end === NONE) end = partner;
    }
  }
  if (end === NONE) for (const fingerprint of seen) dead.add(fingerprint);
  else flipPath(pairs, from, end);
}

/** Gives each element of a path the partner of the next one. */
function flipPath({ ofLeft, ofRight }: Pairs, from: ReadonlyMap<number, number>, end: number): void {
  for (let right = end; right !== NONE;) {
    const left = from.get(right)!;
    const next = ofLeft[left]!;
    ofLeft[left] = right;
    ofRight[right] = left;
    right = next;
  }
}

/** Violations of one rule on one page that only one scan has. */
export interface UnmatchedElements {
  elements: readonly ReducedElement[];
  /** By fingerprint. */
  undescribed: ReadonlyMap<string, UndescribedElements>;
}

export const NO_ELEMENTS: ReadonlyMap<string, UndescribedElements> = new Map();

/** Matches the elements that the exports describe, then the others by their root causes. @returns those that are left, by rule */
export function matchPages(before: ReducedPage, after: ReducedPage) {
  const result = { unchanged: 0, before: new Map<string, UnmatchedElements>(), after: new Map<string, UnmatchedElements>() };
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
