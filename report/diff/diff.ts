/**
 * The difference of two scans: which violations are new, fixed or unchanged. Elements are matched page by page and rule by rule, in
 * tiers from the exact element to its place. So an element that moved or was rendered again is not new. Elements that cannot be
 * told apart are counted. The result is grouped by root cause. Pure.
 */
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { StateKind } from '../../core/scan/states.ts';
import { caveatsBetween, type Caveat } from './caveats.ts';
import { matchPages, NO_ELEMENTS, type UnmatchedElements } from './match.ts';
import { reduceReport, type ReducedElement, type ReducedPage, type ReducedReport } from './reduce.ts';
import type { Report } from '../schema/report.ts';
import type { CauseChange } from '../schema/root-cause.ts';

export type { Caveat } from './caveats.ts';

/** The maximum number of elements that a change lists. The total is in `elements`. */
export const EXAMPLES_MAX = 5;

export interface ReportDiff {
  /** Violations that the first scan does not have, worst first. */
  new: CauseChange[];
  /** Violations that the second scan does not have on pages that both scans tested, worst first. */
  fixed: CauseChange[];
  /** Violations on pages that the second scan did not test, so that it is unknown whether they are fixed. */
  not_tested: CauseChange[];
  /** The number of violations that both scans have. A page that is the same as another one has the violations of that page. */
  unchanged: number;
  /** The numbers of tested pages. */
  pages: { in_both: number; only_before: number; only_after: number };
  /** Why parts of the difference may come from the scans and not from the site. Empty if both scans were made alike. */
  comparable: Caveat[];
}

/**
 * How many violations of a root cause count as new: those on pages that both scans tested, or all of them if the first scan does
 * not have it anywhere. A new page with the same faults as the others has none, and what is in a state that the first scan did not count
 * was perhaps always there.
 */
export const countedAsNew = ({
  elements,
  on_new_pages,
  on_new_states = 0,
  in_both,
}: Pick<CauseChange, 'elements' | 'on_new_pages' | 'on_new_states' | 'in_both'>): number =>
  (in_both ? elements - on_new_pages : elements) - on_new_states;

/** The difference by root causes: elements of causes that both scans have are unchanged, however many there are on pages that both tested. */
function diffByCauses(diff: ReportDiff): ReportDiff {
  const more = (change: CauseChange): number => (change.in_both ? countedAsNew(change) : 0);
  return {
    ...diff,
    new: diff.new
      .map((change) => (more(change) === 0 ? change : { ...withoutKnown(change), elements: change.elements - more(change) }))
      .filter(({ elements }) => elements > 0),
    unchanged: diff.new.reduce((sum, change) => sum + more(change), diff.unchanged),
  };
}

/** Compares two exports. */
export function diffReports(before: Report, after: Report): ReportDiff {
  return diffReduced(reduceReport(before), reduceReport(after));
}

/** Compares two reduced exports. Needs much less memory than the exports. Counts as the second scan does. */
export function diffReduced(before: ReducedReport, after: ReducedReport): ReportDiff {
  const gone = createChanges(before, after);
  const added = createChanges(after, before);
  const lost = createChanges(before, after);
  let unchanged = 0;
  let [inBoth, sameBefore, sameAfter] = [0, 0, 0];
  for (const [key, page] of before.pages) {
    const now = after.pages.get(key);
    const same = now ?? samePage(after, key);
    if (same === undefined) {
      addPage(lost, page);
      continue;
    }
    if (now === undefined) sameBefore += 1;
    else inBoth += 1;
    const matched = matchPages(page, same);
    unchanged += matched.unchanged;
    for (const [rule, left] of matched.before) {
      const isTested = ({ state }: ReducedElement): boolean => state === undefined || same.states.has(state);
      gone.add(page, rule, { ...left, elements: left.elements.filter(isTested) });
      lost.add(page, rule, { elements: left.elements.filter((element) => !isTested(element)), undescribed: NO_ELEMENTS });
    }
    // What is new on a page that is the same as another is counted there.
    if (now !== undefined) for (const [rule, left] of matched.after) added.add(now, rule, left, { states: page.states });
  }
  for (const [key, page] of after.pages) {
    if (before.pages.has(key)) continue;
    const same = samePage(before, key);
    if (same === undefined) {
      addPage(added, page, { isNewPage: true, states: before.states });
      continue;
    }
    sameAfter += 1;
    const matched = matchPages(same, page);
    unchanged += matched.unchanged;
    for (const [rule, left] of matched.after) added.add(page, rule, left, { states: same.states });
  }
  const caveats = caveatsBetween(before.about, after.about);
  const diff: ReportDiff = {
    new: added.end(),
    fixed: gone.end().map(withoutKnown),
    not_tested: lost.end().map(withoutKnown),
    unchanged,
    pages: {
      in_both: inBoth + sameBefore + sameAfter,
      only_before: before.pages.size - inBoth - sameBefore,
      only_after: after.pages.size - inBoth - sameAfter,
    },
    comparable: [added, gone, lost].some(({ isDecided }) => isDecided()) ? [...caveats, DECIDED] : caveats,
  };
  return after.about.countsCauses ? diffByCauses(diff) : diff;
}

