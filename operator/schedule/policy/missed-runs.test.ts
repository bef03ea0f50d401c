import { expect } from 'chai';
import fc from 'fast-check';
import { parseSchedule, type CronTimes } from '../../../core/schedule/times.ts';
import { dueRun, type DueRunResult } from './starts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CREATED = new Date('2026-03-07T22:13:20Z');

function timesOf(schedule: string, timeZone: string): CronTimes {
  const parsed = parseSchedule(schedule, timeZone);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.times;
}

/** Intervals from a minute to a day, with New York's change of the clock in the first hours. */
const schedules = fc
  .tuple(
    fc.constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '30 2,3 * * *', '@daily', '@every 25m', '@every 1m30s'),
    fc.constantFrom('UTC', 'America/New_York'),
  )
  .map(([schedule, timeZone]) => ({ schedule, times: timesOf(schedule, timeZone) }));
const jitters = fc.constantFrom(0, 1000, 45_000, 5 * MINUTE_MS, 3 * HOUR_MS);
const pauses = fc.oneof(
  fc.integer({ min: 0, max: 90_000 }),
  fc.integer({ min: 0, max: 3 * HOUR_MS }),
  fc.integer({ min: 0, max: 72 * HOUR_MS }),
);

/** Every run that the schedule has, one by one. */
function allRuns(times: CronTimes, upTo: number): number[] {
  const runs: number[] = [];
  for (let next = times.next(CREATED); next !== null && next.getTime() <= upTo; next = times.next(next)) runs.push(next.getTime());
  return runs;
}

const nameOf = (scheduledAt: Date): number => Math.floor(scheduledAt.getTime() / MINUTE_MS);

/** Whether the two leaders' views are up to date, and after which step this one stops. */
interface Act {
  pauseMs: number;
  staleBy: number;
  stopsAfter: 'nothing' | 'decision' | 'creation';
}

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    pauseMs: pauses,
    staleBy: fc.nat(2),
    stopsAfter: fc.constantFrom('nothing' as const, 'nothing' as const, 'decision' as const, 'creation' as const),
  }),
  { minLength: 1, maxLength: 25 },
);

/** The schedule's objects in Kubernetes: a name exists once, and an update of an old version is a conflict. */
class Cluster {
  readonly lastScheduleTimes: Date[] = [CREATED];
  readonly created = new Map<number, { scheduledAt: number; createdAt: number }>();
  reported = 0;

  /** One reconciliation, by a leader whose cache is `staleBy` versions behind. */
  reconcile(decide: (after: Date) => DueRunResult, now: number, { staleBy, stopsAfter }: Omit<Act, 'pauseMs'>): void {
    const version = Math.max(0, this.lastScheduleTimes.length - 1 - staleBy);
    const { due, missed } = decide(this.lastScheduleTimes[version] ?? CREATED);
    if (due === null || stopsAfter === 'decision') return;
    const exists = this.created.has(nameOf(due));
    if (!exists) this.created.set(nameOf(due), { scheduledAt: due.getTime(), createdAt: now });
    if (stopsAfter === 'creation' || version !== this.lastScheduleTimes.length - 1) return;
    this.lastScheduleTimes.push(due);
    this.reported += missed;
  }
}

