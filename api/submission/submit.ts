/**
 * One submission, from a judged request to a scan that will run: the only place where the front door charges.
 *
 * The order is what makes it safe. The row exists before credits are held for it, and the custom resource is written
 * last, so that whatever a crash leaves can be found from the row: a `pending` row older than a minute is finished by
 * the operator's sweeper, which looks whether its resource exists. Every step is known by the scan's id and may be
 * repeated; the credits' deadline keeps a stalled step from charging for a scan that was given up.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';
import { resourceNameOf } from '../../core/protocol/custom-resources.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { inSpan, type Tracer } from '../../platform/tracing.ts';
import { judgeScanUrl, type Resolver, type ScanUrlJudgement, type TargetRules } from '../../core/scan/targets.ts';
import { DeadlinePassed } from '../../stores/credits/credits.ts';
import type { StoredAnswer } from '../../stores/submissions/idempotency.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { Origin } from '../../stores/submissions/scan-resources.ts';
import { ScanGivenUp, type ScanRow } from '../../stores/scans/scans.ts';
import { DependencyDown, type ApiStores } from '../dependencies.ts';

/** How long one submission owns its idempotency key. After it, somebody else may take the same scan up. */
const LEASE_SECONDS = 60;
/** Credits are held within this time of the start or not at all: well before the lease ends. */
const RESERVE_WITHIN_MS = 30_000;
/** Waits between attempts at writing the custom resource. */
const RESOURCE_RETRIES_MS = [100, 400];

export interface SubmissionRequest {
  organisation: string;
  /** All defaults filled in. `url` is not judged yet. */
  options: ScanOptions;
  /** True: take fewer pages where credits are short. */
  partial: boolean;
  /** Null without one. */
  idempotency: { key: string; fingerprint: string } | null;
  /** What the resource says of where it came from. */
  origin?: Origin;
}

export type SubmissionOutcome =
  | { kind: 'accepted'; answer: StoredAnswer; scanId: string; replayed: false }
  /** The stored answer of the first request with this key. Nothing was charged now. */
  | { kind: 'accepted'; answer: StoredAnswer; scanId: null; replayed: true }
  | { kind: 'target_refused'; refusal: Extract<ScanUrlJudgement, { ok: false }> }
  | { kind: 'queue_paused' }
  | { kind: 'queue_full' }
  | { kind: 'insufficient_credits'; balance: number }
  | { kind: 'idempotency_conflict' }
  | { kind: 'idempotency_reused' };

export interface Submissions {
  /** @throws DependencyDown where one is down: then nothing is charged, now or later */
  submit(request: SubmissionRequest, logger: Logger): Promise<SubmissionOutcome>;
}

export interface SubmissionDeps {
  stores: Pick<ApiStores, 'credits' | 'scans' | 'idempotency' | 'queueStates' | 'scanResources'>;
  resolver: Resolver;
  clock: () => Date;
  tracer: Tracer;
  newId: () => string;
  namespace: string;
  targets: TargetRules;
  maxLiveScans: number;
  /** What the caller is told of an accepted row, and told again on every repeat. */
  answerFor: (row: ScanRow) => StoredAnswer;
}

/** An idempotency key that this submission owns. */
interface Claimed {
  organisation: string;
  key: string;
  holder: string | undefined;
}

type Refusal = Exclude<SubmissionOutcome, { kind: 'accepted' }>;

