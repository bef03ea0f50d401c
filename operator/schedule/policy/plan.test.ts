import { expect } from 'chai';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { RUN_ANNOTATION, type ScanScheduleSpec } from '../../../core/protocol/scan-schedules.ts';
import { Operator, OWNED, scheduleWith, World } from '../../../test/support/schedule-world.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import type { ComparisonOutcome, ScheduleFacts } from './facts.ts';
import { childOf } from './child.ts';
import { judgeRegression } from './regression.ts';
import { COMPARE_RETRY_MS, COMPARE_WITHIN_MS, planSchedule } from './plan.ts';
import { REFUSED_RETRY_MS } from './starts.ts';

const AT = new Date('2026-03-02T02:59:00Z');
const DUE = new Date('2026-03-02T03:00:00Z');
const at = (ms: number): Date => new Date(DUE.getTime() + ms);

function worldWith(spec: Partial<ScanScheduleSpec> = {}, annotations?: Record<string, string>): World {
  const schedule = scheduleWith(spec, AT);
  return new World({ ...schedule, metadata: { ...schedule.metadata, ...(annotations && { annotations }) } }, AT);
}

/** The facts and the plan at a time, after everything before it was done. */
function plannedAt(world: World, now: Date, change: (facts: ScheduleFacts) => Partial<ScheduleFacts> = () => ({})) {
  world.now = now;
  const operator = new Operator(world);
  const facts = operator.facts();
  const plan = planSchedule({ ...facts, ...change(facts) });
  return { ...plan, operator, names: plan.actions.map((action) => action.do) };
}

function settledAt(world: World, now: Date): World {
  world.now = now;
  new Operator(world).settle();
  return world;
}

const ready = ({ schedule }: World) => conditionOf(schedule.status?.conditions, 'Ready');

