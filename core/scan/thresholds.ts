/** Thresholds: one table, from which the schemas, the command line's options, the verdict and the PDF's table are derived. */
import { Type, type Static, type TOptional, type TSchema } from 'typebox';
import { oneOf } from '../schemas.ts';
import { BASELINE_NOTE, baselineNote, judgedNew, missedNew } from './baseline.ts';
import { coverageOf } from './counts.ts';
import { IMPACTS, impactsFrom, type Impact } from './impacts.ts';
import { withoutKnown, type Outcome } from './outcome.ts';

interface ThresholdDefinition<Schema extends TSchema, Measured> {
  /** The allowed value, with bounds and a description. */
  schema: Schema;
  /** Its name on pages: the label of its field, and the subject of the sentence that says what is wrong with a value. */
  label: string;
  /** The option of `curbcut scan`: its name, and the placeholder of its value. */
  flag: readonly [name: string, value: string];
  measure(outcome: Outcome, allowed: Static<Schema>): Measured;
  isMet(measured: Measured, allowed: Static<Schema>, outcome: Outcome): boolean;
  /** One sentence with the measured and the allowed value. */
  missed(measured: Measured, allowed: Static<Schema>, outcome: Outcome): string;
}

/** The minimum coverage of a scan that has another threshold: a gate must not pass on a few of its pages. */
export const DEFAULT_MIN_COVERAGE = 50;

const define = <Schema extends TSchema, Measured extends number | null | Partial<Record<Impact, number>>>(
  definition: ThresholdDefinition<Schema, Measured>,
) => definition;

export const THRESHOLDS = {
  minScore: define({
    schema: Type.Number({ minimum: 0, maximum: 100, description: 'The minimum score.' }),
    label: 'Minimum score',
    flag: ['min-score', 'N'],
    measure: (outcome) => withoutKnown(outcome).score,
    isMet: (measured, allowed) => measured >= allowed,
    missed: (measured, allowed, { score, known }) =>
      known === undefined
        ? `The score is ${measured}, below the minimum of ${allowed}.`
        : `The score without known issues is ${measured} (${score} with them), below the minimum of ${allowed}.`,
  }),
  maxViolations: define({
    schema: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The maximum number of violations over all pages.',
    }),
    label: 'Maximum violations',
    flag: ['max-violations', 'N'],
    measure: (outcome) => withoutKnown(outcome).violations.total,
    isMet: (measured, allowed) => measured <= allowed,
    missed: (measured, allowed, { violations, known }) =>
      known === undefined
        ? `There are ${measured} violations, more than the ${allowed} allowed.`
        : `There are ${measured} violations without known issues (${violations.total} with them), more than the ${allowed} allowed.`,
  }),
  maxNewViolations: define({
    schema: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The maximum number of violations that the baseline does not have. Needs a baseline.',
    }),
    label: 'Maximum new violations',
    flag: ['max-new-violations', 'N'],
    /** Null if there is nothing to compare with. */
    measure: ({ baseline }): number | null => judgedNew(baseline),
    isMet: (measured, allowed, { baseline }) => (measured === null ? baseline?.optional === true : measured <= allowed),
    missed: (_measured, allowed, { baseline }) => missedNew(baseline, allowed),
  }),
  failOnSeverity: define({
    schema: oneOf(IMPACTS, { description: 'Allow no violation of this severity or worse.' }),
    label: 'No violation of this severity or worse',
    flag: ['fail-on', 'SEVERITY'],
    /** The violations of this severity or worse; a severity without any is left out. */
    measure: (outcome, allowed): Partial<Record<Impact, number>> => {
      const { violations } = withoutKnown(outcome);
      return Object.fromEntries(impactsFrom(allowed).flatMap((impact) => (violations[impact] > 0 ? [[impact, violations[impact]]] : [])));
    },
    isMet: (measured) => Object.keys(measured).length === 0,
    missed: (measured, allowed, { known }) =>
      `There are violations of severity ${allowed} or worse${known === undefined ? '' : ' that are not known issues'}, of which none is allowed: ${Object.entries(
        measured,
      )
        .map(([impact, count]) => `${count} ${impact}`)
        .join(', ')}.`,
  }),
  minCoverage: define({
    schema: Type.Number({
      minimum: 0,
      maximum: 100,
      description: `The minimum coverage (tested ÷ attempted pages) in percent; ${DEFAULT_MIN_COVERAGE} if only other thresholds are set.`,
    }),
    label: 'Minimum coverage',
    flag: ['min-coverage', 'N'],
    measure: ({ pages }) => coverageOf(pages),
    isMet: (measured, allowed) => measured >= allowed,
    missed: (measured, allowed, { pages }) => `The coverage is ${measured}%, below the minimum of ${allowed}%: ${testedOf(pages)}.`,
  }),
};

/** Attempted, not found: pages that were never tried say nothing about the site. */
const testedOf = ({ scanned, failed }: Outcome['pages']): string =>
  `${scanned} of ${scanned + failed} ${scanned + failed === 1 ? 'page' : 'pages'} could be tested`;