export function createSubmissions(parts: SubmissionDeps): Submissions {
  const { credits, scans, idempotency, queueStates, scanResources } = parts.stores;

  /** A step of a submission, as a part of its request's span. */
  const step = <T>(name: string, { origin }: SubmissionRequest, work: () => Promise<T>): Promise<T> =>
    origin?.traceparent === undefined ? work() : inSpan(parts.tracer, name, { parent: origin.traceparent, kind: 'client' }, work);

  /** Claims the key, so that of two equal requests one submits; and gives it back unless there is an answer to keep. */
  async function submit(request: SubmissionRequest, logger: Logger): Promise<SubmissionOutcome> {
    const { organisation } = request;
    const startedAt = parts.clock();
    let scanId = parts.newId();
    let claimed: Claimed | null = null;
    if (request.idempotency) {
      const claiming = { organisation, ...request.idempotency, scanId, leaseSeconds: LEASE_SECONDS };
      const claim = await step('claim idempotency key', request, () => idempotency.claim(claiming));
      if (claim.state === 'stored') return { kind: 'accepted', answer: claim.answer, scanId: null, replayed: true };
      if (claim.state === 'in_flight') return { kind: 'idempotency_conflict' };
      if (claim.state === 'reused') return { kind: 'idempotency_reused' };
      scanId = claim.scanId;
      claimed = { organisation, key: request.idempotency.key, holder: claim.holder };
    }
    let accepted: ScanRow | Refusal;
    try {
      accepted =
        (await step('judge target and queue', request, () => refuse(request))) ?? (await charge(request, scanId, startedAt, logger));
    } catch (error) {
      await giveBack(claimed, logger);
      throw error;
    }
    if ('kind' in accepted) {
      await giveBack(claimed, logger);
      return accepted;
    }
    const answer = parts.answerFor(accepted);
    // The scan will run, so the answer stands even if it cannot be kept: a repeat then finds the row by its scan id.
    await bestEffort('the answer of an idempotency key could not be kept', logger, async () => {
      if (claimed) await idempotency.complete(claimed.organisation, claimed.key, answer, claimed.holder);
    });
    return { kind: 'accepted', answer, scanId, replayed: false };
  }

  /** Every reason not to try that costs nothing to find out. */
  async function refuse(request: SubmissionRequest): Promise<Refusal | null> {
    const target = await judgeScanUrl(request.options.url, parts.targets, parts.resolver);
    if (!target.ok) return { kind: 'target_refused', refusal: target };
    const queue = await queueStates.read();
    if (queue.paused) return { kind: 'queue_paused' };
    if (queue.live >= parts.maxLiveScans) return { kind: 'queue_full' };
    return null;
  }

  /** Row, credits, custom resource; on a failure all of it is taken back. */
  async function charge(request: SubmissionRequest, scanId: string, startedAt: Date, logger: Logger): Promise<ScanRow | Refusal> {
    const { organisation, options, partial } = request;
    const created = await step('create row', request, () => scans.create(newRow(request, scanId))).catch((error: unknown) => {
      throw asOutage(error);
    });
    // Somebody who had this key before us died after the scan was accepted and before the answer was kept.
    if (created.submission === 'accepted') return created;
    try {
      const deadline = new Date(startedAt.getTime() + RESERVE_WITHIN_MS);
      const reservation = await step('reserve credits', request, () =>
        credits.reserve({ organisation, scanId, pages: options.maxPages, partial, deadline }),
      );
      if ('insufficient' in reservation) {
        await bestEffort('a row without credits stays for the sweeper', logger, () => scans.discard(scanId));
        return { kind: 'insufficient_credits', balance: reservation.balance };
      }
      const mirrored = await scans.mirror(scanId, { pagesReserved: reservation.reserved });
      if (mirrored === null) throw new DependencyDown('mongodb', new Error(`the row of scan ${scanId} is gone`));
      await step('write resource', request, () => writeResource(mirrored.row, request.origin));
      await step('accept', request, () => accept(scanId, logger));
      return mirrored.row;
    } catch (error) {
      await takeBack(request, scanId, startedAt, error, logger);
      throw asOutage(error);
    }
  }

  /** The scan will run, whether its row says so now or after the sweeper's next look; unless the sweeper was here before us. */
  async function accept(scanId: string, logger: Logger): Promise<void> {
    try {
      await scans.accept(scanId);
    } catch (error) {
      if (error instanceof ScanGivenUp) throw error;
      logger.warn({ scanId, error: messageOf(error) }, 'an accepted row stays pending until the sweeper sees its resource');
    }
  }

  /** Writes the custom resource. Its name is derived from the scan's id, so trying again cannot make a second one. */
  async function writeResource(row: ScanRow, origin: Origin | undefined): Promise<void> {
    let failure: unknown;
    for (const wait of [...RESOURCE_RETRIES_MS, null]) {
      try {
        await scanResources.submit(row, origin);
        return;
      } catch (error) {
        failure = error;
        if (isRefusal(error)) throw new NeverWritten(error);
        if (wait !== null) await pause(wait);
      }
    }
    // The last answer was lost, but the resource may have been written all the same.
    const exists = await scanResources.exists(row).catch(() => null);
    if (exists === true) return;
    throw exists === false ? new NeverWritten(failure) : failure;
  }

  /**
   * Frees the credits, then forgets the row. The row is forgotten only where it is certain that nothing hangs on it: no
   * hold that may still come, no resource that may exist. Otherwise it stays pending, and the sweeper looks again.
   */
  async function takeBack(request: SubmissionRequest, scanId: string, startedAt: Date, cause: unknown, logger: Logger): Promise<void> {
    // Late, this submission may no longer own its key: whoever took the same scan up may have brought it to a good end.
    const late = parts.clock().getTime() - startedAt.getTime() > (LEASE_SECONDS * 1000) / 2;
    if (late && request.idempotency) return;
    await bestEffort('credits of a failed submission are freed by the sweeper', logger, async () => {
      await credits.settle(request.organisation, scanId, 0);
      if (cause instanceof NeverWritten || cause instanceof DeadlinePassed) await scans.discard(scanId);
    });
  }

  async function giveBack(claimed: Claimed | null, logger: Logger): Promise<void> {
    await bestEffort('an idempotency key stays claimed until its lease ends', logger, async () => {
      if (claimed) await idempotency.release(claimed.organisation, claimed.key, claimed.holder);
    });
  }

  function newRow(request: SubmissionRequest, scanId: string): Parameters<typeof scans.create>[0] {
    return {
      id: scanId,
      organisation: request.organisation,
      origin: 'api',
      resource: { namespace: parts.namespace, name: resourceNameOf(scanId) },
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
      createdAt: parts.clock(),
      finishedAt: null,
    };
  }

  return { submit };
}

/** The custom resource could not be written, and is known not to exist. */
class NeverWritten extends DependencyDown {
  constructor(cause: unknown) {
    super('kubernetes', cause);
    this.name = 'NeverWritten';
  }
}

/** True where the API server read the request and said no, so that nothing was written by it. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubernetesError && error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
}

/** Whatever kept a submission from its end is an outage to the caller: it may be sent again, and nothing was charged. */
function asOutage(error: unknown): unknown {
  return error instanceof DeadlinePassed || error instanceof ScanGivenUp ? new DependencyDown('mongodb', error) : error;
}

/** Does what should be done but must not change the answer. */
async function bestEffort(consequence: string, logger: Logger, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    logger.warn({ error: messageOf(error) }, consequence);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
