/** Repairs the leftovers of crashes and deletes expired reports. Every step is idempotent. */
import { isTerminal } from '../../core/scan/phases.ts';
import { creditAccountOf } from '../../core/scan/counts.ts';
import { type AccessibilityScan, classOf, scanIdOf, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import { judgeWithoutResult } from '../../core/scan/thresholds.ts';
import { isForbidden, isNotFound } from '../../platform/kubernetes/kubernetes.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { incomingPrefix, type Upload } from '../../stores/reports.ts';
import type { PublicScan } from '../../stores/scans/public-scans.ts';
import { rowsOf } from '../../stores/scans/scans.ts';
import type { Removable, ScanRow } from '../../stores/scans/scans.ts';
import { KEY_KEPT_MS } from '../../stores/submissions/idempotency.ts';
import { watches, watchesNamespace } from '../config.ts';
import type { OperatorContext } from '../context.ts';
import { SCANS } from '../scan/kube-types.ts';
import { changeRow, finishRow, spentBy } from '../scan/mirror.ts';
import { notWatched, RESOURCE_GONE } from '../scan/policy/condition-reasons.ts';
import { endedStatus, hasEnded, withStatus } from '../scan/policy/status.ts';
import { createRun, fieldsOfRow, type Run, sweep, type SweepResult } from './sweep.ts';

/** Higher than the limit of live scans, so that rows that wait for admission do not hide other rows. */
const STALE_MAX = 10_000;
const BATCH = 200;
/** The age of a pending row that was abandoned, as in `SweepOptions`, in milliseconds. */
const PENDING_FOR_MS = 120_000;
const STALE_FOR_MS = 300_000;
const SWEEP_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** Longer than an idempotency record, because a repeated request must find the row that its record names. */
const ABANDONED_KEPT_MS = KEY_KEPT_MS + 3_600_000;

export interface SweepOptions {
  /** Reconciles a scan again and rewrites its row. */
  reconcileAgain: (scan: AccessibilityScan) => void;
  /** The age at which a pending row is decided. A submission takes at most 60 s: one that is still pending was abandoned. */
  pendingForMs?: number;
  /** The time without a change after which a live row is compared with its resource. */
  staleForMs?: number;
}

interface Sweep extends SweepOptions {
  context: OperatorContext;
}

export function sweepTask(context: OperatorContext, reconcileAgain: (scan: AccessibilityScan) => void): PeriodicTask {
  const { settings, metrics } = context;
  return {
    name: 'sweep',
    everyMs: settings.sweepEveryMs ?? SWEEP_EVERY_MS,
    async run(signal) {
      try {
        metrics.swept(await runSweep(context, { reconcileAgain }, signal));
      } catch (error) {
        if (!signal.aborted) metrics.swept(null);
        throw error;
      }
    },
  };
}

/**
 * Sweeps once. A row that fails does not stop the others, and a part that fails does not stop the other parts. After the signal
 * aborts, it starts no more writes and throws. It throws the first error of a whole part.
 */
export async function runSweep(context: OperatorContext, options: SweepOptions, signal: AbortSignal): Promise<SweepResult> {
  const { logger } = context;
  const run = createRun(logger, signal);
  const errors: unknown[] = [];
  for (const part of [leftovers, orphans, expire, removeTokens, removeUploads]) {
    signal.throwIfAborted();
    await part({ ...options, context }, run).catch((error: unknown) => errors.push(error));
  }
  signal.throwIfAborted();
  const { relayed: _relayed, accepted: _accepted, failed: _failed, unreadable: _unreadable, ...repaired } = run.result;
  if (Object.values(repaired).some((count) => count > 0)) logger.info(run.result, 'swept');
  if (errors.length > 0) throw errors[0];
  return run.result;
}

/** Repairs pending rows and holds, and relays operations to the ledger. */
function leftovers({ context, pendingForMs = PENDING_FOR_MS }: Sweep, run: Run): Promise<void> {
  const { scans, credits } = context.stores;
  const pendingBefore = new Date(context.clock.now().getTime() - pendingForMs);
  const exists = async (row: ScanRow) => (await resourceOf(context, row, run.signal)) !== null;
  return sweep({ scans, credits, exists, pendingBefore, limit: BATCH }, run);
}

/** Compares live rows with the resources that exist. */
async function orphans(options: Sweep, { result, signal, each }: Run): Promise<void> {
  const { context, reconcileAgain, staleForMs = STALE_FOR_MS } = options;
  const { stores, settings, clock } = context;
  const stale = await stores.scans.stale(new Date(clock.now().getTime() - staleForMs), STALE_MAX);
  await each(stale, fieldsOfRow, async (row) => {
    const found = await resourceOf(context, row, signal).then(
      (scan) => scan ?? RESOURCE_GONE,
      (error: unknown) => unreadable(context, row, error),
    );
    signal.throwIfAborted();
    const isGone = typeof found === 'string';
    if (!isGone && watches(settings, found)) return reconcileAgain(found);
    result.orphaned += 1;
    if (!isGone) return endUnwatched(context, found, row.id, signal);
    // Someone removed the finalizer by force, or the cluster was lost, or the namespace is not watched any more.
    const settled = await stores.credits.settle(creditAccountOf(row), row.id, 0);
    await changeRow(context, row.id, {
      pagesCharged: spentBy(settled),
      phase: 'failed',
      passed: judgeWithoutResult(row.options.thresholds),
      message: found,
      finishedAt: clock.now(),
    });
  });
}

/** The row of a namespace that is neither watched nor readable ends. @returns its message @throws the error if it is watched */
function unreadable({ settings, logger }: OperatorContext, row: ScanRow, error: unknown): string {
  const { namespace, name } = row.resource;
  if (watchesNamespace(settings, namespace) || !isForbidden(error)) throw error;
  logger.warn({ ...fieldsOfRow(row), command: releaseCommand(namespace, name) }, FINALIZER_STAYS);
  return notWatched(namespace, settings.operatorClass).message;
}

/** Deletes the reports of erased scans and of scans whose retention has ended, later their rows, and old rows of scans that were never submitted. */
async function expire({ context }: Sweep, { result, each }: Run): Promise<void> {
  const { stores, settings, clock } = context;
  const { scans } = stores;
  const ago = (ms: number) => new Date(clock.now().getTime() - ms);
  const removals = { before: ago(settings.retentionDays * DAY_MS), now: clock.now(), limit: BATCH };
  for (let removed = BATCH; removed > 0;) {
    removed = 0;
    await each(
      await scans.removable(removals),
      ({ row }) => fieldsOfRow(row),
      async (due) => {
        await removeDue(context, due);
        if (!due.again) result[due.erased ? 'erased' : 'expired'] += 1;
        removed += 1;
      },
    );
  }
  result.forgotten = await scans.forget(ago(settings.verdictDays * DAY_MS));
  await stores.sites.forget(ago(settings.verdictDays * DAY_MS));
  result.removed = await scans.removeAbandoned(ago(ABANDONED_KEPT_MS));
}

/** What the API converts or compares when reports are removed is written within a minute. It is removed after this time. */
const REMOVED_AGAIN_MS = 3_600_000;

/** Removes reports for the first time, or again. The row follows: it is kept, or deleted if its scan is erased. */
async function removeDue(context: OperatorContext, { row: { id, createdAt }, again, erased }: Removable): Promise<void> {
  const { stores: { scans, sites, deliveries, webhookEvents, knownIssues, idempotency }, clock } = context; // prettier-ignore
  try {
    await removeReports(context, id);
    if (erased) await Promise.all([deliveries.removeOf(id), webhookEvents.erase(id), knownIssues.removeChosen(id), sites.without([id])]);
    // Last, because a request that is done again must not find a delivery.
    if (erased) await idempotency.removeOf(id);
  } catch (error) {
    await scans.notRemoved(id, clock.now());
    throw error;
  }
  if (again && erased) return scans.remove(id);
  const then = Math.max(clock.now().getTime() + REMOVED_AGAIN_MS, erased ? createdAt.getTime() + ABANDONED_KEPT_MS : 0);
  await scans.reportsRemoved(id, again ? undefined : new Date(then));
}

async function removeReports({ reports, stores }: OperatorContext, id: string): Promise<void> {
  const { export: made, ...others } = reportKeys(id);
  // The export first: who writes a format that is made from it looks for it afterwards, and takes the format back.
  await reports.remove([made]);
  await reports.remove(Object.values(others));
  // An upload may have finished after its scan ended.
  await reports.removeAll(incomingPrefix(id));
  await stores.comparisonCache.removeOf(id);
}

/** @throws if it is unknown whether the row's resource exists */
async function resourceOf(context: OperatorContext, row: ScanRow, signal: AbortSignal): Promise<AccessibilityScan | null> {
  const { scanClient, connection, settings } = context;
  const { namespace, name } = row.resource;
  // The namespace of the API's scans may have been another one.
  const idOf = (scan: AccessibilityScan) => scanIdOf(scan, watchesNamespace(settings, namespace) ? settings.namespace : namespace);
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
 * Ends a live scan whose namespace is not watched any more, or whose class is not that of the operator any more. Removes its Job and
 * its finalizer, and settles its credits. If the operator may not write to it, it logs the command that does.
 * @throws if a retry may succeed
 */
async function endUnwatched(context: OperatorContext, scan: AccessibilityScan, scanId: string, signal: AbortSignal): Promise<void> {
  const { scanClient, children, logger } = context;
  const { namespace = '', name } = scan.metadata;
  const ended = hasEnded(scan) ? scan : await writeEnd(context, scan, signal);
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
  await finishRow(context, ended, scanId);
}

async function writeEnd(
  { scanClient, metrics, clock }: OperatorContext,
  scan: AccessibilityScan,
  signal: AbortSignal,
): Promise<AccessibilityScan> {
  const why = notWatched(scan.metadata.namespace!, classOf(scan));
  const status = endedStatus(scan, why, clock.now());
  const ended = await unlessForbidden(scanClient.patchStatus(scan, status, signal), withStatus(scan, status));
  const seconds = (clock.now().getTime() - Date.parse(scan.metadata.creationTimestamp!)) / 1000;
  metrics.ended(why.phase, why.reason, Math.max(0, seconds), ended.status?.passed ?? null);
  return ended;
}

const FINALIZER_STAYS = 'ended a scan of a namespace that is not watched; if it still exists, remove its finalizer';

const releaseCommand = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} patch accessibilityscan ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`;

/** The namespace's Role may be gone. */
async function unlessForbidden<T>(request: Promise<T>, otherwise: T): Promise<T> {
  return request.catch((error: unknown) => {
    if (isForbidden(error)) return otherwise;
    throw error;
  });
}

/** A submission takes at most 60 s. A token without a scan after this time was never given to anyone. */
const SUBMITTED_WITHIN_MS = 600_000;

/** Removes the tokens of public scans that have expired or whose scan never ran, with the e-mail addresses. */
async function removeTokens({ context }: Sweep, { result, each }: Run): Promise<void> {
  const { publicScans } = context.stores;
  result.tokens = await publicScans.removeExpired();
  const fieldsOf = ({ scanId }: PublicScan) => ({ scan: scanId });
  await each(await withoutScan(context), fieldsOf, async ({ token }) => {
    await publicScans.remove(token);
    result.tokens += 1;
  });
}

/** The mail of a public scan that ended is queued within seconds, so that few are unmailed. */
async function withoutScan({ stores: { publicScans, scans }, clock }: OperatorContext): Promise<PublicScan[]> {
  const before = clock.now().getTime() - SUBMITTED_WITHIN_MS;
  const old: PublicScan[] = [];
  for await (const one of publicScans.unmailed()) if (one.createdAt.getTime() < before) old.push(one);
  const ids = old.map(({ scanId }) => scanId);
  const rows = await rowsOf(scans, ids);
  return old.filter(({ scanId }) => (rows.get(scanId)?.submission ?? 'abandoned') === 'abandoned');
}

/** The age from which the uploads of an ended scan are deleted. */
const ENDED_KEPT_MS = 3_600_000;
/** The age from which uploads without a row are deleted: longer than any scan of another installation that shares the bucket. */
const UNKNOWN_KEPT_MS = 8 * 86_400_000;

/** Deletes uploads that no scan needs any more: an operator that crashed left them, or a pod stored them after its scan ended. */
async function removeUploads({ context }: Sweep, { result, signal, each }: Run): Promise<void> {
  const { stores, reports, clock } = context;
  const age = ({ newestAt }: Upload) => clock.now().getTime() - newestAt.getTime();
  const old = (await reports.uploads(signal)).filter((upload) => age(upload) > ENDED_KEPT_MS);
  const ids = old.map(({ scanId }) => scanId);
  const rows = await rowsOf(stores.scans, ids);
  const isNeedless = (upload: Upload) => {
    const row = rows.get(upload.scanId);
    return row === undefined ? age(upload) > UNKNOWN_KEPT_MS : isTerminal(row.phase);
  };
  const fieldsOf = ({ scanId: scan }: Upload) => ({ scan });
  await each(old.filter(isNeedless), fieldsOf, async ({ scanId }) => {
    await reports.removeAll(incomingPrefix(scanId));
    result.uploads += 1;
  });
}
