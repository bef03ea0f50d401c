/** Reads and writes the ScanSchedules of the dashboard in the namespace of the API's scans, under a field manager of their own. */
import { API_VERSION, DEFAULT_CLASS, GROUP, metadataAnnotations, SCHEDULES_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import {
  DASHBOARD_MANAGER,
  MANAGED_BY_LABEL,
  RUN_ANNOTATION,
  type ScanSchedule,
  type ScanScheduleSpec,
} from '../../core/protocol/scan-schedules.ts';
import type { BaselineChoice } from '../../core/scan/baseline.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { hasCode, isNotFound, isRejection, KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { scanSpecOf } from '../submissions/scan-resources.ts';

/** What the dashboard decides about a schedule. */
export interface WantedSchedule {
  /** The name for people. Null: none. */
  displayName: string | null;
  schedule: string;
  timeZone: string;
  suspend: boolean;
  options: ScanOptions;
  baseline?: BaselineChoice;
  metadata?: Metadata;
}

export type WrittenSchedule =
  | { ok: true; schedule: ScanSchedule }
  /** `changed`: it is not the one that was read any more. `conflict`: another writer owns a field. `refused`: a rule or a policy of the cluster. */
  | { ok: false; reason: 'changed' | 'conflict' | 'refused'; message: string };

const SCHEDULES = { group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL };
/** After this time the API responds with 503 instead of waiting for Kubernetes. */
const TIMEOUT_MS = 5_000;

/** The spec of a schedule. Runs never overlap: the one that is due waits for the one before. */
export function scheduleSpecOf(wanted: WantedSchedule, operatorClass: string): ScanScheduleSpec {
  const { displayName, schedule, timeZone, suspend, options, baseline, metadata = {} } = wanted;
  const annotations = metadataAnnotations(metadata);
  return {
    ...(displayName !== null && { displayName }),
    schedule,
    timeZone,
    suspend,
    concurrencyPolicy: 'Forbid',
    scanTemplate: {
      ...(Object.keys(annotations).length > 0 && { metadata: { annotations } }),
      spec: { ...scanSpecOf({ options, ...(baseline && { baseline }) }), class: operatorClass },
    },
  };
}

/** What the API server says about a write that it understood. @throws everything else */
function refusalOf(error: unknown): WrittenSchedule {
  if (!(error instanceof KubernetesError)) throw error;
  const { code, message } = error;
  if (code === 409) return { ok: false, reason: message.startsWith('Apply failed') ? 'conflict' : 'changed', message };
  if (isNotFound(error)) return { ok: false, reason: 'changed', message };
  if (isRejection(error)) return { ok: false, reason: 'refused', message };
  throw error;
}

export function createScheduleResources(
  connection: KubernetesConnection,
  { namespace, operatorClass = DEFAULT_CLASS }: { namespace: string; operatorClass?: string },
) {
  const pathOf = (name: string): string => connection.path(SCHEDULES, namespace, name);

  async function patch(name: string, contentType: string, body: object, force = false): Promise<WrittenSchedule> {
    try {
      const query = { fieldManager: DASHBOARD_MANAGER, ...(force && { force: 'true' }) };
      const schedule = await connection.request<ScanSchedule>('PATCH', pathOf(name), { query, contentType, body, timeoutMs: TIMEOUT_MS });
      return { ok: true, schedule };
    } catch (error) {
      return refusalOf(error);
    }
  }

  /** @param version makes the API server refuse the change of another object, or of another version of it */
  const apply = (name: string, spec: ScanScheduleSpec, version: { uid?: string; resourceVersion?: string } = {}, force = false) => {
    const metadata = { name, namespace, labels: { [MANAGED_BY_LABEL]: DASHBOARD_MANAGER }, ...version };
    return patch(name, 'application/apply-patch+yaml', { apiVersion: API_VERSION, kind: 'ScanSchedule', metadata, spec }, force);
  };

  return {
    /** The namespace of the dashboard's schedules. */
    namespace,

    /** @returns null if there is none. @throws if the Kubernetes API is unavailable */
    async find(name: string): Promise<ScanSchedule | null> {
      try {
        return await connection.request<ScanSchedule>('GET', pathOf(name), { timeoutMs: TIMEOUT_MS });
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },

    /** Creates a schedule of which `find` has returned null. A repeated call changes nothing. @throws if the Kubernetes API is unavailable; it is then unknown whether it exists */
    create: (name: string, wanted: WantedSchedule) => apply(name, scheduleSpecOf(wanted, operatorClass)),

    /** Replaces the spec of a schedule that was just read. @param force also fields that another writer owns. @throws as `create` */
    replace: ({ metadata: { name, uid, resourceVersion } }: ScanSchedule, spec: ScanScheduleSpec, force?: boolean) =>
      apply(name, spec, { uid, resourceVersion }, force),

    /** Requests a run. The same token requests one run, however often. @throws as `create` */
    run: ({ metadata: { name, uid } }: ScanSchedule, token: string) =>
      patch(name, 'application/merge-patch+json', { metadata: { uid, annotations: { [RUN_ANNOTATION]: token } } }),

    /** Deletes a schedule that was just read. Its scans are deleted too; their results are kept. @throws as `create` */
    async remove({ metadata: { name, uid } }: ScanSchedule) {
      try {
        await connection.request('DELETE', pathOf(name), { body: { preconditions: { uid } }, timeoutMs: TIMEOUT_MS });
      } catch (error) {
        // Deleted meanwhile, or another one has its name, which stays.
        if (!isNotFound(error) && !hasCode(error, 409)) throw error;
      }
    },
  };
}
export type ScheduleResources = ReturnType<typeof createScheduleResources>;
