/** The form of a public scan: reads it, and says in the visitor's language why a request is refused. */
import { isEmailAddress } from '../../../core/email-address.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import { readAddress } from '../../../core/scan/typed-address.ts';
import type { FormError } from '../../web/fields.ts';
import type { Form } from '../../web/html-scope.ts';
import type { PublicScanRefusal } from '../public-scan.ts';
import type { Words } from '../../../report/words/translated.ts';
import { wordsIn } from '../../../report/words/words.ts';

/** What was typed. */
export interface ScanForm {
  url: string;
  email: string;
}

export type ReadScanForm =
  /** `url`: with a scheme. */
  { ok: true; url: string; httpFallback: boolean; email: string; turnstileToken: string } | { ok: false; errors: FormError[] };

/** The name of the field that Turnstile's script adds. */
const TURNSTILE_FIELD = 'cf-turnstile-response';

export const typedIn = (form: Form): ScanForm => ({ url: form.text('url'), email: form.text('email') });

export function readScanForm(form: Form, locale: Locale): ReadScanForm {
  const { texts, format } = wordsIn(locale, 'publicPages');
  const { url: typed, email } = typedIn(form);
  const { url, httpFallback = false } = readAddress(typed);
  const errors: FormError[] = [];
  const add = (field: string, text: string): void => void errors.push({ field, text });
  if (typed === '') add('url', texts.refused.urlMissing);
  else if (url.length > URL_MAX_LENGTH) add('url', format(texts.refused.urlTooLong, { max: URL_MAX_LENGTH }));
  else if (!URL.canParse(url) || /\s/.test(url)) add('url', texts.refused.urlInvalid);
  if (email === '') add('email', texts.refused.emailMissing);
  else if (!isEmailAddress(email)) add('email', texts.refused.emailInvalid);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, url, httpFallback, email, turnstileToken: form.exact(TURNSTILE_FIELD) };
}

type TargetReason = Extract<PublicScanRefusal, { reason: 'target_refused' }>['target']['reason'];
type OtherReason = Exclude<PublicScanRefusal['reason'], 'target_refused' | 'rate_limited'>;
type TextName = keyof Words<'publicPages'>['refused'];

const TARGETS: Readonly<Record<TargetReason, TextName>> = {
  not_a_url: 'urlInvalid',
  too_long: 'urlTooLong',
  scheme: 'urlScheme',
  credentials: 'urlCredentials',
  port: 'urlPort',
  private_address: 'urlPrivate',
  unresolvable: 'urlUnresolvable',
};

/** In seconds, for refusals that pass. */
const SOON = 60;
const LATER = 180;

const OTHERS: Readonly<Record<OtherReason, { text: TextName; status: number; retryAfterSeconds?: number }>> = {
  public_scans_disabled: { text: 'disabled', status: 403 },
  turnstile_refused: { text: 'turnstileRefused', status: 422 },
  turnstile_unavailable: { text: 'turnstileUnavailable', status: 503, retryAfterSeconds: SOON },
  in_progress: { text: 'inProgress', status: 503, retryAfterSeconds: SOON },
  dns_unavailable: { text: 'dnsUnavailable', status: 503, retryAfterSeconds: SOON },
  queue_paused: { text: 'queuePaused', status: 503, retryAfterSeconds: LATER },
  queue_full: { text: 'busy', status: 503, retryAfterSeconds: LATER },
  organisation_full: { text: 'busy', status: 503, retryAfterSeconds: LATER },
  resource_rejected: { text: 'internal', status: 500 },
};

export interface RefusedForm {
  status: number;
  /** Seconds for `Retry-After`; null if waiting does not help. */
  retryAfterSeconds: number | null;
  errors: FormError[];
}

/** The answer to a refused request, in the visitor's language. */
export function describeRefusal(refusal: PublicScanRefusal, locale: Locale): RefusedForm {
  const { texts, format, count } = wordsIn(locale, 'publicPages');
  if (refusal.reason === 'target_refused') {
    const text = format(texts.refused[TARGETS[refusal.target.reason]], { max: URL_MAX_LENGTH });
    return { status: 422, retryAfterSeconds: null, errors: [{ field: 'url', text }] };
  }
  if (refusal.reason === 'rate_limited') {
    const { retryAfterSeconds } = refusal;
    const minutes = Math.max(1, Math.ceil(retryAfterSeconds / 60));
    const when = minutes < 60 ? count(texts.inMinutes, minutes) : count(texts.inHours, Math.ceil(minutes / 60));
    return { status: 429, retryAfterSeconds, errors: [{ field: null, text: format(texts.refused.rateLimited, { when }) }] };
  }
  const { text, status, retryAfterSeconds = null } = OTHERS[refusal.reason];
  return { status, retryAfterSeconds, errors: [{ field: null, text: texts.refused[text] }] };
}
