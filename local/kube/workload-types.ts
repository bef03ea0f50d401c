/** Pods and Jobs as they are stored: with the parts that the server always sets. */
import type * as models from '@kubernetes/client-node';
import type { Wire } from '../../platform/kubernetes/kubernetes.ts';
import type { KubeObject, Meta } from './types.ts';

export type PodCondition = Wire<models.V1PodCondition>;
export type Terminated = Wire<models.V1ContainerStateTerminated>;
export type ContainerState = Wire<models.V1ContainerState>;
export type ContainerStatus = Wire<models.V1ContainerStatus> & { state: ContainerState };
export type EnvVar = Wire<models.V1EnvVar>;
export type Container = Wire<models.V1Container> & { image: string };
export type Volume = Wire<models.V1Volume>;
export type PodSpec = Omit<Wire<models.V1PodSpec>, 'containers'> & { containers: Container[] };
export type PodStatus = Omit<Wire<models.V1PodStatus>, 'containerStatuses'> & { containerStatuses?: ContainerStatus[] };

export interface Pod extends KubeObject {
  spec: PodSpec;
  status: PodStatus;
}

export type JobCondition = Required<Wire<models.V1JobCondition>>;
export type JobStatus = Omit<Wire<models.V1JobStatus>, 'conditions'> & { conditions?: JobCondition[] };
export type PodFailureRule = Wire<models.V1PodFailurePolicyRule>;

export interface Job extends KubeObject {
  spec: Omit<Wire<models.V1JobSpec>, 'template'> & { template: { metadata?: Partial<Meta>; spec: PodSpec } };
  status: JobStatus;
}
