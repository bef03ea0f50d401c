/** Baselines: the earlier scan that a scan is compared with, and what the comparison says. */
import { Type, type Static } from 'typebox';
import { oneOf } from '../schemas.ts';
import { isUuid } from '../uuid.ts';
import { siteOf } from './site.ts';
import { Metadata } from './metadata-schema.ts';
import { readPair } from './metadata.ts';

/** What counts as new. */
export const BASELINE_COUNTS = ['elements', 'causes'] as const;
export type BaselineCount = (typeof BASELINE_COUNTS)[number];

/** How a scan names its baseline. Exactly one of `scan`, `metadata` and `schedule` is set. */
export const BaselineChoice = Type.Object(
  {
    scan: Type.Optional(Type.String({ format: 'uuid', description: 'The ID of the scan to compare with.' })),
    metadata: Type.Optional(
      Type.Unsafe<Metadata>({
        ...Metadata,
        minProperties: 1,
        description: 'Compare with the newest scan of the site that is done and has all of these pairs of metadata, such as branch: main.',
      }),
    ),
    schedule: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 52,
        description: 'Compare with the newest done scan of the site by the ScanSchedule of this name.',
      }),
    ),
    site: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 260,
        description: 'With metadata: the host of the scans to compare with, if it is not the host of this scan, as for a preview.',
      }),
    ),
    optional: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether maxNewViolations counts as met if there is no report to compare with.',
      }),
    ),
    count: Type.Optional(
      oneOf(BASELINE_COUNTS, {
        default: 'elements',
        description: 'What counts as new: every element that the baseline lacks on pages that it tested, or only those of new root causes.',
      }),
    ),
    check: Type.Optional(
      Type.Object(
        { cause: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$', description: 'The fingerprint of the root cause to check.' })) },
        {
          description:
            'With scan: the scan checks whether violations of that scan are fixed on its first page. Lists of sites, trends and later baselines leave such a scan out.',
        },
      ),
    ),
  },
  { description: 'The earlier scan that the scan is compared with.' },
);
export type BaselineChoice = Static<typeof BaselineChoice>;

/** The forms of `readBaselineText`, for messages. */
export const BASELINE_TEXT = 'KEY=VALUE (of metadata; several with commas), schedule:NAME, or the ID of a scan';

/** Reads a baseline that a person typed, such as `branch=main`, `schedule:nightly` or the ID of a scan. Null if it is none of these. */
export function readBaselineText(text: string): BaselineChoice | null {
  if (isUuid(text)) return { scan: text.toLowerCase() };
  if (text.startsWith('schedule:')) return text.length > 9 ? { schedule: text.slice(9) } : null;
  const pairs = text.split(',').map((pair) => readPair(pair.trim()));
  return pairs.every((pair) => pair !== null && pair.every((part) => part !== ''))
    ? { metadata: Object.fromEntries(pairs as [string, string][]) }
    : null;
}

/** A baseline as `readBaselineText` reads it. Whether it is optional, and another site, cannot be typed. */
export function baselineText({ scan, schedule, metadata = {} }: BaselineChoice): string {
  if (scan !== undefined) return scan;
  return schedule === undefined ? Object.entries(metadata).map((pair) => pair.join('=')).join(',') : `schedule:${schedule}`; // prettier-ignore
}

/** The ways to name a baseline, of which a choice has one. */
export const BASELINE_WAYS = ['scan', 'metadata', 'schedule'] as const;

/** Returns what is wrong with a choice of a baseline, or null. @param judged whether the scan has a threshold for new violations */
export function baselineMistake(choice: BaselineChoice | undefined, judged: boolean): string | null {
  if (choice === undefined) return judged ? 'A threshold for new violations needs a baseline to compare with.' : null;
  const set = BASELINE_WAYS.filter((way) => choice[way] !== undefined);
  if (set.length !== 1) return `A baseline has exactly one of ${BASELINE_WAYS.join(', ')}.`;
  if (choice.check !== undefined && choice.scan === undefined) return 'A check names the scan that it is compared with.';
  if (choice.site === undefined) return null;
  if (choice.metadata === undefined) return 'The site of a baseline is only used with metadata.';
  const isHost = siteOf(`https://${choice.site}`) === choice.site.toLowerCase();
  return isHost ? null : 'The site of a baseline is a host, such as www.example.com, without scheme and path.';
}

/**
 * Why a scan was not judged by its baseline:
 * - `not_found`: no done scan matches
 * - `not_stored`: its report is not stored any more
 * - `not_comparable`: its report is too large, or of another version
 * - `scans_differ`: there are new violations, but they may come from other rules or checks and not from the site. They count all the
 *   same, because the scans were compared
 */
export const BASELINE_PROBLEMS = ['not_found', 'not_stored', 'not_comparable', 'scans_differ'] as const;
export type BaselineProblem = (typeof BASELINE_PROBLEMS)[number];

const Count = Type.Integer({ minimum: 0 });

/** Numbers of violations: failing elements of one rule on one page. */
export const BaselineDifference = Type.Object({
  /** On pages that the baseline tested too, or of root causes that it does not have anywhere. The threshold is about them. */
  new: Count,
  /** How many of the new ones are known issues. The threshold does not count them. Only if the site has known issues. */
  newKnown: Type.Optional(Count),
  /** Of root causes that the baseline has too, on pages that it did not test. They do not count as new. */
  onNewPages: Count,
  fixed: Count,
  unchanged: Count,
  /** Violations of the baseline on pages that this scan did not test, so that it is unknown whether they are fixed. */
  notTested: Count,
});
export type BaselineDifference = Static<typeof BaselineDifference>;

