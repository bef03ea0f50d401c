import type { RuntimeMetrics } from '../../operator/runtime/metrics.ts';

/** Metrics of the controller runtime that record nothing. */
export const unobservedMetrics: RuntimeMetrics = {
  reconciled() {},
  queueDepth() {},
  queueWaited() {},
  watchKept() {},
  watchGivenUp() {},
  watchRestarted() {},
  listed() {},
  leading() {},
  namespaceReadable() {},
  eventDropped() {},
};
