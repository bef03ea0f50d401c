/**
 * The root causes to fix so that a scan passes, chosen by the thresholds that it missed. Without exactly these causes the same thresholds
 * are met, and each of them is needed. Pure.
 */
import type { Counts } from '../../core/scan/counts.ts';
import { type Impact, impactsFrom } from '../../core/scan/impacts.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import { thresholdsOf } from '../../core/scan/submitted-options.ts';
import { checkThresholds, type ThresholdCheck, type ThresholdName } from '../../core/scan/thresholds.ts';
import { elementsOf, openTally } from '../causes/known.ts';
import { knownMatcher } from '../causes/known-matcher.ts';
import { countedAsNew } from '../diff/diff.ts';
import { outcomeOf } from '../results/results.ts';
import { noCounts, pageScore, type RuleTally, scanScore } from '../results/score.ts';
import { testedPages } from '../schema/page.ts';
import { BASELINE_CAUSES_MAX, type Report } from '../schema/report.ts';
import type { CauseChange, RootCause } from '../schema/root-cause.ts';

/** As many root causes as a person takes on before the next scan. */
export const FIXES_MAX = 10;

export interface FixToPass {
  /** Worst first, with the elements that count. At most `FIXES_MAX`. */
  causes: CauseChange[];
  /** With how many fixed root causes the scan passes. Null: a threshold is missed however many are fixed. */
  needed: number | null;
  /** What is missed when `causes` are fixed. Empty: the scan then passes. */
  left: ThresholdCheck[];
}

/** Chooses what to fix. Null if the scan did not miss a threshold, or is partial: a partial scan never passes. */
export function fixToPass(report: Report): FixToPass | null {
  if (report.partial) return null;
  const scan = removable(report);
  const missed = scan.missed();
  if (missed.length === 0) return null;
  for (const cause of scan.causes) scan.remove(cause);
  const never = new Set(scan.missed().map(({ name }) => name));
  for (const cause of scan.causes) scan.restore(cause);
  const aims = AIMS.filter((name) => missed.some((check) => check.name === name && !never.has(name)));
  const needed = neededFor(aims, scan);
  const listed = scan.causes.filter((cause) => needed.has(cause)).slice(0, FIXES_MAX);
  for (const cause of needed) if (!listed.includes(cause)) scan.restore(cause);
  const onlyNew = aims.every((name) => name === 'maxNewViolations');
  const news = new Map(newCauses(report.baseline?.new_causes ?? []).map((change) => [change.fingerprint, change]));
  return {
    causes: listed.flatMap(({ group }) => (onlyNew ? (news.get(group.fingerprint) ?? asChange(group)) : asChange(group))),
    needed: never.size > 0 ? null : needed.size,
    left: scan.missed(),
  };
}

/**
 * What a reader is to fix: the root causes that keep the scan from passing. If there are none, those of new violations if the scan was
 * compared with a baseline, else all. Known issues are left out, as thresholds do. Worst first, with the elements that count.
 */
export function causesToFix(report: Report): { toPass: FixToPass | null; causes: CauseChange[] } {
  const toPass = fixToPass(report);
  if (toPass !== null && toPass.causes.length > 0) return { toPass, causes: toPass.causes };
  const { baseline, groups } = report;
  return { toPass, causes: baseline === undefined || baseline.new === null ? groups.flatMap(asChange) : newCauses(baseline.new_causes) };
}

/** The causes as the threshold counts them: without those that the baseline has too on pages that it did not test. */
const newCauses = (changes: readonly CauseChange[]): CauseChange[] =>
  changes.flatMap((change) => {
    const elements = openNew(change);
    return elements > 0 ? [{ ...change, elements }] : [];
  });

const openNew = (change: CauseChange): number => countedAsNew(change) - (change.known_elements ?? 0);

function asChange({ example, page_urls: [page = ''], known_elements: known = 0, ...cause }: RootCause): CauseChange[] {
  const elements = cause.elements - known;
  return elements > 0 ? [{ ...cause, elements, in_both: false, on_new_pages: 0, examples: [{ ...example, page }] }] : [];
}

/** The thresholds that fixing can meet: first those that leave no choice of causes, last the one that most causes help with. */
const AIMS = ['failOnSeverity', 'maxNewViolations', 'maxViolations', 'minScore'] as const satisfies ThresholdName[];
type Aim = (typeof AIMS)[number];

/** More causes than that are not worth the time to look for superfluous ones: the reader is told of `FIXES_MAX`. */
const MINIMISED_MAX = 200;

/** Removes the causes that help most with each aim until all are met, then restores those that the others make superfluous. */
function neededFor(aims: readonly Aim[], scan: Removable): Set<Cause> {
  const chosen = new Set<Cause>();
  const isMissed = (aim: Aim): boolean => scan.missed().some(({ name }) => name === aim);
  for (const aim of aims) {
    const worth = new Map(scan.causes.filter((cause) => !chosen.has(cause)).map((cause) => [cause, scan.worth(cause, aim)]));
    const order = [...worth.keys()].sort((one, other) => worth.get(other)! - worth.get(one)!);
    for (const cause of order.slice(
      0,
      fewestOf(order, () => isMissed(aim), scan),
    ))
      chosen.add(cause);
  }
  if (chosen.size > MINIMISED_MAX) return chosen;
  for (const cause of [...chosen].reverse()) {
    scan.restore(cause);
    if (aims.some(isMissed)) scan.remove(cause);
    else chosen.delete(cause);
  }
  return chosen;
}

