/** Gauges by queue with a bounded number of series: administrators choose the names of queues, and authors may name missing ones. */
import { DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import type { MetricFactory } from '../../stores/process-metrics.ts';
import type { QueueLoad } from './admission.ts';

export const QUEUE_SERIES_MAX = 50;
/** The label of all other queues. No queue can have this name. */
export const OTHER_QUEUES = '(other)';

type Load = Pick<QueueLoad, 'running' | 'queued' | 'oldestWaitSeconds' | 'paused'>;
type Existence = 'exists' | 'missing';

const EMPTY: Load = { running: 0, queued: 0, oldestWaitSeconds: 0, paused: false };

export function createQueueGauges({ gauge }: MetricFactory) {
  const queues = new Map<string, { existence: Existence; load: Load }>();
  /** Removes all queues but the default one, whose series are always there. */
  const reset = (): void => {
    queues.clear();
    queues.set(DEFAULT_QUEUE, { existence: 'exists', load: EMPTY });
  };
  reset();

  function series(): [queue: string, load: Load][] {
    const known = [...queues].map(([queue, { existence, load }]) => ({ queue, existence, load }));
    const named = known.filter(({ existence }) => existence === 'exists').slice(0, QUEUE_SERIES_MAX);
    const others = known.filter((one) => !named.includes(one)).map(({ load }) => load);
    const own = named.map(({ queue, load }): [string, Load] => [queue, load]);
    return others.length === 0 ? own : [...own, [OTHER_QUEUES, sumOf(others)]];
  }

  function byQueue(name: string, help: string, value: (load: Load) => number): void {
    gauge(name, `${help} \`(other)\`: all further ones.`, { queue: [] }, (own) => {
      own.reset();
      for (const [queue, load] of series()) own.set({ queue }, value(load));
    });
  }
  byQueue('scans_running', 'Number of admitted scans that have not ended, by ScanQueue.', ({ running }) => running);
  byQueue('scans_queued', 'Number of scans that wait for admission, by ScanQueue.', ({ queued }) => queued);
  byQueue(
    'queue_oldest_wait_seconds',
    'Waiting time of the scan that has waited longest, by ScanQueue.',
    ({ oldestWaitSeconds }) => oldestWaitSeconds,
  );
  byQueue('queue_paused', '1 if the ScanQueue is paused, else 0.', ({ paused }) => Number(paused));
  gauge('scans_without_queue', 'Number of scans that wait because their ScanQueue does not exist.', {}, (own) => {
    const missing = [...queues.values()].filter(({ existence }) => existence === 'missing');
    own.set(sumOf(missing.map(({ load }) => load)).queued);
  });

  return {
    set: (queue: string, existence: Existence, load: Load) => void queues.set(queue, { existence, load }),
    remove: (queue: string) => void queues.delete(queue),
    reset,
  };
}

const sumOf = (loads: readonly Load[]): Load =>
  loads.reduce(
    (sum, { running, queued, oldestWaitSeconds, paused }) => ({
      running: sum.running + running,
      queued: sum.queued + queued,
      oldestWaitSeconds: Math.max(sum.oldestWaitSeconds, oldestWaitSeconds),
      paused: sum.paused || paused,
    }),
    EMPTY,
  );
