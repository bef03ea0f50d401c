/** Builds the Secret that tells a scan's pod what to do. It holds only what this one scan may do, and only until its deadline. Pure. */
import type { V1Secret } from '@kubernetes/client-node';
import { requestOf, secretNameOf } from '../../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { POD_INPUT_PATH, type PodInput } from '../../../core/protocol/pod-messages.ts';
import type { ObjectOf } from '../../../platform/kubernetes/models.ts';
import { ownedMeta, type Launch } from './job.ts';
import { reservedPages } from '../policy/run-time.ts';

export type InputSecret = ObjectOf<V1Secret> & Required<Pick<V1Secret, 'type' | 'immutable' | 'data'>>;

/** How this installation's scanners work. */
export interface PodSettings {
  allowTargets: readonly string[];
  denyTargets: readonly string[];
  workers: number;
  pageBudgetMs: number;
  /** Where pods send their spans; absent: nowhere. */
  otlpEndpoint?: string;
}

/** What is issued for one scan. */
export interface Grants {
  uploads: PodInput['uploads'];
  messages: PodInput['messages'] | null;
  /** What the pod's spans are part of, if the scan is traced. */
  traceparent?: string;
  /** When the pod must have ended. */
  deadline: Date;
}

/** What the pod reads. `maxPages` is what was reserved, not what was asked for. */
export function podInput({ scan, scanId }: Launch, settings: PodSettings, grants: Grants): PodInput {
  const options = withDefaults(scan.spec);
  const requestId = requestOf(scan);
  const { otlpEndpoint: endpoint } = settings;
  const { traceparent } = grants;
  return {
    scanId,
    ...(requestId !== undefined && { requestId }),
    ...(endpoint !== undefined && traceparent !== undefined && { tracing: { endpoint, traceparent } }),
    submittedAt: scan.metadata.creationTimestamp!,
    options: { ...options, maxPages: reservedPages(scan) },
    pagesRequested: scan.status?.pages?.requested ?? options.maxPages,
    uploads: grants.uploads,
    ...(grants.messages && { messages: grants.messages }),
    deadline: grants.deadline.toISOString(),
    allowTargets: [...settings.allowTargets],
    denyTargets: [...settings.denyTargets],
    workers: settings.workers,
    pageBudgetMs: settings.pageBudgetMs,
  };
}

const KEY = POD_INPUT_PATH.slice(POD_INPUT_PATH.lastIndexOf('/') + 1);

/** The Secret, immutable: what a pod was told never changes under it, and the kubelet need not watch it. */
export function buildSecret(launch: Launch, input: PodInput): InputSecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ownedMeta(launch, secretNameOf(launch.scanId)),
    type: 'Opaque',
    immutable: true,
    data: { [KEY]: Buffer.from(JSON.stringify(input)).toString('base64') },
  };
}
