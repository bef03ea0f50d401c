/** The fields of pods and Jobs that the controllers and the kubelet use. */
import type { KubeObject, Meta } from './types.ts';

export interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
  lastProbeTime: string | null;
  lastTransitionTime: string;
}

export interface Terminated {
  exitCode: number;
  reason: string;
  signal?: number;
  message?: string;
  startedAt: string;
  finishedAt: string;
  containerID?: string;
}

export interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: Terminated;
}

export interface ContainerStatus {
  name: string;
  state: ContainerState;
  lastState: ContainerState;
  ready: boolean;
  started: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
  };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  volumeMounts?: { name: string; mountPath: string }[];
  terminationMessagePath?: string;
}

export interface Volume {
  name: string;
  emptyDir?: object;
  secret?: { secretName: string };
}

export interface PodSpec {
  nodeName?: string;
  hostname?: string;
  schedulerName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: object } };
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  serviceAccountName?: string;
  containers: Container[];
  volumes?: Volume[];
}

export interface PodStatus {
  phase?: string;
  reason?: string;
  message?: string;
  startTime?: string;
  conditions?: PodCondition[];
  containerStatuses?: ContainerStatus[];
  [field: string]: unknown;
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status: PodStatus;
}

export interface JobCondition {
  type: string;
  status: string;
  lastProbeTime: string;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: string;
  completionTime?: string;
  active?: number;
  succeeded?: number;
  failed?: number;
  terminating?: number;
  uncountedTerminatedPods?: object;
  completedIndexes?: string;
  failedIndexes?: string;
  ready?: number;
}

export interface PodFailureRule {
  action: 'Ignore' | 'FailJob' | 'Count' | 'FailIndex';
  onExitCodes?: { containerName?: string; operator: 'In' | 'NotIn'; values: number[] };
  onPodConditions?: { type: string; status?: string }[];
}

export interface JobSpec {
  backoffLimitPerIndex?: number;
  activeDeadlineSeconds?: number;
  suspend?: boolean;
  podFailurePolicy?: { rules: PodFailureRule[] };
  template: { metadata?: Partial<Meta>; spec: PodSpec };
}

export interface Job extends KubeObject {
  spec: JobSpec;
  status: JobStatus;
}
