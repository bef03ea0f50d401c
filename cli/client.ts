/** The service over HTTP: submits once however often it must ask, and waits where it is told to wait. */
import { Value } from 'typebox/value';
import type { TSchema, Static } from 'typebox';
import type { Impact } from '../core/scan/impacts.ts';
import type { WcagLevel, WcagVersion } from '../core/scan/wcag.ts';
import { CliError, ServiceUnavailable, printable } from './errors.ts';
import { Accepted, Link, ScanResult, readRefusal, type RefusalBody } from './messages.ts';

/** What is asked for. Absent: the service's default. */
export interface Submission {
  url: string;
  minScore?: number;
  maxViolations?: number;
  failOn?: Impact;
  maxPages?: number;
  wcag?: { version: WcagVersion; level: WcagLevel };
  /** As many pages as there are credits for. */
  partial?: boolean;
}

export interface ClientOptions {
  baseUrl: string;
  apiKey: string;
  /** Sent as User-Agent. */
  version: string;
  /** Told why, and for how many seconds, nothing happens. */
  onWait?: (why: string, seconds: number) => void;
  /** How long it waits in all for a service that is away, busy or paused, in seconds. */
  maxWaitSeconds: number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  signal: AbortSignal;
}

/** An answer: its status, its JSON body (or null) and what it says about the next request. */
export interface Answer {
  status: number;
  body: unknown;
  retryAfterSeconds: number | null;
}

export interface Client {
  readonly options: ClientOptions;
  /** Headers of a request with the key. */
  headers(extra?: Record<string, string>): Record<string, string>;
  address(path: string): string;
  /** @throws CannotTell where the service refuses, or cannot be reached for too long */
  submit(submission: Submission, idempotencyKey: string): Promise<Accepted>;
  /** The scan as it is now, and when to ask again. */
  poll(scanId: string): Promise<{ result: ScanResult; retryAfterSeconds: number | null }>;
  reportLink(scanId: string, kind: 'pdf' | 'json'): Promise<string>;
}

/** A request that has had no answer for so long is sent again. */
const REQUEST_TIMEOUT_MS = 30_000;
const FIRST_BACK_OFF_SECONDS = 0.5;
const LAST_BACK_OFF_SECONDS = 8;
/** Answers after which the same request may well succeed. A 409 is one only where it says when. */
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

/** A client of one service. Nothing is sent before the first call. */
export function createClient(options: ClientOptions): Client {
  const address = (path: string): string => `${options.baseUrl.replace(/\/+$/, '')}${path}`;
  const headers = (extra: Record<string, string> = {}): Record<string, string> => ({
    'X-API-Key': options.apiKey,
    'User-Agent': `curbcut/${options.version}`,
    Accept: 'application/json',
    ...extra,
  });

  /** Sends a request until there is an answer that is worth having. The request must be one that may be repeated. */
  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    let waited = 0;
    for (let attempt = 0; ; attempt += 1) {
      let why: string;
      let answered = true;
      let seconds = Math.min(FIRST_BACK_OFF_SECONDS * 2 ** attempt, LAST_BACK_OFF_SECONDS);
      try {
        const response = await fetch(address(path), {
          ...init,
          headers: headers(init.headers as Record<string, string> | undefined),
          signal: AbortSignal.any([options.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
        });
        const answer = await readAnswer(response);
        const again = TEMPORARY.has(answer.status) || (answer.status === 409 && answer.retryAfterSeconds !== null);
        if (!again) return answer;
        why = reasonOf(answer);
        seconds = answer.retryAfterSeconds ?? seconds;
      } catch (error) {
        options.signal.throwIfAborted();
        answered = false;
        why = `${options.baseUrl} cannot be reached (${causeOf(error)})`;
      }
      if (waited + seconds > options.maxWaitSeconds)
        throw new ServiceUnavailable(
          answered,
          `${why}.`,
          waited === 0 && seconds > options.maxWaitSeconds
            ? `It asks to wait ${Math.ceil(seconds)} s, longer than --max-wait ${options.maxWaitSeconds}.`
            : `Gave up after ${attempt + 1} ${attempt === 0 ? 'attempt' : 'attempts'} and ${Math.round(waited)} s of waiting (--max-wait ${options.maxWaitSeconds}).`,
        );
      options.onWait?.(why, seconds);
      await options.sleep(seconds * 1000, options.signal);
      waited += seconds;
    }
  }

  return {
    options,
    headers,
    address,
    async submit(submission, idempotencyKey) {
      const answer = await ask('/v1/ci/scans', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
        body: JSON.stringify(bodyOf(submission)),
      });
      if (answer.status !== 202) throw refusal(answer, options.baseUrl);
      return checked(Accepted, answer, options.baseUrl);
    },
    async poll(scanId) {
      const answer = await ask(`/v1/ci/scans/${encodeURIComponent(scanId)}`);
      // 422 is a verdict, or says that the id is none.
      if (![200, 202, 422].includes(answer.status) || readRefusal(answer.body) !== null) throw refusal(answer, options.baseUrl);
      return { result: checked(ScanResult, answer, options.baseUrl), retryAfterSeconds: answer.retryAfterSeconds };
    },
    async reportLink(scanId, kind) {
      const answer = await ask(`/v1/scans/${encodeURIComponent(scanId)}/report${kind === 'json' ? '/json' : ''}`);
      if (answer.status !== 200) throw refusal(answer, options.baseUrl);
      return checked(Link, answer, options.baseUrl).url;
    },
  };
}

