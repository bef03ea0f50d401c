/** Metrics that the API and the operator share, under the same names, so that sums over both processes are correct. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import type { CreditMove } from './credits/credits.ts';

export interface StoreMetrics {
  /** Credits moved. Each move is counted once, by the process whose call made it. */
  credits(move: CreditMove): void;
  /** The result of a dependency's last check. */
  dependency(name: string, up: boolean): void;
}

export function createStoreMetrics(registry: Registry, prefix: string): StoreMetrics {
  const registers = [registry];
  const credits = new Counter({
    name: `${prefix}credits_total`,
    help: 'Credits that this process moved: `reserved` for scans, then `spent` on tested pages or `released`.',
    labelNames: ['operation'],
    registers,
  });
  const up = new Gauge({
    name: `${prefix}dependency_up`,
    help: '1 if the dependency answered its last check (every 5 s), else 0.',
    labelNames: ['dependency'],
    registers,
  });
  for (const operation of ['reserved', 'spent', 'released']) credits.inc({ operation }, 0);
  return {
    credits(move) {
      if (move.operation === 'reserve') return credits.inc({ operation: 'reserved' }, move.pages);
      credits.inc({ operation: 'spent' }, move.pages);
      credits.inc({ operation: 'released' }, move.released);
    },
    dependency: (dependency, isUp) => up.set({ dependency }, isUp ? 1 : 0),
  };
}
