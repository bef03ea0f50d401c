/**
 * Charges one submission: creates its row, reserves its credits, writes its custom resource and accepts the row, in this
 * order. If a step fails, the row is abandoned and its credits are returned.
 *
 * `row.submission` decides what becomes of the scan, because several processes race: this request, a repeated request that
 * took over its idempotency key, the operator, and the sweeper. Each may accept or abandon the row, the first one wins, and
 * the others follow it. So a scan never runs without its credits, and credits are never charged for a scan that does not run.
 * Every step is identified by the scan ID and can be repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceNameOf } from '../../../core/protocol/custom-resources.ts';
import { creditAccountOf, maxLiveOf } from '../../../core/scan/counts.ts';
import { bestEffort, type Logger } from '../../../platform/logger.ts';
import { inSpan } from '../../../platform/tracing.ts';
import { type ReservationRequest, RESERVE_WITHIN_MS } from '../../../stores/credits/credits.ts';
import { newRow, type NewScan } from '../../../stores/scans/scan-row.ts';
import { RowRemoved, type ScanRow, type Scans } from '../../../stores/scans/scans.ts';
import { DependencyDown, SubmissionUnconfirmed } from '../../http/dependency-outages.ts';
import { isRejection, KubernetesError } from '../../../platform/kubernetes/kubernetes.ts';
import type { Origin } from '../../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../../dependencies.ts';
import type { SubmissionDeps, SubmissionRefusal, SubmissionRequest } from './submission.ts';

/** A submission in progress. */
export interface Attempt {
  request: SubmissionRequest;
  scanId: string;
  /** An earlier request with the same idempotency key may be submitting the same scan, or may have ended it. */
  resumed: boolean;
  /** The pending row of the earlier request, if it exists. */
  row: ScanRow | null;
  startedAt: Date;
  /** Carries the ids of request, scan and organisation. */
  logger: Logger;
}

/** `replayed`: an earlier request with the same idempotency key submitted the scan. */
export type Charge = (attempt: Attempt) => Promise<{ ok: true; row: ScanRow; replayed: boolean } | SubmissionRefusal>;

/**
 * @returns the accepted row, or a refusal. @throws DependencyDown if the outcome is a retry; nothing is charged then.
 * SubmissionUnconfirmed if it is unknown what becomes of the scan
 */
export function createCharge(deps: SubmissionDeps): Charge {
  const { credits, scans, scanResources } = deps.stores;

  return async function charge(attempt) {
    const { request, scanId, logger } = attempt;
    const created = attempt.row ?? (await createRow(deps, attempt));
    if (created.submission === 'accepted') return { ok: true, row: created, replayed: true };
    try {
      const reservation = await step(deps, 'reserve credits', request, () =>
        credits.reserve(reservationOf(attempt, created, deps.maxLiveScansPerOrganisation)),
      );
      if (!reservation.ok && reservation.reason === 'deadline_passed')
        throw new DependencyDown('mongodb', new Error('the deadline of the reservation passed'));
      if (!reservation.ok) {
        // Another request with the same key may be about to reserve for this row, so it is decided and not deleted.
        if (request.idempotency !== null) {
          const end = await abandon(deps, attempt);
          if (end.accepted) return { ok: true, row: end.row, replayed: true };
        } else await bestEffort('the row of a submission without credits remains for the sweeper', logger, () => scans.discard(scanId));
        if (reservation.reason === 'too_many_live') return { ok: false, reason: 'organisation_full' };
        return { ok: false, reason: 'insufficient_credits', balance: reservation.balance };
      }
      const row = { ...created, pagesReserved: reservation.reserved };
      await step(deps, 'write resource', request, () => writeResource(scanResources, row, request.origin));
      return { ok: true, row: await step(deps, 'accept', request, () => accept(scans, row, logger)), replayed: false };
    } catch (error) {
      const end = await abandon(deps, attempt);
      if (end.accepted) return { ok: true, row: end.row, replayed: false };
      if (!end.confirmed) throw new SubmissionUnconfirmed(error);
      if (error instanceof ResourceRejected) {
        logger.error({ err: error }, error.message);
        return { ok: false, reason: 'resource_rejected' };
      }
      throw error;
    }
  };
}

/** Runs a step of a submission in a child span of its request. */
export function step<T>(deps: SubmissionDeps, name: string, { origin }: SubmissionRequest, work: () => Promise<T>): Promise<T> {
  if (origin?.traceparent === undefined) return work();
  return inSpan(deps.tracer, name, { parent: origin.traceparent, kind: 'client' }, work);
}

