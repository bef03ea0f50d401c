import { expect } from 'chai';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { unobservedMetrics } from '../../test/support/unobserved-metrics.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { startController, type Reconcile } from './controller.ts';
import type { ReconcileResult } from './metrics.ts';
import { ObjectGone } from './resource-client.ts';
import { createWorkqueue } from './workqueue.ts';

describe('controller', () => {
  const running: ReturnType<typeof startController>[] = [];
  afterEach(async () => {
    for (const controller of running.splice(0)) await controller.stop(0);
  });

  function setUp(reconcile: Reconcile, options: { workers?: number; signal?: AbortSignal; timeoutMs?: number } = {}) {
    const clock = createFakeClock();
    const logger = createFakeLogger();
    const results: ReconcileResult[] = [];
    const queue = createWorkqueue({ clock, random: () => 1 });
    const metrics = {
      ...unobservedMetrics,
      reconciled: (_: string, result: ReconcileResult) => void results.push(result),
    };
    const controller = startController({ name: 'test', queue, workers: 1, reconcile, logger, clock, metrics, ...options });
    running.push(controller);
    return { clock, logger, results, queue, controller };
  }

  const problems = (logger: ReturnType<typeof createFakeLogger>) =>
    logger.lines.filter(({ level }) => level === 'error' || level === 'warn');

  it('reconciles each key, and again after requeueAfterMs', async () => {
    const seen: string[] = [];
    const { clock, queue, results } = setUp(async (key) => {
      seen.push(key);
      return seen.length === 1 ? { requeueAfterMs: 500 } : undefined;
    });
    queue.add('a');
    await clock.advance(499);
    expect(seen).to.deep.equal(['a']);
    await clock.advance(1);
    expect(seen).to.deep.equal(['a', 'a']);
    expect(results).to.deep.equal(['requeue', 'success']);
  });

  it('re-queues a conflict without logging an error', async () => {
    let tries = 0;
    const { clock, queue, results, logger } = setUp(async () => {
      if (++tries < 3) throw new KubernetesError(409, 'Conflict', 'the object has been modified');
    });
    queue.add('a');
    await clock.advance(1000);
    expect(results).to.deep.equal(['conflict', 'conflict', 'success']);
    expect(problems(logger)).to.deep.equal([]);
    expect(queue.failures('a')).to.equal(0);
  });

  it('re-queues a write to an object that is gone without logging an error', async () => {
    let tries = 0;
    const { clock, queue, results, logger } = setUp(async () => {
      if (++tries === 1) throw new ObjectGone(new KubernetesError(404, 'NotFound', 'widgets "a" not found'));
    });
    queue.add('a');
    await clock.advance(1000);
    expect(results).to.deep.equal(['conflict', 'success']);
    expect(problems(logger)).to.deep.equal([]);
  });

  it('backs off after errors and logs each error and each recovery once', async () => {
    let tries = 0;
    const { clock, queue, results, logger } = setUp(async () => {
      if (++tries <= 4) throw new Error('no such bucket');
    });
    queue.add('a');
    await clock.advance(100 + 200 + 400 + 799);
    expect(results).to.deep.equal(['error', 'error', 'error', 'error']);
    await clock.advance(1);
    expect(results.at(-1)).to.equal('success');
    expect(problems(logger).map(({ fields }) => String(fields['err']))).to.deep.equal(['Error: no such bucket']);
    expect(logger.lines.filter(({ level }) => level === 'info').map(({ fields }) => fields['failures'])).to.deep.equal([4]);
  });

  it('honours Retry-After', async () => {
    let tries = 0;
    const { clock, queue, results } = setUp(async () => {
      if (++tries === 1) throw new KubernetesError(429, 'TooManyRequests', 'slow down', 7);
    });
    queue.add('a');
    await clock.advance(6999);
    expect(results).to.deep.equal(['error']);
    await clock.advance(1);
    expect(results).to.deep.equal(['error', 'success']);
  });

  it('reconciles at most as many keys at once as there are workers', async () => {
    let now = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const { queue, clock } = setUp(
      async () => {
        most = Math.max(most, ++now);
        await new Promise<void>((resolve) => gates.push(resolve));
        now--;
      },
      { workers: 3 },
    );
    for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
    await clock.advance(0);
    expect(most).to.equal(3);
    while (gates.length) {
      gates.shift()!();
      await settle();
    }
    expect([now, most]).to.deep.equal([0, 3]);
  });

  it('aborts a reconcile that exceeds its time limit and retries the key', async () => {
    let tries = 0;
    const { clock, queue, results } = setUp(
      (_, signal) =>
        ++tries > 1
          ? Promise.resolve()
          : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      { timeoutMs: 3000 },
    );
    queue.add('a');
    await clock.advance(3200);
    expect(results).to.deep.equal(['error', 'success']);
    expect(clock.pending).to.equal(0);
  });

  it('lets running reconciles finish on stop and starts no more', async () => {
    let finish = () => {};
    const seen: string[] = [];
    const { queue, controller, results } = setUp(async (key) => {
      seen.push(key);
      await new Promise<void>((resolve) => (finish = resolve));
    });
    queue.add('a');
    queue.add('b');
    await settle();
    let stopped = false;
    const over = controller.stop().then(() => (stopped = true));
    await settle();
    expect(stopped).to.equal(false);
    finish();
    await over;
    expect(seen).to.deep.equal(['a']);
    expect(results).to.deep.equal(['success']);
  });

  it('aborts reconciles that still run after the grace period', async () => {
    const { clock, queue, controller, results, logger } = setUp(
      (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );
    queue.add('a');
    await settle();
    const over = controller.stop(5000);
    await clock.advance(5000);
    await over;
    expect(results).to.deep.equal(['aborted']);
    expect(problems(logger)).to.deep.equal([]);
  });

  it('aborts running reconciles at once when its signal aborts', async () => {
    const lost = new AbortController();
    let reason: unknown;
    const { queue, controller, results } = setUp(
      (_, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject((reason = signal.reason) as Error));
        }),
      { signal: lost.signal },
    );
    queue.add('a');
    queue.add('b');
    await settle();
    lost.abort(new Error('the lease is lost'));
    await controller.stop();
    expect(String(reason)).to.equal('Error: the lease is lost');
    expect(results).to.deep.equal(['aborted']);
  });
});
