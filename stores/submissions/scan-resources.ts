/** Writes AccessibilityScan resources for submissions. Responses to GET requests never read them. */
import {
  API_VERSION,
  DEFAULT_CLASS,
  GROUP,
  metadataAnnotations,
  ORGANISATION_LABEL,
  REQUEST_ID_ANNOTATION,
  SCAN_ID_ANNOTATION,
  SCAN_ID_LABEL,
  SCANS_PLURAL,
  SETTLE_FINALIZER,
  TEST_LABEL,
  TRACEPARENT_ANNOTATION,
  VERSION,
  type AccessibilityScan,
  type AccessibilityScanSpec,
} from '../../core/protocol/custom-resources.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { hasThresholds } from '../../core/scan/thresholds.ts';
import { isNotFound, KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../scans/scans.ts';

/** The request that submitted a scan, stored in annotations to correlate logs and traces. */
export interface Origin {
  requestId?: string;
  /** W3C Trace Context. */
  traceparent?: string;
}

/** `ended`: the resource says so, although the row may not yet. `missing`: there is no such resource. */
export type Cancellation = { ok: true } | { ok: false; reason: 'ended' | 'missing' };

/**
 * Finished resources are kept for one hour so that users can inspect them with kubectl. The results are stored elsewhere.
 * A busy API would exceed the limit of 1,500 resources per namespace (KEP-95) within a day.
 */
const TTL_SECONDS = 3_600;

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

/** The part of the spec of a scan that its options decide. */
export function scanSpecOf({ options, baseline }: Pick<ScanRow, 'options' | 'baseline'>): AccessibilityScanSpec {
  // The custom resource definition rejects thresholds without a value, because a typing mistake would look like a passing scan.
  const { thresholds, ...others } = options;
  return { ...others, ...(hasThresholds(thresholds) && { thresholds }), ...(baseline && { baseline }) };
}

/** Returns the custom resource of a row. */
export function resourceOf(
  row: Pick<ScanRow, 'id' | 'organisation' | 'resource' | 'queue' | 'auth' | 'test' | 'options' | 'metadata' | 'baseline'>,
  origin: Origin = {},
  operatorClass: string = DEFAULT_CLASS,
): AccessibilityScan {
  return {
    apiVersion: API_VERSION,
    kind: 'AccessibilityScan',
    metadata: {
      name: row.resource.name,
      namespace: row.resource.namespace,
      labels: { [SCAN_ID_LABEL]: row.id, [ORGANISATION_LABEL]: row.organisation, ...(row.test && { [TEST_LABEL]: 'true' }) },
      // The operator would otherwise need another write to add it.
      finalizers: [SETTLE_FINALIZER],
      annotations: {
        [SCAN_ID_ANNOTATION]: row.id,
        ...metadataAnnotations(row.metadata ?? {}),
        ...(origin.requestId !== undefined && { [REQUEST_ID_ANNOTATION]: origin.requestId }),
        ...(origin.traceparent !== undefined && { [TRACEPARENT_ANNOTATION]: origin.traceparent }),
      },
    },
    spec: {
      ...scanSpecOf(row),
      ...(row.auth !== undefined && { auth: { secretRef: { name: row.auth.secret } } }),
      ...(row.queue !== undefined && { queue: row.queue }),
      class: operatorClass,
      ttlSecondsAfterFinished: TTL_SECONDS,
    },
  };
}

/**
 * Scan resources in the Kubernetes API.
 * @param options.namespace the namespace that `ping` checks; the others use the namespace of the row
 * @param options.operatorClass the class of the operator that runs the scans. Default `curbcut`
 */
export function createScanResources(
  connection: KubernetesConnection,
  { namespace, operatorClass }: { namespace: string; operatorClass?: string },
) {
  /** After this time the API responds with 503 instead of waiting for Kubernetes. */
  const timeoutMs = 5_000;
  return {
    /** The namespace of the API's scans, in which alone it may write. */
    namespace,

    /**
     * Creates the custom resource of a row. Idempotent, because its name is derived from the scan id.
     * @throws if the Kubernetes API refuses or is unavailable; it is then unknown whether the resource exists
     */
    async submit(row: ScanRow, origin?: Origin) {
      try {
        await connection.request('POST', connection.path(SCANS, row.resource.namespace), {
          body: resourceOf(row, origin, operatorClass),
          timeoutMs,
        });
      } catch (error) {
        // The name is derived from the scan id, so the resource is this row's. The response to an earlier request was lost.
        if (!(error instanceof KubernetesError && error.reason === 'AlreadyExists')) throw error;
      }
    },

    /**
     * Sets `spec.cancel` of a row's resource. Idempotent. The operator then ends the scan.
     * @throws if the Kubernetes API refuses or is unavailable; it is then unknown whether the scan will be canceled
     */
    async cancel({ resource }: Pick<ScanRow, 'resource'>): Promise<Cancellation> {
      const path = connection.path(SCANS, resource.namespace, resource.name);
      const patch = { contentType: 'application/merge-patch+json', body: { spec: { cancel: true } }, timeoutMs };
      try {
        const { status } = await connection.request<AccessibilityScan>('PATCH', path, patch);
        return status?.phase !== undefined && isTerminal(status.phase) ? { ok: false, reason: 'ended' } : { ok: true };
      } catch (error) {
        if (isNotFound(error)) return { ok: false, reason: 'missing' };
        throw error;
      }
    },

    /** Returns whether the resource exists. @throws if the Kubernetes API is unavailable */
    async exists({ resource }: Pick<ScanRow, 'resource'>): Promise<boolean> {
      try {
        await connection.request('GET', connection.path(SCANS, resource.namespace, resource.name), { timeoutMs });
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },

    /** Checks the connection and that the custom resource definition exists. @throws if either check fails */
    async ping() {
      await connection.request('GET', connection.path(SCANS, namespace), { query: { limit: 1 }, timeoutMs, sockets: 'heartbeats' });
    },
  };
}
export type ScanResources = ReturnType<typeof createScanResources>;
