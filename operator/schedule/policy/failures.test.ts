import { expect } from 'chai';
import { Operator, scheduleWith, World } from '../../../test/support/schedule-world.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import { STALLED_AFTER } from './history.ts';

const START = new Date('2026-03-02T03:00:00Z');
const HOUR = 3_600_000;

/** An hourly schedule; each scan ends half an hour after its start. */
function worldOf(spec = {}) {
  const world = new World(scheduleWith({ schedule: '0 * * * *', ...spec }, new Date(START.getTime() - 1)), START);
  let hour = 0;
  const settle = (): void => new Operator(world).settle();
  return {
    world,
    /** Lets the next scan start and end. */
    run(phase: 'done' | 'failed' | 'canceled', message = 'The site does not answer.'): string {
      world.now = new Date(START.getTime() + hour * HOUR);
      hour += 1;
      settle();
      const name = world.created.at(-1)!;
      world.now = new Date(world.now.getTime() + HOUR / 2);
      world.end(name, phase, phase === 'done' ? false : undefined, phase === 'failed' ? message : undefined);
      settle();
      return name;
    },
    settle,
    condition: (type: string) => {
      const { status, reason, message } = conditionOf(world.schedule.status?.conditions, type)!;
      return { status, reason, message };
    },
    events: () => world.notes.filter(({ reason }) => reason === 'ScanFailed'),
  };
}

describe('scans of a schedule that fail', () => {
  it('are counted in a row, although the history keeps one', () => {
    const { world, run, condition, events } = worldOf();
    const first = run('failed');
    expect(world.schedule.status).to.deep.include({
      consecutiveFailures: 1,
      lastFailed: { name: first, completionTime: '2026-03-02T03:30:00Z', message: 'The site does not answer.' },
    });
    expect(condition('Failing')).to.deep.equal({
      status: 'True',
      reason: 'ScanFailed',
      message: `${first} failed: The site does not answer.`,
    });
    expect(condition('Stalled').status).to.equal('False');
    run('failed');
    const third = run('failed', 'The sign-in failed.');
    expect(world.scans.size).to.equal(1);
    expect(world.schedule.status?.consecutiveFailures).to.equal(STALLED_AFTER);
    const message = `${third} failed (3 in a row): The sign-in failed.`;
    expect(condition('Stalled')).to.deep.equal({ status: 'True', reason: 'ScansFail', message });
    expect(condition('Ready').status).to.equal('True');
    expect(events().map(({ failed }) => failed?.repeated)).to.deep.equal([false, false, true]);
    expect(events().at(-1)!.message).to.equal(message);
  });

  it('are forgotten after a scan with a result, even if it missed its thresholds', () => {
    const { world, run, condition } = worldOf();
    for (let at = 0; at < STALLED_AFTER; at += 1) run('failed');
    run('done');
    expect(world.schedule.status?.consecutiveFailures).to.equal(0);
    expect(condition('Failing')).to.deep.include({ status: 'False', reason: 'NoFailure' });
    expect(condition('Stalled').status).to.equal('False');
    expect(world.schedule.status?.lastFailed?.name).to.equal(world.created[STALLED_AFTER - 1]);
    run('failed');
    expect(world.schedule.status?.consecutiveFailures).to.equal(1);
  });

  it('are counted once, also if the operator restarts, and a canceled scan is not counted', () => {
    const { world, run, settle, events } = worldOf();
    run('canceled');
    expect(world.schedule.status?.consecutiveFailures).to.equal(undefined);
    run('failed');
    for (let at = 0; at < 3; at += 1) settle();
    expect(world.schedule.status?.consecutiveFailures).to.equal(1);
    expect(events()).to.have.length(1);
  });

  it('do not stall a schedule that is suspended', () => {
    const { world, run, condition, settle } = worldOf();
    for (let at = 0; at < STALLED_AFTER; at += 1) run('failed');
    world.change({ suspend: true });
    settle();
    expect(condition('Stalled').status).to.equal('False');
    expect(condition('Failing').status).to.equal('True');
  });
});
