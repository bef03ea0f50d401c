/** The installation's part of scanner pods (`SCANNER_POD_TEMPLATE`), and how a scan's `podTemplate` is merged with it. Pure. */
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AccessibilityScanSpec } from '../../../core/protocol/custom-resources.ts';
import { amountOf } from '../../../platform/kubernetes/quantity.ts';
import { POD_IDENTITY_ANNOTATIONS } from '../../../core/protocol/pod-messages.ts';

/** The variables and volumes that the operator itself gives to scanner pods, so that an installation's cannot replace them. */
export const OWN_VARIABLES: readonly string[] = [
  'SCAN_INPUT',
  'SCAN_AUTH',
  ...Object.keys(POD_IDENTITY_ANNOTATIONS),
  'TERMINATION_LOG',
  'TMPDIR',
  'HOME',
  'UV_THREADPOOL_SIZE',
];
export const OWN_VOLUMES: readonly string[] = ['input', 'auth', 'tmp', 'shm'];

/**
 * Which parts of a scan's `podTemplate` the installation permits. The operator creates Jobs for authors who may lack the right
 * to create pods, so it must not do for them what an administrator has not permitted. Pure.
 */
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

type ResourceQuantities = Record<string, string | number>;
interface Resources {
  requests?: ResourceQuantities;
  limits?: ResourceQuantities;
}

const mergeResources = (installation: Resources = {}, scan: Resources = {}): Required<Resources> => ({
  requests: { ...installation.requests, ...scan.requests },
  limits: { ...installation.limits, ...scan.limits },
});

export interface PodTemplateRules {
  allow: readonly PodTemplateField[];
  /** The highest request or limit of each resource, as Kubernetes quantities. Other resources are refused. */
  maxResources: { cpu: string; memory: string };
  /** The requests and limits of scanners, which those of a scan replace one by one. Default: none. */
  resources?: Resources;
}

type PodTemplateJudgement = { ok: true } | { ok: false; message: string };

const SETTING_OF: Readonly<Record<string, string>> = { cpu: 'POD_TEMPLATE_MAX_CPU', memory: 'POD_TEMPLATE_MAX_MEMORY' };

/**
 * Labels and annotations that no installation can permit: the operator, the Job controller and NetworkPolicies identify pods by
 * them, or they lift the pod's confinement.
 */
const RESERVED =
  /^(job-name|controller-uid|(app\.kubernetes\.io|curbcut\.dev|batch\.kubernetes\.io|container\.apparmor\.security\.beta\.kubernetes\.io|container\.seccomp\.security\.alpha\.kubernetes\.io|seccomp\.security\.alpha\.kubernetes\.io)\/.*)$/;

const isReservedKey = (name: string): boolean => RESERVED.test(name);

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

const closed = { additionalProperties: false } as const;
const Strings = Type.Record(Type.String(), Type.String());
const Quantities = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]));
const Any = Type.Record(Type.String(), Type.Unknown());
const Named = Type.Object({ name: Type.String({ minLength: 1 }) });

/** The fields have the names and the types of a Pod's; those of its container are `resources`, `securityContext`, `env` and `volumeMounts`. */
const ScannerPodTemplate = Type.Object(
  {
    labels: Type.Optional(Strings),
    annotations: Type.Optional(Strings),
    imagePullSecrets: Type.Optional(Type.Array(Named)),
    nodeSelector: Type.Optional(Strings),
    tolerations: Type.Optional(Type.Array(Any)),
    affinity: Type.Optional(
      Type.Object({ nodeAffinity: Type.Optional(Any), podAffinity: Type.Optional(Any), podAntiAffinity: Type.Optional(Any) }, closed),
    ),
    topologySpreadConstraints: Type.Optional(Type.Array(Any)),
    priorityClassName: Type.Optional(Type.String()),
    runtimeClassName: Type.Optional(Type.String()),
    podSecurityContext: Type.Optional(Any),
    resources: Type.Optional(Type.Object({ requests: Type.Optional(Quantities), limits: Type.Optional(Quantities) }, closed)),
    securityContext: Type.Optional(Any),
    env: Type.Optional(
      Type.Array(
        Type.Object({ name: Type.String({ minLength: 1 }), value: Type.Optional(Type.String()), valueFrom: Type.Optional(Any) }, closed),
      ),
    ),
    volumes: Type.Optional(Type.Array(Named)),
    volumeMounts: Type.Optional(Type.Array(Type.Object({ name: Type.String({ minLength: 1 }), mountPath: Type.String({ minLength: 1 }) }))),
  },
  closed,
);
export type ScannerPodTemplate = Static<typeof ScannerPodTemplate>;

