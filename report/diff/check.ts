/** Checks a page again: whether violations that an earlier scan found there are fixed. Pure. */
import type { CheckOutcome, CheckReason } from '../../core/scan/baseline.ts';
import { outcomesOn } from '../results/rule-outcomes.ts';
import { testedPages } from '../schema/page.ts';
import { UNFAIR_CAVEATS, type Caveat } from './caveats.ts';
import { samePage } from './diff.ts';
import { matchPages, NO_ELEMENTS, type UnmatchedElements } from './match.ts';
import type { ComparableReport, ReducedElement, ReducedPage, ReducedReport } from './reduce.ts';

type Numbers = Pick<CheckOutcome, 'before' | 'left' | 'new'>;

/** A check without an answer. */
export const unknown = (reason: CheckReason, numbers: Numbers = { before: 0, left: 0, new: 0 }): CheckOutcome => ({
  answer: 'unknown',
  reason,
  ...numbers,
});

interface Asked {
  /** The fingerprint of the root cause. Absent: all violations of the page that are not known issues. */
  cause?: string;
  /** The export of the check. */
  report: Pick<ComparableReport, 'pages'> & { rules: readonly string[] };
  caveats: readonly Caveat[];
}

/** Compares the page of a check with the same page of the earlier scan. Violations are fixed only if nothing else explains that they are gone. */
export function checkPage(before: ReducedReport, after: ReducedReport, { cause, report, caveats }: Asked): CheckOutcome {
  const tested = testedPages(report.pages)[0];
  const [key, now] = [...after.pages].find(([, { url }]) => url === tested?.url) ?? [];
  const earlier = key === undefined ? undefined : (before.pages.get(key) ?? samePage(before, key));
  if (tested === undefined || now === undefined || earlier === undefined) return unknown('other_page');
  const asked = cause === undefined ? [...earlier.rules.keys()] : rulesOf(earlier, cause);
  const numbers = numbersOf(earlier, now, { cause, decided: (one) => after.confirmed.has(one) && before.undecided.has(one) });
  if (cause !== undefined && asked.length === 0) return unknown('not_on_page', numbers);
  if (numbers.left > 0) return { answer: 'still_there', ...numbers };
  const ran = outcomesOn(tested, report.rules);
  const causes = [...earlier.rules.values()].flat().map(({ fingerprint }) => fingerprint);
  const doubts: Readonly<Partial<Record<CheckReason, boolean>>> = {
    other_rules: caveats.some(({ reason }) => UNFAIR.has(reason)),
    rule_not_run: asked.some((rule) => !ran.has(rule)),
    decided_fine: causes.some((one) => (cause ?? one) === one && before.confirmed.has(one) && after.fine.has(one)),
    needs_review: asked.some((rule) => (now.review.get(rule) ?? 0) > (earlier.review.get(rule) ?? 0)),
    partly_tested:
      after.about.uncounted > 0 ||
      now.gaps.some((gap) => !earlier.gaps.includes(gap)) ||
      [...earlier.states].some((state) => !now.states.has(state)),
  };
  const doubt = (Object.keys(doubts) as CheckReason[]).find((reason) => doubts[reason]);
  if (doubt !== undefined) return unknown(doubt, numbers);
  return { answer: cause === undefined && numbers.new > 0 ? 'new' : 'fixed', ...numbers };
}

const UNFAIR: ReadonlySet<Caveat['reason']> = new Set(UNFAIR_CAVEATS);

type Counted = Pick<ReducedElement, 'fingerprint' | 'known' | 'state'>;

interface Which {
  cause: string | undefined;
  /** Whether the elements of a root cause are there since, because a person has confirmed them as faults. */
  decided: (fingerprint: string) => boolean;
}

function numbersOf(earlier: ReducedPage, now: ReducedPage, { cause, decided }: Which): Numbers {
  const { before: gone, after: added } = matchPages(earlier, now);
  const isOpen = ({ known }: Counted): boolean => !known;
  const more = countOf(added.values(), isOpen);
  // What is in a state that the earlier scan did not test was perhaps always there.
  const isOld = ({ fingerprint, state }: Counted): boolean => decided(fingerprint) || (state !== undefined && !earlier.states.has(state));
  const isNew = more - countOf(added.values(), (one) => isOpen(one) && isOld(one));
  if (cause === undefined) {
    const left = countOf(elementsOn(now), isOpen) - more;
    return { before: left + countOf(gone.values(), isOpen), left, new: isNew };
  }
  const isAsked = ({ fingerprint }: Counted): boolean => fingerprint === cause;
  const [had, less, back] = [elementsOn(earlier), gone.values(), added.values()].map((parts) => countOf(parts, isAsked));
  return { before: had!, left: had! - less! + back!, new: isNew };
}

const elementsOn = ({ rules, undescribed }: ReducedPage): UnmatchedElements[] =>
  [...rules].map(([rule, elements]) => ({ elements, undescribed: undescribed.get(rule) ?? NO_ELEMENTS }));

const rulesOf = (page: ReducedPage, cause: string): string[] =>
  [...page.rules].flatMap(([rule, elements]) => (elements.some(({ fingerprint }) => fingerprint === cause) ? [rule] : []));

function countOf(parts: Iterable<UnmatchedElements>, has: (element: Counted) => boolean): number {
  let count = 0;
  for (const { elements, undescribed } of parts) {
    count += elements.filter(has).length;
    for (const [fingerprint, { elements: more, known }] of undescribed) if (has({ fingerprint, known })) count += more;
  }
  return count;
}
