/**
 * The difference of two scans: which violations are new, fixed or unchanged. Elements are matched page by page and rule by rule, in
 * tiers from the exact element to its place. So an element that moved or was rendered again is not new. Elements that cannot be
 * told apart are counted. The result is grouped by root cause. Pure.
 */
import { IMPACTS } from '../../core/scan/impacts.ts';
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
 * not have it anywhere. A new page with the same faults as the others has none.
 */
export const countedAsNew = ({ elements, on_new_pages, in_both }: Pick<CauseChange, 'elements' | 'on_new_pages' | 'in_both'>): number =>
  in_both ? elements - on_new_pages : elements;

/** Compares two exports. */
export function diffReports(before: Report, after: Report): ReportDiff {
  return diffReduced(reduceReport(before), reduceReport(after));
}

/** Compares two reduced exports. Needs much less memory than the exports. */
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
    for (const [rule, left] of matched.before) gone.add(page, rule, left);
    // What is new on a page that is the same as another is counted there.
    if (now !== undefined) for (const [rule, left] of matched.after) added.add(now, rule, left);
  }
  for (const [key, page] of after.pages) {
    if (before.pages.has(key)) continue;
    const same = samePage(before, key);
    if (same === undefined) {
      addPage(added, page, true);
      continue;
    }
    sameAfter += 1;
    const matched = matchPages(same, page);
    unchanged += matched.unchanged;
    for (const [rule, left] of matched.after) added.add(page, rule, left);
  }
  return {
    new: added.end(),
    fixed: gone.end().map(withoutKnown),
    not_tested: lost.end().map(withoutKnown),
    unchanged,
    pages: {
      in_both: inBoth + sameBefore + sameAfter,
      only_before: before.pages.size - inBoth - sameBefore,
      only_after: after.pages.size - inBoth - sameAfter,
    },
    comparable: caveatsBetween(before.about, after.about),
  };
}

/** The tested page that a page is the same as, if it was not tested itself. */
const samePage = (report: ReducedReport, key: string): ReducedPage | undefined => report.pages.get(report.same.get(key) ?? '');

function addPage(changes: Changes, page: ReducedPage, isNewPage = false): void {
  for (const [rule, elements] of page.rules)
    changes.add(page, rule, { elements, undescribed: page.undescribed.get(rule) ?? NO_ELEMENTS }, isNewPage);
}

/** Only elements that count as new are known issues. */
const withoutKnown = ({ known_elements: _, ...change }: CauseChange): CauseChange => change;

interface Changes {
  add(page: ReducedPage, rule: string, left: UnmatchedElements, isNewPage?: boolean): void;
  end(): CauseChange[];
}

interface Collected {
  rule: string;
  impact: number;
  onNewPages: number;
  known: number;
  knownOnNewPages: number;
  pages: Set<string>;
  found: { page: string; element: ReducedElement }[];
  /** The number of elements that are not in `found`, because the export does not describe them. */
  undescribed: number;
}

/** Collects the changed elements of a scan by root cause. */
function createChanges(scan: ReducedReport, other: ReducedReport): Changes {
  const causes = new Map<string, Collected>();
  function causeOf(fingerprint: string, rule: string): Collected {
    const cause = causes.get(fingerprint) ?? {
      rule,
      impact: IMPACTS.length,
      ...{ onNewPages: 0, known: 0, knownOnNewPages: 0, undescribed: 0 },
      pages: new Set(),
      found: [],
    };
    causes.set(fingerprint, cause);
    return cause;
  }
  /** Counts elements of a cause, all known or none. */
  function count(cause: Collected, elements: number, known: boolean, isNewPage: boolean): void {
    cause.onNewPages += isNewPage ? elements : 0;
    cause.known += known ? elements : 0;
    cause.knownOnNewPages += known && isNewPage ? elements : 0;
  }
  return {
    add(page, rule, { elements, undescribed }, isNewPage = false) {
      for (const element of elements) {
        const cause = causeOf(element.fingerprint, rule);
        cause.impact = Math.min(cause.impact, element.impact);
        count(cause, 1, element.known, isNewPage);
        cause.pages.add(page.url);
        cause.found.push({ page: page.url, element });
      }
      for (const [fingerprint, { elements: more, impact, known }] of undescribed) {
        const cause = causeOf(fingerprint, rule);
        cause.impact = Math.min(cause.impact, impact);
        count(cause, more, known, isNewPage);
        cause.pages.add(page.url);
        cause.undescribed += more;
      }
    },
    end: () =>
      [...causes]
        .map(([fingerprint, { rule, impact, onNewPages, pages, found, undescribed, ...cause }]) => {
          const inBoth = other.fingerprints.has(fingerprint);
          const known = cause.known - (inBoth ? cause.knownOnNewPages : 0);
          return {
            fingerprint,
            rule,
            impact: IMPACTS[impact]!,
            ...scan.rules.get(rule)!,
            elements: found.length + undescribed,
            pages: pages.size,
            in_both: inBoth,
            examples: examplesOf(found),
            on_new_pages: onNewPages,
            ...(known > 0 && { known_elements: known }),
          };
        })
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
