/** Why a submission is rejected, and the error response for each reason. */
import type { ScanUrlJudgement, ScanUrlRefusal } from '../../core/scan/targets.ts';
import { ApiError, ValidationFailure, type ValidationType } from '../errors.ts';

export type SubmissionRefusal =
  | { ok: false; reason: 'target_refused'; target: Extract<ScanUrlJudgement, { ok: false }> }
  | { ok: false; reason: 'queue_paused' }
  | { ok: false; reason: 'queue_full' }
  | { ok: false; reason: 'insufficient_credits'; balance: number }
  | { ok: false; reason: 'idempotency_conflict' }
  | { ok: false; reason: 'idempotency_reused' };

const TARGET_TYPES: Readonly<Record<ScanUrlRefusal, ValidationType>> = {
  not_a_url: 'string.uri',
  too_long: 'string.max_length',
  scheme: 'url.scheme',
  credentials: 'url.credentials',
  port: 'url.port',
  private_address: 'url.private_address',
  unresolvable: 'url.unresolvable',
  dns_unavailable: 'url.unresolvable',
};

/** Converts a refusal to an error. @param pagesRequested for the body of `insufficient_credits` */
export function errorOf(refusal: SubmissionRefusal, pagesRequested: number): ApiError | ValidationFailure {
  switch (refusal.reason) {
    case 'target_refused': {
      const { reason, message } = refusal.target;
      return new ValidationFailure([{ loc: ['body', 'url'], msg: message, type: TARGET_TYPES[reason] }]);
    }
    case 'idempotency_reused':
      return new ValidationFailure([
        {
          loc: ['header', 'idempotency-key'],
          msg: 'This Idempotency-Key was used with a different body; use a new key for a new request.',
          type: 'idempotency_key.reused',
        },
      ]);
    case 'insufficient_credits':
      return new ApiError('insufficient_credits', { fields: { balance: refusal.balance, pages_requested: pagesRequested } });
    case 'idempotency_conflict':
    case 'queue_paused':
    case 'queue_full':
      return new ApiError(refusal.reason);
  }
}
