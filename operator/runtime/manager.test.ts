import { expect } from 'chai';
import { settle } from '../../test/support/fake-clock.ts';
import { PARTS, part, useWidgetManagers, WIDGETS, widget } from '../../test/support/widget-manager.ts';
import { conditionOf } from './conditions.ts';

describe('manager', () => {
  const setUp = useWidgetManagers();

  it('starts the caches, waits until they are synced, and reconciles every object', async () => {
    const { api, run, logger, statusOf, planned } = setUp();
    api.put(WIDGETS, widget('a', 2));
    api.put(WIDGETS, widget('b', 0));
    await run();
    expect(logger.lines.find(({ message }) => message === 'caches synced')?.fields).to.deep.equal({ objects: 2, unreadable: [] });
    expect(statusOf('a')).to.include({ size: 2 });
    expect(conditionOf(statusOf('a')?.conditions, 'Ready')).to.include({ status: 'True', observedGeneration: 1 });
    expect(conditionOf(statusOf('b')?.conditions, 'Ready')?.status).to.equal('True');
    // Each step was planned once, because own writes are visible before the watch delivers them.
    expect(planned.filter((line) => line.startsWith('a 0/2') || line.startsWith('a 1/2'))).to.have.length(2);
    expect(api.writes).to.have.length(4);
  });

  it('maps an event of another kind to the key of the object to reconcile', async () => {
    const { api, run, planned } = setUp();
    api.put(WIDGETS, widget('a', 0));
    api.put(WIDGETS, widget('b', 0));
    await run();
    planned.length = 0;
    api.put(PARTS, part('wheel', 'b'));
    await settle();
    expect(planned).to.deep.equal(['b 0/0 parts 1']);
  });

  it('plans again after wakeAfterMs and when a key is enqueued from outside', async () => {
    const { api, run, clock, enqueue, planned } = setUp();
    api.put(WIDGETS, widget('a', 0));
    await run();
    planned.length = 0;
    await clock.advance(59_000);
    expect(planned).to.deep.equal([]);
    await clock.advance(1_500);
    expect(planned).to.deep.equal(['a 0/0 parts 0']);
    enqueue('one/a');
    enqueue('one/unknown');
    await settle();
    expect(planned).to.have.length(2);
  });

  it('gives other keys a turn if one object needs endless plans', async () => {
    let executed = 0;
    const { api, run, clock } = setUp({
      execute: async () => {
        executed += 1;
        return 'again';
      },
    });
    api.put(WIDGETS, widget('restless', 1));
    await run();
    expect(executed).to.equal(8);
    await clock.advance(10);
    expect(executed).to.equal(16);
  });

  it('runs a periodic task at once and after each pause, also after a failure', async () => {
    const { manager, run, clock, logger } = setUp();
    let runs = 0;
    manager.addTask({
      name: 'clean',
      everyMs: 1_000,
      async run() {
        runs += 1;
        if (runs === 1) throw new Error('store is down');
      },
    });
    await run();
    expect(runs).to.equal(1);
    expect(logger.lines.find(({ level }) => level === 'warn')).to.deep.include({ message: 'periodic task failed, retrying' });
    await clock.advance(2_000);
    expect(runs).to.equal(3);
  });

  it('stops in order: no new reconciles, running reconciles finish, then the watches end', async () => {
    const gate = Promise.withResolvers<void>();
    let finished = false;
    const { api, run, stop, finish, enqueue } = setUp({
      async execute() {
        await gate.promise;
        finished = true;
        return {};
      },
    });
    api.put(WIDGETS, widget('a', 1));
    await run();
    stop.abort();
    await settle();
    enqueue('one/a');
    expect(api.watches).to.equal(4);
    gate.resolve();
    await finish();
    expect(finished).to.equal(true);
    expect(api.watches).to.equal(0);
  });

  it('reconciles cluster-scoped objects as well, and does not cache managed fields', async () => {
    const { api, run, planned, widgets } = setUp({}, []);
    const { namespace: _, ...metadata } = widget('a', 1).metadata;
    api.put(WIDGETS, { ...widget('a', 1), metadata: { ...metadata, managedFields: [{ manager: 'kubectl' }] } as typeof metadata });
    await run();
    expect(planned.slice(0, 2)).to.deep.equal(['a 0/1 parts 0', 'a 1/1 parts 0']);
    expect(api.writes).to.deep.equal(['PATCH widgets/a/status', 'PATCH widgets/a/status']);
    expect(widgets.list()[0]?.metadata).to.not.have.property('managedFields');
  });
});
