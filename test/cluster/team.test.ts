/**
 * A team and its pipeline: a site with 60 violations, its main branch as the baseline, branches
 * that change it, and a violation that is accepted for a time. The step of the action runs in the container of the job (container.ts)
 * against the service, and writes its comment to a server that answers as GitHub documents it.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { Report } from '../../report/schema/report.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { actionStep, outputsIn, ROOT } from '../cli/pull-request/action-step.ts';
import { startForge, TOKEN, type Forge } from '../cli/pull-request/forges.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { containerOf, type Container } from './container.ts';
import { startWholeProduct, type WholeProduct } from '../journey/product.ts';

/** A build of the site: which pictures have no text, in which order, and the hash in the names of classes and files. */
interface Build {
  pictures: readonly string[];
  hash: string;
  /** Wraps the pictures, so that all selectors change. */
  wrapped?: boolean;
  more?: string;
}
const PICTURES = Array.from({ length: 60 }, (_, at) => `teaser-${String.fromCharCode(97 + (at % 26))}${at}`);
const BRANCHES = {
  main: { pictures: PICTURES, hash: '1x7yp' },
  'fix/two': { pictures: PICTURES.slice(2), hash: '9k2mq', more: '<form><input name="coupon"></form>' },
  'feature/layout': { pictures: PICTURES.toReversed(), hash: '4w8zd', wrapped: true },
} satisfies Record<string, Build>;
/** The selector of the element that the branch adds, as the comment has it. */
const ADDED = '`input`';
/** After the output of a step: its outputs, and its summary. */
const MARKS = ['=== outputs', '=== summary'] as const;

function page({ pictures, hash, wrapped = false, more = '' }: Build): string {
  const images = pictures
    .map((name) => `<img class="Card_image__${hash}" src="/static/${name}.${hash}0a1b.png" width="40" height="40">`)
    .join('\n');
  return `<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Shop</h1>${wrapped ? `<div><section>${images}</section></div>` : images}${more}</main></body></html>`;
}

interface Result {
  scan_id: string;
  status: string;
  passed: boolean | null;
  message: string | null;
  violations_count: number;
  metadata: Record<string, string>;
  baseline: { scan_id: string | null; problem: string | null; new: number; fixed: number; unchanged: number; not_tested: number } | null;
}

