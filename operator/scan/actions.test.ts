import { expect } from 'chai';
import { NO_TRACER } from '../../platform/tracing.ts';
import { NOW, condition, factsOf, jobWith, launched, scanWith } from '../../test/support/scan-samples.ts';
import { createActions, type ActionDeps } from './actions.ts';
import type { Action, Facts } from './policy/facts.ts';
import { createReconcileStates } from './reconcile-state.ts';
import { createScanTraces } from './traces.ts';

describe('the actions of a scan', () => {
  const scan = scanWith(launched({ conditions: [condition('Admitted', 'True', 'Admitted')] }));
  const uid = scan.metadata.uid!;

  /** Runs an action during which the deletion of the scan arrives. @returns the state that is left */
  async function runWhileDeleted(action: Action) {
    const states = createReconcileStates();
    const facts: Facts = { ...factsOf({ scan, job: jobWith() }), state: states.of(uid) };
    const write = async () => {
      states.forget(uid);
      return scan;
    };
    const runActions = createActions({
      scanClient: { get: () => scan, remove: write, patchStatus: write },
      children: { removeJob: write },
      async launch() {
        await write();
        return { ok: true, job: jobWith() };
      },
      mirror: { change: write },
      preflight: {
        async vet() {
          await write();
          return { ok: false, wait: { reason: 'TooManyLiveScans', message: 'It waits.' } };
        },
      },
      startTask: () => undefined,
      recorder: { event: () => undefined },
      retries: 2,
      traces: createScanTraces({ tracer: NO_TRACER }),
    } as unknown as ActionDeps);
    await runActions([action], facts, new AbortController().signal);
    return states.find(uid);
  }

  const actions: Action[] = [
    { do: 'vet' },
    { do: 'launch' },
    { do: 'observe', status: {} },
    { do: 'mirror', phase: 'scanning', pages: { scanned: 1, failed: 0, total: 1 } },
    { do: 'replaceJob' },
    { do: 'removeJob' },
    { do: 'expire' },
  ];
  for (const action of actions)
    it(`keep no state of a scan that is deleted meanwhile: ${action.do}`, async () => {
      expect(await runWhileDeleted(action)).to.equal(undefined);
    });

  it('know that a scan holds no credits only if its last vetting said so', async () => {
    const waits: boolean[] = [];
    const answers = [{ ok: false, wait: { reason: 'TooManyLiveScans', message: 'It waits.' } }, null, null];
    const facts: Facts = { ...factsOf({ scan }), state: createReconcileStates().of(uid) };
    const runActions = createActions({
      scanClient: { get: () => scan, patchStatus: async () => scan },
      preflight: {
        async vet(_scan: unknown, _scanId: string, known: boolean) {
          waits.push(known);
          const answer = answers.shift();
          if (!answer) throw new Error('the reservation timed out');
          return answer;
        },
      },
    } as unknown as ActionDeps);
    const { signal } = new AbortController();
    for (let round = 0; round < 3; round += 1) await runActions([{ do: 'vet' }], facts, signal).catch(() => undefined);
    expect(waits).to.deep.equal([false, true, false]);
  });

  it('write their state where the next plan reads it', async () => {
    const states = createReconcileStates();
    const facts: Facts = { ...factsOf({ scan, job: jobWith() }), state: states.of(uid), now: NOW };
    const runActions = createActions({
      scanClient: { get: () => scan },
      mirror: { change: async () => null },
    } as unknown as ActionDeps);
    const { signal } = new AbortController();
    await runActions([{ do: 'mirror', phase: 'scanning', pages: { scanned: 1, failed: 0, total: 1 } }], facts, signal);
    expect(states.find(uid)).to.deep.include({
      mirroredAt: NOW,
      mirrored: { phase: 'scanning', pages: { scanned: 1, failed: 0, total: 1 } },
    });
  });
});
