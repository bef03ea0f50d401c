import { expect } from 'chai';
import {
  TIMEOUTS,
  actionsOf,
  ago,
  condition,
  endedPod,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  podName,
  progress,
  runningFacts,
  runningPod,
  scanWith,
  searched,
  secondsAgo,
} from '../../../test/support/scan-samples.ts';
import { plan } from './plan.ts';
import type { Facts } from './facts.ts';

describe('plan for a running scan', () => {
  const table: [string, Facts, string[]][] = [
    // pending pod
    ['no pod yet', runningFacts({ pods: [] }), ['observe', 'mirror']],
    [
      'no pod within the pending deadline',
      runningFacts({
        pods: [],
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
        state: { search: searched() },
      }),
      ['PodNotCreated'],
    ],
    [
      'no pod because of a quota',
      runningFacts({
        pods: [],
        startFailure: 'pods "x" is forbidden: exceeded quota: tight',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
        state: { search: searched() },
      }),
      ['QuotaExceeded'],
    ],
    [
      'no pod because of Pod Security',
      runningFacts({
        pods: [],
        startFailure: 'pods "x" is forbidden: violates PodSecurity "restricted:latest"',
        job: { ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(300) } },
        state: { search: searched() },
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
      runningFacts({
        scan: scanWith(launched({ attempts: 1 })),
        pods: [endedPod(0, 1)],
        state: { noPodSince: secondsAgo(300), search: searched() },
      }),
      ['PodNotCreated'],
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
      ['search'],
    ],
    [
      'no message beyond the stuck deadline, nothing found',
      runningFacts({
        podMessages: messagesOf({ progress: progress(0), at: secondsAgo(120) }),
        busSince: secondsAgo(500),
        state: { search: searched() },
      }),
      ['Stuck'],
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
    // lost node
    ['pod terminating', runningFacts({ pods: [runningPod(0, 50, { deletionTimestamp: ago(59) })] }), ['observe', 'mirror']],
    [
      'pod terminating beyond the grace period',
      runningFacts({ pods: [runningPod(0, 50, { deletionTimestamp: ago(60) })] }),
      ['failLostPod', 'observe', 'mirror'],
    ],
  ];
  for (const [what, facts, actions] of table)
    it(`${what}: ${actions.join(', ') || 'no action'}`, () => expect(actionsOf(facts)).to.deep.equal(actions));

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
    expect(actionsOf({ ...facts, state: { ...facts.state, mirroredAt: secondsAgo(0.5) } })).to.deep.equal(['mirror']);
    expect(actionsOf({ ...facts, state: { ...facts.state, statusAt: secondsAgo(5) } })).to.deep.equal(['observe']);
    // A new phase is written at once.
    const generating = messagesOf({ progress: progress(0, { phase: 'generating' }) });
    expect(actionsOf({ ...facts, podMessages: generating })).to.deep.equal(['observe', 'mirror']);
    // The clock was set back.
    const later = secondsAgo(-3600);
    expect(actionsOf({ ...facts, state: { ...facts.state, mirroredAt: later, statusAt: later } })).to.deep.equal(['observe', 'mirror']);
  });
});
