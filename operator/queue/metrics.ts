/** Gauges by queue with a bounded number of series: administrators choose the names of queues, and authors may name missing ones. */
import { DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import type { MetricFactory } from '../../stores/process-metrics.ts';
import type { QueueLoad } from './admission.ts';

/** The number of queues with series of their own. */
export const QUEUE_SERIES_MAX = 50;
/** The label of all other queues. No queue can have this name. */
export const OTHER_QUEUES = '(other)';

type Load = Pick<QueueLoad, 'running' | 'queued' | 'oldestWaitSeconds' | 'paused'>;
const EMPTY: Load = { running: 0, queued: 0, oldestWaitSeconds: 0, paused: false };

export interface QueueGauges {
  set(queue: string, existence: 'exists' | 'missing', load: Load): void;
  remove(queue: string): void;
  /** Removes all queues but the default one, whose series are always there. */
  reset(): void;
}

function registerGauges({ gauge }: MetricFactory) {
  const ofQueue = (name: string, help: string) => gauge(name, `${help} \`(other)\`: all further ones.`, { queue: [] });
  return {
    running: ofQueue('scans_running', 'Number of admitted scans that have not ended, by ScanQueue.'),
    queued: ofQueue('scans_queued', 'Number of scans that wait for admission, by ScanQueue.'),
    oldest: ofQueue('queue_oldest_wait_seconds', 'Waiting time of the scan that has waited longest, by ScanQueue.'),
    paused: ofQueue('queue_paused', '1 if the ScanQueue is paused, else 0.'),
    missing: gauge('scans_without_queue', 'Number of scans that wait because their ScanQueue does not exist.'),
  };
}

export function createQueueGauges(factory: MetricFactory): QueueGauges {
  const gauges = registerGauges(factory);
  /** The queues with series of their own. */
  const named = new Set<string>();
  const others = new Map<string, Load>();
  const missing = new Map<string, number>();

  function write(queue: string, { running, queued, oldestWaitSeconds, paused }: Load): void {
    gauges.running.set({ queue }, running);
    gauges.queued.set({ queue }, queued);
    gauges.oldest.set({ queue }, oldestWaitSeconds);
    gauges.paused.set({ queue }, paused ? 1 : 0);
  }

  function erase(queue: string): void {
    for (const gauge of [gauges.running, gauges.queued, gauges.oldest, gauges.paused]) gauge.remove({ queue });
  }

  function writeOthers(): void {
    const loads = [...others.values()];
    const sum = (field: 'running' | 'queued') => loads.reduce((total, load) => total + load[field], 0);
    if (loads.length === 0) erase(OTHER_QUEUES);
    else
      write(OTHER_QUEUES, {
        running: sum('running'),
        queued: sum('queued'),
        oldestWaitSeconds: Math.max(...loads.map((load) => load.oldestWaitSeconds)),
        paused: loads.some((load) => load.paused),
      });
    gauges.missing.set([...missing.values()].reduce((total, queued) => total + queued, 0));
  }

  function forget(queue: string): void {
    if (named.delete(queue)) erase(queue);
    others.delete(queue);
    missing.delete(queue);
  }

  function reset(): void {
    for (const queue of [...named, ...others.keys()]) forget(queue);
    writeOthers();
    named.add(DEFAULT_QUEUE);
    write(DEFAULT_QUEUE, EMPTY);
  }
  reset();

  return {
    set(queue, existence, load) {
      if (existence === 'exists' && (named.has(queue) || named.size < QUEUE_SERIES_MAX)) {
        if (others.has(queue)) forget(queue);
        named.add(queue);
        write(queue, load);
      } else {
        forget(queue);
        others.set(queue, load);
        if (existence === 'missing') missing.set(queue, load.queued);
      }
      writeOthers();
    },
    remove(queue) {
      forget(queue);
      writeOthers();
    },
    reset,
  };
}
