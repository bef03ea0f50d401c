/** The examples of examples/ci: their scripts run as printed, with the variables of each system, against a service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { writeFakeDocker } from '../cli/pull-request/fake-docker.ts';
import { startForge, TOKEN, type Forge } from '../cli/pull-request/forges.ts';
import {
  accepts,
  complete,
  EVENTS,
  KEY,
  replies,
  routes,
  SCAN_ID,
  startService,
  streams,
  SUBMIT,
  type Answering,
  type Service,
} from '../cli/service.ts';
import { smallReport } from '../report/samples.ts';
import { ROOT } from './manifests.ts';

interface Step {
  run?: string;
  script?: string;
  uses?: string;
  with?: Record<string, string | number>;
  env?: Record<string, string>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { jobs } = parse(read('examples/ci/github-actions.yaml')) as { jobs: Record<string, { steps: Step[] }> };
const action = parse(read('action.yml')) as { inputs: Record<string, { default?: string }>; runs: { steps: Step[] } };
const SHA = '3f2b8c1e6a4d4f0e9b7a1c2d3e4f5a6b7c8d9e0f';
const EXPRESSIONS: Readonly<Record<string, string>> = {
  'github.event.number': '12',
  'github.event.pull_request.head.sha': SHA,
  'secrets.CURBCUT_API_KEY': KEY,
  'github.token': TOKEN,
};

/** Fills in the expressions of GitHub. */
const filled = (text: string): string =>
  text.replace(/\$\{\{ (\S+) \}\}/g, (_, name: string) => {
    if (!(name in EXPRESSIONS)) throw new Error(`no value for ${name}`);
    return EXPRESSIONS[name]!;
  });

type Variables = Record<string, string>;
/** The script of each system with its variables. */
const SYSTEMS: Readonly<
  Record<string, (folder: string) => { script: string; variables: Variables; idempotencyKey?: string; submits?: object }>
> = {
  'GitHub Actions'(folder) {
    const given = jobs['over-http']!.steps.find(({ uses }) => uses?.startsWith('example/curbcut@'))!.with!;
    for (const name of Object.keys(given)) expect(action.inputs, name).to.have.property(name);
    const valueOf = (name: string): string => filled(String(given[name] ?? action.inputs[name]!.default ?? ''));
    const [step] = action.runs.steps;
    const inputs = Object.entries(step!.env!).map(([name, text]) => [
      name,
      text.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input: string) => valueOf(input)),
    ]);
    const files = {
      GITHUB_OUTPUT: join(folder, 'outputs'),
      GITHUB_STEP_SUMMARY: join(folder, 'summary'),
      RUNNER_TEMP: join(folder, 'runner'),
    };
    return {
      script: step!.run!,
      variables: {
        ...files,
        GITHUB_ACTION_PATH: ROOT,
        GITHUB_WORKSPACE: folder,
        GITHUB_ACTIONS: 'true',
        GITHUB_HEAD_REF: 'fix/a',
        GITHUB_REF: 'refs/pull/12/merge',
        GITHUB_REPOSITORY: 'acme/shop',
        ...(Object.fromEntries(inputs) as Variables),
      },
      idempotencyKey: `pr-12-${SHA}`,
    };
  },
  Jenkins() {
    const file = read('examples/ci/Jenkinsfile');
    const script = /sh '''\n([\s\S]*?)'''/.exec(file)![1]!;
    // Groovy reads the backslash at the end of a line as a continuation, as the shell does.
    expect(file).to.include('PREVIEW = "https://pr-${env.CHANGE_ID}.preview.example.com/"');
    const variables = {
      JENKINS_URL: 'https://jenkins.example/',
      CHANGE_BRANCH: 'fix/a',
      CHANGE_ID: '12',
      PREVIEW: 'https://pr-12.preview.example.com/',
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_TOKEN: TOKEN,
    };
    return { script, variables: { ...variables, CURBCUT_API_KEY: KEY } };
  },
  'Azure Pipelines'() {
    const { steps, variables } = parse(read('examples/ci/azure-pipelines.yml')) as { steps: Step[]; variables: Variables };
    const { script } = steps.find((step) => step.script !== undefined)!;
    return {
      script: script!,
      variables: {
        IMAGE: variables.IMAGE!,
        TF_BUILD: 'True',
        SYSTEM_PULLREQUEST_SOURCEBRANCH: 'refs/heads/fix/a',
        SYSTEM_PULLREQUEST_PULLREQUESTNUMBER: '12',
        CURBCUT_API_KEY: KEY,
      },
    };
  },
  'docs/ci.md'() {
    const script = /## The comment\n\n```\n([\s\S]*?)```/.exec(read('docs/ci.md'))![1]!;
    const github = { GITHUB_REPOSITORY: 'acme/shop', GITHUB_REF: 'refs/pull/12/merge', GITHUB_TOKEN: TOKEN };
    return {
      script,
      variables: {
        ...github,
        GITHUB_ACTIONS: 'true',
        GITHUB_HEAD_REF: 'fix/a',
        PREVIEW: 'https://pr-12.preview.example.com/',
        CURBCUT_API_KEY: KEY,
      },
      submits: { max_new_violations: 0, baseline: { metadata: { branch: 'main' } } },
    };
  },
};

