/** Builds the Jobs that run a scan. The name of the first is derived from the scan's ID. */
import { randomBytes } from 'node:crypto';
import type { V1Container, V1Job, V1PodSpec } from '@kubernetes/client-node';
import {
  ORGANISATION_LABEL,
  SCAN_ID_ANNOTATION,
  SCAN_ID_LABEL,
  jobNameOf,
  type AccessibilityScan,
  type ObjectMeta,
} from '../../../core/protocol/custom-resources.ts';
import { EXIT_PERMANENT, POD_AUTH_PATH, POD_IDENTITY_ANNOTATIONS, POD_INPUT_PATH } from '../../../core/protocol/pod-messages.ts';
import type { Metadata } from '../../../core/scan/metadata.ts';
import type { ObjectOf, Wire } from '../../../platform/kubernetes/kubernetes.ts';
import type { OutboundProxy } from '../../../platform/outbound-proxy.ts';
import type { Credential } from '../../../platform/setting-files.ts';
import { CONTAINER, IMAGE_ANNOTATION, ownerReference } from '../kube-types.ts';
import { JOB_MARGIN_SECONDS, STOP_SECONDS } from '../policy/facts.ts';
import { LOST_MAX } from '../policy/pods.ts';
import { mergePodTemplate, type ScannerPodTemplate } from './pod-template.ts';

/** The installation's settings for scanner pods. */
export interface ScannerSettings {
  image: string;
  imagePullPolicy: string;
  /** False: pods use user namespaces, which map container root to an unprivileged host UID. */
  hostUsers: boolean;
  /** What all pods have, with the names of fields of a Pod. What it refers to must exist in the scan's namespace. */
  pod: ScannerPodTemplate;
  /** A seccomp profile in the kubelet's profile folder that lets Chromium create its sandbox. Default: RuntimeDefault. */
  seccompProfile?: string;
  retries: number;
}

export interface PodSettings {
  allowTargets: readonly string[];
  denyTargets: readonly string[];
  workers: number;
  pageBudgetMs?: number;
  exportMaxBytes: number;
  /** The service's address, for the scanner's user agent. */
  contactUrl?: string;
  /** The collector for the pods' spans. Default: no tracing. */
  otlpEndpoint?: string;
  /** Authorities that pods trust for the message bus, the object store and the collector. Default: only public ones. */
  privateCa?: Credential;
  /** Authorities that pods trust for scanned sites. Default: only public ones. */
  siteCa?: Credential;
  proxy?: OutboundProxy;
}

/** The scan for which the Job and the Secret are built. */
export interface Launch {
  scan: AccessibilityScan;
  scanId: string;
  organisation: string;
  /** Seconds from the creation of the Job to the pod's deadline. */
  seconds: number;
  /** The Secret with the pod's input. Random, so that a second Job never mounts the Secret of the first one. */
  secretName: string;
  metadata?: Metadata;
}

/** A further pod of a scan, which visits pages for the first one. It has no sign-in. */
export interface Helper {
  index: number;
  /** The scan's Job, with which it is deleted. */
  owner: NonNullable<ObjectMeta['ownerReferences']>[number];
}

function jobMeta({ scan, scanId, organisation }: Launch, image: string, helper?: Helper): ObjectMeta {
  return {
    // That of a helper is random, so that it is free while an earlier one is being deleted.
    name: helper === undefined ? jobNameOf(scanId) : `${jobNameOf(scanId)}-${helper.index}-${randomBytes(3).toString('hex')}`,
    namespace: scan.metadata.namespace,
    labels: childLabels(scanId, organisation),
    annotations: { [SCAN_ID_ANNOTATION]: scanId, [IMAGE_ANNOTATION]: image },
    ownerReferences: [helper === undefined ? ownerReference(scan) : helper.owner],
  };
}

export function childLabels(scanId: string, organisation: string): Record<string, string> {
  return {
    'app.kubernetes.io/name': 'curbcut-scanner',
    'app.kubernetes.io/part-of': 'curbcut',
    'app.kubernetes.io/managed-by': 'curbcut-operator',
    [SCAN_ID_LABEL]: scanId,
    [ORGANISATION_LABEL]: organisation,
  };
}

/** Pods leave an unreachable node after 30 s, not after the default of 5 min, so that the scan restarts soon. */
const NODE_LOSS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 30,
}));

const INPUT_FOLDER = POD_INPUT_PATH.slice(0, POD_INPUT_PATH.lastIndexOf('/'));
const TERMINATION_LOG = '/dev/termination-log';

