/** Metrics that the API and the operator share, under the same names, so that sums over both processes are correct. */
import { SOCKET_USES, type SocketUse } from '../platform/kubernetes/kubernetes.ts';
import type { CreditMove } from './credits/credits.ts';
import type { MetricFactory } from './process-metrics.ts';

export function createStoreMetrics({ counter, gauge }: MetricFactory) {
  const credits = counter(
    'credits_total',
    'Credits that this process moved: `reserved` for scans, then `spent` on tested pages or `released`.',
    { operation: ['reserved', 'spent', 'released'] },
  );
  const up = gauge('dependency_up', '1 if the dependency answered its last check (every 5 s), else 0.', { dependency: [] });
  const sockets = gauge(
    'kubernetes_sockets',
    'Open sockets to the Kubernetes API, by use: `requests` (at most 64), `lists` (at most 16), `watches` (one for each watch, for the lease and for the readiness probe).',
    { use: SOCKET_USES },
  );
  return {
    /** Credits moved. Each move is counted once, by the process whose call made it. */
    credits(move: CreditMove) {
      if (move.operation === 'reserve') return credits.inc({ operation: 'reserved' }, move.pages);
      credits.inc({ operation: 'spent' }, move.pages);
      credits.inc({ operation: 'released' }, move.released);
    },
    /** The number of sockets to the Kubernetes API that are open. */
    sockets: (use: SocketUse, open: number) => sockets.set({ use }, open),
    /** The result of a dependency's last check. */
    dependency: (dependency: string, isUp: boolean) => up.set({ dependency }, isUp ? 1 : 0),
  };
}
export type StoreMetrics = ReturnType<typeof createStoreMetrics>;
