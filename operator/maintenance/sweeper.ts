/** Repairs the leftovers of crashes and deletes expired reports. Every step is idempotent. */
import { creditAccountOf } from '../../core/scan/cost.ts';
import { scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { judgeWithoutResult } from '../../core/scan/thresholds.ts';
import type { ComparisonCache } from '../../stores/comparisons.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import { isForbidden, isNotFound, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { incomingPrefix, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { Sites } from '../../stores/scans/sites.ts';
import { KEY_KEPT_MS } from '../../stores/submissions/idempotency.ts';
import { createRun, type Run, type SweepResult } from './run.ts';
import { fieldsOfRow, sweep } from './sweep.ts';
import { removeTokens, type TokensDeps } from './tokens.ts';
import { removeUploads, type UploadsDeps } from './uploads.ts';
import { FINALIZER_STAYS, endUnwatched, releaseCommand, type UnwatchedDeps } from './unwatched.ts';
import { watches, watchesNamespace, type Watched } from '../watched.ts';
import { notWatched, RESOURCE_GONE } from '../scan/policy/condition-reasons.ts';
import { spentBy, type Mirror } from '../scan/mirror.ts';
import { SCANS } from '../scan/kube-types.ts';
import type { ScanClient } from '../scan/scan-client.ts';

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
