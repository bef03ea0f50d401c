import { expect } from 'chai';
import type { AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import {
  NOW,
  TIMEOUTS,
  actionsOf,
  ago,
  endedPod,
  factsOf,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  progress,
  refusedAttempts,
  runningFacts,
  scanWith,
  searched,
  secondsAgo,
  storedBy,
} from '../../../test/support/scan-samples.ts';
import { plan } from './plan.ts';
import type { Facts } from './facts.ts';
import { TASK_CHECK_MS } from './results.ts';
import type { ReconcileState } from './facts.ts';
import { replacedStatus, withStatus, type VerifiedResult } from './status.ts';

const canceled = (status: AccessibilityScanStatus = {}) => scanWith(launched(status), { spec: { cancel: true } });
/** Canceled the given seconds ago, and its pod was told to stop. */
const stopping = (seconds: number, status: AccessibilityScanStatus = {}) => canceled({ cancelTime: ago(seconds), ...status });
const tested = (scanned: number) => messagesOf({ progress: progress(0, { pages: { scanned, failed: 0, total: 9 } }) });
const suspended = { ...jobWith(), spec: { activeDeadlineSeconds: 1830, suspend: true } };
const VERIFYING: ReconcileState['task'] = { do: 'verify', stored: storedBy(0), slot: { attempt: 0, shard: 0 } };
const announced = messagesOf({ final: [storedBy(0)] });
const connected = { busSince: secondsAgo(50) };
const gone = { job: suspended, pods: [] };
/** When the time of the pods has just passed. */
const late = (more: Partial<Parameters<typeof runningFacts>[0]>): Facts => runningFacts({ scan: stopping(60), job: suspended, ...more });

const messageOf = (facts: Facts): string | undefined => {
  const [action] = plan(facts, TIMEOUTS).actions;
  return action?.do === 'end' ? action.end.message : undefined;
};

describe('plan of a canceled scan', () => {
  const table: [string, Facts, string[]][] = [
    // the decision to stop the pod
    ['no page was tested', runningFacts({ scan: canceled(), ...connected }), ['Canceled']],
    ['pages were tested', runningFacts({ scan: canceled(), podMessages: tested(2) }), ['markCanceling']],
    [
      'pages were tested, says only the status',
      runningFacts({ scan: canceled({ pages: { requested: 5, reserved: 5, scanned: 1, failed: 0 } }) }),
      ['markCanceling'],
    ],
    ['the bus is disconnected, and what was tested is unknown', runningFacts({ scan: canceled(), busSince: null }), ['markCanceling']],
    [
      'the pod has not started, and the bus is disconnected',
      runningFacts({ scan: canceled(), pods: [pendingPod(0)], busSince: null }),
      ['Canceled'],
    ],
    [
      'the pod crashed, and the next one is not created',
      runningFacts({ scan: canceled(), podMessages: tested(2), pods: [endedPod(0, 1)] }),
      ['Canceled'],
    ],
    [
      'the results were announced just before',
      runningFacts({ scan: canceled(), podMessages: announced, pods: [endedPod(0, 0)] }),
      ['markCanceling'],
    ],
    [
      'the Job succeeded, and no message arrived',
      runningFacts({ scan: canceled(), job: jobWith({ type: 'Complete' }), pods: [] }),
      ['markCanceling'],
    ],
    ['the results are verified', runningFacts({ scan: canceled(), state: { verified: {} as VerifiedResult } }), ['complete']],
    // while the pod stops
    ['its pod runs', runningFacts({ scan: stopping(1), podMessages: tested(2) }), ['stopPods']],
    ['its pod was told to stop by this process, and the cache lags', runningFacts({ scan: stopping(1), state: { podsStopped: true } }), []],
    ['its pod was told to stop', runningFacts({ scan: stopping(1), job: suspended, podMessages: tested(2) }), []],
    ['its pod announced results', runningFacts({ scan: stopping(1), job: suspended, podMessages: announced }), ['ingest']],
    [
      'its results are verified now',
      runningFacts({ scan: stopping(1), job: suspended, podMessages: announced, state: { task: VERIFYING } }),
      [],
    ],
    ['its pod is gone, and nothing was announced', runningFacts({ scan: stopping(9), ...gone }), ['search']],
    ['its pod ended with a failure', runningFacts({ scan: stopping(9), job: suspended, pods: [endedPod(0, 42, failedBy(0))] }), ['search']],
    ['nothing was found', runningFacts({ scan: stopping(9), ...gone, state: { search: searched() } }), ['Canceled']],
    [
      'its results were refused',
      runningFacts({ scan: stopping(9), ...gone, podMessages: announced, state: { search: searched(), refused: refusedAttempts(0) } }),
      ['Canceled'],
    ],
    [
      'another change of the spec',
      runningFacts({ scan: scanWith(launched({ cancelTime: ago(1) }), { spec: { cancel: true }, metadata: { generation: 3 } }) }),
      ['observeGeneration'],
    ],
    // the bound
    ['its pod does not stop, and may have stored results', late({ podMessages: tested(2) }), ['search']],
    ['its pod does not stop', late({ podMessages: tested(2), state: { search: searched() } }), ['Canceled']],
    ['the operator was down when its pod stored results', late({ ...gone }), ['search']],
    [
      'its pod has announced results that were refused again and again',
      late({ podMessages: messagesOf({ final: [storedBy(3)] }), state: { refused: refusedAttempts(0, 1, 2), search: searched() } }),
      ['Canceled'],
    ],
    [
      'its results wait for an operator that was down for hours',
      runningFacts({ scan: stopping(7 * 3_600), ...gone, podMessages: announced, state: { task: VERIFYING } }),
      [],
    ],
    ['the object store has just gone down', late({ podMessages: announced, state: { task: VERIFYING, outageSince: secondsAgo(59) } }), []],
    [
      'the object store stays down',
      late({ podMessages: announced, state: { task: VERIFYING, outageSince: secondsAgo(60) } }),
      ['Canceled'],
    ],
  ];
  for (const [name, facts, expected] of table)
    it(`${name}: ${expected.join(', ') || 'waits'}`, () => expect(actionsOf(facts)).to.deep.equal(expected));

  it('wakes up when an outage has lasted too long', () => {
    const wakes = (outageSince: Date | null) => plan(late({ state: { task: VERIFYING, outageSince } }), TIMEOUTS).wakeAfterMs;
    expect(wakes(secondsAgo(50))).to.equal(10_000);
    expect(wakes(null)).to.equal(TASK_CHECK_MS);
  });

  it('wakes up at the bound, whatever it waits for', () => {
    for (const more of [
      {},
      { state: { task: VERIFYING } },
      { podMessages: announced, state: { task: VERIFYING, outageSince: secondsAgo(900) } },
    ])
      expect(plan(runningFacts({ scan: stopping(20), job: suspended, ...more }), TIMEOUTS).wakeAfterMs).to.equal(40_000);
  });

  it('costs nothing for pages whose Job was lost: the scan waits in its queue, or runs again', () => {
    const three = { pages: { requested: 5, reserved: 5, scanned: 3, failed: 1 } };
    const waiting = runningFacts({
      scan: scanWith(launched(three)),
      pods: [endedPod(0, 1), pendingPod(1, 120)],
      state: { search: searched() },
    });
    const [requeued] = plan(waiting, TIMEOUTS).actions;
    if (requeued?.do !== 'requeue') return expect.fail();
    for (const patch of [requeued.status, replacedStatus(canceled(three), 'job-uid', { reason: 'Retrying', message: 'Again.' }, NOW)])
      expect(messageOf(factsOf({ scan: withStatus(canceled(three), patch) }))).to.equal('The scan was canceled. Nothing was charged.');
  });

  it('says why there is no report of pages that are charged', () => {
    const one = { pages: { requested: 5, reserved: 5, scanned: 1, failed: 0 } };
    const cases: [Facts, string][] = [
      [runningFacts({ scan: canceled(one), pods: [endedPod(0, 1)] }), 'the scanner was not running'],
      [late({ scan: stopping(60, one), state: { search: searched() } }), 'it was not stored within 60 s'],
      [
        late({ scan: stopping(60, one), state: { task: VERIFYING, outageSince: secondsAgo(60) } }),
        'the object store did not respond in time',
      ],
      [runningFacts({ scan: stopping(9, one), ...gone, state: { search: searched() } }), 'the scanner ended without one'],
      [
        runningFacts({
          scan: stopping(9, one),
          ...gone,
          podMessages: announced,
          state: { search: searched(), refused: new Map([[0, 'the export is not JSON.']]) },
        }),
        'it was refused: the export is not JSON',
      ],
    ];
    for (const [facts, why] of cases)
      expect(messageOf(facts)).to.equal(
        `The scan was canceled. The page tested until then was charged. There is no report, because ${why}.`,
      );
    expect(messageOf(runningFacts({ scan: canceled(), ...connected }))).to.equal('The scan was canceled. Nothing was charged.');
  });
});
