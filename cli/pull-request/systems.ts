/** Where a job of a CI system may comment: read from the variables that the system sets. */
import { readFile } from 'node:fs/promises';
import { canBeHeader } from '../config.ts';
import { CliError, errorMessage } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The REST API of a system, for the comments of one pull request. */
export interface CommentSystem {
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
export interface Comment {
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
export type FoundSystem = { ok: true; system: CommentSystem } | { ok: false; reason: 'absent'; message: string };

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