const DECIDED: Caveat = {
  reason: 'decisions',
  message: 'People have decided about elements that need review. Faults that only one scan has confirmed are neither new nor fixed.',
  before: '',
  after: '',
};

/** The tested page that a page is the same as, if it was not tested itself. */
export const samePage = (report: ReducedReport, key: string): ReducedPage | undefined => report.pages.get(report.same.get(key) ?? '');

function addPage(changes: ReturnType<typeof createChanges>, page: ReducedPage, added?: Added): void {
  for (const [rule, elements] of page.rules)
    changes.add(page, rule, { elements, undescribed: page.undescribed.get(rule) ?? NO_ELEMENTS }, added);
}

/** What the other scan knows of a page with new elements. Absent: the elements are not new. */
interface Added {
  isNewPage?: boolean;
  /** The states that count there. */
  states: ReadonlySet<StateKind>;
}

const withoutKnown = ({ known_elements: _, ...change }: CauseChange): CauseChange => change;

interface Collected {
  change: CauseChange;
  pages: Set<string>;
  found: { page: string; element: ReducedElement }[];
}

/** Collects the changed elements of a scan by root cause. */
function createChanges(scan: ReducedReport, other: ReducedReport) {
  const causes = new Map<string, Collected>();
  const isUndecided = (cause: string): boolean => scan.confirmed.has(cause) && other.undecided.has(cause);

  function newCause(fingerprint: string, rule: string, impact: number): Collected {
    const numbers = { elements: 0, pages: 0, in_both: other.fingerprints.has(fingerprint), examples: [], on_new_pages: 0 };
    const change = { fingerprint, rule, impact: IMPACTS[impact]!, ...scan.rules.get(rule)!, ...numbers };
    const cause: Collected = { change, pages: new Set(), found: [] };
    causes.set(fingerprint, cause);
    return cause;
  }

  /** Counts elements of a root cause on a page. */
  function count(
    page: string,
    rule: string,
    { fingerprint, impact, known }: Pick<ReducedElement, 'fingerprint' | 'impact' | 'known'>,
    elements: number,
    on: 'new page' | 'new state' | null,
  ): Collected {
    const cause = causes.get(fingerprint) ?? newCause(fingerprint, rule, impact);
    const { change } = cause;
    if (impact < IMPACTS.indexOf(change.impact)) change.impact = IMPACTS[impact]!;
    cause.pages.add(page);
    change.elements += elements;
    if (on === 'new page') change.on_new_pages += elements;
    if (on === 'new state') change.on_new_states = (change.on_new_states ?? 0) + elements;
    // Only elements that count as new are known issues.
    if (known && on !== 'new state' && !(on === 'new page' && change.in_both))
      change.known_elements = (change.known_elements ?? 0) + elements;
    return cause;
  }

  return {
    add({ url }: ReducedPage, rule: string, { elements, undescribed }: UnmatchedElements, added?: Added): void {
      const onPage = added?.isNewPage === true ? 'new page' : null;
      for (const element of elements) {
        const isNewState = added !== undefined && element.state !== undefined && !added.states.has(element.state);
        count(url, rule, element, 1, isNewState ? 'new state' : onPage).found.push({ page: url, element });
      }
      for (const [fingerprint, more] of undescribed) count(url, rule, { fingerprint, ...more }, more.elements, onPage);
    },
    /** Whether root causes are left out because only a decision differs: the other scan has not decided about them. */
    isDecided: () => [...causes.keys()].some(isUndecided),
    end: (): CauseChange[] =>
      [...causes.values()]
        .filter(({ change }) => !isUndecided(change.fingerprint))
        .map(({ change, pages, found }) => ({ ...change, pages: pages.size, examples: examplesOf(found) }))
        .sort(
          (a, b) =>
            IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) ||
            b.elements - a.elements ||
            compare(a.rule, b.rule) ||
            compare(a.fingerprint, b.fingerprint),
        ),
  };
}

/** The first elements by page, so that the order of the pages in an export does not matter. */
function examplesOf(found: Collected['found']): CauseChange['examples'] {
  return found
    .sort((a, b) => compare(a.page, b.page))
    .slice(0, EXAMPLES_MAX)
    .map(({ page, element: { selector, frame_path, shadow_path } }) => ({ page, selector, frame_path, shadow_path }));
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
