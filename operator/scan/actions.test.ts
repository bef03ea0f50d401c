import { expect } from 'chai';
import { NO_TRACER } from '../../platform/tracing.ts';
import { NOW, ago, condition, factsOf, jobWith, launched, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import { createActions, type ActionDeps } from './actions.ts';
import { ReservationLate } from './launch/preflight.ts';
import { type Action, createReconcileStates, type Facts } from './policy/facts.ts';
import { RUN_AGAIN, targetRefused } from './policy/condition-reasons.ts';
import type { StatusPatch } from './policy/status.ts';
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
      jobs: { remove: write },
      reports: { removeAll: async () => undefined },
      async launch() {
        await write();
        return { ok: true, job: jobWith() };
      },
      mirror: { change: write },
      preflight: {
        async vet() {
          await write();
          return { ok: false, unresolved: targetRefused('It waits.') };
        },
      },
      startTask: () => undefined,
      recorder: { event: () => undefined },
      retries: 2,
      traces: createScanTraces(NO_TRACER),
    } as unknown as ActionDeps);
    await runActions([action], facts, new AbortController().signal);
    return states.find(uid);
  }

  const actions: Action[] = [
    { do: 'vet', resolveMs: 120_000 },
    { do: 'launch' },
    { do: 'observe', status: {} },
    { do: 'mirror', phase: 'scanning', pages: { scanned: 1, failed: 0, total: 1 } },
    { do: 'replaceJob', why: RUN_AGAIN },
    { do: 'removeJob' },
    { do: 'expire' },
  ];
  for (const action of actions)
    it(`keep no state of a scan that is deleted meanwhile: ${action.do}`, async () => {
      expect(await runWhileDeleted(action)).to.equal(undefined);
    });

  it('count failed reservations as failed launches, and state the pages of a reservation that succeeds', async () => {
    const written: StatusPatch[] = [];
    const state = createReconcileStates().of(uid);
    const answers: (object | Error)[] = [
      new ReservationLate('The reservation was too late.'),
      new Error('connection to 10.0.0.7 closed'),
      { ok: true, row: { pagesRequested: 5, pagesReserved: 5 } },
    ];
    const runActions = createActions({
      scanClient: {
        get: () => scan,
        async patchStatus(_: unknown, status: StatusPatch) {
          written.push(status);
          return scan;
        },
      },
      preflight: {
        async reserve() {
          const answer = answers.shift()!;
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
    } as unknown as ActionDeps);
    const reserve = () => runActions([{ do: 'reserve' }], { ...factsOf({ scan }), state }, new AbortController().signal);
    await reserve().catch(() => undefined);
    expect(state.launchFailure).to.deep.equal({ count: 1, message: 'The reservation was too late.' });
    await reserve().catch(() => undefined);
    expect(state.launchFailure).to.deep.include({ count: 2 });
    expect(state.launchFailure!.message, 'no internals').to.match(/^a service that the operator needs does not answer/);
    await reserve();
    expect(written).to.deep.equal([{ pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 } }]);
  });

  it('end a scan for its name servers only if none has answered for two minutes since the first failure', async () => {
    const old = scanWith(undefined, { metadata: { creationTimestamp: ago(86_400) } });
    const written: StatusPatch[] = [];
    const refused = targetRefused('example.com cannot be resolved.');
    const state = createReconcileStates().of(uid);
    const runActions = createActions({
      scanClient: {
        get: () => old,
        async patchStatus(_: unknown, status: StatusPatch) {
          written.push(status);
          return old;
        },
      },
      preflight: { vet: async () => ({ ok: false, unresolved: refused }) },
      recorder: { event: () => undefined },
      traces: createScanTraces(NO_TRACER),
      onEnd: () => undefined,
    } as unknown as ActionDeps);
    const vetAt = async (seconds: number) => {
      const facts: Facts = { ...factsOf({ scan: old, now: secondsAgo(-seconds) }), state };
      await runActions([{ do: 'vet', resolveMs: 120_000 }], facts, new AbortController().signal);
      const { phase = 'waits', conditions } = written.at(-1)!;
      return `${phase}: ${conditions?.find(({ type }) => type === 'Admitted')?.reason}`;
    };
    expect(await vetAt(0)).to.equal('waits: NameServersUnavailable');
    expect(await vetAt(119)).to.equal('waits: NameServersUnavailable');
    expect(await vetAt(120)).to.equal('failed: TargetRefused');
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
