/**
 * Works on the results of scans: searches and verifies them. It has a queue and workers of its own, so that slow results, a
 * hostile pod or an outage of the object store never delay other scans. A scan has one task at a time and therefore occupies
 * one worker at most. When a task has ended, its outcome is in the scan's state and the scan is enqueued again.
 */
import { type AccessibilityScan, scanIdOf } from '../../../core/protocol/custom-resources.ts';
import { hasReport } from '../../../report/diff/baseline.ts';
import { reportKeys } from '../../../report/schema/objects.ts';
import { LARGE_EXPORT_BYTES } from '../../../report/schema/export-size.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { siteOf } from '../../../core/scan/site.ts';
import type { ChosenKnownIssues } from '../../../core/scan/known-issues.ts';
import { KubernetesError } from '../../../platform/kubernetes/kubernetes.ts';
import type { Permit } from '../../../platform/concurrency/semaphore.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { incomingKeys, type Reports } from '../../../stores/reports.ts';
import { fromKey } from '../../runtime/cache.ts';
import type { OperatorContext } from '../../context.ts';
import { type FoundResult, type ReconcileState, reservedPages, type ResultTask } from '../policy/facts.ts';
import { hasEnded } from '../policy/status.ts';
import { traced } from '../traces.ts';
import { POD_MESSAGE_MAX_BYTES, type PodIdentity } from '../../../core/protocol/pod-messages.ts';
import { ingest, type Ingested, ResultUnwanted } from './ingest.ts';
import type { Expectation } from './verify.ts';
import { readPodMessage } from './pod-message-log.ts';
interface ResultFacts {
  scan: AccessibilityScan;
  scanId: string;
  state: ReconcileState;
}

type SearchTask = Extract<ResultTask, { do: 'search' }>;
type VerifyTask = Extract<ResultTask, { do: 'verify' }>;

/** The number of results that are verified concurrently. More would need more memory, and a verification takes about 0.1 s. */
const WORKERS = 2;
/** The longest pause between two attempts while the object store is down, in milliseconds. */
const MAX_BACK_OFF_MS = 30_000;
/** The pause before a large export is tried again while another one is in progress, in milliseconds. The worker is free meanwhile. */
const LARGE_RETRY_MS = 500;

/** MongoDB did not answer. A retry may succeed. */
class RowUnread extends Error {
  override readonly name = 'RowUnread';
}

/** Adds the controller. @returns a function that enqueues a scan with a task */
export function addResultsController(
  context: OperatorContext,
  enqueueScan: (key: string) => void,
  ingestResults = ingest,
): (key: string) => void {
  const { manager, scanClient, scanStates, settings, verifier, largeExports, clock } = context;
  return manager.add({
    name: 'results',
    workers: WORKERS,
    maxBackOffMs: MAX_BACK_OFF_MS,
    shareOf: context.shareOf,
    // Only the scan controller enqueues. The verifier runs while this controller runs.
    sources: [
      () => {
        verifier.start();
        return verifier.stop;
      },
    ],
    async reconcile(key, signal) {
      const { namespace, name } = fromKey(key);
      const scan = scanClient.get(namespace, name);
      if (scan === undefined) return;
      const state = scanStates.of(scan.metadata.uid!);
      if (hasEnded(scan)) state.task = null;
      const { task } = state;
      if (task === null) return;
      const facts: ResultFacts = { scan, scanId: scanIdOf(scan, settings.namespace), state };
      let large: Permit | null | undefined;
      try {
        const isLarge = task.do === 'verify' && (await largestOf(context, task, scan)) > LARGE_EXPORT_BYTES;
        large = isLarge ? largeExports.tryAcquire('') : undefined;
        if (large === null) return { requeueAfterMs: LARGE_RETRY_MS };
        if (task.do === 'search') await search(context, task, facts, signal);
        else await verify(context, ingestResults, task, facts, signal);
        Object.assign(state, { task: null, outageSince: null });
      } catch (error) {
        if (error instanceof ResultUnwanted) return void (state.task = null);
        // Kubernetes and MongoDB also fail, but what the scan reports and waits for is the object store.
        if (!(error instanceof KubernetesError || error instanceof RowUnread)) state.outageSince ??= clock.now();
        throw error;
      } finally {
        large?.release();
        if (large !== null) enqueueScan(key);
      }
    },
  });
}