/** Removes as few of the first causes as it takes, by bisection, because there may be thousands. @returns their number */
function fewestOf(order: readonly Cause[], isMissed: () => boolean, scan: Removable): number {
  let removed = 0;
  const isMissedWithout = (first: number): boolean => {
    while (removed < first) scan.remove(order[removed++]!);
    while (removed > first) scan.restore(order[--removed]!);
    return isMissed();
  };
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isMissedWithout(middle)) low = middle + 1;
    else high = middle;
  }
  isMissedWithout(low);
  return low;
}

/** A rule that fails on a page. `left` of its elements are no known issues, and not removed. */
interface Finding {
  tally: RuleTally;
  impact: Impact;
  left: number;
}

interface Cause {
  group: RootCause;
  /** Its elements that are no known issues. */
  elements: Map<Finding, number>;
  /** How many of them are new. */
  added: number;
}

/** The numbers of a scan, from which root causes can be removed and to which they can be restored. */
interface Removable {
  /** In the order of the report: worst first. */
  causes: readonly Cause[];
  remove(cause: Cause): void;
  restore(cause: Cause): void;
  missed(): ThresholdCheck[];
  /** How much it helps with a threshold to remove a cause. */
  worth(cause: Cause, aim: Aim): number;
}

function removable(report: Report): Removable {
  const thresholds = thresholdsOf(report.scan.thresholds);
  const { known: _, ...before } = outcomeOf(report);
  const difference = before.baseline?.difference;
  const forbidden = thresholds.failOnSeverity === undefined ? [] : impactsFrom(thresholds.failOnSeverity);
  const counts = noCounts();
  const { causes, tallies } = readCauses(report, counts);
  let added = 0;

  function move({ elements, added: ofCause }: Cause, by: 1 | -1): void {
    for (const [finding, n] of elements) {
      const failed = Number(finding.left > 0);
      finding.left += by * n;
      finding.tally[finding.impact].failed += Number(finding.left > 0) - failed;
      counts[finding.impact] += by * n;
      counts.total += by * n;
    }
    added += by * ofCause;
  }

  /** What the scan would have measured. The sums of scores are only needed where they are judged. */
  const outcome = (): Outcome => ({
    ...before,
    score: thresholds.minScore === undefined ? before.score : scanScore(tallies, counts.total),
    violations: { ...counts },
    ...(before.baseline && {
      baseline: { ...before.baseline, ...(difference && { difference: { ...difference, new: difference.new + added } }) },
    }),
  });

  return {
    causes,
    remove: (cause) => move(cause, -1),
    restore: (cause) => move(cause, 1),
    missed: () => checkThresholds(thresholds, outcome()).filter(({ met }) => !met),
    worth(cause, aim) {
      if (aim === 'maxNewViolations') return cause.added;
      const sum = (worth: (finding: Finding, n: number) => number): number =>
        [...cause.elements].reduce((all, [finding, n]) => all + worth(finding, n), 0);
      if (aim === 'minScore') return sum((finding, n) => (finding.left === 0 ? 0 : (gainOf(finding) * n) / finding.left));
      return sum(({ impact }, n) => (aim === 'maxViolations' || forbidden.includes(impact) ? n : 0));
    },
  };
}

/** How much the score of a page rises without a rule that fails. */
function gainOf({ tally, impact }: Finding): number {
  const without = { ...tally, [impact]: { ...tally[impact], failed: tally[impact].failed - 1 } };
  return pageScore(without) - pageScore(tally);
}

/** Reads what is no known issue: the root causes, and the rules of each page. @param counts is filled with its violations */
function readCauses(report: Report, counts: Counts): { causes: Cause[]; tallies: RuleTally[] } {
  const { baseline, known_issues: known, groups } = report;
  const matcher = knownMatcher(known?.issues ?? []);
  const news = new Map((baseline?.new_causes ?? []).map((change) => [change.fingerprint, openNew(change)]));
  // Of root causes that the list leaves out, it is unknown which new elements are known issues.
  const isCut = baseline?.new_causes.length === BASELINE_CAUSES_MAX;
  const leastNew = ({ new_elements = 0, known_elements = 0 }: RootCause): number =>
    isCut ? Math.max(0, new_elements - known_elements) : 0;
  const causes = new Map(
    groups.map((group): [string, Cause] => [
      group.fingerprint,
      { group, elements: new Map(), added: news.get(group.fingerprint) ?? leastNew(group) },
    ]),
  );
  const tallies: RuleTally[] = [];
  for (const page of testedPages(report.pages)) {
    const tally = openTally(page, matcher, new Map(), counts);
    tallies.push(tally);
    for (const violation of page.violations) {
      const finding: Finding = { tally, impact: violation.impact, left: violation.nodes_total };
      for (const { fingerprint, key, elements } of elementsOf(violation, matcher)) {
        const cause = causes.get(fingerprint);
        if (key !== undefined) finding.left -= elements;
        else cause?.elements.set(finding, (cause.elements.get(finding) ?? 0) + elements);
      }
    }
  }
  return { causes: [...causes.values()], tallies };
}
