/** The conditions of KnownIssues. Ready and Ending are for users, Reconciling and Stalled for kstatus (Flux, `kubectl wait`). Pure. */
import { ENDING_DAYS } from '../../core/scan/known-issues.ts';
import { cutMessage, listed, readiness, type ConditionUpdate } from '../runtime/conditions.ts';

/** Why known issues are not applied: the spec is wrong, others have accepted the same, or the site has too many. Each with its label, and why. */
export type Problem = { reason: 'Invalid' | 'IssueTaken' | 'TooManyIssues'; text: string };

const NAMED_MAX = 10;

/** The most important problem first: what a change of the manifest can cure. */
const REASONS: readonly Problem['reason'][] = ['Invalid', 'IssueTaken', 'TooManyIssues'];

/** Everything of the spec is in effect, or everything but what has a problem. */
export function mirrored(site: string, live: number, problems: readonly Problem[]): ConditionUpdate[] {
  const inEffect = live === 1 ? '1 known issue is in effect' : `${live} known issues are in effect`;
  if (problems.length === 0) return readiness({ ready: 'True', reason: 'Mirrored', message: `${inEffect} for scans of ${site}.` });
  const reason = REASONS.find((one) => problems.some((problem) => problem.reason === one))!;
  const message = `Not in effect: ${listed(
    problems.map(({ text }) => text),
    NAMED_MAX,
    '; ',
  )}. For scans of ${site}, ${inEffect}.`;
  return readiness({ ready: 'False', stalled: true, reason, message });
}

export function invalidSite(site: string): ConditionUpdate[] {
  const message = `No known issue is in effect: ${site} is not a host, and not an address without a path.`;
  return readiness({ ready: 'False', stalled: true, reason: 'Invalid', message });
}

export function noOrganisation(namespace: string): ConditionUpdate[] {
  const message = `No organisation is charged for the namespace ${namespace}. No known issue is in effect until the namespace is added to one.`;
  return readiness({ ready: 'False', reconciling: true, reason: 'NoOrganisation', message });
}

export function storeUnavailable(): ConditionUpdate[] {
  const message = 'The changes wait until the database answers.';
  return readiness({ ready: 'Unknown', reconciling: true, reason: 'StoreUnavailable', message });
}

/** @param ending the labels of those that end soon, soonest first @param expired of those that have ended */
export function ending(ending: readonly string[], expired: readonly string[]): ConditionUpdate {
  const type = 'Ending';
  if (ending.length + expired.length === 0)
    return { type, status: 'False', reason: 'NoneEnds', message: `No known issue ends within ${ENDING_DAYS} days.` };
  const sentences = [
    ...(expired.length > 0 ? [`Ended, so that violations count again: ${listed(expired, NAMED_MAX, '; ')}.`] : []),
    ...(ending.length > 0 ? [`End within ${ENDING_DAYS} days: ${listed(ending, NAMED_MAX, '; ')}.`] : []),
  ];
  return {
    type,
    status: 'True',
    reason: expired.length > 0 ? 'Expired' : 'EndingSoon',
    message: cutMessage(sentences.join(' ')),
  };
}
