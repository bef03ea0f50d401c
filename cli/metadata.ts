/** The options `--metadata KEY=VALUE` and `--no-ci-metadata`. */
import { readFileSync } from 'node:fs';
import { type Metadata, METADATA_MAX, metadataMistake, readPairs, type WellKnownKey } from '../core/scan/metadata.ts';
import { UsageError } from './errors.ts';
import { shellWord } from './values.ts';

/**
 * Metadata from the variables that CI systems set. All but `build_url` stay the same in another build of the same commit, because a
 * repeated submission with the same idempotency key must be the same request.
 */
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

export const METADATA_OPTIONS = {
  metadata: {
    value: 'KEY=VALUE',
    multiple: true,
    meaning: `what is scanned, such as branch=main, beside what the CI system says; at most ${METADATA_MAX} pairs`,
  },
  'no-ci-metadata': { meaning: 'no commit, branch, pull request, repository and address of the build from the CI system' },
} as const;

interface MetadataValues {
  metadata?: string[];
  'no-ci-metadata': boolean;
  'idempotency-key'?: string;
}

/** Reads pairs. @throws UsageError if one is not allowed or a key is given twice */
export function pairsFrom(command: string, texts: readonly string[] = []): Metadata {
  const read = readPairs(texts);
  if (!read.ok) throw new UsageError(read.message, command);
  return read.metadata;
}

/**
 * The metadata of a scan: what is given, and what the CI system says beside it; undefined if there is none. A later build with the same
 * idempotency key must send the same request, so with a key the address of the build is left out.
 * @param note called with what is left out of the values of the CI system @throws UsageError
 */
export function metadataFrom(
  command: string,
  values: MetadataValues,
  environment: Readonly<Record<string, string | undefined>>,
  note: (text: string) => void,
): Metadata | undefined {
  const stated = pairsFrom(command, values.metadata);
  const found = values['no-ci-metadata'] ? { metadata: {}, mistakes: [] } : ciMetadata(environment);
  for (const mistake of found.mistakes) note(`${mistake} It is left out.`);
  if (values['idempotency-key'] !== undefined) delete found.metadata.build_url;
  const metadata = { ...found.metadata, ...stated };
  const mistake = metadataMistake(metadata);
  if (mistake !== null) throw new UsageError(`${mistake} With --no-ci-metadata only those of --metadata count.`, command);
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

/** The options beside the given ones that make the same request in another build or outside of the CI system; empty if none are needed. */
export function sameMetadata(metadata: Metadata = {}, { metadata: given = [] }: MetadataValues): string {
  const stated = pairsFrom('scan', given);
  const found = Object.entries(metadata).filter(([key]) => !Object.hasOwn(stated, key));
  return found.length === 0
    ? ''
    : [' --no-ci-metadata', ...found.map(([key, value]) => `--metadata ${shellWord(`${key}=${value}`)}`)].join(' ');
}