type Table = typeof THRESHOLDS;
export type ThresholdName = keyof Table;
export const THRESHOLD_NAMES = Object.keys(THRESHOLDS) as ThresholdName[];

type Schemas = { [K in ThresholdName]: TOptional<Table[K]['schema']> };

/** What a scan must meet to pass. An absent threshold is not checked. */
export const Thresholds = Type.Object(
  Object.fromEntries(THRESHOLD_NAMES.map((name) => [name, Type.Optional(THRESHOLDS[name].schema)])) as unknown as Schemas,
  { description: 'The conditions that the scan must meet to pass. Without thresholds the scan has no verdict.' },
);
export type Thresholds = Static<typeof Thresholds>;

/** One threshold that was set, measured. */
export type ThresholdCheck = {
  [K in ThresholdName]: { name: K; allowed: NonNullable<Thresholds[K]>; measured: ReturnType<Table[K]['measure']>; met: boolean };
}[ThresholdName];

/**
 * `passed` is null without thresholds. `message` has a sentence for each missed threshold, and states the coverage if it is
 * below 100 %, whatever the verdict; otherwise it is null.
 */
export interface Verdict {
  passed: boolean | null;
  message: string | null;
}

/** Whether a scan with these thresholds gets a verdict. */
export function hasThresholds(thresholds: Thresholds): boolean {
  return THRESHOLD_NAMES.some((name) => thresholds[name] !== undefined);
}

/** Adds the default of the coverage. Stored options and exports keep what the caller sent, so that only the verdict has it. */
function withDefaultCoverage(thresholds: Thresholds): Thresholds {
  return hasThresholds(thresholds) ? { ...thresholds, minCoverage: thresholds.minCoverage ?? DEFAULT_MIN_COVERAGE } : {};
}

/** Measures every threshold that applies, in the table's order: those that were set, and the default of the coverage. */
export function checkThresholds(thresholds: Thresholds, outcome: Outcome): ThresholdCheck[] {
  const applied = withDefaultCoverage(thresholds);
  return THRESHOLD_NAMES.flatMap((name) => {
    const allowed = applied[name];
    if (allowed === undefined) return [];
    const { measure, isMet } = THRESHOLDS[name] as AnyDefinition;
    const measured = measure(outcome, allowed);
    return [{ name, allowed, measured, met: isMet(measured, allowed, outcome) } as ThresholdCheck];
  });
}

/** The verdict over a finished scan (decisions, "Scan results"). */
export function judge(thresholds: Thresholds, outcome: Outcome): Verdict {
  const missed = checkThresholds(thresholds, outcome).filter(({ met }) => !met);
  const reasons = missed.map(({ name, measured, allowed }) => (THRESHOLDS[name] as AnyDefinition).missed(measured, allowed, outcome));
  const sentences = [...reasons, ...notesOf(missed, outcome)];
  return {
    passed: hasThresholds(thresholds) ? missed.length === 0 : null,
    message: sentences.length === 0 ? null : sentences.join(' '),
  };
}

/** What the message of a verdict states besides the missed thresholds: a coverage below 100 %, and what the comparison lacks. */
export function notesOf(missed: readonly Pick<ThresholdCheck, 'name'>[], { pages, baseline }: Outcome): string[] {
  const isMissed = (threshold: ThresholdName): boolean => missed.some(({ name }) => name === threshold);
  const coverage = coverageOf(pages);
  const compared = isMissed('maxNewViolations') ? null : baselineNote(baseline);
  return [
    ...(coverage < 100 && !isMissed('minCoverage') ? [`${COVERAGE_NOTE} ${coverage}% (${testedOf(pages)}).`] : []),
    ...(compared === null ? [] : [compared]),
  ];
}

/** The start of the sentence that states a coverage below 100 % that is sufficient. */
export const COVERAGE_NOTE = 'Coverage:';

/** The start of the sentence about a scan that may have missed pages of the site. */
export const DISCOVERY_NOTE = 'Found:';

/** The sentence about missed pages in the message of a verdict, which ends with it; null if it has none. */
export const discoveryIn = (message: string | null): string | null => /(?:^|\s)(Found: .*)$/s.exec(message ?? '')?.[1] ?? null;

/** Whether a sentence of a verdict's message is a statement and no missed threshold. */
export const isNote = (sentence: string): boolean =>
  [COVERAGE_NOTE, BASELINE_NOTE, DISCOVERY_NOTE].some((note) => sentence.startsWith(note));

/** `passed` of a scan that ended without a result. With thresholds it is false: a build must not pass because its scan failed. */
export function judgeWithoutResult(thresholds: Thresholds): boolean | null {
  return hasThresholds(thresholds) ? false : null;
}

/** A row of the table whose value types are known to fit: `allowed` and `measured` come from the same row. */
type AnyDefinition = ThresholdDefinition<TSchema, unknown>;
