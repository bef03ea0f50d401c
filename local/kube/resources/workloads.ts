/** Defaults and validation of pods and Jobs. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { forbiddenValue, invalid, invalidValue, requiredValue, shown, type Cause } from '../status.ts';
import type { Json, JsonObject, KubeObject } from '../types.ts';

const POD = { group: '', plural: 'pods', kind: 'Pod' };
const JOB = { group: 'batch', plural: 'jobs', kind: 'Job' };
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** Sets a pod spec's defaults, in place. @param restartPolicy undefined if it is required (Jobs) */
export function defaultPodSpec(spec: JsonObject, restartPolicy: string | undefined): void {
  if (restartPolicy !== undefined) spec['restartPolicy'] ??= restartPolicy;
  spec['terminationGracePeriodSeconds'] ??= 30;
  spec['dnsPolicy'] ??= 'ClusterFirst';
  spec['securityContext'] ??= {};
  spec['schedulerName'] ??= 'default-scheduler';
  const containers = [...((spec['containers'] ?? []) as JsonObject[]), ...((spec['initContainers'] ?? []) as JsonObject[])];
  for (const container of containers) {
    container['resources'] ??= {};
    container['terminationMessagePath'] ??= '/dev/termination-log';
    container['terminationMessagePolicy'] ??= 'File';
    const image = String(container['image'] ?? '');
    const tag = /:([^/@]+)$/.exec(image)?.[1];
    container['imagePullPolicy'] ??= !image.includes('@') && (tag === undefined || tag === 'latest') ? 'Always' : 'IfNotPresent';
    const resources = container['resources'] as { limits?: JsonObject; requests?: JsonObject };
    if (resources.limits !== undefined) resources.requests = { ...resources.limits, ...resources.requests };
    for (const variable of (container['env'] ?? []) as JsonObject[]) {
      const ref = (variable['valueFrom'] as JsonObject | undefined)?.['fieldRef'] as JsonObject | undefined;
      if (ref !== undefined) ref['apiVersion'] ??= 'v1';
    }
  }
  for (const volume of (spec['volumes'] ?? []) as JsonObject[]) {
    const kinds = Object.keys(volume).filter((key) => key !== 'name');
    if (kinds.length === 0) volume['emptyDir'] = {};
    for (const kind of ['secret', 'configMap', 'projected', 'downwardAPI']) {
      if (volume[kind] !== undefined) (volume[kind] as JsonObject)['defaultMode'] ??= 420;
    }
  }
}

