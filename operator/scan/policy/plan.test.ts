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
  podWith,
  progress,
  refusedAttempts,
  runningPod,
  scanWith,
  secondsAgo,
  storedBy,
  type FactsSample,
} from '../../../test/support/scan-samples.ts';
import { plan, type Facts } from './plan.ts';

/** What a plan does, in short: the end's reason, else the action's name. */
const short = (facts: Facts): string[] =>
  plan(facts, TIMEOUTS).actions.map((action) => (action.do === 'end' ? action.end.reason : action.do));
const endOf = (facts: Facts) => plan(facts, TIMEOUTS).actions.find((action) => action.do === 'end')?.end;

const running = (more: FactsSample = {}): Facts => factsOf({ scan: scanWith(launched()), job: jobWith(), pods: [runningPod(0)], ...more });
const ended = (phase: Phase, seconds: number, rest: Parameters<typeof scanWith>[1] = {}): AccessibilityScan =>
  scanWith({ phase, completionTime: ago(seconds), conditions: [condition('Succeeded', phase === 'done' ? 'True' : 'False', 'x')] }, rest);
const free = { metadata: { finalizers: [] } };

describe('plan', () => {
  const table: [string, Facts, string[]][] = [
    // deleted
    ['deleted, not ours', factsOf({ scan: scanWith(undefined, { metadata: { finalizers: ['other'], deletionTimestamp: ago(1) } }) }), []],
    ['deleted while it lives', running({ scan: scanWith(launched(), { metadata: { deletionTimestamp: ago(1) } }) }), ['Deleted']],
    ['deleted, ended', factsOf({ scan: ended('canceled', 1, { metadata: { deletionTimestamp: ago(1) } }) }), ['finish', 'release']],
    [
      'deleted, ended, with a Job',
      factsOf({ scan: ended('done', 1, { metadata: { deletionTimestamp: ago(1) } }), job: jobWith() }),
      ['removeJob', 'finish', 'release'],
    ],
    // done
    ['failed, its Job runs on', factsOf({ scan: ended('failed', 1), job: jobWith() }), ['removeJob', 'finish', 'release']],
    ['done, its pod is about to end', factsOf({ scan: ended('done', 1), job: jobWith() }), ['finish', 'release']],
    ['done, its pod lingers', factsOf({ scan: ended('done', 61, free), job: jobWith() }), ['removeJob']],
    ['done, its Job ended', factsOf({ scan: ended('done', 61, free), job: jobWith({ type: 'Complete' }) }), []],
    ['done, kept long enough', factsOf({ scan: ended('done', 61, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), ['expire']],
    ['done, to be kept', factsOf({ scan: ended('done', 59, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), []],
    [
      'done, kept long enough, not settled',
      factsOf({ scan: ended('done', 61, { spec: { ttlSecondsAfterFinished: 60 } }) }),
      ['finish', 'release'],
    ],
    ['done, kept for ever', factsOf({ scan: ended('done', 1e6, free) }), []],
    ['canceled by a field after its end', factsOf({ scan: ended('done', 1, { ...free, spec: { cancel: true } }) }), []],
    // new
    ['new', factsOf({ scan: scanWith(undefined, free) }), ['claim']],
    ['new and canceled', factsOf({ scan: scanWith(undefined, { ...free, spec: { cancel: true } }) }), ['claim']],
    ['claimed', factsOf(), ['vet']],
    // canceled
    ['claimed and canceled', factsOf({ scan: scanWith(undefined, { spec: { cancel: true } }) }), ['Canceled']],
    ['canceled while it runs', running({ scan: scanWith(launched(), { spec: { cancel: true } }) }), ['Canceled']],
    [
      'canceled though its results are stored',
      running({ scan: scanWith(launched(), { spec: { cancel: true } }), podMessages: messagesOf({ final: [storedBy(0)] }) }),
      ['Canceled'],
    ],
    ['not canceled: false', running({ scan: scanWith(launched(), { spec: { cancel: false } }) }), ['observe', 'mirror']],
    // queued
    ['queued', factsOf({ scan: scanWith({ phase: 'queued' }) }), []],
    [
      'queued too long',
      factsOf({ scan: scanWith({ phase: 'queued' }, { metadata: { creationTimestamp: ago(3600) } }) }),
      ['QueueDeadline'],
    ],
    // launch
    ['admitted', factsOf({ scan: scanWith(launched({ jobName: undefined })) }), ['launch']],
    ['its Job is gone', factsOf({ scan: scanWith(launched()) }), ['JobLost']],
    // timed out: 60 s after its admission
    ['in time', running({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 31 } } }), ['observe', 'mirror']],
    ['too late', running({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } } }), ['DeadlineExceeded']],
    [
      'too late, but stored',
      running({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } }, podMessages: messagesOf({ final: [storedBy(0)] }) }),
      ['ingest'],
    ],
    [
      'ended by its Job for being late',
      running({ job: jobWith({ type: 'Failed', reason: 'DeadlineExceeded' }), pods: [] }),
      ['DeadlineExceeded'],
    ],
    // failed for good
    ['gave up, by message', running({ podMessages: messagesOf({ final: [failedBy(0)] }) }), ['TargetNotHtml']],
    ['gave up, by termination message', running({ pods: [endedPod(0, 42, failedBy(0))] }), ['TargetNotHtml']],
    ['gave up without a word', running({ pods: [endedPod(0, 42)] }), ['GaveUp']],
    ['gave up in words of another scan', running({ pods: [endedPod(0, 42, { ...failedBy(0), scanId: 'other' })] }), ['GaveUp']],
    ['was killed after it gave up', running({ pods: [endedPod(0, 137, failedBy(0))] }), ['observe', 'mirror']],
    ['gave up before it stored', running({ podMessages: messagesOf({ final: [failedBy(0), storedBy(0)] }) }), ['TargetNotHtml']],
    // stored
    ['stored, by message', running({ podMessages: messagesOf({ final: [storedBy(0)] }) }), ['ingest']],
    ['stored, by termination message', running({ pods: [endedPod(0, 0, storedBy(0))] }), ['ingest']],
    ['stored, then killed', running({ pods: [endedPod(0, 137, storedBy(0))] }), ['ingest']],
    [
      'stored, though its Job failed',
      running({ job: jobWith({ type: 'Failed', reason: 'FailedIndexes' }), pods: [endedPod(0, 1, storedBy(0))] }),
      ['ingest'],
    ],
    ['refused', running({ podMessages: messagesOf({ final: [storedBy(0)] }), state: { refused: refusedAttempts(0) } }), ['ResultsRefused']],
    [
      'refused, but another attempt stored',
      running({ podMessages: messagesOf({ final: [storedBy(0), storedBy(1)] }), state: { refused: refusedAttempts(0) } }),
      ['ingest'],
    ],
    [
      'refused, but a later attempt is at work',
      running({
        pods: [endedPod(0, 1), runningPod(1)],
        podMessages: messagesOf({ final: [storedBy(0)] }),
        state: { refused: refusedAttempts(0) },
      }),
      ['observe', 'mirror'],
    ],
    [
      'refused too often',
      running({
        podMessages: messagesOf({ final: [storedBy(3)] }),
        state: { refused: refusedAttempts(0, 1, 2) },
      }),
      ['ResultsRefused'],
    ],
    // the Job is over
    ['its Job ended just now', running({ job: jobWith({ type: 'Complete', seconds: 1 }), pods: [endedPod(0, 0)] }), []],
    ['its Job ended without results', running({ job: jobWith({ type: 'Complete' }), pods: [endedPod(0, 0)] }), ['NoResults']],
    [
      'its Job failed too often',
      running({ job: jobWith({ type: 'Failed', reason: 'FailedIndexes' }), pods: [endedPod(0, 1)] }),
      ['Crashed'],
    ],
    ['its Job failed by policy', running({ job: jobWith({ type: 'Failed', reason: 'PodFailurePolicy' }), pods: [] }), ['GaveUp']],
    // pending
    ['waits for a pod', running({ pods: [] }), ['observe', 'mirror']],
    [
      'has waited too long for a pod',
      running({ pods: [], job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } } }),
      ['PodNotCreated'],
    ],
    [
      'has waited too long for a quota',
      running({
        pods: [],
        trouble: 'pods "x" is forbidden: exceeded quota: tight',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
      }),
      ['QuotaExceeded'],
    ],
    [
      'is not allowed a pod',
      running({
        pods: [],
        trouble: 'pods "x" is forbidden: violates PodSecurity "restricted:latest"',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
      }),
      ['PodForbidden'],
    ],
    ['its pod is pending', running({ pods: [pendingPod(0, 299)] }), ['observe', 'mirror']],
    ['its pod was pending too long', running({ pods: [pendingPod(0, 300)] }), ['Unschedulable']],
    [
      'waits for another pod',
      running({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod(0, 1)], state: { noPodSince: secondsAgo(299) } }),
      ['observe', 'mirror'],
    ],
    [
      'has waited too long for another pod',
      running({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod(0, 1)], state: { noPodSince: secondsAgo(300) } }),
      ['PodNotCreated'],
    ],
    [
      'has waited for another pod, the last one is gone',
      running({
        scan: scanWith(launched({ attempts: 1 })),
        pods: [],
        state: { noPodSince: secondsAgo(1) },
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(9000) } },
      }),
      ['observe', 'mirror'],
    ],
    // stuck
    [
      'silent',
      running({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(119) }), busSince: secondsAgo(500) }),
      ['observe', 'mirror'],
    ],
    [
      'silent too long',
      running({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(120) }), busSince: secondsAgo(500) }),
      ['Stuck'],
    ],
    [
      'silent because the bus was away',
      running({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }), busSince: secondsAgo(10) }),
      ['observe', 'mirror'],
    ],
    [
      'silent because the bus is away',
      running({ podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }) }),
      ['observe', 'mirror'],
    ],
    [
      'silent since it started again',
      running({
        pods: [endedPod(0, 1, undefined, 500), runningPod(1)],
        podMessages: messagesOf({ progress: progress(0), at: secondsAgo(500) }),
        busSince: secondsAgo(900),
      }),
      ['observe', 'mirror'],
    ],
    ['never spoke', running({ busSince: secondsAgo(5000) }), ['observe', 'mirror']],
    // lost
    ['its pod is being ended', running({ pods: [runningPod(0, 50, { deletionTimestamp: ago(59) })] }), ['observe', 'mirror']],
    [
      'its pod is not ended in time',
      running({ pods: [runningPod(0, 50, { deletionTimestamp: ago(60) })] }),
      ['giveUpPod', 'observe', 'mirror'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'nothing'}`, () => expect(short(facts)).to.deep.equal(actions));

  it('names why a pod does not start', () => {
    const waiting = (reason: string, message: string) => [
      podWith(
        0,
        {
          phase: 'Pending',
          containerStatuses: [{ name: 'scanner', image: 'curbcut.dev/scanner:1', state: { waiting: { reason, message } } }],
        },
        300,
      ),
    ];
    expect(endOf(running({ pods: waiting('ErrImagePull', 'no such image') }))).to.deep.include({ reason: 'ImagePull' });
    expect(endOf(running({ pods: waiting('ErrImagePull', 'no such image') }))?.message).to.match(
      /within 300 s.*ErrImagePull: no such image\./,
    );
    expect(endOf(running({ pods: waiting('CreateContainerConfigError', 'runAsNonRoot') }))?.reason).to.equal('ContainerConfig');
    const auth = scanWith(launched(), { spec: { auth: { secretRef: { name: 'sign-in' } } } });
    expect(endOf(running({ scan: auth, pods: waiting('ContainerCreating', '') }))).to.deep.include({ reason: 'PodPending' });
    expect(endOf(running({ scan: auth, pods: waiting('ContainerCreating', '') }))?.message).to.match(
      /pulling the image curbcut\.dev\/scanner:1\)\. Check that the Secret sign-in exists in namespace curbcut/,
    );
    expect(endOf(running({ pods: [pendingPod(0, 300)] }))?.message).to.match(/unschedulable \(0\/1 nodes are available\.\)/);
  });

  it('names how a scanner crashed', () => {
    const over = jobWith({ type: 'Failed', reason: 'FailedIndexes' });
    const status = (pod: object) =>
      running({ job: over, scan: scanWith(launched({ attempts: 3 })), pods: [podWith(0, { phase: 'Failed', ...pod })] });
    expect(
      endOf(status({ containerStatuses: [{ name: 'scanner', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }))?.message,
    ).to.match(/3 times \(last: exit code 137, out of memory\)/);
    expect(endOf(status({ reason: 'Evicted', message: 'low on disk' }))?.message).to.match(/last: Evicted: low on disk/);
    expect(
      endOf(status({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }))?.message,
    ).to.match(/pod disrupted: PreemptionByScheduler/);
    expect(endOf(running({ job: over, pods: [] }))?.message).to.match(/once \(last: pod deleted\)/);
  });

  it("keeps a pod's words to one line that no terminal obeys", () => {
    const word = { ...failedBy(0), message: `bad\n\u001b[31mred\u202e ${'x'.repeat(2000)}` };
    const { message } = endOf(running({ podMessages: messagesOf({ final: [word] }) }))!;
    expect(message).not.to.match(/[\u0000-\u001f\u202e]/);
    expect(message.length).to.be.at.most(1000);
  });

  it('writes page counts to status and read model only so often', () => {
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
    const facts = running({ scan, podMessages, state: { mirrored, statusAt: secondsAgo(1), mirroredAt: secondsAgo(0.4) } });
    const { actions, wakeAfterMs } = plan(facts, TIMEOUTS);
    expect(actions).to.deep.equal([]);
    expect(wakeAfterMs).to.equal(100);
    expect(short({ ...facts, state: { ...facts.state, mirroredAt: secondsAgo(0.5) } })).to.deep.equal(['mirror']);
    expect(short({ ...facts, state: { ...facts.state, statusAt: secondsAgo(5) } })).to.deep.equal(['observe']);
    // A phase is written at once.
    const generating = messagesOf({ progress: progress(0, { phase: 'generating' }) });
    expect(short({ ...facts, podMessages: generating })).to.deep.equal(['observe', 'mirror']);
  });

  it('looks again when the next deadline comes, and not before', () => {
    expect(plan(factsOf({ scan: scanWith({ phase: 'queued' }) }), TIMEOUTS).wakeAfterMs).to.equal(3_000_000);
    expect(plan(factsOf({ scan: ended('done', 20, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), TIMEOUTS).wakeAfterMs).to.equal(
      40_000,
    );
    expect(plan(factsOf({ scan: ended('done', 20, free), job: jobWith() }), TIMEOUTS).wakeAfterMs).to.equal(40_000);
    expect(plan(running({ pods: [pendingPod(0, 100)] }), TIMEOUTS).wakeAfterMs).to.equal(200_000);
    expect(plan(factsOf({ scan: ended('done', 20, free) }), TIMEOUTS).wakeAfterMs).to.equal(null);
  });
});
