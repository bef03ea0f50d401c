/** Schemas of the built-in kinds, generated from the list of their fields. */
import type { Schema } from '../types.ts';

/**
 * The fields of the built-in kinds, one type per paragraph: `name type`. `any` is an object that is accepted and stored as it is; a type
 * that ends with `...` has more fields, which are stored as they are.
 */
const BUILTIN_FIELDS = `
OwnerReference: apiVersion string, blockOwnerDeletion bool, controller bool, kind string, name string, uid string
ObjectMeta: annotations {string}, creationTimestamp time, deletionGracePeriodSeconds int64, deletionTimestamp time, finalizers
  [string], generateName string, generation int64, labels {string}, managedFields [any], name string, namespace string,
  ownerReferences [OwnerReference], resourceVersion string, selfLink string, uid string
ObjectFieldSelector: apiVersion string, fieldPath string
EnvVarSource: fieldRef ObjectFieldSelector, ...
EnvVar: name string, value string, valueFrom EnvVarSource
VolumeMount: mountPath string, name string, ...
Container: args [string], command [string], env [EnvVar], image string, name string, terminationMessagePath string, volumeMounts
  [VolumeMount], ...
SecretVolumeSource: secretName string, ...
Volume: emptyDir any, name string, secret SecretVolumeSource, ...
PodSpec: affinity any, containers [Container], hostname string, nodeName string, nodeSelector {string}, restartPolicy string,
  schedulerName string, terminationGracePeriodSeconds int64, volumes [Volume], ...
Pod: metadata ObjectMeta, spec PodSpec, status any
PodTemplateSpec: metadata ObjectMeta, spec PodSpec
JobSpec: activeDeadlineSeconds int64, backoffLimit int32, backoffLimitPerIndex int32, completionMode string, completions int32,
  parallelism int32, podFailurePolicy any, podReplacementPolicy string, selector any, suspend bool, template PodTemplateSpec,
  ttlSecondsAfterFinished int32
Job: metadata ObjectMeta, spec JobSpec, status any
Secret: data {byte}, immutable bool, metadata ObjectMeta, stringData {string}, type string
ConfigMap: binaryData {byte}, data {string}, immutable bool, metadata ObjectMeta
Namespace: metadata ObjectMeta, spec any, status any
LeaseSpec: acquireTime time, holderIdentity string, leaseDurationSeconds int32, leaseTransitions int32, renewTime time
Lease: metadata ObjectMeta, spec LeaseSpec
Event: action string, count int32, eventTime time, firstTimestamp time, involvedObject any, lastTimestamp time, message string,
  metadata ObjectMeta, reason string, related any, reportingComponent string, reportingInstance string, series any, source any,
  type string
`;

const ANY: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const SCALARS: Record<string, Schema> = {
  string: { type: 'string' },
  byte: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  time: { type: 'string', format: 'date-time' },
  any: ANY,
};

const named = new Map<string, Schema>();

function typeOf(text: string): Schema {
  if (text.startsWith('[')) return { type: 'array', items: typeOf(text.slice(1, -1)) };
  if (text.startsWith('{')) return { type: 'object', additionalProperties: typeOf(text.slice(1, -1)) };
  return SCALARS[text] ?? named.get(text) ?? undefinedType(text);
}

function undefinedType(text: string): never {
  throw new Error(`the list of built-in fields uses '${text}' before its definition`);
}

for (const paragraph of BUILTIN_FIELDS.replace(/\n {2}/g, ' ')
  .trim()
  .split('\n')) {
  const [name = '', list = ''] = paragraph.split(/:\s*/, 2);
  const fields = list.split(/,\s*/);
  const isOpen = fields.at(-1) === '...';
  const properties = (isOpen ? fields.slice(0, -1) : fields).map((field) => {
    const [key = '', type = ''] = field.split(' ');
    return [key, typeOf(type)] as const;
  });
  named.set(name, { type: 'object', ...(isOpen && ANY), properties: Object.fromEntries(properties) });
}

/** The schema of every object's metadata. */
export const META_SCHEMA: Schema = named.get('ObjectMeta') ?? undefinedType('ObjectMeta');

/** The schema of a built-in kind with the common fields. */
export function builtinSchema(name: string): Schema {
  const schema = named.get(name) ?? undefinedType(name);
  return { ...schema, properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties } };
}
