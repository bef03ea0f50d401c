/** The error responses of refused public scans. */
import type { FastifyReply } from 'fastify';
import { ApiError, ValidationFailure } from '../http/errors.ts';
import { rateLimited } from '../http/plugins/denials.ts';
import { errorOf, queueFull } from '../scans/submission/refusals.ts';
import type { PublicScanRefusal } from './public-scan.ts';

const TURNSTILE_REFUSED = 'cf_turnstile_token is missing, was used before or is too old; repeat the check.';
const TURNSTILE_UNAVAILABLE = 'The check for programs is unavailable; retry after the number of seconds in Retry-After.';
const IN_PROGRESS = 'The same scan is being submitted by another request; retry after the number of seconds in Retry-After.';

/** Converts a refusal to an error. Adds the headers of the limits to the reply. */
export function publicErrorOf(refusal: PublicScanRefusal, reply: FastifyReply): ApiError | ValidationFailure {
  switch (refusal.reason) {
    case 'public_scans_disabled':
      return new ApiError('public_scans_disabled');
    case 'rate_limited':
      return rateLimited(reply, refusal);
    case 'turnstile_refused':
      return new ValidationFailure([{ loc: ['body', 'cf_turnstile_token'], msg: TURNSTILE_REFUSED, type: 'turnstile.refused' }]);
    case 'turnstile_unavailable':
      return new ApiError('service_unavailable', { fields: { message: TURNSTILE_UNAVAILABLE } });
    case 'in_progress':
      return new ApiError('service_unavailable', { fields: { message: IN_PROGRESS } });
    case 'organisation_full':
      return queueFull('public');
    default:
      return errorOf(refusal, 1);
  }
}
