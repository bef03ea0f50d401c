/** Simulates years of schedules with crashes, downtime, two leaders and suspensions, and compares the runs with a model of CronJob's rules. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { ConcurrencyPolicy } from '../../../core/protocol/scan-schedules.ts';
import { Operator, scheduleWith, World } from '../../../test/support/schedule-world.ts';
import { parseSchedule, type CronTimes } from '../../../core/schedule/times.ts';
import { nightly } from '../../../test/support/nightly.ts';
import { jitterOf } from './starts.ts';

const MINUTE = 60_000;
const START = new Date('2025-03-20T10:30:20Z');
const NAME = 'nightly';

interface Settings {
  schedule: string;
  timeZone: string;
  concurrencyPolicy: ConcurrencyPolicy;
  startingDeadlineSeconds?: number;
  jitterSeconds: number;
}

const settings: fc.Arbitrary<Settings> = fc.record(
  {
    schedule: fc.constantFrom('0 3 * * *', '*/20 * * * *', '30 2 * * 0', '15 1,13 1-7 * *', '0 0 1 * *', '@hourly', '@every 90m'),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'),
    concurrencyPolicy: fc.constantFrom<ConcurrencyPolicy>('Allow', 'Forbid', 'Replace'),
    startingDeadlineSeconds: fc.constantFrom(0, 30, 600, 100_000),
    jitterSeconds: fc.constantFrom(0, 0, 50, 3_600),
  },
  { requiredKeys: ['schedule', 'timeZone', 'concurrencyPolicy', 'jitterSeconds'] },
);

type Step =
  /** Time passes; the operator is down meanwhile and starts again at the end, unless `awake`: then it acts when it is due. */
  | { do: 'pass'; minutes: number; awake: boolean }
  | { do: 'suspend'; value: boolean }
  | { do: 'end'; which: number; phase: 'done' | 'failed' | 'canceled' }
  /** The operator crashes after this many actions of its next plan. */
  | { do: 'crash'; after: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.nat(300), awake: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.nat(60 * 24 * 40), awake: fc.constant(false) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend' as const), value: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat(5),
      phase: fc.constantFrom('done' as const, 'failed' as const, 'canceled' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const), after: fc.nat(3) }) },
);

/** CronJob's rules, as its documentation states them. */
class Model {
  readonly started: number[] = [];
  active = 0;
  suspended = false;
  #after = Math.floor(START.getTime() / 1000) * 1000;
  readonly #times: CronTimes;
  readonly #jitterMs: number;
  readonly #spec: Settings;

  constructor(times: CronTimes, jitterMs: number, spec: Settings) {
    this.#times = times;
    this.#jitterMs = jitterMs;
    this.#spec = spec;
  }

