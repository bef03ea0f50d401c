import { expect } from 'chai';
import { createFakeLogger } from '../test/support/fake-logger.ts';
import { monitorDependencies, type DependencyMonitor, type MonitorOptions, type Probe, type Probes } from './readiness.ts';

const up: Probe = { required: true, check: () => Promise.resolve() };
const down: Probe = { required: true, check: () => Promise.reject(new Error('connection refused')) };
const hanging: Probe = { required: true, check: () => new Promise(() => undefined) };
const faulty: Probe = {
  required: true,
  check() {
    throw new Error('not connected');
  },
};

describe('monitor of dependencies', () => {
  const monitors: DependencyMonitor[] = [];
  afterEach(() => monitors.splice(0).forEach((monitor) => monitor.stop()));

  function start(probes: Probes, options: Partial<MonitorOptions> = {}) {
    const seen: [name: string, up: boolean][] = [];
    const logger = createFakeLogger();
    const watchers: (() => void)[] = [];
    const monitor = monitorDependencies(probes, {
      logger,
      everyMs: 5,
      retryMs: 5,
      limitMs: 40,
      onDependency: (name, isUp) => {
        seen.push([name, isUp]);
        for (const watcher of watchers.splice(0)) watcher();
      },
      ...options,
    });
    const until = async (condition: () => boolean): Promise<void> => {
      while (!condition()) await new Promise<void>((resolve) => watchers.push(resolve));
    };
    monitors.push(monitor);
    return { monitor, seen, lines: logger.lines, until };
  }

  it('logs an outage once, and again if a check that took too long is followed by a reason', async () => {
    let checks = 0;
    const busy: Probe = { required: true, check: () => (++checks === 1 ? new Promise(() => undefined) : down.check()) };
    const { lines, until } = start({ dns: busy });
    await until(() => checks > 4);
    const reasons = lines.map(({ fields }) => (fields['err'] as Error).message);
    expect(reasons).to.deep.equal(['check of dns took longer than 40 ms', 'connection refused']);
  });

  it('reports every dependency as missing at once, before the first check ends', () => {
    const { monitor: started, seen } = start({ mongodb: up, nats: { ...hanging, required: false } });
    expect(seen).to.deep.equal([
      ['mongodb', false],
      ['nats', false],
    ]);
    expect(started.readiness()).to.deep.equal({
      ready: false,
      missing: ['mongodb', 'nats'],
      dependencies: { mongodb: 'missing', nats: 'missing' },
    });
  });

  it('is ready as soon as every required dependency answered, and names the others', async () => {
    const { monitor: started, until } = start({
      mongodb: up,
      objects: { ...down, required: false },
      nats: { ...hanging, required: false },
    });
    await until(() => started.readiness().ready);
    expect(started.readiness()).to.deep.equal({
      ready: true,
      missing: ['objects', 'nats'],
      dependencies: { mongodb: 'ok', objects: 'missing', nats: 'missing' },
    });
  });

  it('waits for the first answer of every dependency when it starts, but not for one that stays unavailable', async () => {
    let attempts = 0;
    const late = { required: false, check: async () => (++attempts < 3 ? Promise.reject(new Error('not yet')) : undefined) };
    const reached = start({ mongodb: up, kubernetes: late }, { startMs: 600_000 });
    await reached.until(() => reached.seen.some(([name, isUp]) => name === 'kubernetes' && isUp));
    expect(reached.monitor.readiness()).to.deep.include({ ready: true, missing: [] });
    expect(attempts).to.equal(3);
    const waiting = start({ mongodb: up, kubernetes: { ...down, required: false } }, { startMs: 600_000 });
    await waiting.until(() => waiting.seen.length > 6);
    expect(waiting.monitor.readiness()).to.deep.include({ ready: false, missing: ['kubernetes'] });
    const { monitor: started, until } = start({ mongodb: up, kubernetes: { ...down, required: false } }, { startMs: 50 });
    await until(() => started.readiness().ready);
    expect(started.readiness().missing).to.deep.equal(['kubernetes']);
  });

  it('is not ready if a required dependency fails, throws or does not answer in time', async () => {
    for (const broken of [down, faulty, hanging]) {
      const { monitor: started, seen, until } = start({ mongodb: up, objects: broken });
      await until(() => seen.filter(([name]) => name === 'objects').length > 2);
      expect(started.readiness()).to.deep.include({ ready: false, missing: ['objects'] });
      started.stop();
    }
  });

  it('resolves when a dependency is available for the first time, or the wait is aborted', async () => {
    let attempts = 0;
    const slow = { required: true, check: async () => (++attempts < 3 ? Promise.reject(new Error('not yet')) : undefined) };
    const { monitor: started } = start({ definitions: slow, objects: hanging });
    await started.available('definitions', new AbortController().signal);
    expect(attempts).to.equal(3);
    await started.available('definitions', new AbortController().signal);
    await started.available('objects', AbortSignal.abort());
    const stop = new AbortController();
    const waiting = started.available('objects', stop.signal);
    stop.abort();
    await waiting;
  });

  it('follows an outage and its end, and logs each once', async () => {
    let available = true;
    const probe: Probe = { required: true, check: () => (available ? Promise.resolve() : Promise.reject(new Error('down'))) };
    const { monitor: started, seen, lines, until } = start({ mongodb: probe });
    await until(() => started.readiness().ready);
    available = false;
    await until(() => !started.readiness().ready);
    const since = seen.length;
    await until(() => seen.length > since + 3);
    available = true;
    await until(() => started.readiness().ready);
    expect(lines.map(({ level, message, fields }) => [level, message, fields.dependency])).to.deep.equal([
      ['warn', 'dependency unavailable', 'mongodb'],
      ['info', 'dependency available again', 'mongodb'],
    ]);
  });

  it('ends its checks on stop', async () => {
    const { monitor: started, seen, until } = start({ mongodb: up });
    await until(() => seen.length > 2);
    started.stop();
    const then = seen.length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen.length).to.equal(then);
  });
});
