/**
 * From this build to itself with a raised version, back, and forward again, each while scans are in progress. The images of the raised
 * version are those under test with another package.json.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { startDemoSite, type DemoSite } from '../../demo-site/server.ts';
import { freshFetch } from '../support/fresh-fetch.ts';
import {
  CHART,
  clusterAndHelm,
  eventually,
  freeNodePorts,
  helm,
  IMAGES,
  kubectl,
  nameServers,
  nodeAddress,
  removeNamespace,
  SCANNER_IMAGE,
  SERVICE_IMAGE,
  settings,
} from './release.ts';
import { startServices, type Services } from './services.ts';

const run = promisify(execFile);
const ROOT = join(CHART, '..');
/** Every release has a version of its own. */
const RAISED_VERSION = '99.0.0';
const RAISED = 'raised';
const SCANS = 20;
const GRANTED = 1000;
const WITHIN_MS = 600_000;
const ENDED = ['done', 'failed', 'canceled'];

/** Builds an image with the raised version from one under test. */
async function raise(image: string, folder: string): Promise<void> {
  const dockerfile = join(folder, 'Dockerfile');
  await writeFile(dockerfile, `FROM ${image}\nCOPY package.json /app/package.json\n`);
  const raised = image.replace(/:[^:/]+$/, `:${RAISED}`);
  await run('sh', ['-c', `${process.env.IMAGE_BUILD} "$@"`, 'sh', raised, '-f', dockerfile, folder]);
}

