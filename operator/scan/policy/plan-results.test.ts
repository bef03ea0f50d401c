import { expect } from 'chai';
import {
  actionsOf,
  condition,
  endedPod,
  factsOf,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  refusedAttempts,
  runningFacts,
  runningPod,
  scanWith,
  searched,
  secondsAgo,
  storedBy,
} from '../../../test/support/scan-samples.ts';
import { JOB_MARGIN_SECONDS, type ReconcileState } from './facts.ts';
import type { Facts } from './facts.ts';
import { OUTAGE_MAX_MS } from './results.ts';

const VERIFYING: ReconcileState['task'] = { do: 'verify', stored: storedBy(0), slot: { attempt: 0, shard: 0 } };
const VERIFIED: ReconcileState['verified'] = {
  partial: false,
  outcome: {
    score: 90,
    violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 },
    pages: { scanned: 2, failed: 0, total: 2 },
  },
  verdict: { passed: null, message: null },
  export: storedBy(0).export,
  pdf: storedBy(0).pdf,
};
const unavailable = scanWith(
  launched({ conditions: [condition('Admitted', 'True', 'Admitted'), condition('Succeeded', 'Unknown', 'StoreUnavailable')] }),
);

/** A statement of results that a pod of another version made. */
const OTHER_VERSION = { ...storedBy(0), version: '0.0.9' };

