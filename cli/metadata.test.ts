import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ciMetadata } from './metadata.ts';

const SHA = '4f371ac9e97b254279b485b0890c3de1060a20da';
const MERGE = 'ffffffffffffffffffffffffffffffffffffffff';

describe('metadata from the variables of CI systems', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'curbcut-ci-'))));
  after(() => rmSync(folder, { recursive: true }));

  const metadataIn = (environment: Record<string, string>) => ciMetadata(environment).metadata;
  const eventFile = (content: string): string => {
    const file = join(folder, `${Math.random()}.json`);
    writeFileSync(file, content);
    return file;
  };

  describe('of GitHub Actions', () => {
    const github = {
      GITHUB_ACTIONS: 'true',
      GITHUB_SERVER_URL: 'https://github.example',
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_RUN_ID: '77',
      GITHUB_SHA: SHA,
      GITHUB_REF: 'refs/heads/feature/a',
      GITHUB_REF_NAME: 'feature/a',
      GITHUB_REF_TYPE: 'branch',
      GITHUB_HEAD_REF: '',
    };
    const build = { repository: 'https://github.example/acme/shop', build_url: 'https://github.example/acme/shop/actions/runs/77' };
    const pull = { ...github, GITHUB_SHA: MERGE, GITHUB_REF: 'refs/pull/7/merge', GITHUB_REF_NAME: '7/merge', GITHUB_HEAD_REF: 'fix/b' };

    it('are those of a branch', () => {
      expect(metadataIn(github)).to.deep.equal({ commit: SHA, branch: 'feature/a', ...build });
    });

    it('have no branch for a tag', () => {
      const tag = { ...github, GITHUB_REF: 'refs/tags/v1', GITHUB_REF_NAME: 'v1', GITHUB_REF_TYPE: 'tag' };
      expect(metadataIn(tag)).to.deep.equal({ commit: SHA, ...build });
    });

    it('are the head of a pull request, not its merge commit', () => {
      const GITHUB_EVENT_PATH = eventFile(JSON.stringify({ pull_request: { number: 7, head: { sha: SHA } } }));
      expect(metadataIn({ ...pull, GITHUB_EVENT_PATH })).to.deep.equal({ commit: SHA, branch: 'fix/b', pull_request: '7', ...build });
      const target = { ...pull, GITHUB_REF: 'refs/heads/main', GITHUB_REF_NAME: 'main', GITHUB_EVENT_PATH };
      expect(metadataIn(target)).to.include({ commit: SHA, branch: 'fix/b', pull_request: '7' });
    });

    it('are what the variables say if the event cannot be read', () => {
      for (const GITHUB_EVENT_PATH of [join(folder, 'none'), eventFile('{'), eventFile('null'), eventFile('{"pull_request":{"head":{}}}')])
        expect(metadataIn({ ...pull, GITHUB_EVENT_PATH })).to.include({ commit: MERGE, branch: 'fix/b', pull_request: '7' });
    });
  });

  const gitlab = {
    GITLAB_CI: 'true',
    CI_COMMIT_SHA: SHA,
    CI_COMMIT_REF_NAME: 'main',
    CI_PROJECT_URL: 'https://gitlab.example/acme/shop',
    CI_PIPELINE_URL: 'https://gitlab.example/acme/shop/-/pipelines/5',
  };
  const gitlabBuild = { repository: gitlab.CI_PROJECT_URL, build_url: gitlab.CI_PIPELINE_URL };
  const jenkins = {
    JENKINS_URL: 'https://jenkins.example/',
    GIT_COMMIT: SHA,
    GIT_BRANCH: 'origin/main',
    GIT_URL: 'https://bot:secret@git.example/acme/shop.git',
    BUILD_URL: 'https://jenkins.example/job/shop/12/',
  };
  const jenkinsBuild = { repository: 'https://git.example/acme/shop.git', build_url: jenkins.BUILD_URL };
  const azure = {
    TF_BUILD: 'True',
    BUILD_SOURCEVERSION: SHA,
    BUILD_SOURCEBRANCH: 'refs/heads/feature/a',
    BUILD_SOURCEBRANCHNAME: 'a',
    BUILD_REPOSITORY_URI: 'https://acme@dev.azure.example/acme/_git/shop',
    SYSTEM_COLLECTIONURI: 'https://dev.azure.example/acme/',
    SYSTEM_TEAMPROJECT: 'The Shop',
    BUILD_BUILDID: '9',
  };
  const azureBuild = {
    repository: 'https://dev.azure.example/acme/_git/shop',
    build_url: 'https://dev.azure.example/acme/The%20Shop/_build/results?buildId=9',
  };
  const cases: Record<string, [Record<string, string>, Record<string, string>]> = {
    'a branch of GitLab': [gitlab, { commit: SHA, branch: 'main', ...gitlabBuild }],
    'a tag of GitLab': [
      { ...gitlab, CI_COMMIT_REF_NAME: 'v1', CI_COMMIT_TAG: 'v1' },
      { commit: SHA, ...gitlabBuild },
    ],
    'a merge request of GitLab': [
      {
        ...gitlab,
        CI_COMMIT_SHA: MERGE,
        CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: SHA,
        CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: 'fix/b',
        CI_MERGE_REQUEST_IID: '8',
      },
      { commit: SHA, branch: 'fix/b', pull_request: '8', ...gitlabBuild },
    ],
    'a branch of Jenkins, without the password of the repository': [jenkins, { commit: SHA, branch: 'main', ...jenkinsBuild }],
    'a pull request of Jenkins': [
      { ...jenkins, BRANCH_NAME: 'PR-3', CHANGE_BRANCH: 'fix/b', CHANGE_ID: '3', GIT_URL: 'git@git.example:acme/shop.git' },
      { commit: SHA, branch: 'fix/b', pull_request: '3', repository: 'git@git.example:acme/shop.git', build_url: jenkins.BUILD_URL },
    ],
    'a branch of Azure Pipelines': [azure, { commit: SHA, branch: 'feature/a', ...azureBuild }],
    'a tag of Azure Pipelines': [
      { ...azure, BUILD_SOURCEBRANCH: 'refs/tags/v1' },
      { commit: SHA, ...azureBuild },
    ],
    'a pull request of Azure Pipelines': [
      {
        ...azure,
        BUILD_SOURCEVERSION: MERGE,
        BUILD_SOURCEBRANCH: 'refs/pull/4/merge',
        SYSTEM_PULLREQUEST_SOURCECOMMITID: SHA,
        SYSTEM_PULLREQUEST_SOURCEBRANCH: 'refs/heads/fix/b',
        SYSTEM_PULLREQUEST_PULLREQUESTID: '4',
      },
      { commit: SHA, branch: 'fix/b', pull_request: '4', ...azureBuild },
    ],
    'a pull request of GitHub in Azure Pipelines': [
      { ...azure, SYSTEM_PULLREQUEST_PULLREQUESTID: '4', SYSTEM_PULLREQUEST_PULLREQUESTNUMBER: '70' },
      { commit: SHA, branch: 'feature/a', pull_request: '70', ...azureBuild },
    ],
    'no CI system, whatever else is set': [{ GITHUB_SHA: SHA, CI_COMMIT_SHA: SHA, GIT_COMMIT: SHA, GITLAB_CI: '' }, {}],
    'a CI system that says nothing': [{ JENKINS_URL: 'https://jenkins.example/' }, {}],
  };
  for (const [what, [environment, wanted]] of Object.entries(cases))
    it(`of ${what}`, () => {
      expect(ciMetadata(environment)).to.deep.equal({ metadata: wanted, mistakes: [] });
    });

  it('leave out and report what metadata cannot have', () => {
    const { metadata, mistakes } = ciMetadata({ ...gitlab, CI_COMMIT_REF_NAME: 'b'.repeat(300) });
    expect(metadata).to.deep.equal({ commit: SHA, ...gitlabBuild });
    expect(mistakes).to.deep.equal(['The metadata value of branch must have 1 to 256 characters.']);
  });
});