  /** When it acts next. */
  nextAt(now: Date): Date {
    const next = this.#times.next(new Date(Math.max(this.#after, now.getTime() - this.#jitterMs)));
    return new Date(next!.getTime() + this.#jitterMs);
  }

  sync(now: Date): void {
    if (this.suspended) return;
    const latest = this.#times.previous(new Date(now.getTime() - this.#jitterMs), new Date(this.#after));
    if (latest === null) return;
    const { startingDeadlineSeconds: deadline, concurrencyPolicy } = this.#spec;
    if (deadline !== undefined && Math.floor((now.getTime() - this.#jitterMs - latest.getTime()) / 1000) > deadline) return;
    if (concurrencyPolicy === 'Forbid' && this.active > 0) return;
    this.started.push(latest.getTime() / MINUTE);
    this.active += 1;
    this.#after = latest.getTime();
  }
}

function simulate(spec: Settings, steps: readonly Step[]) {
  const parsed = parseSchedule(spec.schedule, spec.timeZone);
  if (!parsed.ok) throw new Error(parsed.message);
  const jitterMs = jitterOf('team', NAME, spec.jitterSeconds);
  const world = new World(scheduleWith(spec, START, NAME), START);
  const model = new Model(parsed.times, jitterMs, spec);
  let operator = new Operator(world);
  const settle = () => {
    operator.settle();
    model.sync(world.now);
    check(world, spec);
  };
  settle();
  for (const one of steps) {
    if (one.do === 'pass') {
      const until = world.now.getTime() + one.minutes * MINUTE;
      // At each time that is due meanwhile.
      for (let next = model.nextAt(world.now); one.awake && next.getTime() <= until; next = model.nextAt(world.now)) {
        world.now = next;
        settle();
      }
      world.now = new Date(until);
      if (!one.awake) operator = new Operator(world);
    } else if (one.do === 'suspend') {
      world.change({ suspend: one.value });
      model.suspended = one.value;
    } else if (one.do === 'end') {
      const scan = world.active().at(one.which);
      if (scan === undefined) continue;
      world.end(scan.metadata.name, one.phase);
      model.active -= 1;
    } else {
      operator.sync();
      operator.step(one.after);
      operator = new Operator(world);
    }
    settle();
  }
  return { world, model, times: parsed.times, jitterMs, settle };
}

function check(world: World, { concurrencyPolicy }: Settings): void {
  const { status, spec } = world.schedule;
  const active = world.active();
  if (concurrencyPolicy === 'Forbid') expect(active.length).to.be.at.most(1);
  if (concurrencyPolicy === 'Replace') expect(active.filter((scan) => scan.spec.cancel !== true).length).to.be.at.most(1);
  expect(status?.activeCount).to.equal(active.length);
  const ended = [...world.scans.values()].filter(({ status: end }) => end?.completionTime !== undefined);
  const done = ended.filter(({ status: end }) => end?.phase === 'done').length;
  expect(done).to.be.at.most(spec.successfulScansHistoryLimit ?? 3);
  expect(ended.length - done).to.be.at.most(spec.failedScansHistoryLimit ?? 1);
}

describe('the plan of a schedule', () => {
  it('starts the runs that CronJob would start, each once, through crashes, downtime and suspensions', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 40 }), (spec, steps) => {
        const { world, model } = simulate(spec, steps);
        expect(world.created).to.deep.equal(model.started.map((minutes) => `${NAME}-${Math.floor(minutes)}`));
        expect(new Set(world.created).size).to.equal(world.created.length);
      }),
      { numRuns: nightly(200, 400) },
    );
  });

  it('starts or reports each scheduled time, exactly once', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 40 }), (spec, steps) => {
        const { world, times, jitterMs, settle } = simulate(spec, [...steps, { do: 'suspend', value: false }]);
        for (const { metadata } of world.active()) world.end(metadata.name, 'done');
        settle();
        // Under Forbid, a time that was reported may still be started when the running scan has ended.
        const reported = world.notes.flatMap(({ skipped }) => (skipped === undefined ? [] : [skipped]));
        const count = reported.reduce((sum, skipped) => sum + skipped.count, 0);
        const all = times.count(START, new Date(world.now.getTime() - jitterMs));
        if (spec.concurrencyPolicy === 'Forbid') expect(world.created.length + count).to.be.at.least(all);
        else if (!spec.schedule.startsWith('@every')) expect(world.created.length + count).to.equal(all);
        const skips = world.notes.filter(({ reason }) => reason === 'ScanAlreadyActive').map(({ message }) => message);
        expect(new Set(skips).size, 'a skipped time is reported once').to.equal(skips.length);
        const stillRunning = reported.filter(({ reason }) => reason === 'still_running').length;
        expect(world.created.length + count - all).to.be.at.most(spec.schedule.startsWith('@every') ? Infinity : stillRunning);
      }),
      { numRuns: nightly(150, 300) },
    );
  });

  it('starts no run twice with two leaders whose caches lag', () => {
    const acts = fc.array(fc.record({ leader: fc.nat(1), sync: fc.boolean(), actions: fc.nat(4), minutes: fc.nat(90), end: fc.nat(6) }), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(settings, acts, (spec, all) => {
        const world = new World(scheduleWith({ ...spec, successfulScansHistoryLimit: 1_000 }, START, NAME), START);
        const leaders = [new Operator(world), new Operator(world)];
        for (const { leader, sync, actions, minutes, end } of all) {
          world.now = new Date(world.now.getTime() + minutes * MINUTE);
          const scan = world.active().at(end);
          if (scan !== undefined) world.end(scan.metadata.name, 'done');
          const before = world.schedule.status?.lastScheduleTime ?? '';
          if (sync) leaders[leader]!.sync();
          leaders[leader]!.step(actions);
          expect((world.schedule.status?.lastScheduleTime ?? '') >= before, 'lastScheduleTime goes back').to.equal(true);
        }
        expect(new Set(world.created).size).to.equal(world.created.length);
        leaders[0]!.settle();
        leaders[1]!.settle();
        expect(new Set(world.created).size).to.equal(world.created.length);
      }),
      { numRuns: nightly(150, 300) },
    );
  });
});
