import { expect } from 'chai';
import type { Phase } from '../../../core/scan/phases.ts';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import {
  TIMEOUTS,
  ago,
  condition,
  endedPod,
  factsOf,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  podName,
  progress,
  refusedAttempts,
  runningFacts,
  runningPod,
  scanWith,
  secondsAgo,
  storedBy,
} from '../../../test/support/scan-samples.ts';
import { plan, type Facts } from './plan.ts';

/** The actions of a plan: the end's reason, else the action's name. */
const short = (facts: Facts): string[] =>
  plan(facts, TIMEOUTS).actions.map((action) => (action.do === 'end' ? action.end.reason : action.do));

const ended = (phase: Phase, seconds: number, rest: Parameters<typeof scanWith>[1] = {}): AccessibilityScan =>
  scanWith({ phase, completionTime: ago(seconds), conditions: [condition('Succeeded', phase === 'done' ? 'True' : 'False', 'x')] }, rest);
const free = { metadata: { finalizers: [] } };

describe('plan', () => {
  const table: [string, Facts, string[]][] = [
    // deletion
    [
      'deleted, without the settle finalizer',
      factsOf({ scan: scanWith(undefined, { metadata: { finalizers: ['other'], deletionTimestamp: ago(1) } }) }),
      [],
    ],
    ['deleted while it runs', runningFacts({ scan: scanWith(launched(), { metadata: { deletionTimestamp: ago(1) } }) }), ['Deleted']],
    ['deleted after its end', factsOf({ scan: ended('canceled', 1, { metadata: { deletionTimestamp: ago(1) } }) }), ['finish', 'release']],
    [
      'deleted after its end, Job still exists',
      factsOf({ scan: ended('done', 1, { metadata: { deletionTimestamp: ago(1) } }), job: jobWith() }),
      ['removeJob', 'finish', 'release'],
    ],
    // after the end
    ['failed, Job still running', factsOf({ scan: ended('failed', 1), job: jobWith() }), ['removeJob', 'finish', 'release']],
    ['done, pod still exiting', factsOf({ scan: ended('done', 1), job: jobWith() }), ['finish', 'release']],
    ['done, pod still running after the linger time', factsOf({ scan: ended('done', 61, free), job: jobWith() }), ['removeJob']],
    ['done, Job ended', factsOf({ scan: ended('done', 61, free), job: jobWith({ type: 'Complete' }) }), []],
    ['done, TTL expired', factsOf({ scan: ended('done', 61, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), ['expire']],
    ['done, TTL not expired', factsOf({ scan: ended('done', 59, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), []],
    [
      'done, TTL expired, not settled',
      factsOf({ scan: ended('done', 61, { spec: { ttlSecondsAfterFinished: 60 } }) }),
      ['finish', 'release'],
    ],
    ['done, without a TTL', factsOf({ scan: ended('done', 1e6, free) }), []],
    ['done, then spec.cancel set', factsOf({ scan: ended('done', 1, { ...free, spec: { cancel: true } }) }), []],
    // new scans
    ['new', factsOf({ scan: scanWith(undefined, free) }), ['claim']],
    ['new, spec.cancel set', factsOf({ scan: scanWith(undefined, { ...free, spec: { cancel: true } }) }), ['claim']],
    ['claimed', factsOf(), ['vet']],
    // cancellation
    ['claimed, spec.cancel set', factsOf({ scan: scanWith(undefined, { spec: { cancel: true } }) }), ['Canceled']],
    ['canceled while it runs', runningFacts({ scan: scanWith(launched(), { spec: { cancel: true } }) }), ['Canceled']],
    [
      'canceled after its results are stored',
      runningFacts({ scan: scanWith(launched(), { spec: { cancel: true } }), podMessages: messagesOf({ final: [storedBy(0)] }) }),
      ['Canceled'],
    ],
    ['spec.cancel is false', runningFacts({ scan: scanWith(launched(), { spec: { cancel: false } }) }), ['observe', 'mirror']],
    // queue
    ['queued', factsOf({ scan: scanWith({ phase: 'queued' }) }), []],
    [
      'queued beyond the queue deadline',
      factsOf({ scan: scanWith({ phase: 'queued' }, { metadata: { creationTimestamp: ago(3600) } }) }),
      ['QueueDeadline'],
    ],
    // launch
    ['admitted', factsOf({ scan: scanWith(launched({ jobName: undefined })) }), ['launch']],
    ['Job deleted', factsOf({ scan: scanWith(launched()) }), ['JobLost']],
    // run deadline: the scan was admitted 60 s ago
    ['within the deadline', runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 31 } } }), ['observe', 'mirror']],
    ['beyond the deadline', runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } } }), ['DeadlineExceeded']],
    [
      'beyond the deadline, results stored',
      runningFacts({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } }, podMessages: messagesOf({ final: [storedBy(0)] }) }),
      ['ingest'],
    ],
    [
      'Job failed by its own deadline',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'DeadlineExceeded' }), pods: [] }),
      ['DeadlineExceeded'],
    ],
    // permanent failure
    ['permanent failure in a bus message', runningFacts({ podMessages: messagesOf({ final: [failedBy(0)] }) }), ['TargetNotHtml']],
    ['permanent failure in the termination message', runningFacts({ pods: [endedPod(0, 42, failedBy(0))] }), ['TargetNotHtml']],
    ['exit code 42 without a message', runningFacts({ pods: [endedPod(0, 42)] }), ['GaveUp']],
    [
      'exit code 42 with a message about another scan',
      runningFacts({ pods: [endedPod(0, 42, { ...failedBy(0), scanId: 'other' })] }),
      ['GaveUp'],
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
    ['results stored, then killed', runningFacts({ pods: [endedPod(0, 137, storedBy(0))] }), ['ingest']],
    [
      'results stored, Job failed',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'FailedIndexes' }), pods: [endedPod(0, 1, storedBy(0))] }),
      ['ingest'],
    ],
    [
      'results refused',
      runningFacts({ podMessages: messagesOf({ final: [storedBy(0)] }), state: { refused: refusedAttempts(0) } }),
      ['ResultsRefused'],
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
    // ended Job
    ['Job ended just now', runningFacts({ job: jobWith({ type: 'Complete', seconds: 1 }), pods: [endedPod(0, 0)] }), []],
    ['Job ended without results', runningFacts({ job: jobWith({ type: 'Complete' }), pods: [endedPod(0, 0)] }), ['NoResults']],
    [
      'Job failed after all retries',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'FailedIndexes' }), pods: [endedPod(0, 1)] }),
      ['Crashed'],
    ],
    [
      'Job failed by podFailurePolicy',
      runningFacts({ job: jobWith({ type: 'Failed', reason: 'PodFailurePolicy' }), pods: [] }),
      ['GaveUp'],
    ],
    // pending pod
    ['no pod yet', runningFacts({ pods: [] }), ['observe', 'mirror']],
    [
      'no pod within the pending deadline',
      runningFacts({ pods: [], job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } } }),
      ['PodNotCreated'],
    ],
    [
      'no pod because of a quota',
      runningFacts({
        pods: [],
        podCreationError: 'pods "x" is forbidden: exceeded quota: tight',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
      }),
      ['QuotaExceeded'],
    ],
    [
      'no pod because of Pod Security',
      runningFacts({
        pods: [],
        podCreationError: 'pods "x" is forbidden: violates PodSecurity "restricted:latest"',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
      }),
      ['PodForbidden'],
    ],
    ['pod pending', runningFacts({ pods: [pendingPod(0, 299)] }), ['observe', 'mirror']],
    ['pod pending beyond the deadline', runningFacts({ pods: [pendingPod(0, 300)] }), ['Unschedulable']],
    [
      'no replacement pod yet',
      runningFacts({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod(0, 1)], state: { noPodSince: secondsAgo(299) } }),
      ['observe', 'mirror'],
    ],
    [
      'no replacement pod within the deadline',
      runningFacts({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod(0, 1)], state: { noPodSince: secondsAgo(300) } }),
      ['PodNotCreated'],
    ],
    [
      'no replacement pod yet, previous pod deleted',
      runningFacts({
        scan: scanWith(launched({ attempts: 1 })),
        pods: [],
        state: { noPodSince: secondsAgo(1) },
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(9000) } },
      }),
      ['observe', 'mirror'],
    ],
    // stuck pod
    [
      'no message within the stuck deadline',
      runningFacts({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(119) }), busSince: secondsAgo(500) }),
      ['observe', 'mirror'],
    ],
    [
      'no message beyond the stuck deadline',
      runningFacts({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(120) }), busSince: secondsAgo(500) }),
      ['Stuck'],
    ],
    [
      'no message, bus reconnected recently',
      runningFacts({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }), busSince: secondsAgo(10) }),
      ['observe', 'mirror'],
    ],
    [
      'no message, bus disconnected',
      runningFacts({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }) }),
      ['observe', 'mirror'],
    ],
    [
      'no message from the current attempt',
      runningFacts({
        pods: [endedPod(0, 1, undefined, 500), runningPod(1)],
        podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }),
        busSince: secondsAgo(900),
      }),
      ['observe', 'mirror'],
    ],
    ['no message at all', runningFacts({ busSince: secondsAgo(5000) }), ['observe', 'mirror']],
    // lost node
    ['pod terminating', runningFacts({ pods: [runningPod(0, 50, { deletionTimestamp: ago(59) })] }), ['observe', 'mirror']],
    [
      'pod terminating beyond the grace period',
      runningFacts({ pods: [runningPod(0, 50, { deletionTimestamp: ago(60) })] }),
      ['failLostPod', 'observe', 'mirror'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'no action'}`, () => expect(short(facts)).to.deep.equal(actions));

  it('limits how often page counts are written to the status and the read model', () => {
    const scan = scanWith(
      launched({
        phase: 'scanning',
        attempts: 1,
        podName: podName(0),
        startTime: ago(9),
        pages: { requested: 5, reserved: 5, scanned: 1, failed: 0 },
        conditions: [condition('Admitted', 'True', 'Admitted'), condition('Succeeded', 'Unknown', 'Scanning')],
      }),
    );
    const podMessages = messagesOf({ progress: progress(0, { pages: { scanned: 2, failed: 0, total: 4 } }) });
    const mirrored = { phase: 'scanning' as const, pages: { scanned: 1, failed: 0, total: 4 } };
    const facts = runningFacts({ scan, podMessages, state: { mirrored, statusAt: secondsAgo(1), mirroredAt: secondsAgo(0.4) } });
    const { actions, wakeAfterMs } = plan(facts, TIMEOUTS);
    expect(actions).to.deep.equal([]);
    expect(wakeAfterMs).to.equal(100);
    expect(short({ ...facts, state: { ...facts.state, mirroredAt: secondsAgo(0.5) } })).to.deep.equal(['mirror']);
    expect(short({ ...facts, state: { ...facts.state, statusAt: secondsAgo(5) } })).to.deep.equal(['observe']);
    // A new phase is written at once.
    const generating = messagesOf({ progress: progress(0, { phase: 'generating' }) });
    expect(short({ ...facts, podMessages: generating })).to.deep.equal(['observe', 'mirror']);
  });

  it('wakes at the next deadline', () => {
    expect(plan(factsOf({ scan: scanWith({ phase: 'queued' }) }), TIMEOUTS).wakeAfterMs).to.equal(3_000_000);
    expect(plan(factsOf({ scan: ended('done', 20, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), TIMEOUTS).wakeAfterMs).to.equal(
      40_000,
    );
    expect(plan(factsOf({ scan: ended('done', 20, free), job: jobWith() }), TIMEOUTS).wakeAfterMs).to.equal(40_000);
    expect(plan(runningFacts({ pods: [pendingPod(0, 100)] }), TIMEOUTS).wakeAfterMs).to.equal(200_000);
    expect(plan(factsOf({ scan: ended('done', 20, free) }), TIMEOUTS).wakeAfterMs).to.equal(null);
  });
});
