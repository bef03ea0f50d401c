/** Submits a scan: claims the idempotency key, checks target and queue, and charges. */
import { baselineMistake } from '../../../core/scan/baseline.ts';
import { addressListMistake } from '../../../core/scan/address-list.ts';
import { prepareMistake } from '../../../core/scan/steps.ts';
import { maySignInWith } from '../../../core/scan/sign-in.ts';
import { isTestTarget, judgeScan, urlOnHost } from '../../../core/scan/targets.ts';
import { isCheck } from '../../../stores/scans/scan-row.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { OwnedClaim } from '../../../stores/submissions/idempotency.ts';
import { bestEffort } from '../../../platform/logger.ts';
import { type BuiltInQueue, DEFAULT_QUEUE } from '../../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { QueueState, QueueStates } from '../../../stores/submissions/queue-state.ts';
import type { ApiStores } from '../../dependencies.ts';
import { type Attempt, type Charge, createCharge, step } from './charge.ts';
import {
  LEASE_SECONDS,
  type SubmissionDeps,
  type SubmissionOutcome,
  type SubmissionRefusal,
  type SubmissionRequest,
  type Submissions,
} from './submission.ts';

/** An idempotency key that this request owns. */
interface Claimed {
  claim: OwnedClaim;
  /** An earlier request may be submitting the same scan. */
  resumed: boolean;
  /** The row that the earlier request created. */
  row: ScanRow | null;
}

export function createSubmissions(deps: SubmissionDeps): Submissions {
  const charge = createCharge(deps);

  return {
    check: (request) => refusalOfRequest(deps, request),

    async submit(request, requestLogger) {
      const attemptOf = (scanId: string, resumed: boolean, row: ScanRow | null): Attempt => {
        const logger = requestLogger.child({ scan: scanId, organisation: request.organisation });
        return { request, scanId, resumed, row, startedAt: deps.now(), logger };
      };
      if (request.idempotency === null) return submitOnce(deps, charge, attemptOf(request.scanId ?? deps.newId(), false, null));
      const claimed = await claimKey(deps, request, request.idempotency);
      if ('ok' in claimed) return claimed;
      const { claim, resumed, row } = claimed;
      return submitClaimed(deps, charge, attemptOf(claim.resourceId, resumed, row), claim);
    },
  };
}

/**
 * Claims the request's idempotency key, so that only one of several equal requests submits. The row of the scan that the key
 * names comes first: once it is accepted, its response is the answer, whatever the queue, the target or the lease say now.
 */
async function claimKey(
  deps: SubmissionDeps,
  request: SubmissionRequest,
  idempotency: NonNullable<SubmissionRequest['idempotency']>,
): Promise<Claimed | SubmissionOutcome> {
  const { idempotency: keys, scans } = deps.stores;
  const { organisation } = request;
  const claimed = await step(deps, 'claim idempotency key', request, () =>
    keys.claim({ organisation, ...idempotency, resourceId: deps.newId(), leaseSeconds: LEASE_SECONDS }),
  );
  if (claimed.ok && !claimed.claim.takenOver) return { claim: claimed.claim, resumed: false, row: null };
  if (!claimed.ok && claimed.reason === 'reused') return { ok: false, reason: 'idempotency_reused' };
  const row = await scans.find(claimed.ok ? claimed.claim.resourceId : claimed.resourceId);
  if (row?.submission === 'accepted') return { ok: true, answer: deps.answerFor(row), replayed: true, row };
  if (!claimed.ok) return conflict(claimed.leaseMs);
  if (row?.submission !== 'abandoned') return { claim: claimed.claim, resumed: true, row };
  // That scan will never run, so this request submits another one.
  const restarted = await keys.restart(claimed.claim, deps.newId());
  return restarted === null ? conflict(LEASE_SECONDS * 1000) : { claim: restarted, resumed: false, row: null };
}

function conflict(leaseMs: number): SubmissionRefusal {
  return { ok: false, reason: 'idempotency_conflict', retryAfterSeconds: Math.max(1, Math.ceil(leaseMs / 1000)) };
}

/** Submits under a claimed key, which can be claimed again at once if the scan is not accepted. */
async function submitClaimed(deps: SubmissionDeps, charge: Charge, attempt: Attempt, claim: OwnedClaim): Promise<SubmissionOutcome> {
  const { idempotency } = deps.stores;
  const { logger } = attempt;
  const free = (end: () => Promise<void>) => bestEffort('an idempotency key stays claimed until its lease ends', logger, end);
  try {
    const outcome = await submitOnce(deps, charge, attempt);
    if (!outcome.ok) await free(() => idempotency.remove(claim));
    return outcome;
  } catch (error) {
    // The scan may still be accepted, so the key keeps naming it.
    await free(() => idempotency.release(claim));
    throw error;
  }
}

