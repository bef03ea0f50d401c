/** AccessibilityScan resources as the front door needs them: written, never read for a GET. */
import {
  API_VERSION,
  GROUP,
  ORGANISATION_LABEL,
  REQUEST_ID_ANNOTATION,
  SCAN_ID_ANNOTATION,
  SCAN_ID_LABEL,
  SCANS_PLURAL,
  TRACEPARENT_ANNOTATION,
  VERSION,
  type AccessibilityScan,
} from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../scans/scans.ts';

/** Where a submission came from; kept beside the scan for whoever follows it through logs. */
export interface Origin {
  requestId?: string;
  /** W3C Trace Context. */
  traceparent?: string;
}

export interface ScanResources {
  /**
   * Writes the custom resource of a row. The name is derived from the scan id, so a repeat finds the first one's work.
   * @throws when the Kubernetes API refuses or cannot be reached; it is then unknown whether the resource exists
   */
  submit(row: ScanRow, origin?: Origin): Promise<void>;
  /** True if the resource exists. @throws when the Kubernetes API cannot be reached */
  exists(row: Pick<ScanRow, 'resource'>): Promise<boolean>;
  /** Answers if the Kubernetes API can be reached and knows our resources. @throws if not */
  ping(): Promise<void>;
}

/** An hour to look at it with kubectl; the result is kept elsewhere. A day of a busy front door would be more resources than a namespace bears (1,500, KEP-95). */
const TTL_SECONDS = 3_600;

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

/** The custom resource of a row: the one place that says how a submission becomes a manifest. */
export function resourceOf(row: Pick<ScanRow, 'id' | 'organisation' | 'resource' | 'options'>, origin: Origin = {}): AccessibilityScan {
  return {
    apiVersion: API_VERSION,
    kind: 'AccessibilityScan',
    metadata: {
      name: row.resource.name,
      namespace: row.resource.namespace,
      labels: { [SCAN_ID_LABEL]: row.id, [ORGANISATION_LABEL]: row.organisation },
      annotations: {
        [SCAN_ID_ANNOTATION]: row.id,
        ...(origin.requestId !== undefined && { [REQUEST_ID_ANNOTATION]: origin.requestId }),
        ...(origin.traceparent !== undefined && { [TRACEPARENT_ANNOTATION]: origin.traceparent }),
      },
    },
    spec: { ...row.options, ttlSecondsAfterFinished: TTL_SECONDS },
  };
}

/**
 * Scan resources over a connection to the Kubernetes API.
 * @param options.namespace where the API's scans live; only for `ping`, a row names its own
 */
export function createScanResources(connection: KubernetesConnection, { namespace }: { namespace: string }): ScanResources {
  /** A front door that waits longer than this would keep its caller waiting; it answers 503 instead. */
  const timeoutMs = 5_000;
  return {
    async submit(row, origin) {
      try {
        await connection.request('POST', connection.path(SCANS, row.resource.namespace), { body: resourceOf(row, origin), timeoutMs });
      } catch (error) {
        // The name is derived from the id, so what exists is this row's, written by a request whose answer was lost.
        if (!(error instanceof KubernetesError && error.reason === 'AlreadyExists')) throw error;
      }
    },

    async exists({ resource }) {
      try {
        await connection.request('GET', connection.path(SCANS, resource.namespace, resource.name), { timeoutMs });
        return true;
      } catch (error) {
        // By reason, not by status: where the definition itself is missing the answer is a 404 too, and says nothing of this scan.
        if (error instanceof KubernetesError && error.reason === 'NotFound') return false;
        throw error;
      }
    },

    async ping() {
      await connection.request('GET', connection.path(SCANS, namespace), { query: { limit: 1 }, timeoutMs });
    },
  };
}
