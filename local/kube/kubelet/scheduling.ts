/** The scheduler: binds pods to the one node, or reports why they do not fit it. */
import type { Recorder } from '../controllers/recorder.ts';
import type { Pod, PodSpec } from '../workload-types.ts';
import { NODE_LABELS, NODE_NAME } from './node.ts';
import { withConditions } from './pod-status.ts';
import type { Pods } from './pods.ts';

/** The message of the `Unschedulable` condition; null if the pod fits. */
export function unschedulable(spec: PodSpec): string | null {
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => NODE_LABELS[key] === value);
  // Rules of affinity are not evaluated: a pod with a required one stays pending.
  const hasRule = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
  if (selected && !hasRule) return null;
  const why = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
  return `${why} no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;
}

export const usesDefaultScheduler = ({ spec }: Pod): boolean => spec.schedulerName === 'default-scheduler';

export interface Scheduler {
  /** Binds a pod that no other scheduler claims. */
  schedule(pod: Pod): void;
}

export function openScheduler(pods: Pods, recorder: Recorder, now: () => Date): Scheduler {
  function reportUnschedulable(pod: Pod, message: string): void {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    pods.updateStatus(pod, (latest) => ({ ...latest.status, conditions: withConditions(latest, [condition], now()) }));
    if (pod.status.conditions?.some(({ type }) => type === 'PodScheduled') !== true)
      recorder.record(pod, 'Warning', 'FailedScheduling', message);
  }

  return {
    schedule(pod) {
      if (!usesDefaultScheduler(pod)) return;
      const message = unschedulable(pod.spec);
      if (message !== null) return reportUnschedulable(pod, message);
      pods.bind(pod, NODE_NAME);
      const { namespace, name } = pod.metadata;
      recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${NODE_NAME}`);
    },
  };
}
