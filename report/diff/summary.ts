/** The difference of two scans as numbers and a few examples, small enough for a status or an Event. Pure. */
import { elementPath } from '../schema/page.ts';
import type { CauseChange } from '../schema/root-cause.ts';
import { countedAsNew, type Caveat, type ReportDiff } from './diff.ts';

export interface NewViolation {
  rule: string;
  page: string;
  selector: string;
}

/** Root causes, worst first. The lists are cut; the totals are not. */
export interface ComparedCauses {
  new: CauseChange[];
  newTotal: number;
  fixed: CauseChange[];
  fixedTotal: number;
}

/** Numbers of violations: failing elements of one rule on one page, as in `violations_count`. */
export interface ComparedReports {
  ok: true;
  /** Violations that only the second scan has; those on new pages are included. */
  new: number;
  /** How many of the new ones are on pages that the first scan did not test. */
  onNewPages: number;
  /** How many of the new ones are in states that the first scan did not count. Only if some are. */
  onNewStates?: number;
  /** How many of those that count as new are known issues. */
  newKnown: number;
  /** How many violations count as new and are no known issues: a regression is about them. */
  judged: number;
  /** Root causes of new violations that the first scan does not have anywhere. */
  newCauses: number;
  fixed: number;
  unchanged: number;
  /** Violations of the first scan on pages that the second one did not test. */
  notTested: number;
  /** Why parts of the difference may come from the scans and not from the site. */
  caveats: Caveat['reason'][];
  /** At most 5 new violations, worst first, of as many root causes as possible; those on new pages, and then those that are not judged, last. */
  examples: NewViolation[];
  /** Only if the comparer lists causes. */
  causes?: ComparedCauses;
}

const EXAMPLES_MAX = 5;
/** The number of examples of each root cause. */
const CAUSE_EXAMPLES_MAX = 3;
/** In characters. */
const PAGE_MAX = 500;
const SELECTOR_MAX = 200;
const HELP_MAX = 500;
const CRITERIA_MAX = 20;

const sum = (changes: readonly CauseChange[]): number => changes.reduce((all, { elements }) => all + elements, 0);
const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`);

export function summariseDiff(diff: ReportDiff): ComparedReports {
  const onNewStates = diff.new.reduce((all, { on_new_states = 0 }) => all + on_new_states, 0);
  return {
    ok: true,
    new: sum(diff.new),
    onNewPages: diff.new.reduce((all, { on_new_pages }) => all + on_new_pages, 0),
    ...(onNewStates > 0 && { onNewStates }),
    newKnown: diff.new.reduce((all, { known_elements = 0 }) => all + known_elements, 0),
    judged: diff.new.reduce((all, cause) => all + judgedIn(cause), 0),
    newCauses: diff.new.filter(({ in_both }) => !in_both).length,
    fixed: sum(diff.fixed),
    unchanged: diff.unchanged,
    notTested: sum(diff.not_tested),
    caveats: diff.comparable.map(({ reason }) => reason),
    examples: examplesOf(diff),
  };
}

const judgedIn = (cause: CauseChange): number => countedAsNew(cause) - (cause.known_elements ?? 0);

function examplesOf({ new: added }: ReportDiff): NewViolation[] {
  const rank = (cause: CauseChange): number => (judgedIn(cause) <= 0 ? 2 : cause.on_new_pages === cause.elements ? 1 : 0);
  const causes = added.toSorted((a, b) => rank(a) - rank(b));
  // The first element of each cause, then the second ones.
  const ranks = Math.max(0, ...causes.map(({ examples }) => examples.length));
  return Array.from({ length: ranks }, (_, rank) =>
    causes.flatMap(({ rule, examples }) => examples.slice(rank, rank + 1).map((example) => ({ rule, ...example }))),
  )
    .flat()
    .slice(0, EXAMPLES_MAX)
    .map(({ rule, page, ...element }) => ({ rule: cut(rule, SELECTOR_MAX), page: cut(page, PAGE_MAX), selector: selectorOf(element) }));
}

const selectorOf = (element: Parameters<typeof elementPath>[0]): string => cut(elementPath(element), SELECTOR_MAX);

/** The root causes of a difference, at most `max` new and `max` fixed ones. */
export function comparedCauses(diff: ReportDiff, max: number): ComparedCauses {
  const some = (changes: readonly CauseChange[]): CauseChange[] => changes.slice(0, max).map(shortenedChange);
  return { new: some(diff.new), newTotal: diff.new.length, fixed: some(diff.fixed), fixedTotal: diff.fixed.length };
}

/** The selectors of its examples are whole paths. */
const shortenedChange = (change: CauseChange): CauseChange => ({
  ...change,
  rule: cut(change.rule, SELECTOR_MAX),
  wcag: change.wcag.slice(0, CRITERIA_MAX).map((criterion) => cut(criterion, SELECTOR_MAX)),
  help: cut(change.help, HELP_MAX),
  help_url: cut(change.help_url, PAGE_MAX),
  examples: change.examples
    .slice(0, CAUSE_EXAMPLES_MAX)
    .map((example) => ({ page: cut(example.page, PAGE_MAX), selector: selectorOf(example), frame_path: [], shadow_path: [] })),
});
