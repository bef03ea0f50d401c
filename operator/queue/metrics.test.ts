import { expect } from 'chai';
import { createOperatorMetrics } from '../metrics.ts';
import { OTHER_QUEUES, QUEUE_SERIES_MAX } from './metrics.ts';
import type { QueueLoad } from './admission.ts';

const load = (more: Partial<QueueLoad> = {}): QueueLoad => ({
  running: 1,
  starting: 0,
  queued: 2,
  oldestWaitSeconds: 3,
  paused: false,
  organisations: new Map(),
  ...more,
});

describe('the gauges of queues', () => {
  const metrics = createOperatorMetrics();
  async function samples(name: string): Promise<Record<string, number>> {
    const text = await metrics.registry.metrics();
    const found = [...text.matchAll(new RegExp(`^curbcut_${name}(?:\\{queue="([^"]*)"\\})? (\\S+)$`, 'gm'))];
    return Object.fromEntries(found.map(([, queue = '', value]) => [queue, Number(value)]));
  }
  afterEach(() => metrics.stoppedLeading());

  it('always have the default queue, which is 0 until it is measured and after the leadership', async () => {
    for (const name of ['scans_running', 'scans_queued', 'queue_oldest_wait_seconds', 'queue_paused'])
      expect(await samples(name), name).to.deep.equal({ default: 0 });
    metrics.queue('default', 'exists', load({ paused: true }));
    expect(await samples('queue_paused')).to.deep.equal({ default: 1 });
    metrics.stoppedLeading();
    expect(await samples('queue_paused')).to.deep.equal({ default: 0 });
    expect(await samples('scans_without_queue')).to.deep.equal({ '': 0 });
  });

  it('add up the queues beyond the maximum', async () => {
    for (let index = 1; index < QUEUE_SERIES_MAX + 3; index += 1)
      metrics.queue(`q${index}`, 'exists', load({ oldestWaitSeconds: index, paused: index === QUEUE_SERIES_MAX }));
    const queued = await samples('scans_queued');
    expect(Object.keys(queued)).to.have.length(QUEUE_SERIES_MAX + 1);
    expect(queued[OTHER_QUEUES]).to.equal(6);
    expect((await samples('queue_oldest_wait_seconds'))[OTHER_QUEUES]).to.equal(QUEUE_SERIES_MAX + 2);
    expect((await samples('queue_paused'))[OTHER_QUEUES]).to.equal(1);
    for (let index = 0; index < 3; index += 1) metrics.queueGone(`q${QUEUE_SERIES_MAX + index}`);
    expect(await samples('scans_queued')).not.to.have.property(OTHER_QUEUES);
  });

  it('count the scans that wait for missing queues, whose names authors choose, without a series for each', async () => {
    metrics.queue('nightly', 'exists', load());
    metrics.queue('nightly', 'missing', load({ queued: 4 }));
    metrics.queue('nihgtly', 'missing', load({ queued: 5 }));
    expect(await samples('scans_queued')).to.deep.equal({ default: 0, [OTHER_QUEUES]: 9 });
    expect(await samples('scans_without_queue')).to.deep.equal({ '': 9 });
    metrics.queue('nightly', 'exists', load());
    expect(await samples('scans_queued')).to.deep.equal({ default: 0, nightly: 2, [OTHER_QUEUES]: 5 });
    expect(await samples('scans_without_queue')).to.deep.equal({ '': 5 });
  });
});