export const CHECK_ANSWERS = ['fixed', 'still_there', 'new', 'unknown'] as const;
export type CheckAnswer = (typeof CHECK_ANSWERS)[number];

/** What a check says if the page had no violations besides known issues, and has none: there was nothing to fix. */
export const NOTHING_TO_FIX = 'No violations on this page, apart from known issues';

/** Why a check has no answer, for people. */
export const CHECK_DOUBTS = {
  no_report: 'There is no report of the earlier scan to compare with. Scan the site again.',
  other_page: 'The earlier scan did not test this page, or the page leads elsewhere now.',
  not_on_page: 'The earlier scan did not find this root cause on this page.',
  other_rules: 'The earlier scan was made with other versions of the rules, so that fewer findings prove nothing. Scan the site again.',
  rule_not_run: 'The rule was not run on this page, so the absence of a finding proves nothing.',
  decided_fine: 'A person has decided since that a confirmed fault is fine, which does not fix it.',
  needs_review: 'The rule could not decide about more elements than before. Look at those that need review.',
  partly_tested: 'More of the page was left untested than before. The findings of the page say what.',
} as const;
export type CheckReason = keyof typeof CHECK_DOUBTS;
export const CHECK_REASONS = Object.keys(CHECK_DOUBTS) as CheckReason[];

/** Whether violations on one page are fixed: those of a root cause, or all of the page. */
export const CheckOutcome = Type.Object({
  answer: oneOf(CHECK_ANSWERS),
  /** Only if the answer is `unknown`. */
  reason: Type.Optional(oneOf(CHECK_REASONS)),
  /** How many of them the earlier scan found on the page, and how many are left. */
  before: Count,
  left: Count,
  /** Violations on the page that the earlier scan does not have there. */
  new: Count,
});
export type CheckOutcome = Static<typeof CheckOutcome>;

/** What became of the comparison with a baseline. Without a problem there is a difference. */
export const BaselineOutcome = Type.Object({
  /** The scan that it was compared with. Absent if none was found. */
  scanId: Type.Optional(Type.String({ maxLength: 64 })),
  optional: Type.Boolean(),
  /** Absent: elements. */
  count: Type.Optional(oneOf(BASELINE_COUNTS)),
  problem: Type.Optional(oneOf(BASELINE_PROBLEMS)),
  difference: Type.Optional(BaselineDifference),
  /** Only of a check: the root cause, if it is about one. */
  check: BaselineChoice.properties.check,
  /** Only of a check that is done. */
  checked: Type.Optional(CheckOutcome),
});
export type BaselineOutcome = Static<typeof BaselineOutcome>;

/** The number of new violations that a threshold judges; null if the scans were not compared. */
export function judgedNew(baseline: BaselineOutcome | undefined): number | null {
  return baseline?.difference === undefined ? null : newWithoutKnown(baseline.difference);
}

/** The start of the sentence that says why the scans were not compared, if the scan passes all the same. */
export const BASELINE_NOTE = 'Baseline:';

/** Why there is no comparison, for a scan whose threshold is met without one; null if there is one. */
export function baselineNote(baseline: BaselineOutcome | undefined): string | null {
  if (baseline?.problem === undefined || baseline.difference !== undefined) return null;
  return `${BASELINE_NOTE} ${NOTES[baseline.problem]}, so new violations were not judged.`;
}

const NOTES: Readonly<Record<BaselineProblem, string>> = {
  not_found: 'no done scan matches',
  not_stored: 'its report is not stored any more',
  not_comparable: 'its report is too large or was made by another version',
  scans_differ: 'the scans were made with other rules or checks',
};

/** New violations that are not known issues. */
export const newWithoutKnown = ({ new: added, newKnown = 0 }: BaselineDifference): number => added - newKnown;

const PROBLEM_SENTENCES: Readonly<Record<BaselineProblem, (scanId: string, found: string) => string>> = {
  not_found: () =>
    'New violations cannot be told, because no done scan matches the baseline. Scan what the baseline names first, such as the main branch with its metadata, or set optional in the baseline.',
  not_stored: (scanId) =>
    `New violations cannot be told, because the report of the baseline ${scanId} is not stored any more. Scan what the baseline names again.`,
  not_comparable: (scanId) =>
    `New violations cannot be told, because the report of the baseline ${scanId} is too large or was made by another version. Scan what the baseline names again.`,
  scans_differ: (scanId, found) =>
    `${found} not in the baseline ${scanId}, more than allowed; it was made with other rules or checks, so they may not be the site's. Scan what the baseline names again with the same options.`,
};

/** One sentence on why a scan with this baseline does not meet its threshold for new violations. @param allowed the threshold */
export function missedNew(baseline: BaselineOutcome | undefined, allowed: number): string {
  const found = baseline?.difference === undefined ? 0 : newWithoutKnown(baseline.difference);
  const violations = found === 1 ? 'There is 1 violation' : `There are ${found} violations`;
  const { scanId = '', problem } = baseline ?? { problem: 'not_found' };
  if (problem !== undefined) return PROBLEM_SENTENCES[problem](scanId, violations);
  const known = baseline?.difference?.newKnown === undefined ? '' : ' and not known';
  return `${violations} not in the baseline ${scanId}${known}, more than the ${allowed} allowed.`;
}
