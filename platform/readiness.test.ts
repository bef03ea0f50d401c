import { expect } from 'chai';
import { checkReadiness, type Probe } from './readiness.ts';

const up: Probe = { required: true, check: () => Promise.resolve() };
const down: Probe = { required: true, check: () => Promise.reject(new Error('connection refused')) };
const hanging: Probe = { required: true, check: () => new Promise(() => undefined) };
const faulty: Probe = {
  required: true,
  check() {
    throw new Error('not connected');
  },
};

describe('readiness', () => {
  it('is ready if every dependency is available', async () => {
    expect(await checkReadiness({ mongodb: up, nats: { ...up, required: false } })).to.deep.equal({
      ready: true,
      missing: [],
      dependencies: { mongodb: 'ok', nats: 'ok' },
    });
  });

  it('is not ready if a required dependency is unavailable, and names it', async () => {
    expect(await checkReadiness({ mongodb: up, objects: down, kubernetes: faulty })).to.deep.equal({
      ready: false,
      missing: ['objects', 'kubernetes'],
      dependencies: { mongodb: 'ok', objects: 'missing', kubernetes: 'missing' },
    });
  });

  it('is ready if only optional dependencies are unavailable, and names them', async () => {
    expect(await checkReadiness({ mongodb: up, nats: { ...down, required: false } })).to.deep.equal({
      ready: true,
      missing: ['nats'],
      dependencies: { mongodb: 'ok', nats: 'missing' },
    });
  });

  it('counts a check that exceeds the time limit as a failure, and runs all checks at once', async () => {
    const started = performance.now();
    const { missing } = await checkReadiness({ mongodb: hanging, objects: hanging, kubernetes: up }, { limitMs: 40 });
    expect(missing).to.deep.equal(['mongodb', 'objects']);
    expect(performance.now() - started).to.be.below(75);
  });
});
