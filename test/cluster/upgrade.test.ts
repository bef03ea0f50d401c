/**
 * From an earlier release to this one, back, and forward again, each while scans are in progress. The chart and the images of the
 * earlier release come from the history of this repository. PREVIOUS_TAG is the tag of images that an earlier run built.
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
  settings,
} from './release.ts';
import { startServices, type Services } from './services.ts';

const run = promisify(execFile);
const ROOT = join(CHART, '..');
/** The last commit whose chart had the earlier values (docs/install.md, Renamed values). */
const PREVIOUS = 'ce38fd17f32dcbb495ad181a6cb9d16268e4744a';
/** Every release has a version of its own. Nothing was released from that commit. */
const PREVIOUS_VERSION = '0.0.9';
const SCANS = 20;
const GRANTED = 1000;
const WITHIN_MS = 600_000;
const BUILT_WITHIN_MS = 1_800_000;
const ENDED = ['done', 'failed', 'canceled'];

describe('an upgrade from an earlier release, and the way back', function () {
  this.timeout(WITHIN_MS);
  const namespace = `curbcut-upgrade-${process.pid}`;
  const scans = `${namespace}-scans`;
  const tag = process.env.PREVIOUS_TAG ?? 'previous';
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
    this.timeout(BUILT_WITHIN_MS);
    if (!(await clusterAndHelm())) return this.skip();
    const archive = await run('git', ['archive', PREVIOUS], { cwd: ROOT, encoding: 'buffer', maxBuffer: 512 << 20 }).catch(() => null);
    if (archive === null || !(process.env.PREVIOUS_TAG ?? process.env.IMAGE_BUILD)) {
      console.log(`      (skipped: fetch the whole history, with commit ${PREVIOUS.slice(0, 8)}, and set IMAGE_BUILD or PREVIOUS_TAG)`);
      return this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'curbcut-upgrade-'));
    const unpacking = run('tar', ['-x', '-C', folder]);
    unpacking.child.stdin!.end(archive.stdout);
    await unpacking;
    const manifest = join(folder, 'package.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(manifest, text.replace(/"version": "[^"]+"/, `"version": "${PREVIOUS_VERSION}"`));
    if (process.env.PREVIOUS_TAG === undefined)
      await run('tools/images', ['service', 'scanner'], { cwd: folder, env: { ...process.env, TAG: tag }, maxBuffer: 256 << 20 });
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

  const upgrade = (): Promise<string> => {
    const resources = { requests: { cpu: '100m', memory: '384Mi' }, limits: { memory: '2Gi' } };
    const values = { ...IMAGES, ...shared, 'scanner.resources': resources };
    return helm('upgrade', 'curbcut', CHART, ...waiting, '--take-ownership', '--force-conflicts', ...settings(values));
  };
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
   * Changes the release while scans run, and checks that all are done, were charged once, and have results, as all earlier ones.
   * @param expected.runAgain whether scans may run again: an earlier operator cannot read what a newer pod stores, but a newer one must
   */
  async function during(change: () => Promise<unknown>, { runAgain }: { runAgain: boolean }): Promise<void> {
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
    if (!runAgain) expect(replaced).to.equal(0);
    const balance = async () => ((await (await ask('/v1/billing/credits')).json()) as { balance: number }).balance;
    await eventually(balance, (now) => now === GRANTED - submitted.length);
    const listed = (await (await ask('/v1/ci/scans?status=done&limit=100')).json()) as {
      data: { scan_id: string; score: number | null }[];
    };
    expect(listed.data.filter(({ score }) => score !== null).map(({ scan_id }) => scan_id)).to.have.members(submitted);
    for (const id of [submitted[0]!, submitted.at(-1)!])
      expect((await ask(`/v1/scans/${id}/report/json`)).status, `the report of ${id}`).to.equal(200);
  }

  it('starts with the earlier chart', async () => {
    const values = {
      ...shared,
      // Its processes do not connect again if their first connection fails, so this one may take longer.
      'mongodb.url': `${String(shared['mongodb.url'])}&serverSelectionTimeoutMS=60000&connectTimeoutMS=30000`,
      'images.prefix': IMAGES['image.registry'],
      'images.tag': tag,
      'api.autoscaling.enabled': false,
      'scanner.cpuRequest': '100m',
      'scanner.memoryRequest': '384Mi',
    };
    await helm('install', 'curbcut', join(folder!, 'helm'), '--skip-crds', ...waiting, ...settings(values));
    const admin = (...args: string[]) => inRelease('exec', 'deployment/curbcut-api', '--', 'curbcut-admin', ...args);
    await admin('organisation', 'add', 'acme', '--namespaces', scans);
    await admin('organisation', 'grant', 'acme', String(GRANTED));
    key = (JSON.parse(await admin('key', 'issue', '--organisation', 'acme', '--name', 'CI', '--json')) as { key: string }).key;
  });

  const promise = `loses none of ${SCANS} scans, and charges each once`;

  it(`${promise}: the upgrade`, async () => during(upgrade, { runAgain: false }));

  it(`${promise}: the rollback`, async () => during(() => helm('rollback', 'curbcut', ...waiting), { runAgain: true }));

  it(`${promise}: the next upgrade`, async () => during(upgrade, { runAgain: false }));
});
