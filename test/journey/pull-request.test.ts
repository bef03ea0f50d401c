/**
 * A team with a site of 60 violations, in the pull requests of each CI system: the steps of the action, the component and the examples run
 * as printed, with the command line of this checkout, the real scanner and the real browser.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { actionStep, outputsIn, ROOT } from '../cli/pull-request/action-step.ts';
import { writeFakeDocker } from '../cli/pull-request/fake-docker.ts';
import { startForge, TOKEN, type Forge } from '../cli/pull-request/forges.ts';

const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
type Variables = Record<string, string | undefined>;

const image = (index: number, alt = ''): string => `<div class="card"><img src="/photo-${index}.png"${alt}></div>`;
const all = Array.from({ length: 60 }, (_, index) => index);
/** The selector of the element that the branch adds, as the comment has it. */
const ADDED = '`input`';
/** The site on each branch. */
const BRANCHES: Readonly<Record<string, string>> = {
  main: all.map((index) => image(index)).join(''),
  // Fixes two, and adds one.
  worse: `${all.map((index) => image(index, [3, 40].includes(index) ? ' alt="A photo"' : '')).join('')}<form><input name="coupon"></form>`,
  // Moves markup.
  moved: `<section class="grid_x7f3a">${all
    .map((index) => image(index))
    .reverse()
    .join('\n')}</section>`,
};

