/**
 * Metadata from the variables that CI systems set. All but `build_url` stay the same in another build of the same commit, because a
 * repeated submission with the same idempotency key must be the same request.
 */
import { readFileSync } from 'node:fs';
import { metadataMistake, type Metadata, type WellKnownKey } from '../core/scan/metadata.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Found = Partial<Record<WellKnownKey, string | undefined>>;

/** CI systems by the variable that names them. */
const SYSTEMS: readonly [variable: string, read: (environment: Environment) => Found][] = [
  ['GITHUB_ACTIONS', gitHub],
  ['GITLAB_CI', gitLab],
  ['TF_BUILD', azure],
  ['JENKINS_URL', jenkins],
];

/** Returns the metadata of the current build, and a sentence for each value that metadata cannot have; empty outside of CI systems. */
export function ciMetadata(environment: Environment): { metadata: Metadata; mistakes: string[] } {
  const system = SYSTEMS.find(([variable]) => given(environment[variable]) !== undefined);
  const found = Object.entries(system?.[1](environment) ?? {}).filter((pair): pair is [string, string] => given(pair[1]) !== undefined);
  const mistakes = found.flatMap((pair) => metadataMistake(Object.fromEntries([pair])) ?? []);
  return { metadata: Object.fromEntries(found.filter((pair) => metadataMistake(Object.fromEntries([pair])) === null)), mistakes };
}

/** An empty variable is one that is not set. */
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

const firstOf = (...values: (string | undefined)[]): string | undefined => values.find((value) => given(value) !== undefined);

/** The address of a repository without user name and password. Addresses of SSH such as `git@host:path` have no password. */
function withoutCredentials(address: string | undefined): string | undefined {
  const url = URL.parse(address ?? '');
  if (url === null) return address;
  url.username = url.password = '';
  return url.href;
}

/** The name of a branch without `refs/heads/`; undefined for another reference. */
const branchOf = (reference = ''): string | undefined => /^refs\/heads\/(.+)$/.exec(reference)?.[1];

interface PullRequestEvent {
  pull_request?: { number?: unknown; head?: { sha?: unknown } };
}

/** The event that started a workflow of GitHub; empty if it cannot be read, which only costs the head of a pull request. */
function gitHubEvent(file: string | undefined): PullRequestEvent {
  try {
    return (JSON.parse(readFileSync(file ?? '', 'utf8')) as PullRequestEvent | null) ?? {};
  } catch {
    return {};
  }
}

function gitHub(environment: Environment): Found {
  const { pull_request: pullRequest } = gitHubEvent(environment.GITHUB_EVENT_PATH);
  const { number, head } = pullRequest ?? {};
  const repository = `${environment.GITHUB_SERVER_URL ?? 'https://github.com'}/${environment.GITHUB_REPOSITORY}`;
  const ofBranch = environment.GITHUB_REF_TYPE === 'tag' ? undefined : environment.GITHUB_REF_NAME;
  return {
    // In a pull request GITHUB_SHA is a merge commit that exists nowhere else.
    commit: typeof head?.sha === 'string' ? head.sha : environment.GITHUB_SHA,
    branch: firstOf(environment.GITHUB_HEAD_REF, ofBranch),
    pull_request: typeof number === 'number' ? String(number) : /^refs\/pull\/(\d+)\//.exec(environment.GITHUB_REF ?? '')?.[1],
    ...(given(environment.GITHUB_REPOSITORY) !== undefined && {
      repository,
      ...(given(environment.GITHUB_RUN_ID) !== undefined && { build_url: `${repository}/actions/runs/${environment.GITHUB_RUN_ID}` }),
    }),
  };
}

function gitLab(environment: Environment): Found {
  const ofBranch = given(environment.CI_COMMIT_TAG) === undefined ? environment.CI_COMMIT_REF_NAME : undefined;
  return {
    // Only pipelines for merged results have it: there CI_COMMIT_SHA is a merge commit.
    commit: firstOf(environment.CI_MERGE_REQUEST_SOURCE_BRANCH_SHA, environment.CI_COMMIT_SHA),
    branch: firstOf(environment.CI_MERGE_REQUEST_SOURCE_BRANCH_NAME, ofBranch),
    pull_request: environment.CI_MERGE_REQUEST_IID,
    repository: environment.CI_PROJECT_URL,
    build_url: environment.CI_PIPELINE_URL,
  };
}

function jenkins(environment: Environment): Found {
  return {
    commit: environment.GIT_COMMIT,
    branch: firstOf(environment.CHANGE_BRANCH, environment.BRANCH_NAME, environment.GIT_BRANCH?.replace(/^origin\//, '')),
    pull_request: environment.CHANGE_ID,
    repository: withoutCredentials(environment.GIT_URL),
    build_url: environment.BUILD_URL,
  };
}

function azure(environment: Environment): Found {
  const { SYSTEM_COLLECTIONURI: collection, SYSTEM_TEAMPROJECT: project, BUILD_BUILDID: build } = environment;
  return {
    // In a pull request BUILD_SOURCEVERSION is a merge commit.
    commit: firstOf(environment.SYSTEM_PULLREQUEST_SOURCECOMMITID, environment.BUILD_SOURCEVERSION),
    // BUILD_SOURCEBRANCHNAME would be only the part after the last slash.
    branch: branchOf(firstOf(environment.SYSTEM_PULLREQUEST_SOURCEBRANCH, environment.BUILD_SOURCEBRANCH)),
    // Only pull requests of GitHub have a number of their own.
    pull_request: firstOf(environment.SYSTEM_PULLREQUEST_PULLREQUESTNUMBER, environment.SYSTEM_PULLREQUEST_PULLREQUESTID),
    repository: withoutCredentials(environment.BUILD_REPOSITORY_URI),
    ...(given(collection) !== undefined &&
      project !== undefined && { build_url: `${collection}${encodeURIComponent(project)}/_build/results?buildId=${build}` }),
  };
}