describe('scripts for CI', () => {
  let folder: string;
  let forge: Forge;
  let service: Service;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    forge = await startForge('github');
    await writeFakeDocker(folder);
  });
  afterEach(async () => {
    await forge.close();
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  const reports = `GET /v1/scans/${SCAN_ID}/report`;
  /** The answers of the service about a scan with this verdict. */
  const answers = (passed: boolean): Record<string, Answering[]> => {
    const link = (path: string) => () => ({ status: 200, body: { url: `${service.url}${path}`, expires_in: 60 } });
    return {
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(complete(2, { passed }))],
      [reports]: [link('/pdf')],
      [`${reports}/json`]: [link('/export')],
      'GET /pdf': [replies(200, '%PDF-')],
      'GET /export': [replies(200, smallReport())],
    };
  };

  /** Runs the script of a system against a service with these answers. @returns the exit code, and what it printed */
  async function run(system: string, table: Record<string, Answering[]>, more: Variables = {}) {
    service = await startService(routes(table));
    const { script, variables, ...expected } = SYSTEMS[system]!(folder);
    const child = spawn('bash', ['-e', '-c', script], {
      cwd: folder,
      env: {
        CI: 'true',
        HOME: process.env.HOME,
        PATH: `${folder}:${join(ROOT, 'bin')}:${process.env.PATH}`,
        GITHUB_API_URL: forge.url,
        ...variables,
        ...more,
        CURBCUT_URL: service.url,
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    expect(output).to.not.include(TOKEN).and.not.include(KEY);
    return { code, output, ...expected };
  }

  const writeProgram = (name: string, lines: string): Promise<void> =>
    writeFile(join(folder, name), `#!/bin/bash\n${lines}\n`, { mode: 0o755 });

  it('GitHub Actions: exits with 2 if Docker cannot run the image', async () => {
    await writeProgram('docker', 'exit 125');
    const ran = await run('GitHub Actions', {});
    expect([ran.code, ran.output.includes('::error title=Curbcut::')], ran.output).to.deep.equal([2, true]);
  });

  it('GitHub Actions: writes no comment if none is wanted', async () => {
    const ran = await run('GitHub Actions', answers(false), { INPUT_COMMENT: 'false' });
    expect([ran.code, forge.comments], ran.output).to.deep.equal([1, []]);
  });

  for (const system of Object.keys(SYSTEMS)) {
    it(`${system}: exits with 1 if the scan did not pass, and shows the text`, async () => {
      const ran = await run(system, answers(false));
      expect(ran.code, ran.output).to.equal(1);
      const [submission] = service.of('POST', '/v1/ci/scans');
      expect(submission!.body).to.deep.include(ran.submits ?? { max_pages: 20, max_new_violations: 0, baseline: { schedule: 'nightly' } });
      expect((submission!.body as { metadata: object }).metadata).to.include({ branch: 'fix/a', pull_request: '12' });
      expect((submission!.body as { url: string }).url).to.match(/^https:\/\/pr-12\.preview\.example\.com\/?$/);
      if (ran.idempotencyKey !== undefined) expect(submission!.headers['idempotency-key']).to.equal(ran.idempotencyKey);
      const text = /##vso\[task\.uploadsummary\](\S+)/.exec(ran.output)?.[1];
      const shown = text === undefined ? forge.comments[0]!.body : await readFile(text, 'utf8');
      expect(shown).to.include('<!-- curbcut:').and.include(`${service.url}/dashboard/scans/${SCAN_ID}`);
    });

    // The text of the page is one of the scripts above.
    if (system === 'docs/ci.md') continue;

    it(`${system}: exits with 0 if the scan passed, even if there is no comment`, async () => {
      await writeProgram('curbcut', `[ "$1" != comment ] || exit 125\nexec '${join(ROOT, 'bin/curbcut')}' "$@"`);
      const ran = await run(system, answers(true));
      expect(ran.code, ran.output).to.equal(0);
      if (system === 'GitHub Actions') expect(ran.output.match(/^::warning /gm)).to.have.length(2);
    });

    it(`${system}: exits with 2 without a verdict, and shows no report of an earlier build`, async () => {
      await mkdir(join(folder, 'runner/curbcut'), { recursive: true });
      for (const file of ['report.json', 'curbcut.json', 'runner/curbcut/report.json'])
        await writeFile(join(folder, file), JSON.stringify(smallReport()));
      const ran = await run(system, { [SUBMIT]: [replies(401, { detail: 'invalid_api_key', message: 'Send a live API key.' })] });
      expect(ran.code, ran.output).to.equal(2);
      expect(forge.comments).to.deep.equal([]);
      expect(ran.output).to.not.include('uploadsummary');
    });
  }
});

describe('the other jobs of examples/ci', () => {
  it('on the runner use inputs and outputs of the action', () => {
    const { outputs } = parse(read('action.yml')) as { outputs: object };
    for (const { steps } of Object.values(jobs))
      for (const step of steps) {
        if (step.uses?.startsWith('example/curbcut@')) expect(action.inputs).to.include.keys(Object.keys(step.with!));
        for (const [, name] of JSON.stringify(step).matchAll(/steps\.scan\.outputs\.([\w-]+)/g)) expect(outputs).to.have.property(name!);
      }
  });

  it('on GitLab give the component its inputs', () => {
    const { include } = parse(read('examples/ci/gitlab-ci.yml')) as { include: { component: string; inputs: object }[] };
    const [{ spec }] = read('templates/scan.yml')
      .split('\n---\n')
      .map((part) => parse(part) as { spec: { inputs: object } }) as [{ spec: { inputs: object } }];
    expect(include[0]!.component).to.match(/\/scan@/);
    expect(spec.inputs).to.include.keys(Object.keys(include[0]!.inputs));
  });
});