/** The resources of a scanner if the template sets none. */
const RESOURCES = { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } };

const NAME = 'SCANNER_POD_TEMPLATE';

/**
 * Parses and checks `SCANNER_POD_TEMPLATE`, so that a mistake stops the operator and not every scan.
 * @returns `problems` for the `further` parameter of `readConfiguration`
 */
export function readScannerPodTemplate(text: string | undefined): { template: ScannerPodTemplate; problems: string[] } {
  const parsed = parse(text);
  if (!Value.Check(ScannerPodTemplate, parsed)) {
    const [first] = Value.Errors(ScannerPodTemplate, parsed);
    const where = first!.instancePath.slice(1).replaceAll('/', '.') || 'it';
    const what = first!.keyword === 'boolean' ? 'is not a known field' : first!.message;
    return { template: {}, problems: [`${NAME} is not a pod template: ${where} ${what}.`] };
  }
  const problems = [...reservedNames(parsed), ...badQuantities(parsed), ...unknownVolumes(parsed)].map((problem) => `${NAME}: ${problem}.`);
  return { template: { resources: RESOURCES, ...parsed }, problems };
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined || text === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

function reservedNames({ labels, annotations, env, volumes }: ScannerPodTemplate): string[] {
  const reserved = (field: string, names: readonly string[], isReserved: (name: string) => boolean): string[] =>
    names.filter(isReserved).map((name) => `${field} must not contain ${name}, which the operator sets`);
  return [
    ...reserved('labels', Object.keys(labels ?? {}), isReservedKey),
    ...reserved('annotations', Object.keys(annotations ?? {}), isReservedKey),
    ...reserved('env', namesOf(env), (name) => OWN_VARIABLES.includes(name)),
    ...reserved('volumes', namesOf(volumes), (name) => OWN_VOLUMES.includes(name)),
  ];
}

function badQuantities({ resources = {} }: ScannerPodTemplate): string[] {
  return Object.entries(resources).flatMap(([field, quantities]) =>
    Object.entries(quantities)
      .filter(([, quantity]) => !((amountOf(String(quantity)) ?? -1) >= 0))
      .map(([name, quantity]) => `resources.${field}.${name} is ${quantity}, which is not a quantity that is 0 or more`),
  );
}

function unknownVolumes({ volumes, volumeMounts }: ScannerPodTemplate): string[] {
  const known = [...OWN_VOLUMES, ...namesOf(volumes)];
  return namesOf(volumeMounts)
    .filter((name) => !known.includes(name))
    .map((name) => `volumeMounts names ${name}, which is not in volumes`);
}

const namesOf = (items: readonly { name: string }[] = []): string[] => items.map(({ name }) => name);

/** The image is for Linux, and clusters may have Windows nodes without a taint. */
const LINUX = { 'kubernetes.io/os': 'linux' };

/**
 * Merges a scan's permitted `podTemplate` into the installation's. A scan chooses its resources within their bounds. It may add
 * labels, annotations, node labels, tolerations and kinds of affinity, but the installation's own take precedence, so a scan can
 * neither leave its nodes nor weaken its isolation.
 */
export function mergePodTemplate(installation: ScannerPodTemplate, scan: AccessibilityScanSpec['podTemplate'] = {}): ScannerPodTemplate {
  return {
    ...installation,
    labels: { ...scan.labels, ...installation.labels },
    annotations: { ...scan.annotations, ...installation.annotations },
    nodeSelector: { ...scan.nodeSelector, ...LINUX, ...installation.nodeSelector },
    tolerations: [...(installation.tolerations ?? []), ...(scan.tolerations ?? [])],
    affinity: { ...scan.affinity, ...installation.affinity },
    priorityClassName: installation.priorityClassName || scan.priorityClassName,
    runtimeClassName: installation.runtimeClassName || scan.runtimeClassName,
    resources: mergeResources(installation.resources, scan.resources),
  };
}
