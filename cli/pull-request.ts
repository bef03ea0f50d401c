/** Writes the comment of a site on a pull request, or updates the one that it has. */
import { readFile } from 'node:fs/promises';
import { CliError, errorMessage, printable } from './errors.ts';
import { type Answer, causeOf, readAnswer, retryAfterOf } from './service/answers.ts';
import { backOff, type Waiting } from './service/budget.ts';
import { canBeHeader } from './config.ts';
import { fetchTrusting, remedyOf } from './service/network.ts';

/** Where a job of a CI system may comment: read from the variables that the system sets. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The REST API of a system, for the comments of one pull request. */
interface CommentSystem {
  /** As people call it. */
  name: 'GitHub' | 'GitLab';
  /** The comments, without a query; a comment is at its ID below. */
  comments: string;
  /** The account of the token. */
  account: string;
  headers: Readonly<Record<string, string>>;
  /** Secret, never printed. */
  token: string;
  updateMethod: 'PATCH' | 'PUT';
  /** The path of a comment that can be changed. */
  commentUrl(id: number): string;
  /** Whether the account of the token wrote a comment. */
  isOwn(comment: Comment, account: number | null): boolean;
  /** What to do about a token without the right. */
  permission: string;
}

/** A comment, as both systems describe it. */
interface Comment {
  id: number;
  body: string;
  /** GitHub */
  user?: { id: number; type: string } | null;
  /** GitLab */
  author?: { id: number };
  /** GitLab: written by the system itself. */
  system?: boolean;
}

/** `absent`: the job does not belong to a pull request. */
type FoundSystem = { ok: true; system: CommentSystem } | { ok: false; reason: 'absent'; message: string };

/** @param number the number of the pull request, if the user gave it @throws CliError that names a missing variable */
export async function githubOf(environment: Environment, number: number | undefined): Promise<FoundSystem> {
  const pull = number ?? (await pullRequestOf(environment));
  if (pull === null)
    return { ok: false, reason: 'absent', message: 'This job does not belong to a pull request, so there is no place for a comment.' };
  const [token, repository] = needed(environment, 'GitHub', ['GITHUB_TOKEN', 'GITHUB_REPOSITORY']);
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository!))
    throw new CliError(`GITHUB_REPOSITORY is ${JSON.stringify(repository)}; it must be OWNER/NAME.`);
  const api = addressOf(environment, 'GITHUB_API_URL', 'https://api.github.com');
  const issues = `${api}/repos/${repository}/issues`;
  return {
    ok: true,
    system: {
      name: 'GitHub',
      comments: `${issues}/${pull}/comments`,
      account: `${api}/user`,
      token: token!,
      headers: { Authorization: `Bearer ${token}`, Accept: 'application/vnd.github+json', 'X-GitHub-Api-Version': '2022-11-28' },
      updateMethod: 'PATCH',
      commentUrl: (id) => `${issues}/comments/${id}`,
      // The token of a job belongs to an app, which may not ask for its account. No person has this type.
      isOwn: ({ user }, account) => (account === null ? user?.type === 'Bot' : user?.id === account),
      permission:
        'Give the job `permissions: pull-requests: write`. For pull requests from forks, GitHub gives a token that can only read.',
    },
  };
}

