/** Builds the Secret with the pod's input. Its grants cover this one scan, until its deadline. Pure. */
import type { V1Secret } from '@kubernetes/client-node';
import { requestOf } from '../../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { planOf } from '../../../core/scan/sign-in.ts';
import { POD_INPUT_PATH, type PodInput } from '../../../core/protocol/pod-messages.ts';
import { type OutboundProxy } from '../../../platform/outbound-proxy.ts';
import { currentOf, type Credential } from '../../../platform/setting-files.ts';
import type { ObjectOf } from '../../../platform/kubernetes/kubernetes.ts';
import { CURBCUT_VERSION } from '../../../platform/version.ts';
import { childLabels, type Launch } from './job.ts';
import type { Job } from '../kube-types.ts';
import { reservedPages } from '../policy/run-time.ts';

export type InputSecret = ObjectOf<V1Secret> & Required<Pick<V1Secret, 'type' | 'immutable' | 'data'>>;

/** The installation's settings in the pod input. */
export interface PodSettings {
  allowTargets: readonly string[];
  denyTargets: readonly string[];
  workers: number;
  pageBudgetMs: number;
  /** The largest export that is accepted, in bytes. */
  exportMaxBytes: number;
  /** The service's address, for the scanner's user agent. */
  contactUrl?: string;
  /** The collector for the pods' spans. Default: no tracing. */
  otlpEndpoint?: string;
  /** Authorities that pods trust for the message bus, the object store and the collector. Default: only public ones. */
  privateCa?: Credential;
  /** Authorities that pods trust for scanned sites. Default: only public ones. */
  siteCa?: Credential;
  /** The proxy of pods. Default: none. */
  proxy?: OutboundProxy;
}

/** The grants of one scan. */
export interface Grants {
  uploads: PodInput['uploads'];
  cancelMark: string;
  /** With a link to its report. */
  baseline?: PodInput['baseline'];
  knownIssues?: PodInput['knownIssues'];
  messages: PodInput['messages'] | null;
  /** The parent of the pod's spans, if the scan is traced. */
  traceparent?: string;
  /** The time by which the pod must have tested its pages. */
  deadline: Date;
  /** The time by which the pod must have stored its results. */
  uploadDeadline: Date;
}

export function podInput({ scan, scanId, metadata }: Launch, settings: PodSettings, grants: Grants): PodInput {
  const requestId = requestOf(scan);
  const { otlpEndpoint: endpoint } = settings;
  const { traceparent } = grants;
  return {
    version: CURBCUT_VERSION,
    scanId,
    ...(requestId !== undefined && { requestId }),
    ...(endpoint !== undefined && traceparent !== undefined && { tracing: { endpoint, traceparent } }),
    submittedAt: scan.metadata.creationTimestamp!,
    options: withDefaults(scan.spec),
    pagesReserved: reservedPages(scan),
    ...(metadata !== undefined && { metadata }),
    ...(scan.spec.auth !== undefined && { signIn: planOf(scan.spec.auth) }),
    uploads: grants.uploads,
    cancelMark: grants.cancelMark,
    ...(grants.baseline && { baseline: grants.baseline }),
    ...(grants.knownIssues && { knownIssues: grants.knownIssues }),
    ...(grants.messages && { messages: grants.messages }),
    deadline: grants.deadline.toISOString(),
    uploadDeadline: grants.uploadDeadline.toISOString(),
    allowTargets: [...settings.allowTargets],
    denyTargets: [...settings.denyTargets],
    workers: settings.workers,
    pageBudgetMs: settings.pageBudgetMs,
    exportMaxBytes: settings.exportMaxBytes,
    ...(settings.contactUrl !== undefined && { contactUrl: settings.contactUrl }),
    ...(settings.privateCa !== undefined && { privateCa: currentOf(settings.privateCa) }),
    ...(settings.siteCa !== undefined && { siteCa: currentOf(settings.siteCa) }),
    ...(settings.proxy !== undefined && { proxy: { url: currentOf(settings.proxy.url), noProxy: settings.proxy.noProxy } }),
  };
}

const KEY = POD_INPUT_PATH.slice(POD_INPUT_PATH.lastIndexOf('/') + 1);

/**
 * Builds the Secret. The Job owns it, so that garbage collection deletes it with the Job: the operator may not delete Secrets. It
 * is immutable, so that the input never changes and the kubelet does not watch it.
 */
export function buildSecret(launch: Launch, job: Job, input: PodInput): InputSecret {
  const { name, uid, namespace } = job.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: launch.secretName,
      namespace,
      labels: childLabels(launch.scanId, launch.organisation),
      ownerReferences: [{ apiVersion: job.apiVersion, kind: job.kind, name, uid: uid!, controller: true }],
    },
    type: 'Opaque',
    immutable: true,
    data: { [KEY]: Buffer.from(JSON.stringify(input)).toString('base64') },
  };
}
