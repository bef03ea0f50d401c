/** The difference of two scans as numbers and a few examples, small enough for a status or an Event. Pure. */
import type { Caveat, CauseChange, ReportDiff } from './diff.ts';

/** A new violation. */
export interface NewViolation {
  rule: string;
  page: string;
  selector: string;
}

/** Numbers of violations: failing elements of one rule on one page, as in `violations_count`. */
export interface ComparedReports {
  ok: true;
  /** Violations that only the second scan has; those on new pages are included. */
  new: number;
  /** How many of the new ones are on pages that the first scan did not test. */
  onNewPages: number;
  /** Root causes of new violations that the first scan does not have anywhere. */
  newCauses: number;
  fixed: number;
  unchanged: number;
  /** Violations of the first scan on pages that the second one did not test. */
  notTested: number;
  /** Why parts of the difference may come from the scans and not from the site. */
  caveats: Caveat['reason'][];
  /** At most 5 new violations, worst first, of as many root causes as possible; those on new pages last. */
  examples: NewViolation[];
}

const EXAMPLES_MAX = 5;
/** In characters. */
const PAGE_MAX = 500;
const SELECTOR_MAX = 200;

const sum = (changes: readonly CauseChange[]): number => changes.reduce((all, { elements }) => all + elements, 0);
const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`);

export function summariseDiff(diff: ReportDiff): ComparedReports {
  return {
    ok: true,
    new: sum(diff.new),
    onNewPages: diff.new.reduce((all, { on_new_pages }) => all + on_new_pages, 0),
    newCauses: diff.new.filter(({ in_both }) => !in_both).length,
    fixed: sum(diff.fixed),
    unchanged: diff.unchanged,
    notTested: sum(diff.not_tested),
    caveats: diff.comparable.map(({ reason }) => reason),
    examples: examplesOf(diff),
  };
}

function examplesOf({ new: added }: ReportDiff): NewViolation[] {
  const causes = [
    ...added.filter((cause) => cause.on_new_pages < cause.elements),
    ...added.filter((cause) => cause.on_new_pages === cause.elements),
  ];
  // The first element of each cause, then the second ones.
  const ranks = Math.max(0, ...causes.map(({ examples }) => examples.length));
  return Array.from({ length: ranks }, (_, rank) =>
    causes.flatMap(({ rule, examples }) => examples.slice(rank, rank + 1).map((example) => ({ rule, ...example }))),
  )
    .flat()
    .slice(0, EXAMPLES_MAX)
    .map(({ rule, page, selector, frame_path, shadow_path }) => ({
      rule: cut(rule, SELECTOR_MAX),
      page: cut(page, PAGE_MAX),
      selector: cut([...frame_path, ...shadow_path, selector].join(' >>> '), SELECTOR_MAX),
    }));
}
