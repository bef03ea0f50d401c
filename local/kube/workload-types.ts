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
    secretKeyRef?: { name: string; key: string; optional?: boolean };
    configMapKeyRef?: { name: string; key: string; optional?: boolean };
  };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: EnvVar[];
  envFrom?: { prefix?: string; secretRef?: { name: string; optional?: boolean }; configMapRef?: { name: string; optional?: boolean } }[];
  volumeMounts?: { name: string; mountPath: string; subPath?: string }[];
  workingDir?: string;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
}

interface KeyItems {
  items?: { key: string; path: string }[];
  optional?: boolean;
}
interface DownwardItems {
  items?: { path: string; fieldRef?: { fieldPath: string } }[];
}
export interface Volume {
  name: string;
  emptyDir?: object;
  secret?: KeyItems & { secretName: string };
  configMap?: KeyItems & { name: string };
  downwardAPI?: DownwardItems;
  projected?: {
    sources?: { secret?: KeyItems & { name: string }; configMap?: KeyItems & { name: string }; downwardAPI?: DownwardItems }[];
  };
}

interface NodeSelectorTerm {
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
  matchFields?: { key: string; operator: string; values?: string[] }[];
}

export interface PodSpec {
  nodeName?: string;
  hostname?: string;
  schedulerName?: string;
  schedulingGates?: object[];
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] } } };
  restartPolicy?: string;
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  serviceAccountName?: string;
  containers: Container[];
  initContainers?: Container[];
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
  parallelism?: number;
  completions?: number;
  completionMode?: string;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  podReplacementPolicy?: string;
  podFailurePolicy?: { rules: PodFailureRule[] };
  template: { metadata?: Partial<Meta>; spec: PodSpec };
}

export interface Job extends KubeObject {
  spec: JobSpec;
  status: JobStatus;
}
