/** Submits a scan: claims the idempotency key, checks target and queue, charges, and stores the response. */
import { judgeScanUrl } from '../../core/scan/targets.ts';
import type { Logger } from '../../platform/logger.ts';
import { bestEffort } from './best-effort.ts';
import { createCharge, step, type Attempt, type Charge } from './charge.ts';
import type { SubmissionRefusal } from './refusals.ts';
import { LEASE_SECONDS, type SubmissionDeps, type SubmissionOutcome, type SubmissionRequest, type Submissions } from './submission.ts';

/** An idempotency key that this submission owns. */
interface OwnedKey {
  key: string;
  holder: string;
}

export function createSubmissions(deps: SubmissionDeps): Submissions {
  const charge = createCharge(deps);
  return {
    async submit(request, requestLogger) {
      const claim = await claimKey(deps, request);
      if (!claim.ok) return claim;
      if ('answer' in claim) return { ok: true, answer: claim.answer, replayed: true };
      const logger = requestLogger.child({ scan: claim.scanId, organisation: request.organisation });
      return submitOwned(deps, charge, { request, scanId: claim.scanId, startedAt: claim.startedAt, logger }, claim.owned);
    },
  };
}

type KeyClaim =
  | { ok: true; scanId: string; startedAt: Date; owned: OwnedKey | null }
  | { ok: true; answer: Extract<SubmissionOutcome, { ok: true }>['answer'] }
  | SubmissionRefusal;

/** Claims the request's idempotency key, if any, so that only one of several equal requests submits. */
async function claimKey(deps: SubmissionDeps, request: SubmissionRequest): Promise<KeyClaim> {
  const startedAt = deps.clock();
  const scanId = deps.newId();
  const { organisation, idempotency } = request;
  if (idempotency === null) return { ok: true, scanId, startedAt, owned: null };
  const claim = await step(deps, 'claim idempotency key', request, () =>
    deps.stores.idempotency.claim({ organisation, ...idempotency, scanId, leaseSeconds: LEASE_SECONDS }),
  );
  if (claim.ok) return { ok: true, scanId: claim.scanId, startedAt, owned: { key: idempotency.key, holder: claim.holder } };
  if (claim.reason === 'answered') return { ok: true, answer: claim.answer };
  return { ok: false, reason: claim.reason === 'in_progress' ? 'idempotency_conflict' : 'idempotency_reused' };
}

/** Submits the scan, then stores the response under the owned key, or releases the key if the scan was not accepted. */
async function submitOwned(deps: SubmissionDeps, charge: Charge, attempt: Attempt, owned: OwnedKey | null): Promise<SubmissionOutcome> {
  const { request, logger } = attempt;
  let charged: Awaited<ReturnType<Charge>>;
  try {
    charged = (await step(deps, 'judge target and queue', request, () => refusalBeforeCharge(deps, request))) ?? (await charge(attempt));
  } catch (error) {
    await release(deps, request, owned, logger);
    throw error;
  }
  if (!charged.ok) {
    await release(deps, request, owned, logger);
    return charged;
  }
  const answer = deps.answerFor(charged.row);
  // The scan runs even if its response cannot be stored. A repeated request then finds the row by its scan ID.
  await bestEffort('the response of an idempotency key was not stored', logger, async () => {
    if (owned) await deps.stores.idempotency.complete(request.organisation, owned.key, answer, owned.holder);
  });
  return { ok: true, answer, replayed: false };
}

/** The checks before anything is charged. */
async function refusalBeforeCharge(deps: SubmissionDeps, request: SubmissionRequest): Promise<SubmissionRefusal | null> {
  const target = await judgeScanUrl(request.options.url, deps.targets, deps.resolver);
  if (!target.ok) return { ok: false, reason: 'target_refused', target };
  const queue = await deps.stores.queueStates.read();
  if (queue.paused) return { ok: false, reason: 'queue_paused' };
  if (queue.live >= deps.maxLiveScans) return { ok: false, reason: 'queue_full' };
  return null;
}

async function release(deps: SubmissionDeps, request: SubmissionRequest, owned: OwnedKey | null, logger: Logger): Promise<void> {
  await bestEffort('an idempotency key was not released and stays claimed until its lease ends', logger, async () => {
    if (owned) await deps.stores.idempotency.release(request.organisation, owned.key, owned.holder);
  });
}
