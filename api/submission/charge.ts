/**
 * Charges one submission: creates its row, reserves its credits and writes its custom resource, in this order. If a step
 * fails, the earlier steps are undone.
 *
 * The order makes a crash safe. The row exists before its credits are held, and the custom resource is written last. After
 * a crash, the operator's sweeper finds `pending` rows older than a minute, and accepts or discards each depending on
 * whether its resource exists. Every step is identified by the scan ID and can be repeated. The deadline of the
 * reservation prevents a stalled step from charging for a discarded scan.
 */
import { resourceNameOf } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import { inSpan } from '../../platform/tracing.ts';

import { ScanGivenUp, type ScanRow, type Scans } from '../../stores/scans/scans.ts';
import { DependencyDown } from '../dependency-outages.ts';
import { bestEffort } from './best-effort.ts';
import type { SubmissionRefusal } from './refusals.ts';
import { NeverWritten, writeResource } from './resource-writer.ts';
import { LEASE_SECONDS, type SubmissionDeps, type SubmissionRequest } from './submission.ts';

/** A reservation is rejected if it arrives later than this: well before the lease of the idempotency key ends. */
const RESERVE_WITHIN_MS = 30_000;

/** A submission in progress. */
export interface Attempt {
  request: SubmissionRequest;
  scanId: string;
  startedAt: Date;
  /** Carries the ids of request, scan and organisation. */
  logger: Logger;
}

export type Charge = (attempt: Attempt) => Promise<{ ok: true; row: ScanRow } | SubmissionRefusal>;

export function createCharge(deps: SubmissionDeps): Charge {
  const { credits, scans, scanResources } = deps.stores;

  return async function charge(attempt) {
    const { request, scanId, logger } = attempt;
    const created = await step(deps, 'create row', request, () => scans.create(newRow(deps, attempt))).catch((error: unknown) => {
      throw asOutage(error);
    });
    // An earlier holder of this idempotency key crashed after it accepted the scan and before it stored the response.
    if (created.submission === 'accepted') return { ok: true, row: created };
    try {
      const reservation = await step(deps, 'reserve credits', request, () => credits.reserve(reservationOf(attempt)));
      if (!reservation.ok && reservation.reason === 'deadline_passed')
        throw new NeverWritten(new Error('the deadline of the reservation passed'), 'mongodb');
      if (!reservation.ok) {
        await bestEffort('the row of a submission without credits remains for the sweeper', logger, () => scans.discard(scanId));
        return { ok: false, reason: 'insufficient_credits', balance: reservation.balance };
      }
      const mirrored = await scans.mirror(scanId, { pagesReserved: reservation.reserved });
      if (mirrored === null) throw new DependencyDown('mongodb', new Error(`the row of scan ${scanId} was removed`));
      await step(deps, 'write resource', request, () => writeResource(scanResources, mirrored.row, request.origin));
      await step(deps, 'accept', request, () => accept(scans, attempt));
      return { ok: true, row: mirrored.row };
    } catch (error) {
      await undo(deps, attempt, error);
      throw asOutage(error);
    }
  };
}

/** Runs a step of a submission in a child span of its request. */
export function step<T>(deps: SubmissionDeps, name: string, { origin }: SubmissionRequest, work: () => Promise<T>): Promise<T> {
  if (origin?.traceparent === undefined) return work();
  return inSpan(deps.tracer, name, { parent: origin.traceparent, kind: 'client' }, work);
}

function reservationOf({ request: { organisation, options, partial }, scanId, startedAt }: Attempt) {
  const deadline = new Date(startedAt.getTime() + RESERVE_WITHIN_MS);
  return { organisation, scanId, pages: options.maxPages, partial, deadline };
}

/** Marks the row as accepted. If that fails, the sweeper does it later: the scan runs anyway. @throws ScanGivenUp if the sweeper discarded the row */
async function accept(scans: Pick<Scans, 'accept'>, { scanId, logger }: Attempt): Promise<void> {
  try {
    await scans.accept(scanId);
  } catch (error) {
    if (error instanceof ScanGivenUp) throw error;
    logger.warn({ err: error }, 'the row stays pending until the sweeper accepts it');
  }
}

/**
 * Releases the credits, then removes the row. The row is removed only if it is certain that its resource does not exist and
 * that no reservation can arrive later. Otherwise it stays pending for the sweeper.
 */
async function undo(deps: SubmissionDeps, { request, scanId, startedAt, logger }: Attempt, cause: unknown): Promise<void> {
  const { credits, scans } = deps.stores;
  // After half the lease, another request may own the key and may have completed the same scan.
  const late = deps.clock().getTime() - startedAt.getTime() > (LEASE_SECONDS * 1000) / 2;
  if (late && request.idempotency) return;
  await bestEffort('the credits of a failed submission stay held until the sweeper releases them', logger, async () => {
    await credits.settle(request.organisation, scanId, 0);
    if (cause instanceof NeverWritten) await scans.discard(scanId);
  });
}

/** Reports an expired deadline or a discarded row as an outage: nothing was charged, and the caller may retry. */
function asOutage(error: unknown): unknown {
  return error instanceof ScanGivenUp ? new DependencyDown('mongodb', error) : error;
}

function newRow(deps: SubmissionDeps, { request, scanId }: Attempt): Parameters<Scans['create']>[0] {
  return {
    id: scanId,
    organisation: request.organisation,
    origin: 'api',
    resource: { namespace: deps.namespace, name: resourceNameOf(scanId) },
    submission: 'pending',
    options: { ...request.options, url: new URL(request.options.url).href },
    pagesRequested: request.options.maxPages,
    pagesReserved: 0,
    phase: 'queued',
    pages: { scanned: 0, failed: 0, total: 0 },
    outcome: null,
    passed: null,
    message: null,
    reports: null,
    createdAt: deps.clock(),
    finishedAt: null,
  };
}