describe('dueRun, with downtimes, crashes and two leaders', () => {
  it('makes no run twice, none too early, and never loses the most recent', () => {
    fc.assert(
      fc.property(schedules, jitters, acts, ({ times }, jitterMs, steps) => {
        const cluster = new Cluster();
        let now = CREATED.getTime();
        for (const { pauseMs, ...act } of [...steps, { pauseMs: 0, staleBy: 0, stopsAfter: 'nothing' as const }]) {
          now += pauseMs;
          cluster.reconcile((after) => dueRun(times, { after, now: new Date(now), jitterMs }), now, act);
        }
        const runs = allRuns(times, now - jitterMs);
        const created = [...cluster.created.values()];
        expect(new Set(runs.map((run) => nameOf(new Date(run)))).size, 'one name per run').to.equal(runs.length);
        expect(runs).to.include.members(created.map((run) => run.scheduledAt));
        for (const run of created) expect(run.createdAt).to.be.at.least(run.scheduledAt + jitterMs);
        const mostRecent = runs.at(-1);
        if (mostRecent !== undefined) expect(cluster.created.has(nameOf(new Date(mostRecent)))).to.equal(true);
      }),
      { numRuns: 300 },
    );
  });

  it('accounts for every run: it is made, or counted as missed', () => {
    fc.assert(
      fc.property(schedules, jitters, fc.array(pauses, { maxLength: 15 }), ({ times }, jitterMs, steps) => {
        const cluster = new Cluster();
        let now = CREATED.getTime();
        for (const pauseMs of steps) {
          now += pauseMs;
          cluster.reconcile((after) => dueRun(times, { after, now: new Date(now), jitterMs }), now, { staleBy: 0, stopsAfter: 'nothing' });
        }
        expect(cluster.created.size + cluster.reported).to.equal(allRuns(times, now - jitterMs).length);
      }),
      { numRuns: 200 },
    );
  });

  it('wakes at each run, whatever the jitter', () => {
    fc.assert(
      fc.property(schedules, jitters, ({ times }, jitterMs) => {
        const cluster = new Cluster();
        let now = CREATED.getTime();
        for (let count = 0; count < 20; count += 1) {
          const after = cluster.lastScheduleTimes.at(-1) ?? CREATED;
          const result = dueRun(times, { after, now: new Date(now), jitterMs });
          cluster.reconcile(() => result, now, { staleBy: 0, stopsAfter: 'nothing' });
          expect(result.nextAt?.getTime()).to.be.above(now);
          now = result.nextAt?.getTime() ?? now;
        }
        expect(cluster.reported).to.equal(0);
        expect([...cluster.created.values()].map((run) => run.scheduledAt)).to.deep.equal(allRuns(times, now - jitterMs).slice(0, 19));
        for (const run of cluster.created.values()) expect(run.createdAt - run.scheduledAt).to.equal(jitterMs);
      }),
      { numRuns: 50 },
    );
  });

  it('makes a run within the deadline only, and the most recent one if it is', () => {
    fc.assert(
      fc.property(
        schedules,
        jitters,
        pauses,
        fc.integer({ min: 0, max: 7200 }),
        ({ times }, jitterMs, pauseMs, startingDeadlineSeconds) => {
          const now = CREATED.getTime() + pauseMs;
          const { due, missed, lastMissedAt } = dueRun(times, { after: CREATED, now: new Date(now), jitterMs, startingDeadlineSeconds });
          const runs = allRuns(times, now - jitterMs);
          const mostRecent = runs.at(-1);
          const inTime = mostRecent !== undefined && Math.floor((now - jitterMs - mostRecent) / 1000) <= startingDeadlineSeconds;
          expect(due?.getTime() ?? null).to.equal(inTime ? mostRecent : null);
          expect(missed).to.equal(inTime ? runs.length - 1 : runs.length);
          expect(lastMissedAt?.getTime() ?? null).to.equal(runs.at(inTime ? -2 : -1) ?? null);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('dueRun, at the edges', () => {
  const at = (time: string) => new Date(`${time}Z`);

  it('returns no run, and the time after the last one, if the clock was set back behind it', () => {
    for (const schedule of ['0 * * * *', '@every 1h'])
      expect(
        dueRun(timesOf(schedule, 'UTC'), { after: at('2026-06-01T12:00:00'), now: at('2026-06-01T09:30:00'), jitterMs: 30_000 }),
      ).to.deep.equal({
        due: null,
        missed: 0,
        lastMissedAt: null,
        nextAt: at('2026-06-01T13:00:30'),
        nextScheduledAt: at('2026-06-01T13:00:00'),
      });
  });

  it('counts exactly what five years of downtime missed, without a walk over the minutes', () => {
    const times = timesOf('* * * * *', 'Europe/Berlin');
    let nexts = 0;
    const counted: CronTimes = { ...times, next: (after) => ((nexts += 1), times.next(after)) };
    const { due, missed } = dueRun(counted, { after: at('2021-06-01T00:00:00'), now: at('2026-06-01T00:00:30'), jitterMs: 0 });
    expect(due).to.deep.equal(at('2026-06-01T00:00:00'));
    expect(missed).to.equal((at('2026-06-01T00:00:00').getTime() - at('2021-06-01T00:00:00').getTime()) / MINUTE_MS - 1);
    expect(nexts).to.equal(1);
  });

  it('counts the runs of 50 years at most, so that a wrong status does not hold up the operator', () => {
    const now = at('2026-06-01T00:00:30');
    const { due, missed } = dueRun(timesOf('0 12 * * *', 'Europe/Berlin'), { after: new Date('0001-01-01T00:00:00Z'), now, jitterMs: 0 });
    expect(due).to.deep.equal(at('2026-05-31T10:00:00'));
    expect(missed).to.equal(50 * 365 - 1);
  });

  it('returns a run at its very time, and not a millisecond before', () => {
    const times = timesOf('0 * * * *', 'UTC');
    const dueAt = (now: Date) => dueRun(times, { after: at('2026-06-01T11:00:00'), now, jitterMs: 60_000 }).due;
    expect(dueAt(at('2026-06-01T12:00:59.999'))).to.equal(null);
    expect(dueAt(at('2026-06-01T12:01:00'))).to.deep.equal(at('2026-06-01T12:00:00'));
  });

  it('returns a run with a deadline of 0 in the second in which it is due', () => {
    const times = timesOf('0 * * * *', 'UTC');
    const dueAt = (now: Date) => dueRun(times, { after: at('2026-06-01T11:00:00'), now, jitterMs: 0, startingDeadlineSeconds: 0 }).due;
    // Timers fire some milliseconds late.
    expect(dueAt(at('2026-06-01T12:00:00.004'))).to.deep.equal(at('2026-06-01T12:00:00'));
    expect(dueAt(at('2026-06-01T12:00:01'))).to.equal(null);
  });

  it('returns null for a schedule that has no more times', () => {
    const never: CronTimes = { next: () => null, previous: () => null, count: () => 0 };
    expect(dueRun(never, { after: CREATED, now: CREATED, jitterMs: 1000 })).to.deep.equal({
      due: null,
      missed: 0,
      lastMissedAt: null,
      nextAt: null,
      nextScheduledAt: null,
    });
  });
});
