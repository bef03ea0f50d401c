/** HTTP client of the service. Retries with one idempotency key, and respects `Retry-After`. */
import { Value } from 'typebox/value';
import type { TSchema, Static } from 'typebox';
import { snakeKeys } from '../core/schemas.ts';
import type { Thresholds } from '../core/scan/thresholds.ts';
import type { WcagLevel, WcagVersion } from '../core/scan/wcag.ts';
import { CliError, ServiceUnavailable, printable } from './errors.ts';
import { Accepted, Link, ScanResult, readRefusal, type RefusalBody } from './messages.ts';

/** Options of a scan. The service fills in its default for an absent one. */
export interface Submission {
  url: string;
  thresholds: Thresholds;
  maxPages?: number;
  wcagVersion?: WcagVersion;
  wcagLevel?: WcagLevel;
  /** Scan fewer pages if there are not enough credits. */
  partial?: boolean;
}

export interface ClientOptions {
  baseUrl: string;
  apiKey: string;
  /** Sent as User-Agent. */
  version: string;
  /** Called before each wait with its reason and length. */
  onWait?: (why: string, seconds: number) => void;
  /** Total time to wait for a service that is unavailable, busy or paused. */
  maxWaitSeconds: number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  signal: AbortSignal;
}

/** A response: status, JSON body (null if it is not JSON) and `Retry-After`. */
export interface Answer {
  status: number;
  body: unknown;
  retryAfterSeconds: number | null;
}

export interface Client {
  readonly options: ClientOptions;
  /** Request headers, with the API key. */
  headers(extra?: Record<string, string>): Record<string, string>;
  address(path: string): string;
  /** @throws CliError if the service rejects the scan or is unavailable for longer than maxWaitSeconds */
  submit(submission: Submission, idempotencyKey: string): Promise<Accepted>;
  /** Returns the current state of a scan, and the delay until the next poll. */
  poll(scanId: string): Promise<{ result: ScanResult; retryAfterSeconds: number | null }>;
  reportLink(scanId: string, kind: 'pdf' | 'json'): Promise<string>;
}

/** A request without a response is sent again after this time. */
const REQUEST_TIMEOUT_MS = 30_000;
const FIRST_BACK_OFF_SECONDS = 0.5;
const LAST_BACK_OFF_SECONDS = 8;
/** Statuses to retry. A 409 is retried only if it has a `Retry-After`. */
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

/** Creates a client of one service. Sends nothing until the first call. */
export function createClient(options: ClientOptions): Client {
  const address = (path: string): string => `${options.baseUrl.replace(/\/+$/, '')}${path}`;
  const headers = (extra: Record<string, string> = {}): Record<string, string> => ({
    'X-API-Key': options.apiKey,
    'User-Agent': `curbcut/${options.version}`,
    Accept: 'application/json',
    ...extra,
  });

  /** Sends a request and retries temporary failures. The request must be idempotent. */
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
      // 422 is a verdict, or a malformed scan ID.
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

function bodyOf({ thresholds, partial, ...options }: Submission): Record<string, unknown> {
  return { ...snakeKeys({ ...options, ...thresholds }), ...(partial === true && { fail_on_truncation: false }) };
}

/** Reads a whole response. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // An HTML page of a proxy: the status is enough.
  }
  return { status: response.status, body, retryAfterSeconds: retryAfterOf(response.headers.get('retry-after')) };
}

/** Seconds of a `Retry-After` header, which may also be a date; null if it is absent. */
export function retryAfterOf(header: string | null, now = Date.now()): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}

/** The reason for a wait, as a sentence without its full stop. */
export function reasonOf(answer: Answer): string {
  const known = readRefusal(answer.body);
  if (answer.status === 429) return 'The rate limit is reached';
  switch (known?.code) {
    case 'queue_paused':
      return 'The scan queue is paused, nothing was charged';
    case 'queue_full':
      return 'Too many scans are running, nothing was charged';
    case 'service_unavailable':
      return 'A part of the service is down, nothing was charged';
    case 'idempotency_conflict':
      return 'The same submission is still in progress';
    case 'scan_not_complete':
      return 'The report is not ready yet';
    default:
      return `The service answered ${answer.status}`;
  }
}

/** The innermost cause of a failed request: the outer message is only `fetch failed`. */
export function causeOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) inner = inner.errors[0];
  if (!(inner instanceof Error)) return String(inner);
  if (inner.name === 'TimeoutError') return 'no response in time';
  return printable(inner.message || (inner as { code?: string }).code || inner.name);
}

/** Converts an error response to a message with advice. */
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
        `There are not enough credits (402): ${String(requested ?? 'too many')} pages were requested, ${String(balance ?? 'fewer')} credits are available.`,
        'Request fewer pages (--max-pages), add credits, or scan only as many pages as there are credits (--partial).',
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
        'The service rejected the request (422):',
        ...(said === '' ? ['  it gave no reason'] : said.split('\n').map((line) => `  ${printable(line)}`)),
      );
    default:
      return new CliError(`The service answered ${answer.status}${said === '' ? '.' : `: ${printable(said)}`}`);
  }
}

function checked<T extends TSchema>(schema: T, answer: Answer, baseUrl: string): Static<T> {
  if (Value.Check(schema, answer.body)) return answer.body as Static<T>;
  throw new CliError(
    `${baseUrl} sent a response that this command does not understand (${answer.status}).`,
    'Check CURBCUT_URL, and that this command is not older than the service.',
  );
}