describe('plan for results and failures', () => {
  const table: [string, Facts, string[]][] = [
    // permanent failure
    ['permanent failure in a bus message', runningFacts({ podMessages: messagesOf({ final: [failedBy(0)] }) }), ['TargetNotHtml']],
    ['permanent failure in the termination message', runningFacts({ pods: [endedPod(0, 42, failedBy(0))] }), ['TargetNotHtml']],
    ['exit code 42 without a message', runningFacts({ pods: [endedPod(0, 42)] }), ['search']],
    ['exit code 42 without a message, nothing found', runningFacts({ pods: [endedPod(0, 42)], state: { search: searched() } }), ['GaveUp']],
    ['permanent failure of a later attempt', runningFacts({ podMessages: messagesOf({ final: [failedBy(1)] }) }), ['search']],
    [
      'permanent failure of a later attempt, nothing found',
      runningFacts({ podMessages: messagesOf({ final: [failedBy(1)] }), state: { search: searched() } }),
      ['TargetNotHtml'],
    ],
    [
      'permanent failure of a later attempt, an earlier one stored results',
      runningFacts({ podMessages: messagesOf({ final: [failedBy(1)] }), state: { search: searched(0) } }),
      ['ingest'],
    ],
    ['permanent failure, but killed before exit code 42', runningFacts({ pods: [endedPod(0, 137, failedBy(0))] }), ['observe', 'mirror']],
    [
      'permanent failure, then stored results',
      runningFacts({ podMessages: messagesOf({ final: [failedBy(0), storedBy(0)] }) }),
      ['TargetNotHtml'],
    ],
    // stored results
    ['results stored, in a bus message', runningFacts({ podMessages: messagesOf({ final: [storedBy(0)] }) }), ['ingest']],
    ['results stored, in the termination message', runningFacts({ pods: [endedPod(0, 0, storedBy(0))] }), ['ingest']],
    [
      'results refused',
      runningFacts({ podMessages: messagesOf({ final: [storedBy(0)] }), state: { refused: refusedAttempts(0) } }),
      ['ResultsRefused'],
    ],
    [
      'results of another version refused',
      runningFacts({ podMessages: messagesOf({ final: [OTHER_VERSION] }), state: { refused: refusedAttempts(0) } }),
      ['replaceJob'],
    ],
    [
      'results of another version refused, a later attempt is lost, after the deadline of the Job',
      runningFacts({
        job: { ...jobWith(), spec: { activeDeadlineSeconds: 1 } },
        now: secondsAgo(-86_400),
        pods: [endedPod(0, 1), runningPod(1)],
        podMessages: messagesOf({ final: [OTHER_VERSION] }),
        state: { refused: refusedAttempts(0), search: { ...searched(), at: secondsAgo(-86_400) } },
      }),
      ['DeadlineExceeded'],
    ],
    [
      'results of another version refused again',
      runningFacts({
        scan: scanWith(launched({ replacedJob: 'first-job-uid' })),
        podMessages: messagesOf({ final: [OTHER_VERSION] }),
        state: { refused: refusedAttempts(0) },
      }),
      ['ResultsRefused'],
    ],
    [
      'results of another image with the same version refused',
      runningFacts({
        scannerImage: 'scanner:2',
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { refused: refusedAttempts(0) },
      }),
      ['replaceJob'],
    ],
    [
      'results of another image refused, after an earlier change of the version',
      runningFacts({
        scan: scanWith(launched({ replacedJob: 'first-job-uid' })),
        scannerImage: 'scanner:2',
        podMessages: messagesOf({ final: [OTHER_VERSION] }),
        state: { refused: refusedAttempts(0) },
      }),
      ['replaceJob'],
    ],
    [
      'a permanent failure that only the version of the pod knows',
      runningFacts({ podMessages: messagesOf({ final: [{ ...failedBy(0), reason: 'constructor' }] }) }),
      ['GaveUp'],
    ],
    [
      'results refused, another attempt stored results',
      runningFacts({ podMessages: messagesOf({ final: [storedBy(0), storedBy(1)] }), state: { refused: refusedAttempts(0) } }),
      ['ingest'],
    ],
    [
      'results refused, a later attempt is running',
      runningFacts({
        pods: [endedPod(0, 1), runningPod(1)],
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { refused: refusedAttempts(0) },
      }),
      ['observe', 'mirror'],
    ],
    [
      'results refused for too many attempts',
      runningFacts({
        podMessages: messagesOf({ final: [storedBy(3)] }),
        state: { refused: refusedAttempts(0, 1, 2) },
      }),
      ['ResultsRefused'],
    ],
    [
      'results of another version refused for too many attempts',
      runningFacts({ podMessages: messagesOf({ final: [OTHER_VERSION] }), state: { refused: refusedAttempts(0, 1, 2) } }),
      ['replaceJob'],
    ],
    // work on results in progress
    ['results are being verified', runningFacts({ podMessages: messagesOf({ final: [storedBy(0)] }), state: { task: VERIFYING } }), []],
    [
      'results are verified',
      runningFacts({ podMessages: messagesOf({ final: [storedBy(0)] }), state: { verified: VERIFIED } }),
      ['complete'],
    ],
    [
      'results cannot be read',
      runningFacts({
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { task: VERIFYING, outageSince: secondsAgo(1) },
      }),
      ['reportOutage'],
    ],
    [
      'results could not be read for too long',
      runningFacts({
        scan: unavailable,
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { task: VERIFYING, outageSince: secondsAgo(OUTAGE_MAX_MS / 1000) },
      }),
      ['StoreUnavailable'],
    ],
    [
      'results cannot be searched, Job deleted',
      factsOf({ scan: unavailable, state: { task: VERIFYING, outageSince: secondsAgo(900) } }),
      [],
    ],
    // ended Job
    ['Job ended just now', runningFacts({ job: jobWith({ type: 'Complete', seconds: 1 }), pods: [endedPod(0, 0)] }), []],
    ['Job ended without results', runningFacts({ job: jobWith({ type: 'Complete' }), pods: [endedPod(0, 0)] }), ['search']],
    [
      'Job ended without results, nothing found',
      runningFacts({ job: jobWith({ type: 'Complete' }), pods: [endedPod(0, 0)], state: { search: searched() } }),
      ['replaceJob'],
    ],
    [
      'Job ended without results beyond the deadline of its pods, nothing found',
      runningFacts({
        job: { ...jobWith({ type: 'Complete' }), spec: { activeDeadlineSeconds: JOB_MARGIN_SECONDS + 60 } },
        pods: [endedPod(0, 0)],
        state: { search: searched() },
      }),
      ['NoResults'],
    ],
    [
      'second Job ended without results, nothing found',
      runningFacts({
        scan: scanWith(launched({ replacedJob: 'first-job-uid' })),
        job: jobWith({ type: 'Complete' }),
        pods: [endedPod(0, 0)],
        state: { search: searched() },
      }),
      ['NoResults'],
    ],
    [
      'Job failed after all retries',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'FailedIndexes' }), pods: [endedPod(0, 1)], state: { search: searched() } }),
      ['Crashed'],
    ],
    [
      'Job failed by podFailurePolicy',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'PodFailurePolicy' }), pods: [], state: { search: searched() } }),
      ['GaveUp'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'no action'}`, () => expect(actionsOf(facts)).to.deep.equal(actions));
});
