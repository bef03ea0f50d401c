/** The installation's part of scanner pods (`SCANNER_POD_TEMPLATE`), and how a scan's `podTemplate` is merged with it. Pure. */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { AccessibilityScanSpec } from '../../../core/protocol/custom-resources.ts';
import { amountOf } from '../../../platform/kubernetes/quantity.ts';
import { isReservedKey, mergeResources } from '../policy/pod-template.ts';
import { OWN_VARIABLES, OWN_VOLUMES } from './own-names.ts';

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
    nodeSelector: { ...scan.nodeSelector, ...installation.nodeSelector },
    tolerations: [...(installation.tolerations ?? []), ...(scan.tolerations ?? [])],
    affinity: { ...scan.affinity, ...installation.affinity },
    priorityClassName: installation.priorityClassName || scan.priorityClassName,
    runtimeClassName: installation.runtimeClassName || scan.runtimeClassName,
    resources: mergeResources(installation.resources, scan.resources),
  };
}
