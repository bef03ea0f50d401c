import { expect } from 'chai';
import fc from 'fast-check';
import { isTerminal, PHASES, type Phase } from '../../../core/scan/phases.ts';
import type { AccessibilityScan, AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import {
  NOW,
  TIMEOUTS,
  ago,
  condition,
  endedPod,
  factsOf,
  failedBy,
  jobWith,
  launched,
  pendingPod,
  podWith,
  progress,
  runningPod,
  scanWith,
  storedBy,
  type FactsSample,
} from '../../../test/support/scan-samples.ts';
import { plan, type Action, type Facts } from './plan.ts';
import { phaseOf, type StatusPatch } from './status.ts';

/** What a plan does, in short: the end's reason, else the action's name. */
const short = (facts: Facts): string[] =>
  plan(facts, TIMEOUTS).actions.map((action) => (action.do === 'end' ? action.end.reason : action.do));
const endOf = (facts: Facts) => plan(facts, TIMEOUTS).actions.find((action) => action.do === 'end')?.end;
const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);

const running = (more: FactsSample = {}): Facts =>
  factsOf({ scan: scanWith(launched()), job: jobWith(), pods: [runningPod('a')], ...more });
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
      running({ scan: scanWith(launched(), { spec: { cancel: true } }), heard: { progress: null, at: NOW, words: [storedBy('a')] } }),
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
      running({ job: { ...jobWith(), spec: { activeDeadlineSeconds: 30 } }, heard: { progress: null, at: NOW, words: [storedBy('a')] } }),
      ['ingest'],
    ],
    [
      'ended by its Job for being late',
      running({ job: jobWith({ type: 'Failed', reason: 'DeadlineExceeded' }), pods: [] }),
      ['DeadlineExceeded'],
    ],
    // failed for good
    ['gave up, by message', running({ heard: { progress: null, at: NOW, words: [failedBy('a')] } }), ['TargetNotHtml']],
    ['gave up, by termination message', running({ pods: [endedPod('a', 42, failedBy('a'))] }), ['TargetNotHtml']],
    ['gave up without a word', running({ pods: [endedPod('a', 42)] }), ['GaveUp']],
    ['gave up in words of another scan', running({ pods: [endedPod('a', 42, { ...failedBy('a'), scanId: 'other' })] }), ['GaveUp']],
    ['was killed after it gave up', running({ pods: [endedPod('a', 137, failedBy('a'))] }), ['observe', 'mirror']],
    ['gave up before it stored', running({ heard: { progress: null, at: NOW, words: [failedBy('a'), storedBy('a')] } }), ['TargetNotHtml']],
    // stored
    ['stored, by message', running({ heard: { progress: null, at: NOW, words: [storedBy('a')] } }), ['ingest']],
    ['stored, by termination message', running({ pods: [endedPod('a', 0, storedBy('a'))] }), ['ingest']],
    ['stored, then killed', running({ pods: [endedPod('a', 137, storedBy('a'))] }), ['ingest']],
    [
      'stored, though its Job failed',
      running({ job: jobWith({ type: 'Failed', reason: 'BackoffLimitExceeded' }), pods: [endedPod('a', 1, storedBy('a'))] }),
      ['ingest'],
    ],
    [
      'refused',
      running({ heard: { progress: null, at: NOW, words: [storedBy('a')] }, state: { refused: new Map([['a', 'no.']]) } }),
      ['ResultsRefused'],
    ],
    [
      'refused, but another attempt stored',
      running({ heard: { progress: null, at: NOW, words: [storedBy('a'), storedBy('b')] }, state: { refused: new Map([['a', 'no.']]) } }),
      ['ingest'],
    ],
    [
      'refused, but a later attempt is at work',
      running({
        pods: [endedPod('a', 1), runningPod('b')],
        heard: { progress: null, at: NOW, words: [storedBy('a')] },
        state: { refused: new Map([['a', 'no.']]) },
      }),
      ['observe', 'mirror'],
    ],
    [
      'refused too often',
      running({
        heard: { progress: null, at: NOW, words: [storedBy('d')] },
        state: { refused: new Map(['a', 'b', 'c'].map((name) => [name, 'no.'])) },
      }),
      ['ResultsRefused'],
    ],
    // the Job is over
    ['its Job ended just now', running({ job: jobWith({ type: 'Complete', seconds: 1 }), pods: [endedPod('a', 0)] }), []],
    ['its Job ended without results', running({ job: jobWith({ type: 'Complete' }), pods: [endedPod('a', 0)] }), ['NoResults']],
    [
      'its Job failed too often',
      running({ job: jobWith({ type: 'Failed', reason: 'BackoffLimitExceeded' }), pods: [endedPod('a', 1)] }),
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
    ['its pod is pending', running({ pods: [pendingPod('a', 299)] }), ['observe', 'mirror']],
    ['its pod was pending too long', running({ pods: [pendingPod('a', 300)] }), ['Unschedulable']],
    [
      'waits for another pod',
      running({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod('a', 1)], state: { noPodSince: secondsAgo(299) } }),
      ['observe', 'mirror'],
    ],
    [
      'has waited too long for another pod',
      running({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod('a', 1)], state: { noPodSince: secondsAgo(300) } }),
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
      running({ heard: { progress: progress('a'), at: secondsAgo(119), words: [] }, busSince: secondsAgo(500) }),
      ['observe', 'mirror'],
    ],
    [
      'silent too long',
      running({ heard: { progress: progress('a'), at: secondsAgo(120), words: [] }, busSince: secondsAgo(500) }),
      ['Stuck'],
    ],
    [
      'silent because the bus was away',
      running({ heard: { progress: progress('a'), at: secondsAgo(500), words: [] }, busSince: secondsAgo(10) }),
      ['observe', 'mirror'],
    ],
    [
      'silent because the bus is away',
      running({ heard: { progress: progress('a'), at: secondsAgo(500), words: [] } }),
      ['observe', 'mirror'],
    ],
    [
      'silent since it started again',
      running({
        pods: [endedPod('a', 1, undefined, 500), runningPod('b')],
        heard: { progress: progress('a'), at: secondsAgo(500), words: [] },
        busSince: secondsAgo(900),
      }),
      ['observe', 'mirror'],
    ],
    ['never spoke', running({ busSince: secondsAgo(5000) }), ['observe', 'mirror']],
    // lost
    ['its pod is being ended', running({ pods: [runningPod('a', 50, { deletionTimestamp: ago(59) })] }), ['observe', 'mirror']],
    [
      'its pod is not ended in time',
      running({ pods: [runningPod('a', 50, { deletionTimestamp: ago(60) })] }),
      ['giveUpPod', 'observe', 'mirror'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'nothing'}`, () => expect(short(facts)).to.deep.equal(actions));

  it('names why a pod does not start', () => {
    const waiting = (reason: string, message: string) => [
      podWith(
        'a',
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
    expect(endOf(running({ pods: [pendingPod('a', 300)] }))?.message).to.match(/no node takes its pod \(0\/1 nodes are available\.\)/);
  });

  it('names how a scanner crashed', () => {
    const over = jobWith({ type: 'Failed', reason: 'BackoffLimitExceeded' });
    const status = (pod: object) =>
      running({ job: over, scan: scanWith(launched({ attempts: 3 })), pods: [podWith('a', { phase: 'Failed', ...pod })] });
    expect(
      endOf(status({ containerStatuses: [{ name: 'scanner', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }))?.message,
    ).to.match(/3 times \(last: exit code 137, out of memory\)/);
    expect(endOf(status({ reason: 'Evicted', message: 'low on disk' }))?.message).to.match(/last: Evicted: low on disk/);
    expect(
      endOf(status({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }))?.message,
    ).to.match(/taken away: PreemptionByScheduler/);
    expect(endOf(running({ job: over, pods: [] }))?.message).to.match(/once \(last: its pod is gone\)/);
  });

  it("keeps a pod's words to one line that no terminal obeys", () => {
    const word = { ...failedBy('a'), message: `bad\n\u001b[31mred\u202e ${'x'.repeat(2000)}` };
    const { message } = endOf(running({ heard: { progress: null, at: NOW, words: [word] } }))!;
    expect(message).not.to.match(/[\u0000-\u001f\u202e]/);
    expect(message.length).to.be.at.most(1000);
  });

  it('writes page counts to status and read model only so often', () => {
    const scan = scanWith(
      launched({
        phase: 'scanning',
        attempts: 1,
        podName: 'a',
        startTime: ago(9),
        pages: { requested: 5, reserved: 5, scanned: 1, failed: 0 },
        conditions: [condition('Admitted', 'True', 'Admitted'), condition('Succeeded', 'Unknown', 'Scanning')],
      }),
    );
    const heard = { progress: progress('a', { pages: { scanned: 2, failed: 0, total: 4 } }), at: NOW, words: [] };
    const mirrored = { phase: 'scanning' as const, pages: { scanned: 1, failed: 0, total: 4 } };
    const facts = running({ scan, heard, state: { mirrored, statusAt: secondsAgo(1), mirroredAt: secondsAgo(0.4) } });
    const { actions, wakeAfterMs } = plan(facts, TIMEOUTS);
    expect(actions).to.deep.equal([]);
    expect(wakeAfterMs).to.equal(100);
    expect(short({ ...facts, state: { ...facts.state, mirroredAt: secondsAgo(0.5) } })).to.deep.equal(['mirror']);
    expect(short({ ...facts, state: { ...facts.state, statusAt: secondsAgo(5) } })).to.deep.equal(['observe']);
    // A phase is written at once.
    expect(short({ ...facts, heard: { ...heard, progress: progress('a', { phase: 'generating' }) } })).to.deep.equal(['observe', 'mirror']);
  });

  it('looks again when the next deadline comes, and not before', () => {
    expect(plan(factsOf({ scan: scanWith({ phase: 'queued' }) }), TIMEOUTS).wakeAfterMs).to.equal(3_000_000);
    expect(plan(factsOf({ scan: ended('done', 20, { ...free, spec: { ttlSecondsAfterFinished: 60 } }) }), TIMEOUTS).wakeAfterMs).to.equal(
      40_000,
    );
    expect(plan(factsOf({ scan: ended('done', 20, free), job: jobWith() }), TIMEOUTS).wakeAfterMs).to.equal(40_000);
    expect(plan(running({ pods: [pendingPod('a', 100)] }), TIMEOUTS).wakeAfterMs).to.equal(200_000);
    expect(plan(factsOf({ scan: ended('done', 20, free) }), TIMEOUTS).wakeAfterMs).to.equal(null);
  });

  describe('whatever is known', () => {
    const phase = fc.constantFrom(...PHASES);
    const name = fc.constantFrom('a', 'b', 'c');
    const pages = fc.record({ scanned: fc.nat(9), failed: fc.nat(9), total: fc.nat(20) });
    const status = fc.record(
      {
        phase,
        attempts: fc.nat(3),
        podName: name,
        jobName: fc.constant(jobWith().metadata.name),
        completionTime: fc.constant(ago(5)),
        pages: fc.record({ requested: fc.constant(5), reserved: fc.constant(5), scanned: fc.nat(5), failed: fc.nat(5) }),
        conditions: fc.constantFrom([], [condition('Admitted', 'True', 'Admitted')], [condition('Admitted', 'False', 'Queued')]),
      },
      { requiredKeys: ['phase', 'pages', 'conditions'] },
    );
    const scan = fc
      .record({ status: fc.option(status, { nil: undefined }), cancel: fc.boolean(), deleted: fc.boolean(), claimed: fc.boolean() })
      .map(({ status: is, cancel, deleted, claimed }) =>
        scanWith(is as AccessibilityScanStatus | undefined, {
          spec: { cancel, ttlSecondsAfterFinished: 3 },
          metadata: { ...(deleted && { deletionTimestamp: ago(1) }), ...(!claimed && free.metadata) },
        }),
      );
    const word = fc.oneof(name.map(storedBy), name.map(failedBy));
    const pod = fc.oneof(
      name.map((n) => pendingPod(n)),
      name.map((n) => runningPod(n)),
      fc.tuple(name, fc.constantFrom(0, 1, 42)).map(([n, code]) => endedPod(n, code)),
    );
    const facts: fc.Arbitrary<Facts> = fc.record({
      scan,
      scanId: fc.constant(factsOf().scanId),
      now: fc.constant(NOW),
      job: fc.constantFrom(null, jobWith(), jobWith({ type: 'Complete' }), jobWith({ type: 'Failed', reason: 'BackoffLimitExceeded' })),
      pods: fc.uniqueArray(pod, { selector: (one) => one.metadata.name, maxLength: 3 }),
      trouble: fc.constantFrom(null, 'exceeded quota'),
      heard: fc.record({
        progress: fc.option(
          fc
            .record({
              attempt: name,
              phase: fc.constantFrom('crawling' as const, 'scanning' as const, 'aggregating' as const, 'generating' as const),
              pages,
            })
            .map(({ attempt, ...more }) => progress(attempt, more)),
        ),
        at: fc.constant(secondsAgo(1)),
        words: fc.array(word, { maxLength: 2 }),
      }),
      busSince: fc.constantFrom(null, secondsAgo(50)),
      state: fc
        .record({
          noPodSince: fc.constantFrom(null, secondsAgo(10)),
          refused: fc.uniqueArray(name).map((names) => new Map(names.map((one) => [one, 'no.']))),
          mirrored: fc.option(fc.record({ phase, pages })),
          mirroredAt: fc.constantFrom(null, secondsAgo(9)),
          statusAt: fc.constantFrom(null, secondsAgo(9)),
        })
        .map((state) => factsOf({ state }).state),
    });

    const written = (actions: readonly Action[]): StatusPatch[] =>
      actions.flatMap((action) => (action.do === 'observe' ? [action.status] : []));

    it('an end is final', () => {
      fc.assert(
        fc.property(facts, (known) => {
          if (!isTerminal(phaseOf(known.scan))) return true;
          return plan(known, TIMEOUTS).actions.every(({ do: what }) => ['removeJob', 'finish', 'release', 'expire'].includes(what));
        }),
        { numRuns: 2000 },
      );
    });

    it('no phase moves backwards and no count falls', () => {
      fc.assert(
        fc.property(facts, (known) => {
          const before = known.scan.status;
          return written(plan(known, TIMEOUTS).actions).every(
            (patch) =>
              PHASES.indexOf(patch.phase!) >= PHASES.indexOf(phaseOf(known.scan)) &&
              patch.pages!.scanned >= (before?.pages?.scanned ?? 0) &&
              patch.pages!.failed >= (before?.pages?.failed ?? 0) &&
              patch.pages!.scanned <= 5 &&
              patch.attempts! >= (before?.attempts ?? 0),
          );
        }),
        { numRuns: 2000 },
      );
    });

    it('nothing is done twice at once, nothing follows an end, and nothing is released that is not finished', () => {
      fc.assert(
        fc.property(facts, (known) => {
          const names = plan(known, TIMEOUTS)
            .actions.map(({ do: what }) => what)
            .filter((what) => what !== 'giveUpPod');
          if (new Set(names).size !== names.length) return false;
          if (names.includes('end') && names.length > 1) return false;
          return !names.includes('release') || names.indexOf('finish') === names.indexOf('release') - 1;
        }),
        { numRuns: 2000 },
      );
    });

    it('once what was decided is written, it is not decided again', () => {
      fc.assert(
        fc.property(facts, (known) => {
          const { actions } = plan(known, TIMEOUTS);
          const [status] = written(actions);
          const mirror = actions.find((action) => action.do === 'mirror');
          if (status === undefined && mirror === undefined) return true;
          const clean = Object.fromEntries(Object.entries({ ...known.scan.status, ...status }).filter(([, value]) => value !== null));
          const after = {
            ...known,
            scan: { ...known.scan, status: clean },
            state: { ...known.state, mirrored: mirror ? { phase: mirror.phase, pages: mirror.pages } : known.state.mirrored },
          } as Facts;
          return plan(after, TIMEOUTS).actions.every(({ do: what }) => what === 'giveUpPod');
        }),
        { numRuns: 2000 },
      );
    });

    it('a living scan always has something that will end it', () => {
      fc.assert(
        fc.property(facts, (known) => {
          const { actions, wakeAfterMs } = plan(known, TIMEOUTS);
          if (known.scan.metadata.deletionTimestamp !== undefined || isTerminal(phaseOf(known.scan))) return true;
          return actions.length > 0 || wakeAfterMs !== null;
        }),
        { numRuns: 2000 },
      );
    });
  });
});