describe('planSchedule', () => {
  it('waits for the next time, and never longer than ten minutes', () => {
    const world = settledAt(worldWith(), AT);
    expect(plannedAt(world, AT)).to.deep.include({ actions: [], wakeAfterMs: 60_000 });
    expect(plannedAt(world, at(-7_200_000 + 1)).wakeAfterMs).to.equal(600_000);
    expect(world.schedule.status?.nextScheduleTime).to.equal('2026-03-02T03:00:00Z');
  });

  it('starts the scan of a due time before it writes anything', () => {
    const world = worldWith();
    const { names, actions, wakeAfterMs } = plannedAt(world, DUE);
    expect([names, wakeAfterMs]).to.deep.equal([['start'], 0]);
    expect(actions[0]).to.deep.include({ run: { trigger: 'time', scheduledAt: DUE }, dueAt: DUE });
    expect(settledAt(world, DUE).created).to.deep.equal([`nightly-${DUE.getTime() / 60_000}`]);
  });

  it('does nothing for a schedule that is being deleted', () => {
    const world = worldWith();
    const { schedule } = world;
    world.schedule = { ...schedule, metadata: { ...schedule.metadata, deletionTimestamp: '2026-03-02T02:59:30Z' } };
    expect(plannedAt(world, DUE)).to.deep.include({ actions: [], wakeAfterMs: null });
  });

  const HELD: Record<string, { spec?: Partial<ScanScheduleSpec>; owner?: ScheduleFacts['owner']; is: object; starts: string[] }> = {
    'is suspended': { spec: { suspend: true }, is: { status: 'True', reason: 'Suspended' }, starts: ['request'] },
    'is invalid': { spec: { schedule: '61 * * * *' }, is: { status: 'False', reason: 'InvalidSchedule' }, starts: ['request'] },
    'has an unknown time zone': { spec: { timeZone: 'No/Where' }, is: { status: 'False', reason: 'InvalidTimeZone' }, starts: ['request'] },
    'belongs to a blocked organisation': {
      owner: { state: 'owned', organisation: 'acme', blocked: true },
      is: { status: 'False', reason: 'OrganisationBlocked' },
      starts: [],
    },
    'belongs to no organisation': { owner: { state: 'none' }, is: { status: 'False', reason: 'NoOrganisation' }, starts: [] },
    'belongs to an organisation that cannot be read': {
      owner: { state: 'unknown' },
      is: { status: 'True', reason: 'Scheduled' },
      starts: ['request', 'time'],
    },
  };
  for (const [what, { spec, owner, is, starts }] of Object.entries(HELD)) {
    it(`starts ${starts.length === 0 ? 'nothing' : `only what was due by ${starts.join(' and ')}`} while the schedule ${what}`, () => {
      const world = worldWith(spec, { [RUN_ANNOTATION]: 'token' });
      if (owner !== undefined) world.owner = owner;
      settledAt(world, DUE);
      const triggers = world.created.map((name) => (name.includes('-run-') ? 'request' : 'time'));
      expect(triggers).to.deep.equal(starts);
      expect(ready(world)).to.include(is);
      expect(world.schedule.status?.nextScheduleTime === undefined).to.equal(!starts.includes('time'));
    });
  }

  const STOPPED: Record<string, (world: World) => void> = {
    'the schedule is suspended': (world) => world.change({ suspend: true }),
    'its organisation is blocked': (world) => void (world.owner = { state: 'owned', organisation: 'acme', blocked: true }),
  };
  for (const [what, stop] of Object.entries(STOPPED)) {
    it(`starts no second scan of a run if ${what} before the status records the first`, () => {
      const world = worldWith({ successfulScansHistoryLimit: 0 }, { [RUN_ANNOTATION]: 'token' });
      world.now = DUE;
      const operator = new Operator(world);
      // The requested run and that of the scheduled time.
      for (let round = 0; round < 2; round += 1) {
        operator.step();
        operator.sync();
      }
      stop(world);
      for (const name of world.created) world.end(name, 'done');
      settledAt(world, at(1_000));
      expect([world.created.length, world.scans.size]).to.deep.equal([2, 0]);
      world.owner = OWNED;
      world.change({ suspend: false });
      expect(settledAt(world, at(2_000)).created).to.have.length(2);
    });
  }

  it('lets a requested run wait under Forbid until the running scan has ended', () => {
    const world = settledAt(worldWith({ concurrencyPolicy: 'Forbid' }), DUE);
    const { metadata } = world.schedule;
    world.schedule = { ...world.schedule, metadata: { ...metadata, annotations: { [RUN_ANNOTATION]: 'token' } } };
    settledAt(world, at(1_000));
    expect(conditionOf(world.schedule.status?.conditions, 'Reconciling')).to.include({ status: 'True', reason: 'RunRequested' });
    expect([world.created.length, world.schedule.status?.lastRunRequest]).to.deep.equal([1, undefined]);
    world.end(world.created[0]!, 'canceled');
    settledAt(world, at(2_000));
    expect([world.created.length, world.schedule.status?.lastRunRequest]).to.deep.equal([2, 'token']);
    expect(conditionOf(world.schedule.status?.conditions, 'Reconciling')).to.include({ status: 'False' });
  });

  it('records a token that is too long for the status by its digest', () => {
    const world = settledAt(worldWith({}, { [RUN_ANNOTATION]: 'x'.repeat(5_000) }), AT);
    expect([world.created.length, world.schedule.status?.lastRunRequest?.slice(0, 7)]).to.deep.equal([1, 'sha256:']);
  });

  it('states the last time that was missed, and reports it once', () => {
    const world = settledAt(worldWith({ schedule: '* * * * *', startingDeadlineSeconds: 30 }), AT);
    settledAt(world, at(45_000));
    settledAt(world, at(50_000));
    expect(world.schedule.status).to.include({ lastMissedTime: '2026-03-02T03:00:00Z' });
    expect(world.notes.map(({ reason, skipped }) => [reason, skipped?.count])).to.deep.equal([['MissSchedule', 1]]);
  });

  it('keeps the youngest of the ended scans', () => {
    const world = worldWith({ schedule: '* * * * *', successfulScansHistoryLimit: 1, failedScansHistoryLimit: 1 });
    for (const [minute, phase] of (['done', 'failed', 'done', 'canceled'] as const).entries()) {
      settledAt(world, at(minute * 60_000));
      world.end(world.created.at(-1)!, phase);
    }
    settledAt(world, at(3.5 * 60_000));
    expect([...world.scans.keys()]).to.deep.equal(world.created.slice(2));
  });

  it('creates a scan with the metadata of the template and, for a requested run, of the schedule', () => {
    const metadata = {
      annotations: { 'metadata.curbcut.dev/stage': 'live', 'metadata.curbcut.dev/commit': 'unknown', 'curbcut.dev/scan-id': 'x' },
    };
    const request = { [RUN_ANNOTATION]: 'token', 'metadata.curbcut.dev/commit': '4f371ac9' };
    const world = worldWith({ scanTemplate: { metadata, spec: { url: 'https://site.test/' } } }, request);
    const { annotations } = childOf(world.schedule, { trigger: 'request', token: 'token' }).metadata;
    expect(annotations).to.deep.equal({ ...request, 'metadata.curbcut.dev/stage': 'live' });
    const { annotations: timed } = childOf(world.schedule, { trigger: 'time', scheduledAt: DUE }).metadata;
    expect(timed).to.include({ 'metadata.curbcut.dev/commit': 'unknown' }).and.not.have.property(RUN_ANNOTATION);
  });

  it('reports the same reason in one Event only', () => {
    const world = worldWith({ schedule: '61 * * * *' });
    for (const minutes of [0, 1, 2]) settledAt(world, at(minutes * 60_000));
    expect(world.notes.map(({ reason }) => reason)).to.deep.equal(['InvalidSchedule']);
  });

  it('does not start scans for times before a change of the schedule', () => {
    const world = settledAt(worldWith({ schedule: '0 9 * * *' }), AT);
    world.change({ schedule: '30 2 * * *' });
    settledAt(world, at(60_000));
    expect([world.created, world.schedule.status?.nextScheduleTime]).to.deep.equal([[], '2026-03-03T02:30:00Z']);
    world.change({ timeZone: 'Europe/Berlin' });
    expect(settledAt(world, at(120_000)).schedule.status?.observedSchedule).to.deep.equal({
      schedule: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      since: '2026-03-02T03:02:00Z',
    });
  });

  it('tries a refused scan again after a while, and another time at once', () => {
    const world = settledAt(worldWith({ schedule: '* * * * *' }), AT);
    const name = `nightly-${DUE.getTime() / 60_000}`;
    const refused = (facts: ScheduleFacts): Partial<ScheduleFacts> => ({
      state: { ...facts.state, refusal: { name, reason: 'CreateRefused', message: 'quota exceeded', at: DUE } },
    });
    const waits = plannedAt(world, at(1_000), refused);
    expect(waits.names).to.deep.equal(['writeStatus']);
    const [write] = waits.actions;
    expect(write?.do === 'writeStatus' && conditionOf(write.status.conditions ?? [], 'Ready')?.reason).to.equal('CreateRefused');
    expect(plannedAt(world, at(REFUSED_RETRY_MS), refused).names).to.deep.equal(['start']);
    expect(plannedAt(world, at(60_000), refused).names).to.deep.equal(['start']);
  });

  it('lists at most 100 active scans and counts all of them', () => {
    const world = worldWith({ schedule: '* * * * *' });
    for (let minute = 0; minute < 103; minute += 1) settledAt(world, at(minute * 60_000));
    const { activeCount, active } = world.schedule.status!;
    expect([activeCount, active?.length]).to.deep.equal([103, 100]);
  });

  describe('with completed scans', () => {
    const outcome = (change: object = {}): ComparisonOutcome => ({
      ok: true,
      new: 0,
      onNewPages: 0,
      newKnown: 0,
      judged: 0,
      newCauses: 0,
      fixed: 0,
      unchanged: 2,
      notTested: 0,
      caveats: [],
      examples: [],
      ...change,
    });

    /** Two completed scans, the first of which is recorded; and the plan when the comparison has this outcome. */
    function compared(
      result: ComparisonOutcome | null,
      { ageMs = 1_000, sinceMs = 0, passed = [true, true] as (boolean | undefined)[] } = {},
    ) {
      const world = settledAt(worldWith({ schedule: '0,1 3 * * *' }), DUE);
      world.end(world.created[0]!, 'done', passed[0]);
      settledAt(world, at(60_000));
      world.end(world.created[1]!, 'done', passed[1]);
      const ended = at(60_000);
      const { actions, names } = plannedAt(world, new Date(ended.getTime() + ageMs), (facts) => {
        const previous = facts.schedule.status!.lastCompleted!;
        const completed = {
          ...previous,
          name: world.created[1]!,
          scanId: scanIdAt(facts, world.created[1]!),
          completionTime: '2026-03-02T03:01:00Z',
          passed: passed[1],
        };
        const when = new Date(facts.now.getTime() - sinceMs);
        return { state: { ...facts.state, comparison: result === null ? null : { completed, previous, outcome: result, at: when } } };
      });
      const write = actions.find((action) => action.do === 'writeStatus');
      const regressed = conditionOf(write?.status.conditions ?? [], 'Regressed');
      return { names, regressed, notes: write?.notes.map(({ reason }) => reason) ?? [], completed: write?.completed ?? null };
    }
    const scanIdAt = ({ children }: ScheduleFacts, name: string): string =>
      children.find(({ metadata }: AccessibilityScan) => metadata.name === name)!.metadata.uid!;

    it('compares a scan with the one before it', () => {
      expect(compared(null).names).to.include('compare');
    });

    it('tries again after an outage, until the scan is too old', () => {
      const outage = { ok: false, message: 'the object store is unavailable', retry: true } as const;
      expect(compared(outage, { sinceMs: 0 }).names).to.not.include('compare');
      expect(compared(outage, { sinceMs: COMPARE_RETRY_MS }).names).to.include('compare');
      const late = compared(outage, { ageMs: COMPARE_WITHIN_MS });
      expect(late.completed).to.have.property('name');
      expect(late.regressed).to.include({ status: 'Unknown', reason: 'NotCompared' });
    });

    it('stays regressed until a scan meets its thresholds', () => {
      const scan = (name: string, passed: boolean) => ({ name, scanId: name, completionTime: '2026-03-02T03:01:00Z', passed });
      const before = {
        type: 'Regressed',
        status: 'True',
        reason: 'NoLongerPasses',
        message: '',
        lastTransitionTime: '2026-03-02T03:00:00Z',
      } as const;
      const reasonOf = (passed: boolean) => judgeRegression(scan('two', passed), scan('one', false), outcome(), before).condition.reason;
      expect([reasonOf(false), reasonOf(true)]).to.deep.equal(['NoLongerPasses', 'NothingNew']);
    });

    const JUDGED: Record<string, { outcome: ComparisonOutcome; passed?: (boolean | undefined)[]; is: [string, string]; notes: string[] }> =
      {
        'nothing new': { outcome: outcome(), is: ['False', 'NothingNew'], notes: [] },
        'new violations on known pages': { outcome: outcome({ new: 1, judged: 1 }), is: ['True', 'NewViolations'], notes: ['Regressed'] },
        'known faults on new pages': { outcome: outcome({ new: 2, onNewPages: 2 }), is: ['False', 'NothingNew'], notes: [] },
        'known issues on known pages': { outcome: outcome({ new: 2, newKnown: 2 }), is: ['False', 'NothingNew'], notes: [] },
        'new faults on new pages': {
          outcome: outcome({ new: 2, onNewPages: 2, newCauses: 1, judged: 2 }),
          is: ['True', 'NewViolations'],
          notes: ['Regressed'],
        },
        'other rules in the second scan': {
          outcome: outcome({ new: 2, judged: 2, caveats: ['wcag'] }),
          is: ['Unknown', 'ScansDiffer'],
          notes: [],
        },
        'a verdict that changed to failed': {
          outcome: outcome(),
          passed: [true, false],
          is: ['True', 'NoLongerPasses'],
          notes: ['Regressed'],
        },
        'a verdict that was never passed': { outcome: outcome(), passed: [false, false], is: ['False', 'NothingNew'], notes: [] },
        'a run that fails after a scan of another organisation': {
          outcome: { ok: false, message: 'it is of another organisation', retry: false, foreign: true },
          passed: [true, false],
          is: ['False', 'FirstScan'],
          notes: [],
        },
        'a verdict that failed and no comparison': {
          outcome: { ok: false, message: 'a report is not stored any more', retry: false },
          passed: [true, false],
          is: ['True', 'NoLongerPasses'],
          notes: ['Regressed'],
        },
      };
    for (const [what, { outcome: result, passed, is, notes }] of Object.entries(JUDGED)) {
      it(`sets Regressed to ${is[0]} for ${what}`, () => {
        const { regressed, notes: recorded } = compared(result, { ...(passed && { passed }) });
        expect([[regressed?.status, regressed?.reason], recorded]).to.deep.equal([is, notes]);
      });
    }
  });
});