async function search(
  { reports, children, clock }: OperatorContext,
  task: SearchTask,
  { scanId, state }: ResultFacts,
  signal: AbortSignal,
): Promise<void> {
  const [found, pods] = await Promise.all([
    findResults(reports, scanId, task.slots, signal),
    task.job === null ? [] : children.listPods(task.job, scanId, signal),
  ]);
  state.search = { at: clock.now(), found, pods };
}

/** The size of the larger export that a verification reads, in bytes. */
async function largestOf({ reports }: OperatorContext, { stored }: VerifyTask, { status }: AccessibilityScan): Promise<number> {
  const baseline = status?.baseline;
  const before = hasReport(baseline) ? await reports.size(reportKeys(baseline.scanId).export) : null;
  return Math.max(stored.export.bytes, before ?? 0);
}

async function verify(
  context: OperatorContext,
  ingestResults: typeof ingest,
  { stored, slot }: VerifyTask,
  facts: ResultFacts,
  signal: AbortSignal,
): Promise<void> {
  const { stores, scanClient, tracer } = context;
  const { scan, scanId, state } = facts;
  const isWanted = () => {
    const current = scanClient.get(scan.metadata.namespace!, scan.metadata.name);
    return current !== undefined && !hasEnded(current);
  };
  // What the row says, because anyone can change annotations while the scan runs.
  const [row, knownIssues] = await Promise.all([stores.scans.find(scanId), stores.knownIssues.chosenFor(scanId)]).catch(
    (cause: unknown) => {
      throw new RowUnread('the row of the scan could not be read', { cause });
    },
  );
  const expected: Expectation = {
    scanId,
    options: withDefaults(scan.spec),
    metadata: row?.metadata,
    reserved: reservedPages(scan),
    canceled: scan.spec.cancel === true,
    announced: { scanned: stored.pages.scanned, failed: stored.pages.failed },
    baseline: scan.status?.baseline,
    knownIssues,
  };
  const ingested = await traced(tracer, 'ingest', scan, scanId, () => ingestResults(context, { stored, slot, expected, isWanted }, signal));
  if (!ingested.ok) return void state.refused.set(stored.attempt, ingested.reason);
  // A known issue that a partial report lacks may be on the other pages.
  if (row !== null && knownIssues !== undefined && !ingested.result.partial) await recordMatches(context, row, knownIssues, ingested);
  state.verified = ingested.result;
}

/** Records what the known issues matched, and which ones matched nothing. A scan of a test key says nothing about the site that users see. */
async function recordMatches(
  { stores }: OperatorContext,
  { id, organisation, options, test }: ScanRow,
  { at }: ChosenKnownIssues,
  { unmatchedIssues: unmatched, issueExamples: examples }: Extract<Ingested, { ok: true }>,
): Promise<void> {
  if (test === true) return;
  const matches = { scanId: id, at: new Date(at), unmatched, examples };
  await stores.knownIssues.recordMatches(organisation, siteOf(options.url), matches).catch((cause: unknown) => {
    throw new RowUnread('the matches of known issues could not be stored', { cause });
  });
}

/**
 * Finds the results that a scan's pods have stored, whether or not a message announced them: reads the statements of all upload
 * slots. The last object that a pod uploads is its statement `result.json`. It is untrusted, as every message of a pod.
 * @param slots ordered by attempt
 * @returns the valid ones, in the same order
 * @throws if the object store is unavailable
 */
async function findResults(reports: Reports, scanId: string, slots: readonly PodIdentity[], signal: AbortSignal): Promise<FoundResult[]> {
  const found = await Promise.all(
    slots.map(async (slot): Promise<FoundResult[]> => {
      const read = await reports.read(incomingKeys(scanId, slot).result, POD_MESSAGE_MAX_BYTES, signal);
      const stored = read.ok ? readPodMessage(read.bytes, scanId) : null;
      // Attempts beyond the last slot share it.
      return stored?.kind === 'stored' && stored.attempt >= slot.attempt ? [{ stored, slot }] : [];
    }),
  );
  return found.flat();
}