describe('a team with a site of 60 violations', function () {
  this.timeout(600_000);
  let product: WholeProduct;
  let container: Container;
  let server: Server;
  let forge: Forge;
  let url: string;
  let build: Build = BRANCHES.main;
  /** The ID of the scan of the main branch. */
  let main: string;
  /** The fingerprint of the violation that a branch adds. */
  let added: string;
  before(async () => {
    // Pods reach the API at the address of this machine.
    product = await startWholeProduct({ HOST: '0.0.0.0' });
    container = containerOf(product);
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://site');
      if (pathname !== '/') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/html' }).end(page(build));
    });
    await new Promise<void>((resolve) => server.listen(0, product.host, resolve));
    url = `http://${product.host}:${(server.address() as AddressInfo).port}/`;
    forge = await startForge('github', product.host);
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await forge?.close();
    await product?.close();
  });

  /** Runs the step of the action as a job of a branch does. @param branch `main`: of a push, else of pull request 12 */
  async function step(branch: keyof typeof BRANCHES) {
    build = BRANCHES[branch];
    const { CURBCUT_URL, CURBCUT_API_KEY } = product.credentials();
    const gate: Record<string, string> = branch === 'main' ? {} : { baseline: 'branch=main', 'max-new-violations': '0' };
    const service = { 'service-url': CURBCUT_URL.replace('127.0.0.1', product.host), 'api-key': CURBCUT_API_KEY };
    const { script, variables } = await actionStep({ url, ...service, ...gate, args: '--max-pages 1' }, TOKEN);
    const event = branch === 'main' ? {} : { pull_request: { number: 12, head: { sha: 'bbbb' } } };
    const ran = await container({
      image: 'cli',
      script: `export GITHUB_WORKSPACE=$PWD RUNNER_TEMP=$PWD GITHUB_OUTPUT=$PWD/outputs GITHUB_STEP_SUMMARY=$PWD/summary
        code=0; touch outputs summary; bash -e -o pipefail -c "$STEP" || code=$?
        echo '${MARKS[0]}'; cat outputs; echo '${MARKS[1]}'; cat summary; exit "$code"`,
      files: { 'action/scan.sh': await readFile(join(ROOT, 'action', 'scan.sh'), 'utf8'), 'event.json': JSON.stringify(event) },
      variables: {
        ...variables,
        STEP: script,
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION_PATH: '$FOLDER',
        GITHUB_EVENT_PATH: '$FOLDER/event.json',
        GITHUB_API_URL: forge.url,
        GITHUB_SERVER_URL: 'https://github.example',
        GITHUB_REPOSITORY: 'acme/shop',
        GITHUB_RUN_ID: '77',
        GITHUB_SHA: 'aaaa',
        ...(branch === 'main' ? { GITHUB_REF_NAME: 'main' } : { GITHUB_HEAD_REF: branch, GITHUB_REF: 'refs/pull/12/merge' }),
      },
    });
    const [output = '', rest = ''] = ran.output.split(MARKS[0]);
    const [outputs = '', summary = ''] = rest.split(MARKS[1]);
    return { code: ran.code, output, outputs: outputsIn(outputs), summary: summary.trim() };
  }
  /** The comment of the pull request, of which there is one. */
  function comment(): string {
    expect(forge.comments).to.have.length(1);
    return forge.comments[0]!.body.trim();
  }
  async function get<T>(path: string): Promise<T> {
    return (await (await product.request(path)).json()) as T;
  }
  async function reportOf(id: string): Promise<Report> {
    const { url: link } = await get<{ url: string }>(`/v1/scans/${id}/report/json`);
    return (await (await fetch(link)).json()) as Report;
  }

  /** Lets a known issue end in the past, which REST refuses. */
  async function endNow(id: string): Promise<void> {
    const mongo = connectMongo({ url: product.environment.MONGODB_URL!, logger: silentLogger });
    const past = new Date(Date.now() - 1000);
    await mongo.db.collection<{ _id: string }>('knownIssues').updateOne({ _id: id }, { $set: { expiresAt: past } });
    await mongo.close();
  }

  for (const image of ['cli', 'scanner'] as const)
    it(`has the version of this project in the container of the image ${image}`, async () => {
      const version = await container({ image, script: 'curbcut --version', variables: {}, files: {} });
      expect([version.code, version.output.trim()]).to.deep.equal([0, `curbcut ${CURBCUT_VERSION}`]);
    });

  it('scans without a service in the container of the scanner', async () => {
    const variables = { ALLOW_TARGETS: `${product.host}/32`, SITE: url };
    const script = 'curbcut scan --local "$SITE" --max-pages 1 --max-violations 59 --export report.json || echo "code $?"; ls report.json';
    const local = await container({ image: 'scanner', script, variables, files: {} });
    expect([local.code, /^code 1$/m.test(local.output)], local.output).to.deep.equal([0, true]);
    expect(local.output)
      .to.match(/^report\.json$/m)
      .and.include('60');
  });

  it('finds on its main branch what it has, without a verdict and without a comment', async () => {
    const ran = await step('main');
    expect(ran.code, ran.output).to.equal(0);
    expect(ran.outputs).to.include({ passed: 'null' });
    expect(forge.comments).to.deep.equal([]);
    main = ran.outputs['scan-id']!;
    const found = await get<Result>(`/v1/ci/scans/${main}`);
    expect(found).to.deep.include({ violations_count: 60, passed: null, baseline: null });
    expect(found.metadata).to.include({ branch: 'main', commit: 'aaaa' });
  });

  it('gets a failure for a branch that fixes two violations and adds one, and a comment about the new one', async () => {
    const ran = await step('fix/two');
    expect(ran.code, ran.output).to.equal(1);
    expect(comment()).to.include('1 new, 2 fixed, 58 unchanged').and.include(ADDED).and.not.include('image-alt');
    expect(ran.summary).to.equal(comment());
    expect(ran.output.match(/^::error .*/gm)).to.have.length(1);
    expect(ran.outputs).to.include({ passed: 'false' });
    const result = await get<Result>(`/v1/ci/scans/${ran.outputs['scan-id']}`);
    expect(result.message).to.equal(`There is 1 violation not in the baseline ${main}, more than the 0 allowed.`);
    expect(result.metadata).to.include({ branch: 'fix/two', commit: 'bbbb', pull_request: '12' });
    expect(result.baseline).to.deep.include({ scan_id: main, problem: null, new: 1, fixed: 2, unchanged: 58, not_tested: 0 });
    const report = await reportOf(result.scan_id);
    expect(report.baseline!.new_causes.flatMap(({ examples }) => examples.map(({ selector }) => selector))).to.have.length(1);
    expect(report.groups.reduce((sum, { new_elements: count = 0 }) => sum + count, 0)).to.equal(1);
    added = report.groups.find(({ rule }) => rule === 'label')!.fingerprint;
    expect(ran.output + comment()).to.not.include(TOKEN);
  });

  it('passes with a branch that only moves markup and is built again, and the comment is updated', async () => {
    const ran = await step('feature/layout');
    expect(ran.code, ran.output).to.equal(0);
    expect(comment()).to.include('0 new, 0 fixed, 60 unchanged').and.include('No new violations.').and.not.include(ADDED);
    expect(ran.output).to.not.include('::error');
    expect(ran.outputs).to.include({ passed: 'true' });
  });

  it('passes with the added violation while it is accepted, and fails again after the end', async () => {
    const until = new Date(Date.now() + 90 * 86_400_000).toISOString();
    const issue = { site: new URL(url).host, fingerprint: added, reason: 'The supplier fixes it.', owner: 'shop team', expires_at: until };
    const accepted = await product.request('/v1/known-issues', { method: 'POST', body: JSON.stringify(issue) });
    expect(accepted.status).to.equal(201);
    const { id } = (await accepted.json()) as { id: string };
    const known = await step('fix/two');
    expect([known.code, known.outputs.passed], known.output).to.deep.equal([0, 'true']);

    await endNow(id);
    const again = await step('fix/two');
    expect([again.code, again.outputs.passed], again.output).to.deep.equal([1, 'false']);
    expect(comment()).to.include('1 new, 2 fixed, 58 unchanged').and.include(ADDED);
  });
});
