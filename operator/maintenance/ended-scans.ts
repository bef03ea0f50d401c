/**
 * Keeps the number of ended resources of each organisation bounded. The API's resources live on for an hour, so that users can
 * inspect them; at its rate limit, one organisation would keep 3,600 of them and more. Results are stored elsewhere.
 */
import { type AccessibilityScan, SCAN_ID_ANNOTATION, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { organisationOf } from '../queue/waiting.ts';
import { hasEnded } from '../scan/policy/status.ts';
import { rowsOf } from '../../stores/scans/scans.ts';
import type { OperatorContext } from '../context.ts';

const ENDED_EVERY_MS = 10_000;
const SITES_EVERY_MS = 1_000;
/** The number of scans whose sites are recorded together. */
const SITES_BATCH = 200;

export function endedScansTask({ scanClient, settings }: OperatorContext): PeriodicTask {
  return {
    name: 'remove ended scans',
    everyMs: ENDED_EVERY_MS,
    async run(signal) {
      const failures: unknown[] = [];
      for (const scan of endedInExcess(scanClient.list(), settings.maxEndedPerOrganisation, settings.namespace)) {
        signal.throwIfAborted();
        // One that the API server refuses to delete must not keep the others.
        await scanClient.remove(scan, signal).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} ended scans could not be deleted: ${String(failures[0])}`);
    },
  };
}

/** Returns all but the newest `keep` settled resources that the API created, per organisation, oldest first. Pure. */
export function endedInExcess(scans: readonly AccessibilityScan[], keep: number, apiNamespace: string): AccessibilityScan[] {
  const settled = scans.filter((scan) => cameByApi(scan, apiNamespace) && isSettled(scan));
  return [...Map.groupBy(settled, organisationOf).values()].flatMap((own) =>
    own.length <= keep ? [] : own.toSorted(byCompletion).slice(0, own.length - keep),
  );
}

/** Manifests can contain the annotation, but the API also sets a TTL. Resources without a TTL are kept until users delete them. */
function cameByApi({ metadata, spec }: AccessibilityScan, apiNamespace: string): boolean {
  const isSubmission = metadata.namespace === apiNamespace && metadata.annotations?.[SCAN_ID_ANNOTATION] !== undefined;
  return isSubmission && spec.ttlSecondsAfterFinished !== undefined;
}

function isSettled(scan: AccessibilityScan): boolean {
  const { deletionTimestamp, finalizers = [] } = scan.metadata;
  return hasEnded(scan) && deletionTimestamp === undefined && !finalizers.includes(SETTLE_FINALIZER);
}

function byCompletion(a: AccessibilityScan, b: AccessibilityScan): number {
  const at = ({ status }: AccessibilityScan) => status?.completionTime ?? '';
  return at(a).localeCompare(at(b)) || a.metadata.uid!.localeCompare(b.metadata.uid!);
}

/**
 * Keeps the list of sites: records each scan that has ended, and who started it if that entry was lost. A scan stays marked until this is
 * done, so that a crash loses none.
 */
export function sitesTask({ stores: { organisations, scans, sites } }: OperatorContext, batch = SITES_BATCH): PeriodicTask {
  return {
    name: 'list sites',
    everyMs: SITES_EVERY_MS,
    async run(signal) {
      for (;;) {
        const rows = await scans.unlisted(batch);
        const ids = rows.map(({ id }) => id);
        await sites.record(rows);
        const kept = await rowsOf(scans, ids);
        const erased = ids.filter((id, at) => kept.get(id)?.organisation !== rows[at]!.organisation);
        if (erased.length > 0) await sites.without(erased);
        await organisations.recordStarts(rows.filter(({ id }) => !erased.includes(id)));
        await scans.listed(ids);
        if (rows.length < batch) break;
        signal.throwIfAborted();
      }
    },
  };
}