/** @throws DependencyDown if another process abandons or removes the row at the same time */
async function createRow(deps: SubmissionDeps, attempt: Attempt): Promise<ScanRow> {
  try {
    const row = await step(deps, 'create row', attempt.request, () => deps.stores.scans.create(newRow(newScan(deps, attempt))));
    if (row.submission !== 'abandoned') return row;
  } catch (error) {
    if (!(error instanceof RowRemoved)) throw error;
  }
  throw new DependencyDown('mongodb', new Error(`scan ${attempt.scanId} was abandoned at the same time`));
}

function reservationOf({ request, resumed, startedAt }: Attempt, row: ScanRow, share: number): ReservationRequest {
  return {
    organisation: creditAccountOf(row),
    scanId: row.id,
    pages: row.pagesRequested,
    partial: request.partial,
    deadline: new Date(startedAt.getTime() + RESERVE_WITHIN_MS),
    maxLive: maxLiveOf(row, share),
    fresh: !resumed,
  };
}

/** Accepts a row whose resource exists. @throws DependencyDown if the sweeper abandoned it, so that the operator will end the resource */
async function accept(scans: Pick<Scans, 'accept'>, row: ScanRow, logger: Logger): Promise<ScanRow> {
  const decide = (): ReturnType<Scans['accept']> => scans.accept(row.id, { pagesReserved: row.pagesReserved });
  try {
    // Again if the answer was lost: it may have been that the scan was abandoned.
    const accepted = await decide().catch(decide);
    if (accepted.ok) return accepted.row;
  } catch (error) {
    // The scan runs, because its resource exists: the operator accepts it.
    logger.warn({ err: error }, 'the row stays pending until the operator accepts it');
    return row;
  }
  throw new DependencyDown('mongodb', new Error(`scan ${row.id} was abandoned because its submission took too long`));
}

/** `confirmed`: the scan never runs, and its credits are free. */
type EndOfSubmission = { accepted: true; row: ScanRow } | { accepted: false; confirmed: boolean };

/**
 * Abandons a failed submission and returns its credits. `accepted`: the operator accepted the row first, because the failed step
 * took effect, and the scan runs.
 */
async function abandon({ stores: { credits, scans } }: SubmissionDeps, { request, scanId, logger }: Attempt): Promise<EndOfSubmission> {
  let end: EndOfSubmission = { accepted: false, confirmed: false };
  await bestEffort('a failed submission or its credits remain for the sweeper', logger, async () => {
    const abandoned = await scans.abandon(scanId);
    if (!abandoned.ok && abandoned.reason === 'accepted') {
      end = { accepted: true, row: abandoned.row };
      return;
    }
    // Also if another process abandoned it, or its row is gone: this attempt may have reserved after that one settled.
    await credits.settle(creditAccountOf(request), scanId, 0);
    end = { accepted: false, confirmed: true };
  });
  return end;
}

function newScan(deps: SubmissionDeps, { request, scanId }: Attempt): NewScan {
  return {
    id: scanId,
    organisation: request.organisation,
    origin: 'api',
    resource: { namespace: deps.namespace, name: resourceNameOf(scanId) },
    ...(request.queue !== undefined && { queue: request.queue }),
    submission: 'pending',
    ...(request.auth && { auth: request.auth }),
    ...(request.test && { test: true as const }),
    options: { ...request.options, url: new URL(request.options.url).href },
    metadata: request.metadata,
    ...(request.baseline && { baseline: request.baseline }),
    ...(request.submittedBy !== undefined && { submittedBy: request.submittedBy }),
    createdAt: deps.now(),
  };
}

/** Writes the custom resource of a submission, with retries. Waits between attempts, in milliseconds. */
const RETRY_AFTER_MS = [100, 400];

/** The API server rejected the resource, and would reject it again: rights, the schema or a policy are wrong. */
class ResourceRejected extends Error {
  constructor(cause: unknown) {
    super('the Kubernetes API rejected the resource of a scan', { cause });
    this.name = 'ResourceRejected';
  }
}

/**
 * Writes the custom resource. Its name is derived from the scan ID, so that a retry cannot create a second one.
 * @throws ResourceRejected if a retry cannot succeed; after any other error it may exist
 */
async function writeResource(scanResources: ApiStores['scanResources'], row: ScanRow, origin: Origin | undefined): Promise<void> {
  let failure: unknown;
  for (const wait of [...RETRY_AFTER_MS, null]) {
    try {
      await scanResources.submit(row, origin);
      return;
    } catch (error) {
      failure = error;
      if (isRejection(error)) throw new ResourceRejected(error);
      if (isRefusal(error)) throw new DependencyDown('kubernetes', error);
      if (wait !== null) await sleep(wait);
    }
  }
  // No attempt was answered, but one may have written the resource.
  const exists = await scanResources.exists(row).catch(() => null);
  if (exists === true) return;
  throw failure instanceof KubernetesError ? new DependencyDown('kubernetes', failure) : failure;
}

/** Returns whether the API server answered and will answer the same at once, such as 404 while the custom resource definition is missing. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubernetesError && error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
}
