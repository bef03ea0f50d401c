/**
 * Vets scans and puts them into their queues, with workers of its own.
 * Name servers may take seconds, and no cancellation, progress or end of another scan waits for them.
 */
import { podsWanted } from '../../../core/scan/options.ts';
import { type AccessibilityScan, queueOf, scanIdOf } from '../../../core/protocol/custom-resources.ts';
import type { OperatorContext } from '../../context.ts';
import { fromKey } from '../../runtime/cache.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import { isLeaving, writeEnd } from '../actions.ts';
import { NAME_SERVERS_UNAVAILABLE } from '../policy/condition-reasons.ts';
import type { ReconcileState } from '../policy/facts.ts';
import { vettedStatus, waitingStatus } from '../policy/status.ts';
import { vet } from './preflight.ts';

/**
 * Adds the controller.
 * @param resolveMs how long a scan waits for name servers of which none answers
 * @returns a function that enqueues a scan to vet
 */
export function addVettingController(
  context: OperatorContext,
  resolveMs: number,
  enqueueScan: (key: string) => void,
): (key: string) => void {
  const { manager, scanClient, scanStates, settings, shareOf } = context;
  return manager.add({
    name: 'vetting',
    workers: settings.scanWorkers,
    shareOf,
    // Only the scan controller enqueues.
    sources: [],
    async reconcile(key, signal) {
      const { namespace, name } = fromKey(key);
      const scan = scanClient.get(namespace, name);
      if (scan === undefined) return;
      const state = scanStates.of(scan.metadata.uid!);
      const isUnvetted = scan.status?.phase === undefined && scan.spec.cancel !== true && scan.metadata.deletionTimestamp === undefined;
      if (state.vetting && isUnvetted) await queueVetted(context, scan, { state, resolveMs }, signal);
      state.vetting = false;
      enqueueScan(key);
    },
  });
}

/** Vets a scan and puts it into its queue, with a place if one is free. It keeps having no phase while no name server answers. */
export async function queueVetted(
  context: OperatorContext,
  scan: AccessibilityScan,
  { state, resolveMs }: { state: ReconcileState; resolveMs: number },
  signal: AbortSignal,
): Promise<AccessibilityScan> {
  const { scanClient, gate, settings, clock } = context;
  const scanId = scanIdOf(scan, settings.namespace);
  const since = state.unresolved?.since ?? clock.now();
  const vetted = await vet(context, scan, scanId);
  // After the lookup, which may take longer than the pause before the next one.
  const now = clock.now();
  state.unresolved = 'unresolved' in vetted ? { since, at: now } : null;
  const facts = { scanId, now, job: null, pods: [] };
  if ('end' in vetted) return writeEnd(context, vetted.end, { facts, scan, signal });
  if ('unresolved' in vetted) {
    if (now.getTime() - since.getTime() >= resolveMs) return writeEnd(context, vetted.unresolved, { facts, scan, signal });
    const isStated = conditionOf(scan.status?.conditions, 'Admitted')?.reason === NAME_SERVERS_UNAVAILABLE.reason;
    return isStated ? scan : scanClient.patchStatus(scan, waitingStatus(scan, NAME_SERVERS_UNAVAILABLE, now), signal);
  }
  if (isLeaving(context, scan)) return scan;
  const { organisation, pagesRequested: requested, pagesReserved: reserved } = vetted.row;
  const uid = scan.metadata.uid!;
  const queue = queueOf(scan);
  const granted = gate.take(queue, { uid, namespace: scan.metadata.namespace!, organisation, wanted: podsWanted(scan.spec) });
  try {
    return await scanClient.patchStatus(scan, vettedStatus(scan, { organisation, pages: { requested, reserved } }, granted, now), signal);
  } finally {
    gate.settled(queue, uid);
  }
}
