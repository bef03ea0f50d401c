/** Requests with the API key, to the service only. Retries transient failures within the budget of --max-wait. */
import { causeOf, readAnswer, reasonOf, type Answer } from './answers.ts';
import { fetchTrusting, isUnsent, remedyOf } from './network.ts';
import { readRefusal } from './messages.ts';
import { backOff, type Budget, type Waiting } from './budget.ts';
import { CliError, printable } from '../errors.ts';
import { baseOf } from '../links.ts';

export interface RequestOptions extends Omit<Waiting, 'budget'> {
  baseUrl: string;
  apiKey: string;
  /** Sent as User-Agent. */
  version: string;
}

export interface Requests {
  /**
   * Sends one request with the API key. Follows no redirect.
   * @throws CliError if the service redirects
   */
  send(path: string, init: RequestInit & { signal: AbortSignal }): Promise<Response>;
  /**
   * Sends a request and retries temporary failures. The request must be idempotent.
   * @throws ServiceUnavailable if the budget is used up
   * @throws CliError if there was no answer yet, and a name or a certificate is wrong
   */
  ask(path: string, init?: RequestInit): Promise<Answer>;
}

/** The outcome of one attempt, without an answer if none arrived. `unsent`: the service has no byte of it. */
interface Attempt {
  answer: Answer | null;
  why: string;
  unsent?: boolean;
}

/** A request without a response is sent again after this time. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Statuses to retry. A 409 is retried only if it has a `Retry-After`. */
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

export function createRequests(options: RequestOptions, budget: Budget): Requests {
  async function send(path: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
    const address = `${baseOf(options.baseUrl)}${path}`;
    const response = await fetchTrusting(address, {
      ...init,
      // fetch would send the API key to the other origin. `manual`, unlike `error`, says which one it is.
      redirect: 'manual',
      headers: {
        'X-API-Key': options.apiKey,
        'User-Agent': `curbcut/${options.version}`,
        Accept: 'application/json',
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    if (response.status !== 0 && (response.status < 300 || response.status > 399)) return response;
    await response.body?.cancel();
    throw redirected(response, address, options.baseUrl);
  }

  /** Whether the service may have got a request of this command. Then no failure ends it at once. */
  let isKnown = false;

  async function attempt(path: string, init: RequestInit): Promise<Attempt> {
    try {
      const signal = AbortSignal.any([options.signal, AbortSignal.timeout(budget.limit(REQUEST_TIMEOUT_MS))]);
      const answer = await readAnswer(await send(path, { ...init, signal }));
      isKnown = true;
      return { answer, why: reasonOf(answer) };
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof CliError) throw error;
      const why = `${options.baseUrl} cannot be reached (${causeOf(error)})`;
      const [unsent, remedy] = [isUnsent(error), remedyOf(error, 'CURBCUT_URL')];
      if (remedy !== null && !isKnown) throw new CliError(`${why}.`, remedy);
      isKnown ||= !unsent;
      return { answer: null, why, unsent };
    }
  }

  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    let isUncertain = false;
    for (let attempts = 1; ; attempts += 1) {
      budget.start();
      const { answer, why, unsent = false } = await attempt(path, init);
      if (answer !== null && !isTemporary(answer)) {
        budget.served();
        return answer;
      }
      if (answer !== null) isUncertain = isUnconfirmed(answer);
      else if (!unsent) isUncertain = true;
      await backOff({ ...options, budget }, { why, attempts, asked: answer?.retryAfterSeconds, answered: !isUncertain });
    }
  }

  return { send, ask };
}

const isTemporary = ({ status, retryAfterSeconds }: Answer): boolean =>
  TEMPORARY.has(status) || (status === 409 && retryAfterSeconds !== null);

const isUnconfirmed = ({ body }: Answer): boolean => readRefusal(body)?.code === 'submission_unconfirmed';

function redirected(response: Response, address: string, baseUrl: string): CliError {
  const location = response.headers.get('location');
  const target = location !== null && URL.canParse(location, address) ? new URL(location, address) : null;
  const where = target === null ? 'elsewhere' : `to ${target.origin === new URL(address).origin ? target.href : target.origin}`;
  return new CliError(
    `${baseUrl} redirects ${printable(where)} (${response.status}). Redirects are not followed, because they would carry the API key there.`,
    'If that is your Curbcut service, set CURBCUT_URL to its address.',
  );
}
