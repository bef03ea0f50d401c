/** HTTP client of the service: its endpoints, and what their responses mean. */
import { Value } from 'typebox/value';
import type { TSchema, Static } from 'typebox';
import { snakeKeys } from '../../core/schemas.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import { toSnakeStep } from '../../core/scan/steps.ts';
import type { BaselineChoice } from '../../core/scan/baseline.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import type { SiteOptions } from '../links.ts';
import { refusal, type Answer } from './answers.ts';
import { createBudget, type Budget } from './budget.ts';
import { CliError } from '../errors.ts';
import { Accepted, Link, Me, ScanPage, ScanResult, readRefusal } from './messages.ts';
import { createRequests, type RequestOptions, type Requests } from './requests.ts';

const SCANS = '/v1/ci/scans';

/** Options of a scan. The service fills in its default for an absent one. */
export interface Submission extends SiteOptions {
  url: string;
  thresholds: Thresholds;
  /** The earlier scan to compare with. */
  baseline?: BaselineChoice;
  /** The scan of which one page is checked again, and the root cause. */
  checkOf?: { scan: string; cause?: string | undefined };
  metadata?: Metadata;
  /** The Secret to sign in with. */
  authSecret?: string;
  /** Scan fewer pages if there are not enough credits. */
  partial?: boolean;
}

/** Which scans a list has. */
export interface ScanFilters {
  status?: string;
  site?: string;
  /** Only scans with all of these pairs. */
  metadata?: Metadata;
}

export interface ClientOptions extends RequestOptions {
  /** Total time to wait for a service that is unavailable, busy or paused. */
  maxWaitSeconds: number;
  monotonic: () => number;
}

export interface Client {
  readonly options: ClientOptions;
  /** One budget for everything that the command requests. */
  readonly budget: Budget;
  /** Sends one request, and follows no redirect. @throws CliError if the service redirects */
  send: Requests['send'];
  /** @throws CliError if the service rejects the scan or is unavailable for longer than maxWaitSeconds */
  submit(submission: Submission, idempotencyKey: string): Promise<Accepted>;
  /** Returns the current state of a scan, and the delay until the next poll. */
  poll(scanId: string): Promise<{ result: ScanResult; retryAfterSeconds: number | null }>;
  reportLink(scanId: string, kind: 'pdf' | 'json' | 'pictures'): Promise<Link>;
  /** Checks the API key. */
  me(): Promise<Me>;
  /** Requests the end of a scan. `accepted` is false if it has ended already. */
  cancel(scanId: string): Promise<{ accepted: boolean; result: ScanResult }>;
  /** One page of the organisation's scans, newest first. */
  list(query: ScanFilters & { limit: number; cursor: string | null }): Promise<ScanPage>;
}

/** Creates a client of one service. Sends nothing until the first call. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl } = options;
  const budget = createBudget(options.maxWaitSeconds, options.monotonic);
  const { send, ask } = createRequests(options, budget);

  const poll: Client['poll'] = async (scanId) => {
    const answer = await ask(`${SCANS}/${encodeURIComponent(scanId)}`);
    // 422 is a verdict, or a malformed scan ID.
    if (![200, 202, 422].includes(answer.status) || readRefusal(answer.body) !== null) throw refusal(answer, baseUrl);
    return { result: checked(ScanResult, answer, baseUrl), retryAfterSeconds: answer.retryAfterSeconds };
  };

  return {
    options,
    budget,
    send,
    async submit(submission, idempotencyKey) {
      const answer = await ask(SCANS, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
        body: JSON.stringify(bodyOf(submission)),
      });
      if (answer.status !== 202) throw refusal(answer, baseUrl);
      return checked(Accepted, answer, baseUrl);
    },
    poll,
    async reportLink(scanId, kind) {
      const answer = await ask(`/v1/scans/${encodeURIComponent(scanId)}/report${kind === 'pdf' ? '' : `/${kind}`}`);
      if (answer.status !== 200) throw refusal(answer, baseUrl);
      return checked(Link, answer, baseUrl);
    },
    async me() {
      const answer = await ask('/v1/me');
      if (answer.status !== 200) throw refusal(answer, baseUrl);
      return checked(Me, answer, baseUrl);
    },
    async cancel(scanId) {
      const answer = await ask(`${SCANS}/${encodeURIComponent(scanId)}/cancel`, { method: 'POST' });
      if (answer.status === 409 && readRefusal(answer.body)?.code === 'scan_already_ended')
        return { accepted: false, result: (await poll(scanId)).result };
      if (answer.status !== 202) throw refusal(answer, baseUrl);
      return { accepted: true, result: checked(ScanResult, answer, baseUrl) };
    },
    async list({ status, site, metadata = {}, limit, cursor }) {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(status !== undefined && { status }),
        ...(site !== undefined && { site }),
        ...Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value])),
        ...(cursor !== null && { cursor }),
      });
      const answer = await ask(`${SCANS}?${query.toString()}`);
      if (answer.status !== 200) throw refusal(answer, baseUrl);
      return checked(ScanPage, answer, baseUrl);
    },
  };
}

function bodyOf({ checkOf, thresholds, crawl, partial, authSecret, ...options }: Submission): Record<string, unknown> {
  // It has the options of that scan.
  if (checkOf !== undefined) return { url: options.url, check_of: checkOf };
  return {
    ...snakeKeys({ ...options, ...crawl, ...thresholds }),
    ...(crawl?.prepare && { prepare: crawl.prepare.map(toSnakeStep) }),
    ...(authSecret !== undefined && { auth: { secret: authSecret } }),
    ...(partial === true && { fail_on_truncation: false }),
  };
}

function checked<T extends TSchema>(schema: T, answer: Answer, baseUrl: string): Static<T> {
  if (Value.Check(schema, answer.body)) return answer.body;
  throw new CliError(
    `${baseUrl} sent a response that this command does not understand (${answer.status}).`,
    'Check CURBCUT_URL, and that this command is not older than the service.',
  );
}