describe('a pull request', () => {
  let server: Server;
  let site: string;
  let folder: string;
  let branch = 'main';
  let forge: Forge;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    server = createServer((request, response) => {
      if (request.url !== '/') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1>${BRANCHES[branch]}</main></html>`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    site = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ran = await run(`curbcut scan --local ${site} --max-pages 1 --json --export main.json`);
    expect(ran.code, ran.output).to.equal(0);
    expect(JSON.parse(ran.stdout)).to.include({ violations_count: 60 });
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => forge?.close());

  /** Runs a script as the systems do, in the folder of the job. */
  async function run(script: string, variables: Variables = {}) {
    const { HOME, CHROMIUM_PATH, PATH } = process.env;
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], {
      cwd: folder,
      env: { CI: 'true', HOME, CHROMIUM_PATH, PATH: `${join(ROOT, 'bin')}:${PATH}`, TMPDIR: folder, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    return { code, stdout, output: stdout + stderr };
  }

  /** The step of action.yml with these inputs, and the variables that a runner sets. */
  async function action(inputs: Record<string, string>, variables: Variables = {}) {
    const step = await actionStep(inputs, TOKEN);
    const temp = join(folder, 'runner');
    await rm(temp, { recursive: true, force: true });
    await mkdir(temp);
    const event = join(temp, 'event.json');
    await writeFile(event, JSON.stringify({ pull_request: { number: 12 } }));
    const [outputs, summary] = [join(temp, 'outputs'), join(temp, 'summary')];
    const ran = await run(step.script, {
      GITHUB_ACTION_PATH: ROOT,
      GITHUB_WORKSPACE: folder,
      RUNNER_TEMP: temp,
      GITHUB_OUTPUT: outputs,
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_EVENT_PATH: event,
      GITHUB_REPOSITORY: 'acme/shop',
      GITHUB_API_URL: forge.url,
      GITHUB_SERVER_URL: 'https://github.example',
      GITHUB_RUN_ID: '77',
      ...step.variables,
      ...variables,
    });
    const text = async (path: string): Promise<string> => (existsSync(path) ? readFile(path, 'utf8') : '');
    return { ...ran, summary: await text(summary), outputs: outputsIn(await text(outputs)) };
  }

  const gate = () => ({ url: site, local: 'true', baseline: 'main.json', 'max-new-violations': '0', args: '--max-pages 1' });

  it('on GitHub fails for exactly the new violation, with a comment, files and outputs', async () => {
    forge = await startForge('github');
    branch = 'worse';
    const worse = await action(gate());
    expect(worse.code, worse.output).to.equal(1);
    const [comment] = forge.comments;
    expect(comment!.body)
      .to.include('1 new, 2 fixed, 58 unchanged')
      .and.include(ADDED)
      .and.include('(https://github.example/acme/shop/actions/runs/77)')
      .and.not.include('image-alt');
    expect(worse.summary.trim()).to.equal(comment!.body.trim());
    expect(worse.stdout.match(/^::error .*/gm)).to.have.length(1);
    expect(worse.stdout).to.match(/^::error title=label%3A .*::http:.* input$/m);
    expect(worse.outputs).to.include({ passed: 'false' });
    expect(worse.outputs['scan-id']).to.match(/^[0-9a-f-]{36}$/);
    expect(Number(worse.outputs.score)).to.be.within(1, 99);
    expect(JSON.parse(await readFile(worse.outputs.sarif!, 'utf8'))).to.include({ version: '2.1.0' });
    for (const name of ['report', 'pdf']) expect(existsSync(worse.outputs[name]!), name).to.equal(true);

    expect(worse.output).to.not.include(TOKEN);
  });

  it('on GitHub ends with 2 and an error without a verdict, and without an image', async () => {
    forge = await startForge('github');
    const lost = await action({ ...gate(), baseline: 'lost.json' });
    expect([lost.code, lost.stdout.includes('::error title=Curbcut::There is no report')], lost.output).to.deep.equal([2, true]);
    const none = await action(gate(), { PATH: '/usr/bin:/bin' });
    expect([none.code, none.stdout.includes('Set the input image')], none.output).to.deep.equal([2, true]);
  });

  it('on GitHub runs the commands in the image, and keeps the verdict if the comment may not be written', async () => {
    forge = await startForge('github');
    branch = 'moved';
    const stub = join(folder, 'stub');
    await writeFakeDocker(stub);
    forge.failures.push({ status: 403, body: { message: 'Resource not accessible by integration' }, at: 'POST' });
    const ran = await action({ ...gate(), image: 'example/scanner:1' }, { PATH: `${stub}:${join(ROOT, 'bin')}:${process.env.PATH}` });
    expect(ran.code, ran.output).to.equal(0);
    expect(ran.output).to.include('::warning title=Curbcut::').and.include('pull-requests: write');
    expect(forge.comments).to.deep.equal([]);
    const log = await readFile(join(stub, 'docker.log'), 'utf8');
    expect(log).to.include('--network host').and.not.include(TOKEN);
    const temp = join(folder, 'runner');
    const event = join(temp, 'event.json');
    const mounts = [`${folder}:${folder}`, `${temp}/curbcut:${temp}/curbcut`, `${event}:${event}:ro`];
    for (const [command] of log.matchAll(/^run .*/gm))
      expect([...command.matchAll(/--volume (\S+)/g)].map(([, mount]) => mount)).to.deep.equal(mounts);
    // The scan, the summary and the comment.
    const given = [...log.matchAll(/^(\w+) has (.*)/gm)].map(([, command, names]) => [command, names!.split(' ').includes('GITHUB_TOKEN')]);
    expect(given).to.deep.equal([['scan', false], ['comment', false], ['comment', true]]); // prettier-ignore
  });

  it('on GitLab fails for the new violation, with a comment, test results and Code Quality', async () => {
    forge = await startForge('gitlab');
    branch = 'worse';
    const [header, jobs] = parseAllDocuments(await read('templates/scan.yml')).map(
      (document) => document.toJS() as Record<string, unknown>,
    );
    const { inputs } = header!.spec as { inputs: Record<string, { default?: string } | null> };
    const given: Record<string, string> = {
      url: site,
      image: 'example/scanner:1',
      args: '--local --max-pages 1 --baseline main.json --max-new-violations 0',
    };
    const filled = (text: string): string =>
      text.replace(/\$\[\[ inputs\.(\w+) \]\]/g, (_, name: string) => {
        expect(inputs, name).to.have.property(name);
        return given[name] ?? inputs[name]!.default!;
      });
    const job = jobs!['$[[ inputs.job ]]'] as {
      script: string[];
      variables: Record<string, string>;
      artifacts: { paths: string[]; reports: Record<string, string> };
    };
    const script = job.script.map(filled).join('\n');
    const artifacts = [...Object.values(job.artifacts.reports), ...job.artifacts.paths];
    const variables = {
      CI_API_V4_URL: `${forge.url}/api/v4`,
      CI_PROJECT_ID: '7',
      CI_MERGE_REQUEST_IID: '12',
      SCAN_URL: filled(job.variables.SCAN_URL!),
    };
    const ran = await run(script, { ...variables, GITLAB_TOKEN: TOKEN });
    expect(ran.code, ran.output).to.equal(1);
    expect(forge.comments).to.have.length(1);
    expect(forge.comments[0]!.body).to.include(ADDED);
    for (const file of artifacts) expect(existsSync(join(folder, file)), file).to.equal(true);

    // Without a verdict, files of an earlier job are neither commented nor uploaded.
    forge.comments.pop();
    const lost = await run(script.replace('main.json', 'lost.json'), { ...variables, GITLAB_TOKEN: TOKEN });
    expect([lost.code, forge.comments], lost.output).to.deep.equal([2, []]);
    for (const file of artifacts) expect(existsSync(join(folder, file)), file).to.equal(false);
    const without = await run(script, variables);
    expect([without.code, without.output.includes('GITLAB_TOKEN is not set')], without.output).to.deep.equal([1, true]);
  });
});
