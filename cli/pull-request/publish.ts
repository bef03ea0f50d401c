/** Writes the comment of a site on a pull request, or updates the one that it has. */
import { CliError, printable } from '../errors.ts';
import { causeOf, readAnswer, retryAfterOf, type Answer } from '../service/answers.ts';
import { backOff, type Waiting } from '../service/budget.ts';
import type { Comment, CommentSystem } from './systems.ts';

export interface PublishDeps extends Waiting {
  version: string;
}

const PER_PAGE = 100;
/** The pages of comments that are searched. A pull request with more gets another comment. */
const PAGES_MAX = 50;
const REQUEST_TIMEOUT_MS = 30_000;
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

/** A request that may succeed later. */
class Temporary extends Error {
  readonly retryAfterSeconds: number | null;
  constructor(why: string, retryAfterSeconds: number | null) {
    super(why);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Publishes a comment. After a temporary failure the comments are searched again, because a comment may have been written
 * although its answer was lost.
 * @param marker the first line of the comment
 * @returns whether it was created or updated
 * @throws CliError
 */
export async function publishComment(
  system: CommentSystem,
  marker: string,
  body: string,
  deps: PublishDeps,
): Promise<'created' | 'updated'> {
  const { budget, signal } = deps;
  for (let attempts = 1; ; attempts += 1) {
    budget.start();
    try {
      const done = await publishOnce(system, marker, body, deps);
      budget.served();
      return done;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Temporary)) throw error;
      await backOff(deps, { why: error.message, attempts, asked: error.retryAfterSeconds });
    }
  }
}

async function publishOnce(system: CommentSystem, marker: string, body: string, deps: PublishDeps): Promise<'created' | 'updated'> {
  const account = await accountOf(system, deps);
  const existing = await findComment(system, marker, account, deps);
  if (existing === null) {
    await ask(system, system.comments, { method: 'POST', body: JSON.stringify({ body }) }, deps);
    return 'created';
  }
  if (existing.body.trim() !== body.trim())
    await ask(system, system.commentUrl(existing.id), { method: system.updateMethod, body: JSON.stringify({ body }) }, deps);
  return 'updated';
}

/** The ID of the token's account; null for the token of a GitHub job, which may not ask for it. @throws CliError */
async function accountOf(system: CommentSystem, deps: PublishDeps): Promise<number | null> {
  const answer = await send(system, system.account, {}, deps);
  const { id } = (answer.body ?? {}) as { id?: unknown };
  if (answer.status === 200 && typeof id === 'number') return id;
  if (answer.status === 403 && system.name === 'GitHub') return null;
  throw refusal(system, answer);
}

/** The own comment with the marker; the oldest, if there are several. Comments of others are never changed, whatever they contain. */
async function findComment(system: CommentSystem, marker: string, account: number | null, deps: PublishDeps): Promise<Comment | null> {
  const order = system.name === 'GitLab' ? '&sort=asc&order_by=created_at' : '';
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const { body } = await ask(system, `${system.comments}?per_page=${PER_PAGE}&page=${page}${order}`, {}, deps);
    if (!Array.isArray(body)) throw new CliError(`${system.name} sent a list of comments that this command does not understand.`);
    const comments = body as Comment[];
    const found = comments.find((comment) => startsWith(comment, marker) && system.isOwn(comment, account));
    if (found !== undefined) return found;
    if (comments.length < PER_PAGE) return null;
  }
  return null;
}

const startsWith = ({ body }: Comment, marker: string): boolean => typeof body === 'string' && body.startsWith(marker);

/** @throws CliError unless the answer is a success, and Temporary */
async function ask(system: CommentSystem, url: string, init: RequestInit, deps: PublishDeps): Promise<Answer> {
  const answer = await send(system, url, init, deps);
  if (answer.status < 200 || answer.status > 299) throw refusal(system, answer);
  return answer;
}

/** Sends one request with the token. Follows no redirect, which could carry the token to another host. @throws Temporary */
async function send(system: CommentSystem, url: string, init: RequestInit, { budget, version, signal }: PublishDeps): Promise<Answer> {
  let response: Response;
  let answer: Answer;
  try {
    response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(budget.limit(REQUEST_TIMEOUT_MS))]),
      headers: { ...system.headers, 'User-Agent': `curbcut/${version}`, 'Content-Type': 'application/json' },
    });
    answer = await readAnswer(response);
  } catch (error) {
    throw new Temporary(`${system.name} cannot be reached (${withoutToken(system, causeOf(error))})`, null);
  }
  const wait = rateLimitSeconds(response);
  if (TEMPORARY.has(answer.status) || (answer.status === 403 && wait !== null))
    throw new Temporary(
      [403, 429].includes(answer.status) ? `The rate limit of ${system.name} is reached` : `${system.name} answered ${answer.status}`,
      wait,
    );
  return answer;
}

/** GitHub limits rates with 403 too: with `Retry-After`, or the time in seconds since 1970 when no request is left. */
function rateLimitSeconds({ headers }: Response): number | null {
  const asked = retryAfterOf(headers.get('retry-after'));
  if (asked !== null) return asked;
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  return headers.get('x-ratelimit-remaining') === '0' && Number.isFinite(reset) ? Math.max(1, Math.ceil(reset - Date.now() / 1000)) : null;
}

const withoutToken = ({ token }: CommentSystem, text: string): string => text.replaceAll(token, '(hidden)');

function refusal(system: CommentSystem, { status, body }: Answer): CliError {
  const { name, permission } = system;
  const message: unknown = (body as { message?: unknown } | null)?.message;
  const said = typeof message === 'string' ? `: ${printable(withoutToken(system, message)).slice(0, 300)}` : '';
  const line = `${name} refused the comment (${status}${said}).`;
  if (status === 401) return new CliError(line, 'The token is not valid, or has expired.', permission);
  // A token without rights on a private project is told that it does not exist.
  if (status === 403 || status === 404) return new CliError(line, permission);
  return new CliError(line);
}
