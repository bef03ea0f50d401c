/** The types that the embedded Kubernetes stores and serves: JSON as on the wire. */
import type * as models from '@kubernetes/client-node';
import type { V1ObjectMeta } from '@kubernetes/client-node';
import type { Wire } from '../../platform/kubernetes/kubernetes.ts';

/** Pods and Jobs as they are stored: with the parts that the server always sets. */
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

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [field: string]: Json | undefined;
}

/** metav1.ObjectMeta, with what the server always sets. */
export type Meta = Omit<Wire<V1ObjectMeta>, 'managedFields'> & {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  /** Only of objects that were applied (`registry/managed-fields.ts`). */
  managedFields?: ManagedFields[];
};

/** The fields that a writer has set, as a tree of names such as `f:spec`. */
export interface ManagedFields {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  fieldsType: 'FieldsV1';
  fieldsV1: JsonObject;
}

/** A stored object. Never changed in place: every write stores a new object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: Meta;
  [field: string]: unknown;
}

/** A structural schema (OpenAPI v3, as in CustomResourceDefinitions). Other keywords have no effect. */
export interface Schema {
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  required?: string[];
  enum?: Json[];
  default?: Json;
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: ValidationRule[];
}

/** One CEL rule of a schema. */
export interface ValidationRule {
  rule: string;
  message?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** A column of a printed table. */
export interface Column {
  name: string;
  type: string;
  format?: string;
  description?: string;
  /** Above 0: shown only by `-o wide`. */
  priority?: number;
}

/** One resource type in one version, as the server offers it. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  shortNames: string[];
  categories: string[];
  namespaced: boolean;
  /** The key of the objects in storage. The versions of a custom resource share it. */
  storage: string;
  /** Whether the resource has the `/status` subresource. */
  statusSubresource: boolean;
  /** Whether it comes from a CustomResourceDefinition: other schema errors, no strategic merge, list items have a kind. */
  custom: boolean;
  schema: Schema;
  verbs: readonly string[];
  columns: Column[];
  /** The cells of an object's row. */
  cells(object: KubeObject, now: Date): Json[];
  /** Supported field selectors, in addition to metadata.name and metadata.namespace. */
  fields: Record<string, (object: KubeObject) => string>;
  /** Sets the server's fields of a new object, in place before it is stored. @throws StatusError */
  prepareCreate?(object: KubeObject): void;
  /** The same on an update. @throws StatusError */
  prepareUpdate?(object: KubeObject, old: KubeObject, subresource: string): void;
}
