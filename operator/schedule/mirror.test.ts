import { expect } from 'chai';
import { scanRow } from '../../test/support/scan-rows.ts';
import type { ScheduleContext } from './actions.ts';
import { contextOf } from '../../test/support/operator-context.ts';
import { SCAN_ID_ANNOTATION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule, ScanScheduleStatus } from '../../core/protocol/scan-schedules.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { optionsKeyOf } from '../../stores/scans/scan-row.ts';
import { newRow } from '../../stores/scans/scan-row.ts';
import { NAMESPACE, scheduleWith } from '../../test/support/schedule-world.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import type { ControllerDefinition } from '../runtime/manager.ts';
import { addScheduleMirror, createStoredDigests, digestOf, rowOf } from './mirror.ts';
import type { NamespaceOwner } from './policy/facts.ts';

const CREATED = new Date('2026-01-01T00:00:00Z');
const at = (minute: number): string => new Date(CREATED.getTime() + minute * 60_000).toISOString().replace('.000', '');

function scheduleOf(status: ScanScheduleStatus, spec: Partial<ScanSchedule['spec']> = {}): ScanSchedule {
  return { ...scheduleWith(spec, CREATED), status };
}

function scanOf(name: string, status: AccessibilityScan['status']): AccessibilityScan {
  const metadata = { name, namespace: NAMESPACE, uid: `uid-${name}`, annotations: { [SCAN_ID_ANNOTATION]: 'forged' } };
  return { apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata, spec: { url: 'https://site.test/' }, status };
}

const row = (schedule: ScanSchedule, children: AccessibilityScan[] = []) =>
  rowOf({ schedule, children, organisation: 'acme', operatorClass: 'curbcut', apiNamespace: 'curbcut', claimed: false });

describe('the row of a schedule', () => {
  it('holds what people see of it', () => {
    const regressed = {
      type: 'Regressed',
      status: 'True',
      reason: 'NoLongerPasses',
      message: 'Worse.',
      lastTransitionTime: at(9),
    } as const;
    const status: ScanScheduleStatus = {
      nextScheduleTime: at(60),
      lastScheduleTime: at(5),
      lastPassedTime: at(2),
      activeCount: 1,
      lastCompleted: { name: 'one', scanId: 'uid-one', completionTime: at(8), passed: false },
      conditions: [regressed, { ...regressed, type: 'Stalled', status: 'False' }],
    };
    expect(row(scheduleOf(status, { displayName: 'Shop', suspend: true, timeZone: 'Europe/Berlin' }))).to.deep.equal({
      operatorClass: 'curbcut',
      namespace: NAMESPACE,
      name: 'nightly',
      displayName: 'Shop',
      organisation: 'acme',
      url: 'https://site.test/',
      site: 'site.test',
      optionsKey: optionsKeyOf({ options: withDefaults({ url: 'https://site.test/' }) }),
      maxPages: withDefaults({ url: 'https://site.test/' }).maxPages,
      source: { by: 'manifest', tool: null, application: null },
      schedule: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      suspended: true,
      nextAt: new Date(at(60)),
      lastScheduledAt: new Date(at(5)),
      lastScan: { scanId: 'uid-one', phase: 'done', passed: false, endedAt: new Date(at(8)) },
      lastPassedAt: new Date(at(2)),
      active: 1,
      regressed: { reason: 'NoLongerPasses', message: 'Worse.', since: new Date(at(9)) },
      stalled: null,
    });
  });

  it('is of the same group of comparable scans as the scans that it creates', () => {
    const auth = { secretRef: { name: 'shop' } };
    const scan = { url: 'https://site.test/', maxPages: 9, auth };
    const { optionsKey } = row(scheduleWith({ scanTemplate: { spec: scan } }, CREATED));
    expect(optionsKey).to.equal(newRow({ ...scanRow(), options: withDefaults(scan) }, auth).optionsKey);
    expect(optionsKey).to.not.equal(optionsKeyOf({ options: withDefaults(scan) }));
  });

  it('names the last scan that ended, also without a result, and trusts no annotation of another namespace', () => {
    const lastCompleted = { name: 'one', scanId: 'uid-one', completionTime: at(8) };
    const children = [
      scanOf('one', { phase: 'done', completionTime: at(8), passed: true }),
      scanOf('two', { phase: 'failed', completionTime: at(20), passed: false }),
      scanOf('three', { phase: 'scanning' }),
    ];
    const failed = { scanId: 'uid-two', phase: 'failed', passed: false, endedAt: new Date(at(20)) };
    expect(row(scheduleOf({ lastCompleted }), children).lastScan).to.deep.equal(failed);
    expect(row(scheduleOf({ lastCompleted }), children.slice(0, 1)).lastScan).to.include({ scanId: 'uid-one', passed: true });
  });
});