function podSpecCauses(spec: JsonObject, path: string, restartPolicies: readonly string[], defaultPolicy = ''): Cause[] {
  const causes: Cause[] = [];
  const containers = (spec['containers'] ?? []) as JsonObject[];
  if (containers.length === 0) causes.push(requiredValue(`${path}.containers`));
  const volumes = new Set(((spec['volumes'] ?? []) as JsonObject[]).map((volume) => volume['name']));
  const names = new Set<Json | undefined>();
  containers.forEach((container, index) => {
    const at = `${path}.containers[${index}]`;
    const name = container['name'];
    if (name === undefined || name === '') causes.push(requiredValue(`${at}.name`));
    else if (!DNS_LABEL.test(String(name))) causes.push(invalidValue(`${at}.name`, name, DNS_LABEL_RULE));
    else if (names.has(name))
      causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: ${shown(name)}`, field: `${at}.name` });
    names.add(name);
    if (container['image'] === undefined || container['image'] === '') causes.push(requiredValue(`${at}.image`));
    ((container['volumeMounts'] ?? []) as JsonObject[]).forEach((mount, place) => {
      if (volumes.has(mount['name'])) return;
      causes.push({
        reason: 'FieldValueNotFound',
        message: `Not found: ${shown(mount['name'])}`,
        field: `${at}.volumeMounts[${place}].name`,
      });
    });
  });
  const policy = spec['restartPolicy'];
  if (!restartPolicies.includes(String(policy ?? ''))) {
    const given = policy ?? defaultPolicy;
    const why = given === '' ? 'Required value: ' : `Unsupported value: ${shown(given)}: `;
    const supported = `supported values: ${restartPolicies.map((allowed) => shown(allowed)).join(', ')}`;
    const reason = given === '' ? 'FieldValueRequired' : 'FieldValueNotSupported';
    const message =
      given === '' ? `${why}valid values: ${restartPolicies.map((allowed) => shown(allowed)).join(', ')}` : `${why}${supported}`;
    causes.push({ reason, message, field: `${path}.restartPolicy` });
  }
  return causes;
}

export function preparePod(object: KubeObject): void {
  const spec = (object['spec'] ?? {}) as JsonObject;
  object['spec'] = spec;
  defaultPodSpec(spec, 'Always');
  spec['serviceAccountName'] ??= 'default';
  object.metadata.generation = 1;
  object['status'] = { phase: 'Pending' };
  const causes = podSpecCauses(spec, 'spec', ['Always', 'OnFailure', 'Never']);
  if (causes.length === 0 && spec['restartPolicy'] !== 'Never')
    causes.push(forbiddenValue('spec.restartPolicy', 'the embedded Kubernetes does not restart containers'));
  if (causes.length > 0) throw invalid(POD, object.metadata.name, causes);
}

/** A pod's spec is immutable except for images, its deadline and added tolerations; its node is set once. */
export function preparePodUpdate(object: KubeObject, old: KubeObject, subresource: string): void {
  if (subresource !== '') return;
  const spec = object['spec'] as JsonObject;
  defaultPodSpec(spec, 'Always');
  const before = old['spec'] as JsonObject;
  const fixed = (value: JsonObject): JsonObject => ({
    ...value,
    activeDeadlineSeconds: null,
    tolerations: null,
    terminationGracePeriodSeconds: null,
    nodeName: before['nodeName'] === undefined ? null : value['nodeName'],
    containers: ((value['containers'] ?? []) as JsonObject[]).map((container) => ({ ...container, image: null, imagePullPolicy: null })),
  });
  if (!isDeepStrictEqual(fixed(spec), fixed(before))) {
    const why =
      'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
    throw invalid(POD, object.metadata.name, [forbiddenValue('spec', why)]);
  }
}

/** The labels that assign a pod to its Job, with the current prefix and in the legacy form. */
function ownLabels(uid: string, name: string): Record<string, string> {
  return {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
}

function jobCauses(spec: JsonObject): Cause[] {
  const causes: Cause[] = [];
  for (const name of ['activeDeadlineSeconds', 'backoffLimitPerIndex']) {
    const value = spec[name];
    if (typeof value === 'number' && value < 0) causes.push(invalidValue(`spec.${name}`, value, 'must be greater than or equal to 0'));
  }
  const isSupported =
    spec['completionMode'] === 'Indexed' &&
    spec['completions'] === 1 &&
    spec['parallelism'] === 1 &&
    spec['backoffLimitPerIndex'] !== undefined &&
    spec['podReplacementPolicy'] === 'Failed' &&
    spec['ttlSecondsAfterFinished'] === undefined;
  if (!isSupported)
    causes.push(
      forbiddenValue(
        'spec',
        'the embedded Kubernetes runs only Jobs with completionMode Indexed, completions 1, backoffLimitPerIndex and podReplacementPolicy Failed, and without ttlSecondsAfterFinished',
      ),
    );
  const template = (spec['template'] ?? {}) as JsonObject;
  causes.push(...podSpecCauses((template['spec'] ?? {}) as JsonObject, 'spec.template.spec', ['OnFailure', 'Never'], ''));
  const policy = spec['podFailurePolicy'];
  if (policy !== undefined && policy !== null && (template['spec'] as JsonObject | undefined)?.['restartPolicy'] !== 'Never') {
    const given = (template['spec'] as JsonObject | undefined)?.['restartPolicy'];
    causes.push(invalidValue('spec.template.spec.restartPolicy', given, 'only "Never" is supported when podFailurePolicy is specified'));
  }
  return causes;
}

function defaultJobSpec(spec: JsonObject): void {
  spec['parallelism'] ??= 1;
  spec['backoffLimit'] ??= 2 ** 31 - 1;
  spec['completionMode'] ??= 'NonIndexed';
  spec['suspend'] ??= false;
  spec['manualSelector'] ??= false;
  spec['podReplacementPolicy'] ??= spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed';
  for (const rule of ((spec['podFailurePolicy'] as JsonObject | undefined)?.['rules'] ?? []) as JsonObject[]) {
    for (const pattern of (rule['onPodConditions'] ?? []) as JsonObject[]) pattern['status'] ??= 'True';
  }
  const template = (spec['template'] ?? {}) as JsonObject;
  spec['template'] = template;
  template['metadata'] ??= {};
  template['spec'] ??= {};
  defaultPodSpec(template['spec'] as JsonObject, undefined);
}

export function prepareJob(object: KubeObject): void {
  const spec = (object['spec'] ?? {}) as JsonObject;
  object['spec'] = spec;
  defaultJobSpec(spec);
  object['status'] = {};
  object.metadata.generation = 1;
  const uid = object.metadata.uid === '' ? randomUUID() : object.metadata.uid;
  const template = spec['template'] as { metadata: { labels?: Record<string, string> } };
  const labels = { ...template.metadata.labels, ...ownLabels(uid, object.metadata.name) };
  template.metadata.labels = labels;
  object.metadata.labels ??= labels;
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  const causes = jobCauses(spec);
  if (causes.length > 0) throw invalid(JOB, object.metadata.name, causes);
}

export function prepareJobUpdate(object: KubeObject, old: KubeObject, subresource: string): void {
  if (subresource !== '') return;
  const spec = object['spec'] as JsonObject;
  defaultJobSpec(spec);
  const before = old['spec'] as JsonObject;
  const causes = jobCauses(spec);
  for (const name of ['completions', 'selector', 'template', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex'] as const) {
    // A real cluster allows some changes of a suspended Job's template; the product does not use them.
    if (!isDeepStrictEqual(spec[name], before[name])) causes.push(invalidValue(`spec.${name}`, spec[name], 'field is immutable'));
  }
  if (causes.length > 0) throw invalid(JOB, object.metadata.name, causes);
  if (!isDeepStrictEqual(spec, before)) object.metadata.generation = (old.metadata.generation ?? 1) + 1;
}
