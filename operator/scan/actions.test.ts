import { expect } from 'chai';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { contextOf } from '../../test/support/operator-context.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { createStates } from '../runtime/controller.ts';
import { NOW, condition, factsOf, jobWith, launched, scanWith } from '../../test/support/scan-samples.ts';
import { execute } from './actions.ts';
import { type Action, type Facts, newReconcileState } from './policy/facts.ts';
import { RUN_AGAIN } from './policy/condition-reasons.ts';
import type { Organisation } from '../../core/organisation.ts';
import type { Reservation } from '../../stores/credits/credits.ts';
import type { StatusPatch } from './policy/status.ts';

const ROW = { phase: 'scanning', pages: { scanned: 1, failed: 0, total: 1 }, message: null } as const;

describe('the actions of a scan', () => {
  const scan = scanWith(launched({ conditions: [condition('Admitted', 'True', 'Admitted')] }));
  const uid = scan.metadata.uid!;
  const LATE = 'The reservation of credits was too late for MongoDB. If this lasts, the clocks of the operator and MongoDB differ.';

  /** Runs an action during which the deletion of the scan arrives. @returns the state that is left */
  async function runWhileDeleted(action: Action) {
    const states = createStates(newReconcileState);
    const facts: Facts = { ...factsOf({ scan, job: jobWith() }), state: states.of(uid) };
    const write = async () => {
      states.forget(uid);
      return scan;
    };
    const row = scanRow({ id: facts.scanId, organisation: 'acme', resource: { namespace: 'team', name: 'a' } });
    const context = contextOf({
      scanClient: { get: () => scan, remove: async () => void (await write()), patchStatus: write },
      jobs: { remove: async () => void (await write()) },
      children: {
        async createJob() {
          await write();
          return jobWith();
        },
      },
      reports: { removeAll: async () => undefined },
      stores: {
        scans: {
          async find() {
            await write();
            return row;
          },
          mirror: async () => (await write(), { row, changed: false }),
        },
        organisations: { find: async () => ({ blocked: false }) as Organisation },
      },
    });
    await execute(context, action, { facts, scan, signal: new AbortController().signal });
    return states.find(uid);
  }

  const actions: Action[] = [
    { do: 'launch' },
    { do: 'observe', status: {} },
    { do: 'mirror', row: ROW },
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
    const state = createStates(newReconcileState).of(uid);
    const row = scanRow({ organisation: 'acme', pagesRequested: 5 });
    const answers: (Reservation | Error)[] = [
      { ok: false, reason: 'deadline_passed' },
      new Error('connection to 10.0.0.7 closed'),
      new KubernetesError(403, 'Forbidden', 'jobs.batch "x" is forbidden: exceeded quota: tight'),
      new KubernetesError(403, 'Forbidden', 'jobs.batch "x" is forbidden'),
      { ok: true, reserved: 5, balance: 0 },
    ];
    const context = contextOf({
      scanClient: {
        async patchStatus(_, status) {
          written.push(status);
          return scan;
        },
      },
      stores: {
        scans: { find: async () => row, mirror: async (_, change) => ({ row: { ...row, ...change }, changed: true }) },
        organisations: { find: async () => ({ blocked: false }) as Organisation },
        credits: {
          async reserve() {
            const answer = answers.shift()!;
            if (answer instanceof Error) throw answer;
            return answer;
          },
        },
      },
    });
    const facts: Facts = { ...factsOf({ scan }), state };
    const reserve = () => execute(context, { do: 'reserve' }, { facts, scan, signal: new AbortController().signal });
    await reserve().catch(() => undefined);
    expect(state.launchFailure).to.deep.equal({ count: 1, reason: 'LaunchFailed', message: LATE });
    await reserve().catch(() => undefined);
    expect(state.launchFailure).to.deep.include({ count: 2 });
    expect(state.launchFailure!.message, 'no internals').to.match(/^a service that the operator needs does not answer/);
    for (const reason of ['QuotaExceeded', 'LaunchForbidden']) {
      await reserve().catch(() => undefined);
      expect(state.launchFailure).to.deep.include({ reason });
    }
    await reserve();
    expect(written).to.deep.equal([{ pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 } }]);
  });

  it('write their state where the next plan reads it', async () => {
    const states = createStates(newReconcileState);
    const facts: Facts = { ...factsOf({ scan, job: jobWith() }), state: states.of(uid), now: NOW };
    const context = contextOf({ stores: { scans: { mirror: async () => null } } });
    const action: Action = { do: 'mirror', row: ROW };
    await execute(context, action, { facts, scan, signal: new AbortController().signal });
    expect(states.find(uid)).to.deep.include({ mirroredAt: NOW, mirrored: ROW });
  });
});