async function submitOnce(deps: SubmissionDeps, charge: Charge, attempt: Attempt): Promise<SubmissionOutcome> {
  const { request } = attempt;
  const refusal = await step(deps, 'judge target and queue', request, () => refusalBeforeCharge(deps, request));
  if (refusal !== null) return refusal;
  const charged = await charge(attempt);
  if (!charged.ok) return charged;
  const { row, replayed } = charged;
  return { ok: true, answer: deps.answerFor(row), replayed, row };
}

/** Whether a scan is done and of the same kind: scans of test keys are compared only with each other, and none with a check. */
async function isBaseline({ stores }: SubmissionDeps, { organisation, test = false }: SubmissionRequest, scanId: string): Promise<boolean> {
  const row = await stores.scans.find(scanId, organisation);
  return row?.phase === 'done' && !isCheck(row) && (row.test ?? false) === test;
}

/** The checks before anything is charged. */
async function refusalBeforeCharge(deps: SubmissionDeps, request: SubmissionRequest): Promise<SubmissionRefusal | null> {
  const refusal = await refusalOfRequest(deps, request);
  if (refusal !== null) return refusal;
  const reason = await deps.queueGate();
  return reason === null ? null : { ok: false, reason };
}

async function refusalOfRequest(deps: SubmissionDeps, request: SubmissionRequest): Promise<SubmissionRefusal | null> {
  const { url, crawl, thresholds } = request.options;
  const { baseline } = request;
  const wrong = baselineMistake(baseline, thresholds.maxNewViolations !== undefined);
  if (wrong !== null) return { ok: false, reason: 'baseline_refused', type: 'baseline.invalid', message: wrong };
  if (request.test) {
    if (!isTestTarget(url, deps.testTargets)) return { ok: false, reason: 'test_key_target' };
    const host = crawl.hosts.findIndex((entry) => !isTestTarget(urlOnHost(entry, url), deps.testTargets));
    if (host >= 0) return { ok: false, reason: 'test_key_target', host };
  }
  if (crawl.prepare.length > 0 && !deps.allowPrepareSteps) return { ok: false, reason: 'prepare_disabled' };
  if (request.auth && !maySignInWith(request.auth.secret, request.organisation, deps.allowScanSecrets))
    return { ok: false, reason: 'secret_refused' };
  const target = await judgeScan({ url, hosts: crawl.hosts }, deps.targets, deps.resolver);
  if (!target.ok) {
    const { reason, message, host } = target;
    return reason === 'dns_unavailable'
      ? { ok: false, reason }
      : { ok: false, reason: 'target_refused', target: { reason, message, host } };
  }
  const listed = addressListMistake(request.options);
  if (listed !== null) return { ok: false, reason: 'urls_refused', mistake: listed };
  const mistake = prepareMistake(crawl.prepare, new URL(url));
  if (mistake !== null) return { ok: false, reason: 'prepare_refused', mistake };
  if (baseline?.scan !== undefined && !(await isBaseline(deps, request, baseline.scan.toLowerCase())))
    return {
      ok: false,
      reason: 'baseline_refused',
      type: 'baseline.not_found',
      message: `There is no done scan ${baseline.scan} to compare with.`,
    };
  return null;
}

/**
 * Whether a built-in queue takes further submissions, from the state that the operator mirrors to MongoDB. The operator writes the state
 * every 10 s. An older one says nothing about the number of live scans.
 */
const OUTDATED_AFTER_MS = 60_000;

interface QueueGateDeps {
  queueStates: Pick<QueueStates, 'read'>;
  scans: Pick<ApiStores['scans'], 'countLive'>;
  now: () => Date;
  monotonic?: () => number;
  queue?: BuiltInQueue;
  /** Null: the credits store bounds the live scans. */
  maxLiveScans: number | null;
  /** How long one answer is used for all submissions to this replica, in milliseconds. */
  cacheMs: number;
}

type QueueGate = SubmissionDeps['queueGate'];
export function createQueueGate({ queue = DEFAULT_QUEUE, monotonic, ...deps }: QueueGateDeps): QueueGate {
  const { queueStates, scans, now, maxLiveScans, cacheMs } = deps;
  const cached = new BoundedMap<ReturnType<QueueGate>>({ max: 1, monotonic });

  /** Without a current state, as while the operator is down, the live rows count: submissions must not pile up without bound. */
  function live(state: QueueState, limit: number): number | Promise<number> {
    const ageMs = now().getTime() - state.updatedAt.getTime();
    return ageMs > OUTDATED_AFTER_MS ? scans.countLive(limit) : state.live;
  }

  async function look(): ReturnType<QueueGate> {
    const state = await queueStates.read(queue);
    if (state.paused) return 'queue_paused';
    return maxLiveScans !== null && (await live(state, maxLiveScans)) >= maxLiveScans ? 'queue_full' : null;
  }

  return async () => {
    const known = cached.get(queue);
    if (known !== null) return known;
    const answer = look();
    cached.set(queue, answer, cacheMs);
    // An outage must not last longer than it does.
    answer.catch(() => cached.get(queue) === answer && cached.delete(queue));
    return answer;
  };
}
