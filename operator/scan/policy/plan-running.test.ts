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
  podWith,
  progress,
  runningFacts,
  runningPod,
  scanWith,
  searched,
  secondsAgo,
} from '../../../test/support/scan-samples.ts';
import type { Job, Pod } from '../kube-types.ts';
import { plan } from './plan.ts';
import type { Facts } from './facts.ts';

/** What the API server and its webhooks answer to the Job controller. */
const REFUSALS = [
  ['of a quota', 'pods "x" is forbidden: exceeded quota: tight'],
  ['of Pod Security', 'pods "x" is forbidden: violates PodSecurity "restricted:latest"'],
  [
    'a webhook is down',
    'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: context deadline exceeded',
  ],
] as const;

const jobSince = (seconds: number): Job => ({ ...jobWith(), metadata: { ...jobWith().metadata, creationTimestamp: ago(seconds) } });
const waitingPod = (seconds: number): Pod =>
  podWith(
    0,
    { phase: 'Pending', containerStatuses: [{ name: 'scanner', image: 'x', state: { waiting: { reason: 'ErrImagePull' } } }] },
    seconds,
  );
/** A pod that was deleted while it ran. */
const lostPod = (attempt: number): Pod => {
  const ended = endedPod(attempt, 143);
  return { ...ended, metadata: { ...ended.metadata, deletionTimestamp: ago(1) } };
};
const crashedAnd = (search: ReturnType<typeof searched> | null, ...pods: Pod[]): Facts => runningFacts({ pods, state: { search } });

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
      ['requeue'],
    ],
    // conditions of the cluster
    ...REFUSALS.flatMap(([what, message]): [string, Facts, string[]][] =>
      [29, 30].map((seconds) => [
        `no pod for ${seconds} s, because ${what}`,
        runningFacts({ pods: [], startFailure: message, job: jobSince(seconds), state: { search: searched() } }),
        seconds < 30 ? ['observe', 'mirror'] : ['requeue'],
      ]),
    ),
    ['no node has room for 119 s', runningFacts({ pods: [pendingPod(0, 119)] }), ['observe', 'mirror']],
    ['no node has room for 120 s', runningFacts({ pods: [pendingPod(0, 120)] }), ['requeue']],
    [
      'no node has room for a second pod: results of the first one are searched',
      runningFacts({ scan: scanWith(launched({ attempts: 1 })), pods: [lostPod(0), pendingPod(1, 120)] }),
      ['search'],
    ],
    [
      'no replacement pod yet: the Job controller waits up to ten minutes',
      runningFacts({ scan: scanWith(launched({ attempts: 1 })), pods: [endedPod(0, 1)], state: { noPodSince: secondsAgo(659) } }),
      ['observe', 'mirror'],
    ],
    [
      'no replacement pod after that',
      runningFacts({
        scan: scanWith(launched({ attempts: 1 })),
        pods: [endedPod(0, 1)],
        state: { noPodSince: secondsAgo(660), search: searched() },
      }),
      ['requeue'],
    ],
    // faults of image and container
    ['image not pulled for 299 s', runningFacts({ pods: [waitingPod(299)] }), ['observe', 'mirror']],
    ['image not pulled for 300 s', runningFacts({ pods: [waitingPod(300)] }), ['ImagePull']],
    // crashes and lost pods
    ['crashed as often as it is retried', runningFacts({ pods: [endedPod(0, 1), endedPod(1, 1)] }), ['observe', 'mirror']],
    ['crashed once more', crashedAnd(searched(), endedPod(0, 1), endedPod(1, 1), endedPod(2, 1)), ['Crashed']],
    ['crashed once more, not searched for results', crashedAnd(null, endedPod(0, 1), endedPod(1, 1), endedPod(2, 1)), ['search']],
    [
      'lost more pods than that, and crashed once',
      crashedAnd(searched(), endedPod(0, 1), lostPod(1), runningPod(9)),
      ['observe', 'mirror'],
    ],
    ['lost eleven pods', crashedAnd(searched(), runningPod(11)), ['observe', 'mirror']],
    ['lost twelve pods', crashedAnd(searched(), runningPod(12)), ['PodsLost']],
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

  it('takes no progress from a pod that claims more pages than are reserved', () => {
    const after = (scanned: number) =>
      plan(
        runningFacts({ podMessages: messagesOf({ progress: progress(0, { pages: { scanned, failed: 0, total: scanned } }) }) }),
        TIMEOUTS,
      );
    expect(after(6)).to.deep.equal(plan(runningFacts({}), TIMEOUTS));
    expect(after(5)).to.not.deep.equal(plan(runningFacts({}), TIMEOUTS));
  });

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
    const mirrored = { phase: 'scanning' as const, pages: { scanned: 1, failed: 0, total: 4 }, message: null };
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