describe('the mirror of a schedule', () => {
  const schedule = scheduleWith({}, CREATED);
  const current = row(schedule);
  const digest = digestOf(current);
  const KEY = `${NAMESPACE}/nightly`;
  const owned: NamespaceOwner = { state: 'owned', organisation: 'acme', blocked: false };

  /** Reconciles once. @returns what was written, and the delay until the next reconcile */
  async function reconcile({ exists = true, owner = owned, stored }: { exists?: boolean; owner?: NamespaceOwner; stored?: string }) {
    const writes: unknown[] = [];
    let definition: ControllerDefinition | null = null;
    const manager = { add: (added: ControllerDefinition) => ((definition = added), () => undefined), addTask: () => undefined };
    const context = contextOf<ScheduleContext>({
      manager,
      schedules: { get: () => (exists ? schedule : undefined), list: () => [], onChange: () => () => undefined },
      isListed: () => true,
      scanClient: { byIndex: () => [] },
      owners: { of: () => Promise.resolve(owner) },
      stores: {
        schedules: {
          put: async (put, of) => void writes.push({ do: 'put', row: put, digest: of }),
          remove: async () => void writes.push({ do: 'remove' }),
          digests: () => Promise.resolve(new Map(stored === undefined ? [] : [[KEY, stored]])),
          observed: () => Promise.resolve(),
        },
      },
      clock: { now: () => CREATED },
    });
    addScheduleMirror(context);
    const next = await definition!.reconcile(KEY, new AbortController().signal);
    return { writes, wakeAfterMs: next?.requeueAfterMs ?? null };
  }

  for (const [what, state, wanted] of [
    ['stores a new schedule', {}, [{ do: 'put', row: current, digest }]],
    ['stores a changed schedule', { stored: 'other' }, [{ do: 'put', row: current, digest }]],
    ['does nothing if nothing has changed', { stored: digest }, []],
    ['removes a schedule that is gone', { exists: false, stored: digest }, [{ do: 'remove' }]],
    ['removes a schedule for which no organisation is charged', { owner: { state: 'none' }, stored: digest }, [{ do: 'remove' }]],
    ['does nothing about a schedule that is not stored', { exists: false }, []],
    ['keeps what is stored while the organisation is unknown', { owner: { state: 'unknown' }, stored: digest }, []],
  ] as const)
    it(what, async () => expect((await reconcile(state)).writes).to.deep.equal(wanted));

  it('looks, in each comparison, at what is stored and not listed any more, unless the cluster cannot list it', async () => {
    // Also while nothing exists: the first schedule is up to date at once.
    let confirmed = 0;
    const enqueued = async (isListed: boolean) => {
      const keys: string[] = [];
      let compare: PeriodicTask | null = null;
      const manager = { add: () => (key: string) => void keys.push(key), addTask: (task: PeriodicTask) => void (compare = task) };
      const context = contextOf<ScheduleContext>({
        manager,
        schedules: { list: () => [], onChange: () => () => undefined },
        isListed: () => isListed,
        stores: {
          schedules: { digests: () => Promise.resolve(new Map([[KEY, digest]])), observed: async () => void (confirmed += 1) },
        },
        clock: { now: () => CREATED },
      });
      addScheduleMirror(context);
      await (compare as unknown as PeriodicTask).run(new AbortController().signal);
      return keys;
    };
    expect(await enqueued(true)).to.deep.equal([KEY]);
    expect(await enqueued(false)).to.deep.equal([]);
    expect(confirmed).to.equal(2);
  });

  it('asks for the organisation again if it is unknown', async () => {
    expect((await reconcile({ owner: { state: 'unknown' }, stored: digest })).wakeAfterMs).to.be.greaterThan(0);
  });
});

describe('the stored digests', () => {
  it('are read once by callers at the same time, and again after a failure', async () => {
    let reads = 0;
    const digests = createStoredDigests(async () => {
      reads += 1;
      if (reads === 1) throw new Error('connection refused');
      return new Map([['team/a', '1']]);
    });
    const failed = await Promise.allSettled([digests.ready(), digests.ready()]);
    expect(failed.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    await Promise.all([digests.ready(), digests.ready()]);
    expect([reads, digests.get('team/a')]).to.deep.equal([2, '1']);
  });

  it('show what another process has changed', async () => {
    let stored = new Map([
      ['team/a', '1'],
      ['team/b', '1'],
    ]);
    const digests = createStoredDigests(async () => new Map(stored));
    expect(await digests.refresh()).to.deep.equal([]);
    digests.set('team/c', '1');
    stored = new Map([
      ['team/a', '2'],
      ['team/c', '1'],
    ]);
    expect(await digests.refresh()).to.have.members(['team/a', 'team/b']);
    expect(await digests.refresh()).to.deep.equal([]);
    expect(digests.keys()).to.have.members(['team/a', 'team/c']);
  });
});
