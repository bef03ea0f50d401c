/**
 * The result of a scan under the field names of the HTTP API. This one schema serves polls, the `complete` event, webhooks and the
 * command line. It has numbers and no findings.
 */
import { Type, type Static } from 'typebox';
import { growing, nullable, oneOf, open } from '../schemas.ts';
import { BASELINE_PROBLEMS, CHECK_ANSWERS, CHECK_REASONS, type BaselineChoice, type BaselineOutcome } from './baseline.ts';
import { Metadata } from './metadata-schema.ts';
import { withoutKnown, type Outcome } from './outcome.ts';
import { PHASES, TERMINAL_PHASES } from './phases.ts';
import { ReportThresholds, SubmittedOptions } from './submitted-options.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const resultCount = (what: string) => nullable(count(`${what} Null without a result.`));
const comparedCount = (what: string) => nullable(count(`${what} Null until the scans were compared.`));

const QueuePlace = Type.Object(
  {
    name: Type.String({ description: 'The ScanQueue that the scan waits in.' }),
    position: nullable(
      Type.Integer({
        minimum: 1,
        description: '1 for the scan that starts next. Null behind the first 1,000. It may rise while others submit scans.',
      }),
    ),
    waiting: Type.Integer({ minimum: 1, description: 'The number of scans that wait in the queue.' }),
  },
  {
    description:
      'Only while the status is `queued`, and absent once the scan has its place, for some seconds after the submission, or if the ' +
      'position is not known. It is some seconds old.',
  },
);

/** The comparison with a baseline, of a service, a cluster or a local scan. */
export const ComparisonResult = Type.Object({
  scan_id: nullable(
    Type.String({
      format: 'uuid',
      description: 'The scan that this one is compared with. Null until it is chosen, and if no done scan matches.',
    }),
  ),
  problem: nullable(
    oneOf(BASELINE_PROBLEMS, {
      description:
        'Why the scan is not judged by its baseline: no done scan matches, its report is not stored any more, its report is too large or of another version, or the scans were made with other rules or checks.',
    }),
  ),
  new: comparedCount(
    'Violations on pages that the baseline tested too, or of root causes that it does not have anywhere. `max_new_violations` judges them.',
  ),
  new_known: comparedCount('How many of the new ones are known issues. `max_new_violations` does not count them.'),
  on_new_pages: comparedCount('Violations of root causes that the baseline has too, on pages that it did not test. They are not new.'),
  fixed: comparedCount('Violations that only the baseline has, on pages that both scans tested.'),
  unchanged: comparedCount('Violations that both scans have; with `baseline.count: causes`, also others of root causes that both have.'),
  not_tested: comparedCount('Violations of the baseline on pages that this scan did not test: it is unknown whether they are fixed.'),
  check: Type.Optional(
    Type.Object(
      {
        cause: nullable(Type.String({ description: 'The fingerprint of the root cause. Null: all violations of the page.' })),
        answer: nullable(
          oneOf(CHECK_ANSWERS, {
            description:
              'Whether the violations of the earlier scan on this page are fixed. `new`: all are, and there are others. Null without a result.',
          }),
        ),
        reason: nullable(oneOf(CHECK_REASONS, { description: 'Why the answer is `unknown`.' })),
        before: comparedCount('How many of them the earlier scan found on the page.'),
        left: comparedCount('How many are left.'),
        new: comparedCount('Violations on the page that the earlier scan does not have there, and that are not known issues.'),
      },
      { description: 'The result of a check (`check_of`). Absent of any other scan.' },
    ),
  ),
});

const BaselineResult = Type.Object(
  {
    ...ComparisonResult.properties,
    difference_url: Type.String({ description: 'The page of the dashboard that shows the difference, relative to the base address.' }),
  },
  { description: 'The comparison with the baseline. The JSON export lists the root causes. Null without a baseline.' },
);