describe('an upgrade to a release with a raised version, and the way back', function () {
  this.timeout(WITHIN_MS);
  const namespace = `curbcut-upgrade-${process.pid}`;
  const scans = `${namespace}-scans`;
  let folder: string | undefined;
  let services: Services;
  let demo: DemoSite;
  let url: string;
  let key: string;
  let shared: Record<string, unknown>;
  const submitted: string[] = [];

  const inRelease = (...args: string[]): Promise<string> => kubectl(['-n', namespace, ...args]);
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    freshFetch(`${url}${path}`, { ...init, headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...init.headers } });
  const waiting = ['--namespace', namespace, '--wait', '--timeout', '5m'];

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    if (!process.env.IMAGE_BUILD) {
      console.log('      (skipped: set IMAGE_BUILD)');
      return this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'curbcut-upgrade-'));
    const manifest = await readFile(join(ROOT, 'package.json'), 'utf8');
    await writeFile(join(folder, 'package.json'), manifest.replace(/"version": "[^"]+"/, `"version": "${RAISED_VERSION}"`));
    for (const image of [SERVICE_IMAGE, SCANNER_IMAGE]) await raise(image, folder);
    await kubectl(['create', 'namespace', namespace]);
    services = await startServices({ namespace, folder, tls: false });
    demo = await startDemoSite({ host: services.host });
    const node = await nodeAddress();
    const [port] = await freeNodePorts();
    url = `http://${node}:${port}`;
    const { 'networkPolicy.sts.to': _, ...connections } = services.values;
    shared = {
      ...connections,
      ...(await nameServers(node)),
      'admission.queueNamespace': false,
      'targets.allow': [`${services.host}/32`],
      'scans.maxRunning': 4,
      'scanner.resources': { requests: { cpu: '100m', memory: '384Mi' }, limits: { memory: '2Gi' } },
      'api.service.type': 'NodePort',
      'api.service.nodePort': port,
      'api.publicBaseUrl': url,
    };
  });
  after(async () => {
    if (folder === undefined) return;
    await helm('uninstall', 'curbcut', '--namespace', namespace, '--ignore-not-found', '--wait').catch(() => undefined);
    await Promise.all([removeNamespace(scans), removeNamespace(namespace)]);
    await demo?.close();
    await services?.close();
    await rm(folder, { recursive: true });
  });

  const images = (tag: string) => ({ 'image.registry': IMAGES['image.registry'], 'image.tag': tag });
  const upgrade = (): Promise<string> => helm('upgrade', 'curbcut', CHART, ...waiting, ...settings({ ...shared, ...images(RAISED) }));
  const all = async (): Promise<AccessibilityScan[]> =>
    (JSON.parse(await kubectl(['-n', scans, 'get', 'accessibilityscans', '-o', 'json'])) as { items: AccessibilityScan[] }).items;
  const phaseOf = ({ status }: AccessibilityScan): string => status?.phase ?? 'queued';
  const wasReplaced = ({ status }: AccessibilityScan): boolean => status?.replacedJob !== undefined;
  const phases = async (): Promise<string[]> => (await all()).map(phaseOf);

  async function submit(): Promise<void> {
    for (let number = 0; number < SCANS; number++) {
      const headers = { 'Idempotency-Key': `scan-${submitted.length}` };
      const body = JSON.stringify({ url: `${demo.url}/en/`, max_pages: 1 });
      const answer = await ask('/v1/ci/scans', { method: 'POST', headers, body });
      const text = await answer.text();
      expect(answer.status, text).to.equal(202);
      submitted.push((JSON.parse(text) as { scan_id: string }).scan_id);
    }
  }

  /**
   * Changes the release while scans run, and checks that all are done, were charged once, ran once, and have results, as all earlier
   * ones.
   */
  async function during(change: () => Promise<unknown>): Promise<void> {
    const before = (await all()).filter(wasReplaced).length;
    await submit();
    await eventually(phases, (now) => now.some((phase) => ['crawling', 'scanning'].includes(phase)), 180_000);
    const inFlight = (await phases()).filter((phase) => !ENDED.includes(phase)).length;
    expect(inFlight).to.be.greaterThan(0);
    await change();
    console.log(`      ${inFlight} scans in flight before, ${(await phases()).filter((phase) => !ENDED.includes(phase)).length} after`);
    const ended = await eventually(all, (now) => now.every((scan) => ENDED.includes(phaseOf(scan))), WITHIN_MS / 2);
    expect(ended.filter((scan) => phaseOf(scan) !== 'done').map(({ status }) => status)).to.deep.equal([]);
    expect(ended).to.have.length(submitted.length);
    const replaced = ended.filter(wasReplaced).length - before;
    console.log(`      ${replaced} scans ran again`);
    expect(replaced).to.equal(0);
    const balance = async () => ((await (await ask('/v1/billing/credits')).json()) as { balance: number }).balance;
    await eventually(balance, (now) => now === GRANTED - submitted.length);
    const listed = (await (await ask('/v1/ci/scans?status=done&limit=100')).json()) as {
      data: { scan_id: string; score: number | null }[];
    };
    expect(listed.data.filter(({ score }) => score !== null).map(({ scan_id }) => scan_id)).to.have.members(submitted);
    for (const id of [submitted[0]!, submitted.at(-1)!])
      expect((await ask(`/v1/scans/${id}/report/json`)).status, `the report of ${id}`).to.equal(200);
  }

  it('starts with this build', async () => {
    // An earlier release may have kept the definitions.
    await helm('install', 'curbcut', CHART, ...waiting, '--take-ownership', '--force-conflicts', ...settings({ ...shared, ...IMAGES }));
    const admin = (...args: string[]) => inRelease('exec', 'deployment/curbcut-api', '--', 'curbcut-admin', ...args);
    await admin('organisation', 'add', 'acme', '--namespaces', scans);
    await admin('organisation', 'grant', 'acme', String(GRANTED));
    key = (JSON.parse(await admin('key', 'issue', '--organisation', 'acme', '--name', 'CI', '--json')) as { key: string }).key;
  });

  const promise = `loses none of ${SCANS} scans, and charges each once`;

  it(`${promise}: the upgrade`, async () => during(upgrade));

  it(`${promise}: the rollback`, async () => during(() => helm('rollback', 'curbcut', ...waiting)));

  it(`${promise}: the next upgrade`, async () => during(upgrade));
});
