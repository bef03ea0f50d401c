/** Pod statuses as a real kubelet writes them: pure functions of the pod and its container. */
import { arch } from 'node:os';
import { timestamp } from '../../../platform/clock.ts';
import type { Container, ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from '../types.ts';

export const NODE_NAME = 'curbcut-local';
export const NODE_ADDRESS = '127.0.0.1';

/** The labels that every real node has too. */
export const NODE_LABELS: Record<string, string> = {
  'kubernetes.io/hostname': NODE_NAME,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': arch() === 'x64' ? 'amd64' : arch(),
};

/** Sets conditions. Unchanged ones keep their transition time. */
export function withConditions(
  pod: Pod,
  given: readonly { type: string; status: string; reason?: string; message?: string }[],
  now: Date,
): PodCondition[] {
  const before = pod.status.conditions ?? [];
  const generation = pod.metadata.generation ?? 1;
  const next = given.map((condition): PodCondition => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : timestamp(now);
    return { ...condition, observedGeneration: generation, lastTransitionTime };
  });
  return [...before.filter(({ type }) => !given.some((condition) => condition.type === type)), ...next];
}

function containerStatus({ spec }: Pod, state: ContainerState): ContainerStatus {
  const [{ name, image }] = spec.containers as [Container];
  const isRunning = state.running !== undefined;
  const begun = state.waiting === undefined;
  return {
    name,
    state,
    lastState: {},
    ready: isRunning,
    restartCount: 0,
    image,
    imageID: begun ? `local://${image}` : '',
    ...(begun && { containerID: `local://${name}` }),
    started: isRunning,
  };
}

/** The phase of a pod from the state of its container. */
function phaseOf({ waiting, running, terminated }: ContainerState): 'Pending' | 'Running' | 'Succeeded' | 'Failed' {
  if (waiting !== undefined) return 'Pending';
  if (running !== undefined) return 'Running';
  return terminated?.exitCode === 0 ? 'Succeeded' : 'Failed';
}

/** The status of a pod that this node runs. */
export function nodeStatus(pod: Pod, state: ContainerState, now: Date): PodStatus {
  const phase = phaseOf(state);
  const container = containerStatus(pod, state);
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const readiness = (type: string): { type: string; status: string; reason?: string; message?: string } => {
    if (ended) return { type, status: 'False', reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' };
    if (container.ready) return { type, status: 'True' };
    return { type, status: 'False', reason: 'ContainersNotReady', message: `containers with unready status: [${container.name}]` };
  };
  const conditions = withConditions(
    pod,
    [
      { type: 'PodReadyToStartContainers', status: ended ? 'False' : 'True' },
      { type: 'Initialized', status: 'True', ...(phase === 'Succeeded' ? { reason: 'PodCompleted' } : {}) },
      readiness('Ready'),
      readiness('ContainersReady'),
      { type: 'PodScheduled', status: 'True' },
    ],
    now,
  );
  return {
    ...pod.status,
    observedGeneration: pod.metadata.generation ?? 1,
    phase,
    conditions,
    hostIP: NODE_ADDRESS,
    hostIPs: [{ ip: NODE_ADDRESS }],
    podIP: NODE_ADDRESS,
    podIPs: [{ ip: NODE_ADDRESS }],
    startTime: pod.status.startTime ?? timestamp(now),
    containerStatuses: [container],
  };
}

/** The status of a running pod whose node was lost. */
export function lostStatus(pod: Pod, now: Date): PodStatus {
  const message = 'PodGC: node no longer exists';
  const at = timestamp(now);
  const containers = (pod.status.containerStatuses ?? []).map((container) => {
    if (container.state.terminated !== undefined) return container;
    const startedAt = container.state.running?.startedAt ?? at;
    const terminated = {
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      startedAt,
      finishedAt: at,
    };
    return { ...container, ready: false, started: false, state: { terminated } };
  });
  const conditions = withConditions(
    pod,
    [
      { type: 'Ready', status: 'False', reason: 'PodFailed' },
      { type: 'ContainersReady', status: 'False', reason: 'PodFailed' },
      { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message },
    ],
    now,
  );
  return { ...pod.status, phase: 'Failed', reason: 'NodeLost', message, conditions, containerStatuses: containers };
}
