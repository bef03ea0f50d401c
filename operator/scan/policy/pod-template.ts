/**
 * Which parts of a scan's `podTemplate` the installation permits. The operator creates Jobs for authors who may lack the right
 * to create pods, so it must not do for them what an administrator has not permitted. Pure.
 */
import type { AccessibilityScanSpec } from '../../../core/protocol/custom-resources.ts';
import { amountOf } from '../../../platform/kubernetes/quantity.ts';

export const POD_TEMPLATE_FIELDS = [
  'resources',
  'nodeSelector',
  'tolerations',
  'affinity',
  'priorityClassName',
  'runtimeClassName',
  'labels',
  'annotations',
] as const;
export type PodTemplateField = (typeof POD_TEMPLATE_FIELDS)[number];

type Quantities = Record<string, string | number>;
export interface Resources {
  requests?: Quantities;
  limits?: Quantities;
}

/** Merges the resources of a scan into those of the installation. */
export const mergeResources = (installation: Resources = {}, scan: Resources = {}): Required<Resources> => ({
  requests: { ...installation.requests, ...scan.requests },
  limits: { ...installation.limits, ...scan.limits },
});

/** The installation's settings for `podTemplate`. */
export interface PodTemplateRules {
  allow: readonly PodTemplateField[];
  /** The highest request or limit of each resource, as Kubernetes quantities. Other resources are refused. */
  maxResources: { cpu: string; memory: string };
  /** The requests and limits of scanners, which those of a scan replace one by one. Default: none. */
  resources?: Resources;
}

export type PodTemplateJudgement = { ok: true } | { ok: false; message: string };

const SETTING_OF: Readonly<Record<string, string>> = { cpu: 'POD_TEMPLATE_MAX_CPU', memory: 'POD_TEMPLATE_MAX_MEMORY' };

/**
 * Labels and annotations that no installation can permit: the operator, the Job controller and NetworkPolicies identify pods by
 * them, or they lift the pod's confinement.
 */
const RESERVED =
  /^(job-name|controller-uid|(app\.kubernetes\.io|curbcut\.dev|batch\.kubernetes\.io|container\.apparmor\.security\.beta\.kubernetes\.io|container\.seccomp\.security\.alpha\.kubernetes\.io|seccomp\.security\.alpha\.kubernetes\.io)\/.*)$/;

/** Returns whether a label or annotation is reserved for the operator and Kubernetes. */
export const isReservedKey = (name: string): boolean => RESERVED.test(name);

const refused = (message: string): PodTemplateJudgement => ({ ok: false, message });

export function judgePodTemplate(template: AccessibilityScanSpec['podTemplate'], rules: PodTemplateRules): PodTemplateJudgement {
  if (template === undefined) return { ok: true };
  for (const field of Object.keys(template) as PodTemplateField[])
    if (!rules.allow.includes(field))
      return refused(`podTemplate.${field} is not permitted; an administrator can permit it with POD_TEMPLATE_ALLOW.`);
  for (const field of ['labels', 'annotations'] as const)
    for (const name of Object.keys(template[field] ?? {}))
      if (isReservedKey(name)) return refused(`podTemplate.${field} must not contain ${name}, which is reserved.`);
  for (const field of ['requests', 'limits'] as const)
    for (const [resource, quantity] of Object.entries(template.resources?.[field] ?? {})) {
      const path = `podTemplate.resources.${field}.${resource}`;
      const judged = judgeQuantity(path, resource, quantity, rules.maxResources);
      if (!judged.ok) return judged;
      if (field === 'limits' && amountOf(quantity) === 0) return refused(`${path} is ${quantity}, which Kubernetes reads as no limit.`);
    }
  return template.resources === undefined ? { ok: true } : judgeMerged(mergeResources(rules.resources, template.resources));
}

/** Kubernetes refuses a request that exceeds its limit. One of them may be the installation's. */
function judgeMerged({ requests, limits }: Required<Resources>): PodTemplateJudgement {
  for (const [resource, request] of Object.entries(requests)) {
    const limit = limits[resource];
    if (limit === undefined || amountOf(String(request))! <= amountOf(String(limit))!) continue;
    return refused(
      `podTemplate.resources: the request for ${resource} is ${request}, more than the limit of ${limit}; set both resources.requests.${resource} and resources.limits.${resource}.`,
    );
  }
  return { ok: true };
}

function judgeQuantity(path: string, resource: string, quantity: string, max: PodTemplateRules['maxResources']): PodTemplateJudgement {
  if (resource !== 'cpu' && resource !== 'memory') return refused(`${path} is not permitted; only cpu and memory are.`);
  const amount = amountOf(quantity);
  if (amount === null || amount < 0) return refused(`${path} is ${quantity}, which is not a quantity that is 0 or more.`);
  if (amount > amountOf(max[resource])!)
    return refused(`${path} is ${quantity}, more than the ${max[resource]} that ${SETTING_OF[resource]} allows.`);
  return { ok: true };
}