function scanner({ scan }: Launch, settings: ScannerSettings, template: ScannerPodTemplate): Wire<V1Container> {
  const auth = scan.spec.auth !== undefined;
  return {
    name: CONTAINER,
    image: settings.image,
    imagePullPolicy: settings.imagePullPolicy,
    env: [
      { name: 'SCAN_INPUT', value: POD_INPUT_PATH },
      ...(auth ? [{ name: 'SCAN_AUTH', value: POD_AUTH_PATH }] : []),
      // Set explicitly, because Kubernetes adds only the first of them by default.
      ...Object.entries(POD_IDENTITY_ANNOTATIONS).map(([name, annotation]) => ({
        name,
        valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['${annotation}']` } },
      })),
      { name: 'TERMINATION_LOG', value: TERMINATION_LOG },
      { name: 'TMPDIR', value: '/tmp' },
      { name: 'HOME', value: '/tmp' },
      // getaddrinfo may use half of them. With Node's default of four, two slow lookups would block all others.
      { name: 'UV_THREADPOOL_SIZE', value: '16' },
      ...(template.env ?? []),
    ],
    resources: template.resources as Wire<V1Container>['resources'],
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile:
        settings.seccompProfile === undefined
          ? { type: 'RuntimeDefault' }
          : { type: 'Localhost', localhostProfile: settings.seccompProfile },
      ...template.securityContext,
    },
    terminationMessagePath: TERMINATION_LOG,
    terminationMessagePolicy: 'File',
    volumeMounts: [
      { name: 'input', mountPath: INPUT_FOLDER, readOnly: true },
      ...(auth ? [{ name: 'auth', mountPath: POD_AUTH_PATH, readOnly: true }] : []),
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'shm', mountPath: '/dev/shm' },
      ...(template.volumeMounts ?? []),
    ],
  };
}

function podSpec(launch: Launch, settings: ScannerSettings, template: ScannerPodTemplate): Wire<V1PodSpec> {
  const { auth } = launch.scan.spec;
  const { imagePullSecrets, nodeSelector, affinity, topologySpreadConstraints, priorityClassName, runtimeClassName } = template;
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // With the default of five dots, every lookup of a public name first asks for it in each search domain of the cluster. A
    // name with one dot, `service.namespace`, must still be looked up there first, because many namespaces are also TLDs.
    dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
    ...(settings.hostUsers ? {} : { hostUsers: false }),
    terminationGracePeriodSeconds: STOP_SECONDS,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, ...template.podSecurityContext },
    tolerations: [...NODE_LOSS, ...(template.tolerations ?? [])],
    ...present({ imagePullSecrets, nodeSelector, affinity, topologySpreadConstraints, priorityClassName, runtimeClassName }),
    containers: [scanner(launch, settings, template)],
    volumes: [
      { name: 'input', secret: { secretName: launch.secretName, defaultMode: 0o444 } },
      ...(auth ? [{ name: 'auth', secret: { secretName: auth.secretRef.name, defaultMode: 0o444 } }] : []),
      { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
      // Browsers keep shared memory here; the default of 64 MiB is too small.
      { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } },
      ...(template.volumes ?? []),
    ],
  };
}

const present = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value && Object.keys(value).length > 0));

/**
 * Builds the suspended Job of a scan whose podTemplate is permitted, or the Job of a helper.
 * Kubernetes retries crashes and deleted pods up to the limit,
 * evictions and lost nodes without one, and `EXIT_PERMANENT` never.
 */
export function buildJob(launch: Launch, settings: ScannerSettings, helper?: Helper): ObjectOf<V1Job> {
  const { scan, scanId, organisation, seconds } = launch;
  const podTemplate = mergePodTemplate(settings.pod, scan.spec.podTemplate);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: jobMeta(launch, settings.image, helper),
    spec: {
      // Until its Secret exists, which the Job owns. That of a helper exists.
      suspend: helper === undefined,
      // One index. Its failures number the attempts.
      completionMode: 'Indexed',
      completions: 1,
      parallelism: 1,
      // It also counts deleted pods. The operator counts crashes, and ends the scan after too many.
      backoffLimitPerIndex: settings.retries + LOST_MAX,
      activeDeadlineSeconds: seconds + JOB_MARGIN_SECONDS,
      // No ttlSecondsAfterFinished: the operator deletes the Job after it has settled the scan, however late that is.
      // Prevents two pods from testing the same pages at the same time.
      podReplacementPolicy: 'Failed',
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { containerName: CONTAINER, operator: 'In', values: [EXIT_PERMANENT] } },
        ],
      },
      template: {
        metadata: {
          labels: { ...podTemplate.labels, ...childLabels(scanId, organisation) },
          annotations: { ...podTemplate.annotations, [SCAN_ID_ANNOTATION]: scanId },
        },
        spec: podSpec(launch, settings, podTemplate),
      },
    },
  };
}
