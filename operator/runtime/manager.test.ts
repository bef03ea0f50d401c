import { expect } from 'chai';
import type { Condition, KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { createFakeApi } from '../../test/support/fake-api.ts';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { conditionOf, withConditions } from './conditions.ts';
import { fromKey, keyOf } from './key.ts';
import { createManager, watch, type ControllerDefinition } from './manager.ts';
import { createResourceClient } from './resource-client.ts';

interface Widget extends KubernetesObject {
  spec: { size: number };
  status?: { size?: number; conditions?: Condition[] };
}
interface Part extends KubernetesObject {
  widget: string;
}

const WIDGETS = { group: 'example.test', version: 'v1', plural: 'widgets' };
const PARTS = { group: 'example.test', version: 'v1', plural: 'parts' };

const widget = (name: string, size: number, namespace = 'one'): Widget => ({
  apiVersion: 'example.test/v1',
  kind: 'Widget',
  metadata: { name, namespace, generation: 1 },
  spec: { size },
});
const part = (name: string, of: string): Part => ({
  apiVersion: 'example.test/v1',
  kind: 'Part',
  metadata: { name, namespace: 'one' },
  widget: of,
});

interface Facts {
  widget: Widget;
  parts: number;
  now: Date;
}
type Action = { do: 'grow'; to: number } | { do: 'report' };

describe('manager', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  /** A manager with a controller that grows the size in a widget's status step by step, up to `spec.size`, then reports it ready. */
  function setUp(more: Partial<ControllerDefinition<Facts, Action>> = {}, namespaces = ['one', 'two']) {
    const api = createFakeApi();
    const clock = createFakeClock();
    const logger = createFakeLogger();
    const manager = createManager({ connection: api.connection, logger, clock });
    const widgets = createResourceClient<Widget>({
      connection: api.connection,
      resource: WIDGETS,
      cache: manager.watch<Widget>({ resource: WIDGETS, namespaces }),
    });
    const parts = manager.watch<Part>({ resource: PARTS, namespaces, indexes: { widget: (object) => [object.widget] } });
    const planned: string[] = [];
    const enqueue = manager.add<Facts, Action>({
      name: 'widget',
      workers: 2,
      sources: [watch(widgets, ({ object }) => [keyOf(object)]), watch(parts, ({ object }) => [`one/${object.widget}`])],
      async gather(key) {
        const { namespace, name } = fromKey(key);
        const found = widgets.get(namespace, name);
        return found === undefined ? null : { widget: found, parts: parts.byIndex('widget', name).length, now: new Date(clock.now()) };
      },
      plan({ widget: { metadata, spec, status }, parts: count }) {
        const size = status?.size ?? 0;
        planned.push(`${metadata.name} ${size}/${spec.size} parts ${count}`);
        if (size < spec.size) return { actions: [{ do: 'grow', to: size + 1 }], wakeAfterMs: null };
        const ready = conditionOf(status?.conditions, 'Ready')?.status === 'True';
        return { actions: ready ? [] : [{ do: 'report' }], wakeAfterMs: 60_000 };
      },
      async execute({ actions }, { widget: current, now }, signal) {
        for (const action of actions) {
          const ready = { type: 'Ready', status: 'True', reason: 'Grown', message: 'It is as large as wanted.' } as const;
          const status = action.do === 'grow' ? { size: action.to } : { conditions: withConditions(current, [ready], now) };
          await widgets.patchStatus(current, status, signal);
        }
        return 'again';
      },
      ...more,
    });
    const [stop, lost] = [new AbortController(), new AbortController()];
    let running: Promise<void> | null = null;
    const finish = async () => {
      stop.abort();
      await clock.advance(20_000);
      await running;
    };
    closers.push(finish);
    return {
      api,
      clock,
      logger,
      manager,
      enqueue,
      planned,
      stop,
      lost,
      finish,
      widgets,
      async run() {
        running = manager.run(stop.signal, lost.signal);
        await settle();
      },
      statusOf: (name: string) => (api.get(WIDGETS, 'one', name) as Widget).status,
    };
  }

  it('starts the caches, waits until they are synced, and reconciles every object', async () => {
    const { api, run, logger, statusOf, planned } = setUp();
    api.put(WIDGETS, widget('a', 2));
    api.put(WIDGETS, widget('b', 0));
    await run();
    expect(logger.lines.find(({ message }) => message === 'caches synced')?.fields).to.deep.equal({ objects: 2 });
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

  it('retries after a conflict and after an error', async () => {
    const failures = [new Error('write failed')];
    const { api, run, clock, logger } = setUp({
      execute: async () => {
        const failure = failures.shift();
        if (failure) throw failure;
        return {};
      },
    });
    api.put(WIDGETS, widget('a', 1));
    await run();
    expect(logger.lines.filter(({ level }) => level === 'error')).to.have.length(1);
    await clock.advance(1_000);
    expect(failures).to.deep.equal([]);
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

  it('aborts running reconciles when the lease is lost', async () => {
    let aborted = false;
    const { api, run, stop, lost, finish } = setUp({
      execute: (_plan, _facts, signal) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          }),
        ),
    });
    api.put(WIDGETS, widget('a', 1));
    await run();
    lost.abort(new Error('the lease is lost'));
    stop.abort();
    await finish();
    expect(aborted).to.equal(true);
  });

  it('returns without reconciling if stopped before the caches are synced', async () => {
    const { api, run, finish, planned, logger } = setUp();
    api.forbidden.add('two');
    api.put(WIDGETS, widget('a', 1));
    await run();
    await finish();
    expect(planned).to.deep.equal([]);
    expect(logger.lines.map(({ message }) => message)).not.to.include('caches synced');
  });
});
