/** The scans of a schedule: their names, and how they follow from its template. Pure. */
import { createHash } from 'node:crypto';
import {
  API_VERSION,
  METADATA_ANNOTATION_PREFIX,
  metadataAnnotations,
  metadataOf,
  SETTLE_FINALIZER,
  type AccessibilityScan,
} from '../../../core/protocol/custom-resources.ts';
import {
  DASHBOARD_MANAGER,
  MANAGED_BY_LABEL,
  RUN_ANNOTATION,
  SCHEDULED_AT_ANNOTATION,
  SCHEDULE_LABEL,
  type ScanSchedule,
} from '../../../core/protocol/scan-schedules.ts';
import { timestamp } from '../../../platform/clock.ts';
import { ownerReference } from '../../scan/kube-types.ts';
import { hasEnded } from '../../scan/policy/status.ts';
import type { Run } from './facts.ts';

const MINUTE_MS = 60_000;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns the name of a run's scan. A run always has the same name, so that the API server refuses to create it twice. For a
 * scheduled time it is CronJob's: the minutes since the epoch.
 */
export function childName({ metadata }: ScanSchedule, run: Run): string {
  const suffix = run.trigger === 'time' ? Math.floor(run.scheduledAt.getTime() / MINUTE_MS) : `run-${digest(run.token).slice(0, 8)}`;
  return `${metadata.name}-${suffix}`;
}

/** Returns the scheduled time of a scan, or null if it was started on demand. Its name must agree, because anyone can edit an annotation. */
export function scheduledTimeOf(schedule: ScanSchedule, { metadata }: AccessibilityScan): Date | null {
  const scheduledAt = new Date(metadata.annotations?.[SCHEDULED_AT_ANNOTATION] ?? NaN);
  return metadata.name === childName(schedule, { trigger: 'time', scheduledAt }) ? scheduledAt : null;
}

/** Leaves out reserved names, but not metadata: an annotation of a template must not claim another scan's ID. */
function unreserved(entries: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(entries ?? {}).filter(
      ([name]) => name.startsWith(METADATA_ANNOTATION_PREFIX) || !/^([^/]*\.)?curbcut\.dev\//.test(name),
    ),
  );
}

export function childOf(schedule: ScanSchedule, run: Run): AccessibilityScan {
  const { metadata, spec } = schedule;
  const template = spec.scanTemplate;
  const cause: Record<string, string> =
    run.trigger === 'time'
      ? { [SCHEDULED_AT_ANNOTATION]: timestamp(run.scheduledAt) }
      : // Of the requested run: its request may have written them beside its token.
        { ...metadataAnnotations(metadataOf(schedule)), [RUN_ANNOTATION]: run.token };
  return {
    apiVersion: API_VERSION,
    kind: 'AccessibilityScan',
    metadata: {
      name: childName(schedule, run),
      namespace: metadata.namespace,
      labels: {
        ...unreserved(template.metadata?.labels),
        // The scan may outlive its schedule and the record of that.
        ...(metadata.labels?.[MANAGED_BY_LABEL] === DASHBOARD_MANAGER && { [MANAGED_BY_LABEL]: DASHBOARD_MANAGER }),
        [SCHEDULE_LABEL]: metadata.name,
      },
      annotations: { ...unreserved(template.metadata?.annotations), ...cause },
      ownerReferences: [ownerReference(schedule)],
    },
    spec: template.spec,
  };
}

/** Returns whether the scan has not ended. A scan that is being deleted is active until its end is settled. */
export function isActive(scan: AccessibilityScan): boolean {
  const settled = scan.metadata.deletionTimestamp !== undefined && !isUnsettled(scan);
  return !hasEnded(scan) && !settled;
}

/** Returns whether the scan still has credits to settle or results to store. */
export function isUnsettled({ metadata }: AccessibilityScan): boolean {
  return metadata.finalizers?.includes(SETTLE_FINALIZER) ?? false;
}

/** Oldest first. Creation times are whole seconds; names of the same second give a stable order. */
export function byCreation(a: AccessibilityScan, b: AccessibilityScan): number {
  return (
    Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '') ||
    a.metadata.name.localeCompare(b.metadata.name)
  );
}
