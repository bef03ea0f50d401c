/** Compares a report with its baseline, for the report itself and its verdict. Pure. */
import type { BaselineOutcome, BaselineProblem } from '../../core/scan/baseline.ts';
import { BASELINE_CAUSES_MAX, type Report, type ReportBaseline } from '../schema/report.ts';
import type { CauseChange, RootCause } from '../schema/root-cause.ts';
import { NONE_KNOWN, type KnownMatcher } from '../causes/known-matcher.ts';
import { UNFAIR_CAVEATS, type Caveat } from './caveats.ts';
import { checkPage, unknown } from './check.ts';
import { countedAsNew, diffReduced } from './diff.ts';
import { reduceExport, reduceReport, type ComparableReport, type ReducedReport } from './reduce.ts';

/** The earlier scan that was chosen, with its reduced report; or why there is none. */
export type ChosenBaseline = Pick<BaselineOutcome, 'optional' | 'count' | 'check'> &
  ({ scanId: string; report: ReducedReport } | { scanId?: string; problem: Exclude<BaselineProblem, 'scans_differ'> });

/** The baseline of a scan before its report is read. */
export type NamedBaseline = Pick<BaselineOutcome, 'scanId' | 'optional' | 'count' | 'problem' | 'check'>;

/** Whether a baseline has a report to read. */
export const hasReport = (baseline: NamedBaseline | undefined): baseline is { scanId: string; optional: boolean } =>
  baseline?.scanId !== undefined && baseline.problem === undefined;

/**
 * Reads the report of a baseline. Scanner and operator both do, and must come to the same.
 * @param read what the object store holds; null if the baseline has a problem already
 */
export function readBaseline({ scanId, problem, ...named }: NamedBaseline, read: ReadReport | null): ChosenBaseline {
  const how = howOf(named);
  if (scanId === undefined || problem !== undefined || read === null)
    return { ...how, ...(scanId !== undefined && { scanId }), problem: asChosen(problem) };
  if (!read.ok) return { ...how, scanId, problem: read.reason === 'missing' ? 'not_stored' : 'not_comparable' };
  const report = reduceExport(read.bytes);
  return report === null ? { ...how, scanId, problem: 'not_comparable' } : { ...how, scanId, report };
}

const howOf = ({ optional, count, check }: Pick<ChosenBaseline, 'optional' | 'count' | 'check'>) => ({
  optional,
  ...(count !== undefined && { count }),
  ...(check !== undefined && { check }),
});

/** The stored export of a baseline. */
export type ReadReport = { ok: true; bytes: Uint8Array } | { ok: false; reason: 'missing' | 'too_large' };

const asChosen = (problem: BaselineProblem | undefined) => (problem === undefined || problem === 'scans_differ' ? 'not_found' : problem);

const UNFAIR: ReadonlySet<Caveat['reason']> = new Set(UNFAIR_CAVEATS);

/**
 * Returns what the comparison adds to a report: its section, and the number of new elements of each root cause, if there was one.
 * @param known the known issues, if the site has some
 */
export function compareWithBaseline(
  chosen: ChosenBaseline,
  report: ComparableReport & { rules: readonly string[] },
  groups: readonly RootCause[],
  known?: KnownMatcher,
): { baseline: ReportBaseline; groups: RootCause[] } {
  const { scanId } = chosen;
  const how = howOf(chosen);
  if ('problem' in chosen) {
    const { problem } = chosen;
    const nothing = { new: null, on_new_pages: null, fixed: null, unchanged: null, not_tested: null };
    return {
      baseline: {
        ...{ scan_id: scanId ?? null, problem, ...how, ...nothing, caveats: [], new_causes: [], fixed_causes: [] },
        ...(how.check && { checked: unknown('no_report') }),
      },
      groups: [...groups],
    };
  }
  // The page of a check may be on another host of the earlier scan's site.
  const now = reduceReport({ ...report, baseline: how }, known ?? NONE_KNOWN, how.check && chosen.report.hosts);
  const diff = diffReduced(chosen.report, now);
  const added = sumOf(diff.new, countedAsNew);
  const onNewStates = sumOf(diff.new, ({ on_new_states = 0 }) => on_new_states);
  const newKnown = sumOf(diff.new, ({ known_elements = 0 }) => known_elements);
  const isUnfair = added > newKnown && diff.comparable.some(({ reason }) => UNFAIR.has(reason));
  const addedByCause = new Map(diff.new.map((change) => [change.fingerprint, countedAsNew(change)]));
  return {
    baseline: {
      scan_id: chosen.scanId,
      problem: isUnfair ? 'scans_differ' : null,
      ...how,
      new: added,
      ...(known && { new_known: newKnown }),
      on_new_pages: sumOf(diff.new, elementsOf) - added - onNewStates,
      ...(onNewStates > 0 && { on_new_states: onNewStates }),
      fixed: sumOf(diff.fixed, elementsOf),
      unchanged: diff.unchanged,
      not_tested: sumOf(diff.not_tested, elementsOf),
      caveats: diff.comparable.map(({ reason, message }) => ({ reason, message })),
      new_causes: diff.new.slice(0, BASELINE_CAUSES_MAX),
      fixed_causes: diff.fixed.slice(0, BASELINE_CAUSES_MAX),
      ...(how.check && { checked: checkPage(chosen.report, now, { ...how.check, report, caveats: diff.comparable }) }),
    },
    groups: groups.map((cause) => ({ ...cause, new_elements: addedByCause.get(cause.fingerprint) ?? 0 })),
  };
}

const elementsOf = ({ elements }: CauseChange): number => elements;
const sumOf = (changes: readonly CauseChange[], numberOf: (change: CauseChange) => number): number =>
  changes.reduce((sum, change) => sum + numberOf(change), 0);

/** What a report says about its baseline, as the outcome of the scan has it. Undefined without a baseline. */
export function baselineOutcomeOf({ baseline }: Pick<Report, 'baseline'>): BaselineOutcome | undefined {
  if (baseline === undefined) return undefined;
  const {
    scan_id: scanId,
    problem,
    fixed,
    unchanged,
    checked,
    new: added,
    new_known: newKnown,
    on_new_pages: onNewPages,
    not_tested: notTested,
  } = baseline;
  const isCompared = added !== null && onNewPages !== null && fixed !== null && unchanged !== null && notTested !== null;
  return {
    ...(scanId !== null && { scanId }),
    ...howOf(baseline),
    ...(problem !== null && { problem }),
    ...(isCompared && {
      difference: { new: added, ...(newKnown !== undefined && { newKnown }), onNewPages, fixed, unchanged, notTested },
    }),
    ...(checked && { checked }),
  };
}
