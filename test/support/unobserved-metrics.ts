import type { RuntimeMetrics } from '../../operator/runtime/metrics.ts';

/** Metrics of the controller runtime that nobody reads. */
export const unobservedMetrics: RuntimeMetrics = {
  reconciled() {},
  queueDepth() {},
  queueWaited() {},
  watchRestarted() {},
  listed() {},
  leading() {},
  namespaceReadable() {},
  eventDropped() {},
};
