/** Asks Cloudflare Turnstile whether a visitor is a person. */
import { createHash } from 'node:crypto';
import type { Logger } from '../../platform/logger.ts';
import { currentOf, type Credential } from '../../platform/setting-files.ts';

export interface TurnstileQuestion {
  token: string;
  address: string;
  /** What the visitor asks for. The same token may be verified again for the same request, such as after a double click. */
  request: string;
}

export type TurnstileVerdict = { ok: true } | { ok: false; reason: 'turnstile_refused' | 'turnstile_unavailable' };
export type VerifyTurnstile = (question: TurnstileQuestion, logger: Logger) => Promise<TurnstileVerdict>;

export interface TurnstileOptions {
  secretKey: Credential;
  verifyUrl: string;
  /** The time limit of a verification, in milliseconds. Default 5,000. */
  timeoutMs?: number;
}

/** The script that shows the check on a page. */
const WIDGET_SCRIPT = 'https://challenges.cloudflare.com/turnstile/v0/api.js';

/** What the form shows. @returns null if visitors are not checked */
export function widgetOf(turnstile: { siteKey: string } | null | undefined): { siteKey: string; script: string } | null {
  return turnstile ? { siteKey: turnstile.siteKey, script: WIDGET_SCRIPT } : null;
}

/** Longer tokens are not Turnstile's. */
export const TURNSTILE_TOKEN_MAX_LENGTH = 2048;
const TIMEOUT_MS = 5_000;
/** Codes that say nothing about the visitor: a wrong secret key, or a failure of Turnstile. */
const OWN_ERRORS = ['missing-input-secret', 'invalid-input-secret', 'bad-request', 'internal-error'];
const REFUSED = { ok: false, reason: 'turnstile_refused' } as const;
const UNAVAILABLE = { ok: false, reason: 'turnstile_unavailable' } as const;

export function createTurnstile({ secretKey, verifyUrl, timeoutMs = TIMEOUT_MS }: TurnstileOptions): VerifyTurnstile {
  return async (question, logger) => {
    if (question.token === '') return REFUSED;
    const body = new URLSearchParams({
      secret: currentOf(secretKey),
      response: question.token,
      remoteip: question.address,
      idempotency_key: idempotencyKey(question),
    });
    try {
      const response = await fetch(verifyUrl, { method: 'POST', body, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
      const answer = (await response.json()) as { success?: unknown; 'error-codes'?: unknown };
      if (answer.success === true) return { ok: true };
      const codes = Array.isArray(answer['error-codes']) ? answer['error-codes'].map(String) : [];
      const isVerdict = answer.success === false && codes.length > 0 && !codes.some((code) => OWN_ERRORS.includes(code));
      if (isVerdict) return REFUSED;
      logger.error({ status: response.status, codes: codes.slice(0, 10) }, 'Turnstile answered with an error');
    } catch (error) {
      // Without a verdict every request is refused.
      logger.warn({ err: error }, 'Turnstile unavailable');
    }
    return UNAVAILABLE;
  };
}

/** A UUID of the token and the request. */
function idempotencyKey({ token, request }: TurnstileQuestion): string {
  const hex = createHash('sha256').update(`${token}\n${request}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