export const ScanResult = Type.Object(
  {
    scan_id: Type.String({ format: 'uuid' }),
    status: growing(PHASES, { description: 'Treat an unknown status as not terminal.' }),
    score: nullable(Type.Number({ minimum: 0, maximum: 100, description: 'Null without a result.' })),
    violations_count: resultCount('Violations on all pages: failing elements, counted once per rule and page.'),
    violations_critical: resultCount('Critical violations.'),
    violations_serious: resultCount('Serious violations.'),
    violations_moderate: resultCount('Moderate violations.'),
    violations_minor: resultCount('Minor violations.'),
    passed: nullable(Type.Boolean({ description: 'Whether the scan met every threshold. Null without thresholds and while in progress.' })),
    report_url: nullable(
      Type.String({
        description:
          'The address that returns a link to the PDF report, relative to the base address. The report of a canceled scan is partial: ' +
          'it and the numbers have only the pages that were tested until then.',
      }),
    ),
    message: nullable(
      Type.String({
        description:
          'Why the scan did not pass, failed or was canceled; also the coverage, if an attempted page could not be tested. While in ' +
          'progress, what the scan waits for, if it is not only its turn: a paused queue, a quota, room on a node.',
      }),
    ),
    url: Type.String({ description: 'The address at which the scan starts.' }),
    options: open(SubmittedOptions),
    thresholds: open(ReportThresholds),
    metadata: Metadata,
    submitted_at: Type.String({ format: 'date-time' }),
    started_at: nullable(Type.String({ format: 'date-time', description: 'Null while queued, and if the scan never started.' })),
    finished_at: nullable(Type.String({ format: 'date-time', description: 'Null while in progress.' })),
    pages_requested: Type.Integer({ minimum: 1 }),
    pages_reserved: Type.Integer({ minimum: 0, description: 'Pages that credits were reserved for.' }),
    pages_tested: Type.Integer({ minimum: 0, description: 'So far, while in progress.' }),
    pages_charged: nullable(Type.Integer({ minimum: 0, description: 'Credits that were spent. Null while in progress.' })),
    coverage: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'The share of attempted pages that were tested, in percent. Null without a result.',
      }),
    ),
    baseline: nullable(open(BaselineResult)),
    auth: nullable(Type.Object({ secret: Type.String() }, { description: 'The sign-in of the submission: the name of the Secret.' })),
    test: Type.Boolean({ description: 'Whether a test key submitted it. Such a scan costs nothing.' }),
    score_without_known: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'The score without known issues, which `min_score` judges. Null without a result.',
      }),
    ),
    score_without_decisions: nullable(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'The score without elements that a person has confirmed as faults. Null without a result.',
      }),
    ),
    violations_new_or_open: resultCount('The violations that are not known issues, which the other thresholds judge.'),
    known_issues: nullable(
      Type.Object(
        {
          matched: count('Known issues that matched an element.'),
          unmatched: count('Known issues that matched none, and may be out of date.'),
          ending: count('Known issues that end within 30 days of the scan.'),
        },
        {
          description: 'The numbers of known issues of the site. The JSON export lists them. Null without a result, and if there are none.',
        },
      ),
    ),
    queue: Type.Optional(QueuePlace),
  },
  { $id: 'ScanResult' },
);
export type ScanResult = Static<typeof ScanResult>;

/** The numbers of violations, with and without known issues. */
const NUMBERS = [
  'score',
  'violations_count',
  'violations_critical',
  'violations_serious',
  'violations_moderate',
  'violations_minor',
  'score_without_known',
  'score_without_decisions',
  'violations_new_or_open',
] as const;

/** The last event of a stream. */
export const CompleteEvent = Type.Object(
  {
    event: oneOf(['complete']),
    status: growing(TERMINAL_PHASES),
    ...Type.Pick(ScanResult, ['scan_id', ...NUMBERS, 'passed', 'message']).properties,
  },
  { $id: 'CompleteEvent' },
);
export type CompleteEvent = Static<typeof CompleteEvent>;

/** Score and numbers of violations; null without a result. */
export function scoreAndCounts(
  outcome: Pick<Outcome, 'score' | 'violations' | 'known'> | null,
): Pick<ScanResult, (typeof NUMBERS)[number]> {
  const open = outcome && withoutKnown(outcome);
  return {
    score: outcome?.score ?? null,
    violations_count: outcome?.violations.total ?? null,
    violations_critical: outcome?.violations.critical ?? null,
    violations_serious: outcome?.violations.serious ?? null,
    violations_moderate: outcome?.violations.moderate ?? null,
    violations_minor: outcome?.violations.minor ?? null,
    score_without_known: open?.score ?? null,
    score_without_decisions: outcome && (outcome.known?.scoreWithoutDecisions ?? outcome.score),
    violations_new_or_open: open?.violations.total ?? null,
  };
}

/** @param choice how the submission names the baseline */
export function comparisonResult(
  { scanId, problem, difference, checked, check: checks }: Partial<BaselineOutcome>,
  { scan: named, check = checks }: Partial<BaselineChoice> = {},
): Static<typeof ComparisonResult> {
  return {
    scan_id: scanId ?? named ?? null,
    problem: problem ?? null,
    new: difference?.new ?? null,
    new_known: difference === undefined ? null : (difference.newKnown ?? 0),
    on_new_pages: difference?.onNewPages ?? null,
    fixed: difference?.fixed ?? null,
    unchanged: difference?.unchanged ?? null,
    not_tested: difference?.notTested ?? null,
    ...(check && {
      check: {
        cause: check.cause ?? null,
        answer: checked?.answer ?? null,
        reason: checked?.reason ?? null,
        before: checked?.before ?? null,
        left: checked?.left ?? null,
        new: checked?.new ?? null,
      },
    }),
  };
}

/** The numbers of known issues; null if the site has none. */
export function knownResult(outcome: Pick<Outcome, 'known'> | null): ScanResult['known_issues'] {
  if (outcome?.known === undefined) return null;
  const { matched, unmatched, ending } = outcome.known;
  return { matched, unmatched, ending };
}
