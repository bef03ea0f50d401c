/** Repairs the leftovers of crashes and deletes expired reports. Every step is idempotent. */
import { creditAccountOf } from '../../core/scan/counts.ts';
import { type AccessibilityScan, classOf, scanIdOf, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import { judgeWithoutResult } from '../../core/scan/thresholds.ts';
import type { ComparisonCache } from '../../stores/comparisons.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import { isForbidden, isNotFound, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { incomingPrefix, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { Sites } from '../../stores/scans/sites.ts';
import { KEY_KEPT_MS } from '../../stores/submissions/idempotency.ts';
import { type Watched, watches, watchesNamespace } from '../settings.ts';
import { notWatched, RESOURCE_GONE } from '../scan/policy/condition-reasons.ts';
import { type Mirror, spentBy } from '../scan/mirror.ts';
import { type ScanClient, SCANS } from '../scan/kube-types.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ActionDeps } from '../scan/actions.ts';
import type { Children } from '../scan/launch/children.ts';
import { endedStatus, hasEnded, withStatus } from '../scan/policy/status.ts';
import {
  createRun,
  type Run,
  type SweepResult,
  fieldsOfRow,
  removeTokens,
  removeUploads,
  sweep,
  type TokensDeps,
  type UploadsDeps,
} from './sweep.ts';

export interface SweeperDeps extends UnwatchedDeps, TokensDeps, UploadsDeps {
  connection: KubernetesConnection;
  scanClient: Pick<ScanClient, 'get' | 'patchStatus' | 'patchMetadata'>;
  scans: Scans;
  sites: Pick<Sites, 'forget'>;
  credits: Credits;
  reports: Pick<Reports, 'remove' | 'removeAll' | 'uploads'>;
  comparisonCache: Pick<ComparisonCache, 'removeOf'>;
  mirror: Pick<Mirror, 'change' | 'finish'>;
  watched: Watched;
  /** Reconciles a scan again and rewrites its row. */
  reconcileAgain: (scan: AccessibilityScan) => void;
  apiNamespace: string;
  /** Days to keep the reports of an ended scan. */
  retentionDays: number;
  /** Days to keep the row of an ended scan, which has its verdict. Never shorter than its reports. */
  verdictDays: number;
  /** The age at which the sweeper decides a pending row, in milliseconds. */
  pendingForMs: number;
  /** The time without a change after which a live row is compared with its resource, in milliseconds. */
  staleForMs: number;
}

/** Higher than the limit of live scans, so that rows that wait for admission do not hide other rows. */
const STALE_MAX = 10_000;
const BATCH = 200;
/** Longer than an idempotency record, because a repeated request must find the row that its record names. */
const ABANDONED_KEPT_MS = KEY_KEPT_MS + 3_600_000;

/**
 * Returns a function that sweeps once. A row that fails does not stop the others, and a part that fails does not stop the
 * other parts. After the signal aborts, it starts no more writes and throws. It throws the first error of a whole part.
 */
export function createSweeper(deps: SweeperDeps): (signal: AbortSignal) => Promise<SweepResult> {
  return async (signal) => {
    const run = createRun(deps.logger, signal);
    const errors: unknown[] = [];
    for (const part of [leftovers, orphans, expire, removeTokens, removeUploads]) {
      signal.throwIfAborted();
      await part(deps, run).catch((error: unknown) => errors.push(error));
    }
    signal.throwIfAborted();
    const { relayed: _relayed, accepted: _accepted, failed: _failed, unreadable: _unreadable, ...repaired } = run.result;
    if (Object.values(repaired).some((count) => count > 0)) deps.logger.info(run.result, 'swept');
    if (errors.length > 0) throw errors[0];
    return run.result;
  };
}

/** Repairs pending rows and holds, and relays operations to the ledger. */
function leftovers(deps: SweeperDeps, run: Run): Promise<void> {
  const { scans, credits, now } = deps;
  const pendingBefore = new Date(now().getTime() - deps.pendingForMs);
  const exists = async (row: ScanRow) => (await resourceOf(deps, row, run.signal)) !== null;
  return sweep({ scans, credits, exists, pendingBefore, limit: BATCH }, run);
}

/** Compares live rows with the resources that exist. */
async function orphans(deps: SweeperDeps, { result, signal, each }: Run): Promise<void> {
  const { scans, credits, mirror, now } = deps;
  const stale = await scans.stale(new Date(now().getTime() - deps.staleForMs), STALE_MAX);
  await each(stale, fieldsOfRow, async (row) => {
    const found = await resourceOf(deps, row, signal).then(
      (scan) => scan ?? RESOURCE_GONE,
      (error: unknown) => unreadable(deps, row, error),
    );
    signal.throwIfAborted();
    const isGone = typeof found === 'string';
    if (!isGone && watches(deps.watched, found)) return deps.reconcileAgain(found);
    result.orphaned += 1;
    if (!isGone) return endUnwatched(deps, found, row.id, signal);
    // Someone removed the finalizer by force, or the cluster was lost, or the namespace is not watched any more.
    const settled = await credits.settle(creditAccountOf(row), row.id, 0);
    await mirror.change(row.id, {
      pagesCharged: spentBy(settled),
      phase: 'failed',
      passed: judgeWithoutResult(row.options.thresholds),
      message: found,
      finishedAt: now(),
    });
  });
}

/** The row of a namespace that is neither watched nor readable ends. @returns its message @throws the error if it is watched */
function unreadable({ watched, logger }: SweeperDeps, row: ScanRow, error: unknown): string {
  const { namespace, name } = row.resource;
  if (watchesNamespace(watched, namespace) || !isForbidden(error)) throw error;
  logger.warn({ ...fieldsOfRow(row), command: releaseCommand(namespace, name) }, FINALIZER_STAYS);
  return notWatched(namespace, watched.operatorClass).message;
}

/** Deletes the reports of scans whose retention has ended, later their rows, and old rows of scans that were never submitted. */
async function expire(deps: SweeperDeps, { result, each }: Run): Promise<void> {
  const { scans, reports, now } = deps;
  const daysAgo = (days: number) => new Date(now().getTime() - days * 86_400_000);
  const before = daysAgo(deps.retentionDays);
  for (let progress = true; progress;) {
    const already = result.expired;
    await each(await scans.expired(before, BATCH), fieldsOfRow, async (row) => {
      // Objects first: a row without reports is not looked at again.
      await reports.remove(Object.values(reportKeys(row.id)));
      // An upload may have finished after its scan ended.
      await reports.removeAll(incomingPrefix(row.id));
      await deps.comparisonCache.removeOf(row.id);
      await scans.reportsRemoved(row.id);
      result.expired += 1;
    });
    progress = result.expired > already;
  }
  result.forgotten = await scans.forget(daysAgo(deps.verdictDays));
  await deps.sites.forget(daysAgo(deps.verdictDays));
  result.removed = await scans.removeAbandoned(new Date(now().getTime() - ABANDONED_KEPT_MS));
}

/** @throws if it is unknown whether the row's resource exists */
async function resourceOf(deps: SweeperDeps, row: ScanRow, signal: AbortSignal): Promise<AccessibilityScan | null> {
  const { scanClient, connection, apiNamespace, watched } = deps;
  const { namespace, name } = row.resource;
  // The namespace of the API's scans may have been another one.
  const idOf = (scan: AccessibilityScan) => scanIdOf(scan, watchesNamespace(watched, namespace) ? apiNamespace : namespace);
  const isOfRow = (scan: AccessibilityScan | undefined) => scan !== undefined && idOf(scan) === row.id;
  const known = scanClient.get(namespace, name);
  if (known !== undefined && isOfRow(known)) return known;
  try {
    const scan = await connection.request<AccessibilityScan>('GET', connection.path(SCANS, namespace, name), { signal });
    return isOfRow(scan) ? scan : null;
  } catch (error) {
    // Check the reason and the name: a missing custom resource definition also causes a 404.
    if (isNotFound(error) && error.message.includes(name)) return null;
    throw error;
  }
}

/**
 * Ends live scans that no operator of this installation acts on any more, because their namespace was taken out of the watched ones
 * or the operator's class has changed. Without that their credits would stay held, and their finalizers would keep the resources.
 */
interface UnwatchedDeps {
  scanClient: Pick<ScanClient, 'patchStatus' | 'patchMetadata'>;
  children: Pick<Children, 'readJob' | 'removeJob'>;
  mirror: Pick<Mirror, 'finish'>;
  /** Called for each scan that ends here. */
  onEnd: ActionDeps['onEnd'];
  logger: Logger;
  now: () => Date;
}

/**
 * Ends a scan that is not watched, removes its Job and its finalizer, and settles its credits. If the operator may not write to it,
 * it logs the command that does.
 * @throws if a retry may succeed
 */
async function endUnwatched(deps: UnwatchedDeps, scan: AccessibilityScan, scanId: string, signal: AbortSignal): Promise<void> {
  const { scanClient, children, mirror, logger } = deps;
  const { namespace = '', name } = scan.metadata;
  const ended = hasEnded(scan) ? scan : await writeEnd(deps, scan, signal);
  // Its pod would run until its deadline.
  const job = await unlessForbidden(children.readJob(scan, scanId, signal), null);
  if (job !== null) await unlessForbidden(children.removeJob(job, signal), undefined);
  const finalizers = ended.metadata.finalizers ?? [];
  if (finalizers.includes(SETTLE_FINALIZER)) {
    const others = finalizers.filter((one) => one !== SETTLE_FINALIZER);
    const released = await unlessForbidden(scanClient.patchMetadata(ended, { finalizers: others }, signal), null);
    if (released === null) logger.warn({ scan: scanId, namespace, command: releaseCommand(namespace, name) }, FINALIZER_STAYS);
  }
  // Last, because the next sweep looks only at scans that have not ended. If the resource is gone by then, it settles too.
  await mirror.finish(ended, scanId);
}

async function writeEnd(
  { scanClient, onEnd, now }: UnwatchedDeps,
  scan: AccessibilityScan,
  signal: AbortSignal,
): Promise<AccessibilityScan> {
  const why = notWatched(scan.metadata.namespace!, classOf(scan));
  const status = endedStatus(scan, why, now());
  const ended = await unlessForbidden(scanClient.patchStatus(scan, status, signal), withStatus(scan, status));
  const seconds = (now().getTime() - Date.parse(scan.metadata.creationTimestamp!)) / 1000;
  onEnd(why.phase, why.reason, Math.max(0, seconds), ended.status?.passed ?? null);
  return ended;
}

/** The message about a scan that the operator may not write to. */
const FINALIZER_STAYS = 'ended a scan of a namespace that is not watched; if it still exists, remove its finalizer';

/** The command that removes the finalizer of a scan. */
const releaseCommand = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} patch accessibilityscan ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`;

/** The namespace's Role may be gone. */
async function unlessForbidden<T>(request: Promise<T>, otherwise: T): Promise<T> {
  return request.catch((error: unknown) => {
    if (isForbidden(error)) return otherwise;
    throw error;
  });
}