function bodyOf(submission: Submission): Record<string, unknown> {
  return {
    url: submission.url,
    min_score: submission.minScore,
    max_violations: submission.maxViolations,
    fail_on_severity: submission.failOn,
    max_pages: submission.maxPages,
    wcag_version: submission.wcag?.version,
    wcag_level: submission.wcag?.level,
    ...(submission.partial === true && { fail_on_truncation: false }),
  };
}

/** Reads a response whole. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page: its status says enough.
  }
  return { status: response.status, body, retryAfterSeconds: retryAfterOf(response.headers.get('retry-after')) };
}

/** Seconds of a `Retry-After`, which may also be a date; null where there is none. */
export function retryAfterOf(header: string | null, now = Date.now()): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}

/** Why a request must wait, in words. */
export function reasonOf(answer: Answer): string {
  const known = readRefusal(answer.body);
  if (answer.status === 429) return 'The rate limit is reached';
  switch (known?.code) {
    case 'queue_paused':
      return 'The scan queue is paused, nothing was charged';
    case 'queue_full':
      return 'Too many scans are under way, nothing was charged';
    case 'service_unavailable':
      return 'A part of the service is down, nothing was charged';
    case 'idempotency_conflict':
      return 'The same submission is still under way';
    case 'scan_not_complete':
      return 'The report is not ready yet';
    default:
      return `The service answered ${answer.status}`;
  }
}

/** The innermost cause of a failed request: `fetch failed` alone says nothing. */
export function causeOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0];
  if (!(inner instanceof Error)) return String(inner);
  if (inner.name === 'TimeoutError') return 'no answer in time';
  return printable(inner.message || (inner as { code?: string }).code || inner.name);
}

/** A refusal in words that say what to do. */
export function refusal(answer: Answer, baseUrl: string): CliError {
  const known: RefusalBody = readRefusal(answer.body);
  const said = known === null ? '' : known.message;
  switch (answer.status) {
    case 401:
      return new CliError('The API key was not accepted (401).', 'Set CURBCUT_API_KEY to a live key of your organisation.');
    case 402: {
      const balance = known?.fields.balance;
      const requested = known?.fields.pages_requested;
      return new CliError(
        `There are not enough credits (402): ${String(requested ?? 'too many')} pages were asked for, ${String(balance ?? 'fewer')} can be paid.`,
        'Ask for fewer pages (--max-pages), add credits, or test as many pages as there are credits for (--partial).',
      );
    }
    case 403:
      return new CliError('The account is blocked (403).', 'Ask the operator of the service to unblock it.');
    case 404:
      return known === null
        ? new CliError(`There is no Curbcut service at ${baseUrl} (404).`, 'Check CURBCUT_URL.')
        : new CliError(`${printable(said)} (404)`);
    case 422:
      return new CliError(
        'The service did not take the request (422):',
        ...(said === '' ? ['it did not say why'] : said.split('\n').map((line) => `  ${printable(line)}`)),
      );
    default:
      return new CliError(`The service answered ${answer.status}${said === '' ? '.' : `: ${printable(said)}`}`);
  }
}

function checked<T extends TSchema>(schema: T, answer: Answer, baseUrl: string): Static<T> {
  if (Value.Check(schema, answer.body)) return answer.body as Static<T>;
  throw new CliError(
    `${baseUrl} gave an answer that is none of Curbcut's (${answer.status}).`,
    'Check CURBCUT_URL, and that this command is as new as the service.',
  );
}
