import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { Operator, scheduleWith, World } from '../../test/support/schedule-world.ts';
import { scanRow } from '../../test/support/scan-rows.ts';
import { execute, mismatchOf, type ScheduleContext } from './actions.ts';
import { planSchedule } from './policy/plan.ts';
import { newScheduleState } from './policy/facts.ts';

const CREATED = new Date('2026-03-02T02:59:00Z');
const DUE = new Date('2026-03-02T03:00:00Z');
const LATER = new Date('2026-03-03T03:00:00Z');

/** The actions of a new leader for a schedule with a scan to replace, and the requests that it sends. */
function leaderOf({ isStale }: { isStale: boolean }) {
  const world = new World(scheduleWith({ concurrencyPolicy: 'Replace' }, CREATED), DUE);
  new Operator(world).settle();
  world.now = LATER;
  const facts = { ...new Operator(world).facts(), state: newScheduleState() };
  const requests: string[] = [];
  const context = contextOf<ScheduleContext>({
    connection: { path: () => '', request: () => Promise.reject(new Error('unexpected')) },
    schedules: {
      patchStatus: async (schedule, status) => {
        requests.push(`status ${JSON.stringify(status)}`);
        if (isStale) throw new KubernetesError(409, 'Conflict', 'the object has been modified');
        return schedule;
      },
    },
    scanClient: {
      create: async (scan) => {
        requests.push('create');
        return { ...scan, metadata: { ...scan.metadata, uid: 'new' } };
      },
      patchSpec: async (scan: AccessibilityScan) => {
        requests.push('cancel');
        return scan;
      },
      remove: async () => {},
    },
    stores: { webhookEvents: { add: () => Promise.reject(new Error('unexpected')) } },
    clock: { now: () => LATER },
  });
  const run = async () => {
    for (const action of planSchedule(facts).actions) await execute(context, action, facts, new AbortController().signal);
  };
  return { run, requests };
}

describe('schedule actions', () => {
  it('start and cancel nothing if the cache of a new leader has missed a write of the schedule', async () => {
    const { run, requests } = leaderOf({ isStale: true });
    const error = await run().catch((reason: unknown) => reason);
    expect(error).to.be.an.instanceOf(KubernetesError).with.property('code', 409);
    expect(requests).to.deep.equal(['status {}']);
  });

  it('ask the API server about the schedule once', async () => {
    const { run, requests } = leaderOf({ isStale: false });
    await run();
    await run();
    expect(requests.filter((request) => request.startsWith('status'))).to.deep.equal(['status {}']);
    expect(requests.slice(0, 3)).to.deep.equal(['status {}', 'cancel', 'create']);
  });

  it('compare a run only with one of the same organisation and site, whatever the status of the schedule names', () => {
    const after = scanRow({ organisation: 'acme' });
    const messageOf = (before: Parameters<typeof mismatchOf>[0]) => mismatchOf(before, after)?.message;
    expect(messageOf(after)).to.equal(undefined);
    expect(messageOf({ ...after, organisation: 'of the namespace before' })).to.match(/another organisation/);
    expect(messageOf({ ...after, site: 'elsewhere.example' })).to.match(/site/);
    expect(messageOf(undefined)).to.equal('a report is not stored any more');
  });
});
