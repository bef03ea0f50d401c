/** Reads the service's responses, and explains them: why to wait, and what to do about a refusal. */
import { CliError, printable } from '../errors.ts';
import { innermost } from './network.ts';
import { parsedJson } from '../values.ts';
import { readRefusal, type RefusalBody } from './messages.ts';

/** A response: status, JSON body (null if it is not JSON) and `Retry-After`. */
export interface Answer {
  status: number;
  body: unknown;
  retryAfterSeconds: number | null;
}

export async function readAnswer(response: Response): Promise<Answer> {
  // Of an HTML page of a proxy, the status is enough.
  const body = parsedJson(await response.text());
  return { status: response.status, body, retryAfterSeconds: retryAfterOf(response.headers.get('retry-after')) };
}

/** Seconds of a `Retry-After` header, which may also be a date; null if it is absent. */
export function retryAfterOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

/** The reason for a wait, as a sentence without its full stop. */
export function reasonOf(answer: Answer): string {
  const known = readRefusal(answer.body);
  if (known?.code === 'live_scans_exceeded') return 'Too many scans of the organisation are running, nothing was charged';
  if (answer.status === 429) return 'The rate limit is reached';
  switch (known?.code) {
    case 'queue_paused':
      return 'The scan queue is paused, nothing was charged';
    case 'queue_full':
      return 'Too many scans are running, nothing was charged';
    case 'service_unavailable':
      return 'A part of the service is down';
    case 'submission_unconfirmed':
      return 'A part of the service failed, the scan may have been accepted';
    case 'idempotency_conflict':
      return 'The same submission is still in progress';
    case 'scan_not_complete':
      return 'The report is not ready yet';
    default:
      return `The service answered ${answer.status}`;
  }
}

/** The cause of a failed request in words. */
export function causeOf(error: unknown): string {
  const inner = innermost(error);
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
      return new CliError(
        'The API key was not accepted (401).',
        'Set CURBCUT_API_KEY to a live key of your organisation, or log in again: curbcut login',
      );
    case 402: {
      const balance = known?.fields.balance;
      const requested = known?.fields.pages_requested;
      return new CliError(
        `There are not enough credits (402): ${String(requested ?? 'too many')} pages were requested, ${String(balance ?? 'fewer')} credits are available.`,
        'Request fewer pages (--max-pages), add credits, or scan only as many pages as there are credits (--partial).',
      );
    }
    case 403:
      if (known?.code === 'permission_denied')
        return new CliError(`${printable(said)} (403)`, 'Set CURBCUT_API_KEY to a key that has the scope, or create one.');
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
