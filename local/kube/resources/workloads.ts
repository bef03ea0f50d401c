/** What the server adds to pods and Jobs. It refuses those that nothing here runs. */
import { isDeepStrictEqual } from 'node:util';
import { forbiddenValue, invalid, invalidValue, type Cause } from '../status.ts';
import type { JsonObject, KubeObject } from '../types.ts';

const POD = { group: '', plural: 'pods', kind: 'Pod' };
const JOB = { group: 'batch', plural: 'jobs', kind: 'Job' };
/** What an update of a Job may not change. A real cluster allows some changes of a suspended one's template. */
const FIXED = ['completions', 'selector', 'template', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex'];

const refuse = (named: typeof POD, { metadata }: KubeObject, causes: readonly Cause[]): void => {
  if (causes.length > 0) throw invalid(named, metadata.name, causes);
};

const runsOnce = (spec: JsonObject | undefined): boolean =>
  spec?.['restartPolicy'] === 'Never' && Array.isArray(spec['containers']) && spec['containers'].length === 1;

export function preparePod(object: KubeObject): void {
  const spec = object['spec'] as JsonObject | undefined;
  const why = 'the embedded Kubernetes runs only pods with one container and restartPolicy Never';
  refuse(POD, object, runsOnce(spec) ? [] : [forbiddenValue('spec', why)]);
  object['spec'] = { terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler', ...spec };
  object.metadata.generation = 1;
  object['status'] = { phase: 'Pending' };
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
  const template = spec['template'] as { spec?: JsonObject } | undefined;
  const isSupported =
    spec['completionMode'] === 'Indexed' &&
    spec['completions'] === 1 &&
    spec['backoffLimitPerIndex'] !== undefined &&
    spec['podReplacementPolicy'] === 'Failed' &&
    spec['ttlSecondsAfterFinished'] === undefined &&
    runsOnce(template?.spec);
  const why =
    'the embedded Kubernetes runs only Jobs with completionMode Indexed, completions 1, backoffLimitPerIndex, podReplacementPolicy Failed, one container and restartPolicy Never, and without ttlSecondsAfterFinished';
  return isSupported ? [] : [forbiddenValue('spec', why)];
}

export function prepareJob(object: KubeObject): void {
  const spec = (object['spec'] ?? {}) as JsonObject;
  refuse(JOB, object, jobCauses(spec));
  const { uid, name } = object.metadata;
  const template = spec['template'] as { metadata?: { labels?: Record<string, string> } };
  const labels = { ...template.metadata?.labels, ...ownLabels(uid, name) };
  template.metadata = { ...template.metadata, labels };
  object.metadata.labels ??= labels;
  object.metadata.generation = 1;
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  object['status'] = {};
}

export function prepareJobUpdate(object: KubeObject, old: KubeObject, subresource: string): void {
  if (subresource !== '') return;
  const [spec, before] = [object['spec'], old['spec']] as [JsonObject, JsonObject];
  const changed = FIXED.filter((name) => !isDeepStrictEqual(spec[name], before[name]));
  refuse(JOB, object, [...jobCauses(spec), ...changed.map((name) => invalidValue(`spec.${name}`, spec[name], 'field is immutable'))]);
  if (!isDeepStrictEqual(spec, before)) object.metadata.generation = (old.metadata.generation ?? 1) + 1;
}
