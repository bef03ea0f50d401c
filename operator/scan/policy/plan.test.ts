import { expect } from 'chai';
import type { Phase } from '../../../core/scan/phases.ts';
import { SETTLE_FINALIZER, type AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import {
  TIMEOUTS,
  actionsOf,
  ago,
  condition,
  endedPod,
  factsOf,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  refusedAttempts,
  runningFacts,
  runningPod,
  scanWith,
  searched,
  secondsAgo,
  storedBy,
} from '../../../test/support/scan-samples.ts';
import { plan } from './plan.ts';
import type { Facts } from './facts.ts';

const ended = (phase: Phase, seconds: number, rest: Parameters<typeof scanWith>[1] = {}): AccessibilityScan =>
  scanWith({ phase, completionTime: ago(seconds), conditions: [condition('Succeeded', phase === 'done' ? 'True' : 'False', 'x')] }, rest);
const free = { metadata: { finalizers: [] } };
const leaving = (other: string) => ({ deletionTimestamp: ago(1), finalizers: [SETTLE_FINALIZER, other] });

const withBaseline = (status: Parameters<typeof scanWith>[0]) => {
  const scan = scanWith(status);
  return { ...scan, spec: { ...scan.spec, baseline: { metadata: { branch: 'main' } } } };
};
const withoutCredits = scanWith(launched({ jobName: undefined, pages: { requested: 5, reserved: 0, scanned: 0, failed: 0 } }));
const justAdmitted = scanWith(launched({ jobName: undefined, conditions: [condition('Admitted', 'True', 'Admitted', 2)] }));

const QUEUED_ROW = { phase: 'queued' as const, pages: { scanned: 0, failed: 0, total: 0 }, message: null };
/** @param seconds since it may be admitted again */
const requeued = (seconds: number) => scanWith({ phase: 'queued', attempts: 0, requeueState: { count: 1, requeueAt: ago(seconds) } });

describe('plan', () => {
  const table: [string, Facts, string[]][] = [
    // deletion
    [
      'deleted, without the settle finalizer',
      factsOf({ scan: scanWith(undefined, { metadata: { finalizers: ['other'], deletionTimestamp: ago(1) } }) }),
      [],
    ],
    [
      'deleted while it runs',
      runningFacts({ scan: scanWith(launched(), { metadata: { deletionTimestamp: ago(1) } }) }),
      ['finish', 'release'],
    ],
    [
      'deleted in the foreground while it runs',
      runningFacts({ scan: scanWith(launched(), { metadata: leaving('foregroundDeletion') }) }),
      ['Deleted'],
    ],
    [
      'deleted in the foreground, after its end',
      factsOf({ scan: ended('canceled', 1, { metadata: leaving('foregroundDeletion') }), job: jobWith() }),
      ['removeJob', 'finish', 'release'],
    ],
    [
      'deleted in the foreground and settled, before its Job was seen',
      factsOf({
        scan: ended('canceled', 1, { metadata: { deletionTimestamp: ago(1), finalizers: ['foregroundDeletion'] } }),
        job: jobWith(),
      }),
      ['removeJob'],
    ],
    ['deleted after its end', factsOf({ scan: ended('canceled', 1, { metadata: { deletionTimestamp: ago(1) } }) }), ['finish', 'release']],
    // after the end
    ['failed, Job still running', factsOf({ scan: ended('failed', 1), job: jobWith() }), ['removeJob', 'finish', 'release']],
    ['done, pod still exiting', factsOf({ scan: ended('done', 1), job: jobWith() }), ['finish', 'release']],
    ['done, pod still running after the linger time', factsOf({ scan: ended('done', 61, free), job: jobWith() }), ['removeJob']],
    ['done, Job ended', factsOf({ scan: ended('done', 61, free), job: jobWith({ type: 'Complete' }) }), []],
    ['failed, Job ended just now', factsOf({ scan: ended('failed', 601, free), job: jobWith({ type: 'Failed' }) }), []],
    [
      'done, Job ended longer ago than its log is kept',
      factsOf({ scan: ended('done', 600, free), job: jobWith({ type: 'Complete', seconds: 601 }) }),
      ['removeJob'],
    ],
    ['done, TTL expired', factsOf({ scan: ended('done', 61, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), ['expire']],
    ['done, TTL not expired', factsOf({ scan: ended('done', 59, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), []],
    [
      'done, TTL expired, not settled',
      factsOf({ scan: ended('done', 61, { spec: { ttlSecondsAfterFinished: 60 } }) }),
      ['finish', 'release'],
    ],
    ['done, then spec.cancel set', factsOf({ scan: ended('done', 1, { ...free, spec: { cancel: true } }) }), []],
    [
      'done, then its TTL changed',
      factsOf({ scan: ended('done', 1, { metadata: { finalizers: [], generation: 2 } }) }),
      ['observeGeneration'],
    ],
    [
      'done, then its TTL changed to one that has expired',
      factsOf({ scan: ended('done', 9, { metadata: { finalizers: [], generation: 2 }, spec: { ttlSecondsAfterFinished: 1 } }) }),
      ['observeGeneration', 'expire'],
    ],
    [
      'deleted, after its TTL changed',
      factsOf({ scan: ended('done', 1, { metadata: { deletionTimestamp: ago(1), generation: 2 } }) }),
      ['finish', 'release'],
    ],
    // new scans
    ['new', factsOf({ scan: scanWith(undefined, free) }), ['claim']],
    ['claimed', factsOf(), ['vet']],
    [
      'waiting for name servers, asked just now',
      factsOf({ state: { unresolved: { since: secondsAgo(99), at: secondsAgo(1) } } }),
      ['mirror'],
    ],
    ['being vetted', factsOf({ state: { vetting: true, mirrored: QUEUED_ROW } }), []],
    [
      'being vetted, spec.cancel set',
      factsOf({ scan: scanWith(undefined, { spec: { cancel: true } }), state: { vetting: true } }),
      ['Canceled'],
    ],
    [
      'waiting for name servers, asked before the clock was set back',
      factsOf({ state: { unresolved: { since: secondsAgo(9), at: secondsAgo(-3600) } } }),
      ['vet'],
    ],
    [
      'waiting for name servers, asked some time ago',
      factsOf({ state: { unresolved: { since: secondsAgo(9), at: secondsAgo(2) } } }),
      ['vet'],
    ],
    // cancellation
    ['claimed, spec.cancel set', factsOf({ scan: scanWith(undefined, { spec: { cancel: true } }) }), ['Canceled']],
    // other changes of the spec
    ['TTL changed while it runs', runningFacts({ scan: scanWith(launched(), { metadata: { generation: 2 } }) }), ['observeGeneration']],
    [
      'TTL changed before the first status',
      factsOf({ scan: scanWith({ observedGeneration: -1 }, { metadata: { generation: 2 } }) }),
      ['vet'],
    ],
    // queue
    ['queued', factsOf({ scan: scanWith({ phase: 'queued' }) }), ['mirror']],
    ['queued, mirrored', factsOf({ scan: scanWith({ phase: 'queued' }), state: { mirrored: QUEUED_ROW } }), []],
    ['queued again, its Job still there', factsOf({ scan: requeued(-5), job: jobWith() }), ['removeJob']],
    ['queued again according to an old status', factsOf({ scan: requeued(61), job: jobWith() }), ['mirror']],
    [
      'queued beyond the queue deadline',
      factsOf({ scan: scanWith({ phase: 'queued' }, { metadata: { creationTimestamp: ago(3600) } }) }),
      ['QueueDeadline'],
    ],
    [
      'queued beyond the queue deadline, pauses unknown',
      factsOf({ scan: scanWith({ phase: 'queued' }, { metadata: { creationTimestamp: ago(3600) } }), queuePauses: null }),
      [],
    ],
    [
      'queued beyond the queue deadline, but paused for the longest time',
      factsOf({
        scan: scanWith({ phase: 'queued' }, { metadata: { creationTimestamp: ago(9999) } }),
        queuePauses: [{ startTime: ago(9000), endTime: ago(2000) }],
      }),
      ['mirror'],
    ],
    // launch
    ['admitted', factsOf({ scan: scanWith(launched({ jobName: undefined })) }), ['launch']],
    ['admitted without credits', factsOf({ scan: withoutCredits }), ['reserve']],
    ['admitted with a baseline', factsOf({ scan: withBaseline(launched({ jobName: undefined })) }), ['chooseBaseline']],
    [
      'admitted, its baseline chosen',
      factsOf({ scan: withBaseline(launched({ jobName: undefined, baseline: { optional: false, problem: 'not_found' } })) }),
      ['launch'],
    ],
    [
      'admitted, the launch was interrupted',
      factsOf({ scan: justAdmitted, job: { ...jobWith(), spec: { ...jobWith().spec, suspend: true } } }),
      ['launch'],
    ],
    [
      'admitted, four attempts failed',
      factsOf({ scan: justAdmitted, state: { launchFailure: { reason: 'LaunchFailed', count: 4, message: 'down' } } }),
      ['launch'],
    ],
    [
      'admitted, five attempts failed',
      factsOf({ scan: justAdmitted, state: { launchFailure: { reason: 'LaunchFailed', count: 5, message: 'down' } } }),
      ['requeue'],
    ],
    [
      'admitted, two slow attempts failed',
      factsOf({
        scan: scanWith(launched({ jobName: undefined })),
        state: { launchFailure: { reason: 'LaunchFailed', count: 2, message: 'down' } },
      }),
      ['requeue'],
    ],
    [
      'Job replaced long after the admission, one attempt failed',
      factsOf({
        scan: scanWith(launched({ jobName: undefined, replacedJob: 'job-uid' })),
        state: { launchFailure: { reason: 'LaunchFailed', count: 1, message: 'down' } },
      }),
      ['launch'],
    ],
    [
      'admitted, one attempt forbidden',
      factsOf({ scan: justAdmitted, state: { launchFailure: { reason: 'LaunchForbidden', count: 1, message: 'no' } } }),
      ['requeue'],
    ],
    ['Job deleted', factsOf({ scan: scanWith(launched()) }), ['search']],
    ['Job deleted, nothing found', factsOf({ scan: scanWith(launched()), state: { search: searched() } }), ['JobLost']],
    ['Job deleted, results found', factsOf({ scan: scanWith(launched()), state: { search: searched(0) } }), ['ingest']],
    [
      'Job deleted, results refused',
      factsOf({ scan: scanWith(launched()), state: { search: searched(0), refused: refusedAttempts(0) } }),
      ['ResultsRefused'],
    ],
    [
      'Job deleted, searched long ago',
      factsOf({ scan: scanWith(launched()), state: { search: { ...searched(), at: secondsAgo(30) } } }),
      ['search'],
    ],
    [
      'Job replaced, still exists',
      runningFacts({ scan: scanWith(launched({ replacedJob: 'job-uid', jobName: undefined })) }),
      ['removeJob'],
    ],
    [
      'Job succeeded, last search before its end',
      runningFacts({
        job: jobWith({ type: 'Complete', seconds: 10 }),
        pods: [],
        state: { search: { ...searched(), at: secondsAgo(11) } },
      }),
      ['search'],
    ],
    // run deadline: the Job was created 60 s ago
    [
      'within the deadline, admitted long before its Job could be created',
      runningFacts({
        scan: scanWith(launched({ conditions: [condition('Admitted', 'True', 'Admitted', 3600), condition('Succeeded', 'Unknown', 'x')] })),
        job: { ...jobWith(), spec: { activeDeadlineSeconds: 31 } },
      }),
      ['observe', 'mirror'],
    ],
    ['within the deadline', runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 31 } } }), ['observe', 'mirror']],
    ['beyond the deadline', runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } } }), ['search']],
    [
      'beyond the deadline, nothing found',
      runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } }, state: { search: searched() } }),
      ['DeadlineExceeded'],
    ],
    [
      'beyond the deadline, results stored',
      runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } }, podMessages: messagesOf({ final: [storedBy(0)] }) }),
      ['ingest'],
    ],
    [
      'beyond the deadline, results refused, a later attempt is running',
      runningFacts({
        job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } },
        pods: [endedPod(0, 1), runningPod(1)],
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { search: searched(), refused: refusedAttempts(0) },
      }),
      ['DeadlineExceeded'],
    ],
    [
      'Job failed by its own deadline',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'DeadlineExceeded' }), pods: [], state: { search: searched() } }),
      ['DeadlineExceeded'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'no action'}`, () => expect(actionsOf(facts)).to.deep.equal(actions));

  it('sends a scan whose Job cannot be created back into its queue, each time for longer, and says why', () => {
    const requeueAfter = (count?: number) => {
      const requeueState = count === undefined ? undefined : { count, requeueAt: ago(99) };
      const scan = scanWith(launched({ jobName: undefined, ...(requeueState && { requeueState }) }));
      const [action] = plan(
        factsOf({ scan, state: { launchFailure: { reason: 'LaunchFailed', count: 5, message: 'no\n.' } } }),
        TIMEOUTS,
      ).actions;
      if (action?.do !== 'requeue') return expect.fail();
      expect(action.why).to.deep.equal({
        reason: 'LaunchFailed',
        message: 'The scan could not be started; it waits in its queue and is tried again: no .',
      });
      expect(action.status.conditions?.find(({ type }) => type === 'Admitted')).to.include({ status: 'False', reason: 'LaunchFailed' });
      return { count: action.status.requeueState!.count, requeueAt: action.status.requeueState!.requeueAt };
    };
    expect(requeueAfter()).to.deep.equal({ count: 1, requeueAt: ago(-10) });
    expect(requeueAfter(1)).to.deep.equal({ count: 2, requeueAt: ago(-20) });
    expect(requeueAfter(50)).to.deep.equal({ count: 51, requeueAt: ago(-120) });
  });

  it('says what a waiting scan waits for, in its row and at the deadline of its queue', () => {
    const message = 'The scan could not be started; it waits in its queue and is tried again: no room.';
    const waiting = (seconds: number) => {
      const conditions = [{ ...condition('Succeeded', 'Unknown', 'Unschedulable'), message }];
      return plan(
        factsOf({ scan: scanWith({ phase: 'queued', conditions }, { metadata: { creationTimestamp: ago(seconds) } }) }),
        TIMEOUTS,
      );
    };
    expect(waiting(60).actions).to.deep.equal([{ do: 'mirror', row: { ...QUEUED_ROW, message } }]);
    const [last] = waiting(3600).actions;
    expect(last?.do === 'end' && last.end.message).to.equal(
      `The scan waited an hour in the queue; submit it again later. ${message} Nothing was charged.`,
    );
  });

  it('wakes at the next deadline', () => {
    expect(plan(factsOf({ scan: scanWith({ phase: 'queued' }) }), TIMEOUTS).wakeAfterMs).to.equal(3_000_000);
    expect(plan(factsOf({ scan: ended('done', 20, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), TIMEOUTS).wakeAfterMs).to.equal(
      40_000,
    );
    expect(plan(factsOf({ scan: ended('done', 20, free), job: jobWith() }), TIMEOUTS).wakeAfterMs).to.equal(40_000);
    expect(plan(runningFacts({ pods: [pendingPod(0, 100)] }), TIMEOUTS).wakeAfterMs).to.equal(20_000);
    expect(plan(factsOf({ scan: ended('done', 20, free) }), TIMEOUTS).wakeAfterMs).to.equal(null);
  });
});