/** @param number the number of the merge request in its project, if the user gave it @throws CliError that names a missing variable */
export function gitlabOf(environment: Environment, number: number | undefined): FoundSystem {
  const iid = number ?? (environment.CI_MERGE_REQUEST_IID || null);
  if (iid === null)
    return { ok: false, reason: 'absent', message: 'This job does not belong to a merge request, so there is no place for a comment.' };
  if (!/^\d+$/.test(String(iid))) throw new CliError(`CI_MERGE_REQUEST_IID is ${JSON.stringify(iid)}; it must be a number.`);
  // The merge request of a fork is in the project that it would be merged to.
  const project = environment.CI_MERGE_REQUEST_PROJECT_ID || environment.CI_PROJECT_ID;
  const [token] = needed({ ...environment, CI_PROJECT_ID: project }, 'GitLab', ['GITLAB_TOKEN', 'CI_API_V4_URL', 'CI_PROJECT_ID']);
  const api = addressOf(environment, 'CI_API_V4_URL', '');
  const notes = `${api}/projects/${encodeURIComponent(project!)}/merge_requests/${iid}/notes`;
  return {
    ok: true,
    system: {
      name: 'GitLab',
      comments: notes,
      account: `${api}/user`,
      token: token!,
      headers: { 'PRIVATE-TOKEN': token!, Accept: 'application/json' },
      updateMethod: 'PUT',
      commentUrl: (id) => `${notes}/${id}`,
      isOwn: ({ author, system }, account) => system !== true && account !== null && author?.id === account,
      permission:
        'GITLAB_TOKEN must be an access token with the scope `api` and at least the role Reporter. The token of the job (CI_JOB_TOKEN) cannot write comments.',
    },
  };
}

/** The number in the event of the job, else in its reference (`refs/pull/12/merge`); null if there is none. */
async function pullRequestOf({ GITHUB_EVENT_PATH: file, GITHUB_REF: reference = '' }: Environment): Promise<number | null> {
  const fromReference = /^refs\/pull\/(\d+)\//.exec(reference)?.[1];
  if (file === undefined || file === '') return fromReference === undefined ? null : Number(fromReference);
  let event: { pull_request?: { number?: unknown }; issue?: { number?: unknown; pull_request?: unknown } } | null;
  try {
    event = JSON.parse(await readFile(file, 'utf8')) as typeof event;
  } catch (error) {
    throw new CliError(`The event of the job (GITHUB_EVENT_PATH, ${file}) cannot be read: ${errorMessage(error)}.`);
  }
  // A comment on a pull request starts jobs with the event of an issue.
  const found = event?.pull_request?.number ?? (event?.issue?.pull_request === undefined ? undefined : event.issue.number);
  if (Number.isSafeInteger(found)) return found as number;
  return fromReference === undefined ? null : Number(fromReference);
}

/** The values of variables, of which the first is the token. @throws CliError */
function needed(environment: Environment, system: string, names: readonly string[]): string[] {
  const missing = names.filter((name) => (environment[name] ?? '') === '');
  if (missing.length > 0)
    throw new CliError(
      `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not set, so no comment can be written on ${system}.`,
      system === 'GitHub'
        ? 'In a workflow, give the step the token: env: GITHUB_TOKEN: ${{ github.token }}'
        : 'Create an access token of the project with the scope `api`, and store it as the masked CI/CD variable GITLAB_TOKEN.',
    );
  const values = names.map((name) => environment[name]!);
  if (!canBeHeader(values[0]!)) throw new CliError(`${names[0]} is (hidden); it must be a token without spaces and line breaks.`);
  return values;
}

function addressOf(environment: Environment, name: string, fallback: string): string {
  const address = environment[name] || fallback;
  if (!/^https?:\/\/[^\s@]+$/.test(address) || !URL.canParse(address)) throw new CliError(`${name} is not the address of an API.`);
  return address.replace(/\/+$/, '');
}

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

/** Sends one request with the token. Follows no redirect, which could carry the token to another host. @throws Temporary, and CliError if its name or certificate is wrong */
async function send(system: CommentSystem, url: string, init: RequestInit, { budget, version, signal }: PublishDeps): Promise<Answer> {
  let response: Response;
  let answer: Answer;
  try {
    response = await fetchTrusting(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(budget.limit(REQUEST_TIMEOUT_MS))]),
      headers: { ...system.headers, 'User-Agent': `curbcut/${version}`, 'Content-Type': 'application/json' },
    });
    answer = await readAnswer(response);
  } catch (error) {
    const why = `${system.name} cannot be reached (${withoutToken(system, causeOf(error))})`;
    const remedy = remedyOf(error, `the address of ${system.name}`);
    throw remedy === null ? new Temporary(why, null) : new CliError(`${why}.`, remedy);
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
