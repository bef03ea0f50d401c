/**
 * One installation of a company: by someone with rights in two namespaces only, with Pod Security and a quota, services and sites with
 * certificates of private authorities, a token service instead of an S3 key, registry credentials, and name servers outside kube-system.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { get } from 'node:https';
import { expect } from 'chai';
import { startDemoSite, type DemoSite } from '../../demo-site/server.ts';
import { freshFetch } from '../support/fresh-fetch.ts';
import { createAuthority, startTlsFront, type TlsFront } from '../support/private-authority.ts';
import { objectsOf } from './objects.ts';
import {
  CHART,
  clusterAndHelm,
  eventually,
  follow,
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

const INSTALLER = 'curbcut-installer';
const GRANTED = 100;
/** No one listens there, as where a NetworkPolicy blocks the cluster's name servers. */
const NO_NAME_SERVER = { 'networkPolicy.dns.to': [{ ipBlock: { cidr: '192.0.2.53/32' } }] };

describe('the installation of a company', function () {
  this.timeout(300_000);
  const namespace = `curbcut-install-${process.pid}`;
  const scans = `${namespace}-scans`;
  const sites = createAuthority('Sites');
  let folder: string;
  let services: Services;
  let demo: DemoSite;
  let site: TlsFront;
  let url: string;
  let dns: Record<string, unknown>;
  let values: Record<string, unknown>;
  let key: string;
  let empty: string[];

  /** Runs helm as someone who may do everything in the two namespaces, and nothing else on the cluster. */
  const asInstaller = (...args: string[]): Promise<string> => helm(...args, '--namespace', namespace, '--kube-as-user', INSTALLER);
  const upgrade = (more: Readonly<Record<string, unknown>> = {}, ...args: string[]): Promise<string> =>
    asInstaller('upgrade', '--install', 'curbcut', CHART, ...args, ...settings({ ...values, ...more }));
  const ready = (): Promise<string> => upgrade(dns, '--wait', '--timeout', '4m');
  const inRelease = (...args: string[]): Promise<string> => kubectl(['-n', namespace, ...args]);
  const admin = (...args: string[]): Promise<string> => inRelease('exec', 'deployment/curbcut-api', '--', 'curbcut-admin', ...args);
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    freshFetch(`${url}${path}`, {
      ...init,
      headers: { 'X-API-Key': key, ...(init.body ? { 'Content-Type': 'application/json' } : {}), ...init.headers },
    });
  const replicas = (): Promise<string> => inRelease('get', 'deployment', 'curbcut-api', '-o', 'jsonpath={.spec.replicas}');

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-install-'));
    for (const name of [namespace, scans]) {
      await kubectl(['create', 'namespace', name]);
      await kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted', 'curbcut.dev/scan-queues=true']);
      await kubectl(['-n', name, 'create', 'rolebinding', INSTALLER, '--clusterrole=cluster-admin', `--user=${INSTALLER}`]);
    }
    // Without a limit in the quota, pods need no request; with one, the API server refuses pods that state none.
    const quota = 'requests.cpu=2,requests.memory=4Gi,limits.memory=8Gi,pods=10,count/jobs.batch=50';
    await kubectl(['-n', scans, 'create', 'quota', 'company', `--hard=${quota}`]);
    services = await startServices({ namespace, folder, tls: true });
    demo = await startDemoSite({ host: services.host });
    site = await startTlsFront(Number(new URL(demo.url).port), sites.issue([services.host]), { host: services.host });
    for (const [name, bundle] of Object.entries({ 'services-ca': services.authority, 'sites-ca': sites.bundle }))
      await kubectl(['-n', namespace, 'create', 'configmap', name, `--from-literal=ca.crt=${bundle}`]);
    empty = await objectsOf([namespace, scans]);

    const node = await nodeAddress();
    const [port] = await freeNodePorts();
    url = `http://${node}:${port}`;
    dns = await nameServers(node);
    values = {
      ...IMAGES,
      ...services.values,
      'crds.enabled': false,
      'scans.createNamespace': false,
      'scanner.priorityClass.create': false,
      'rbac.aggregate': false,
      'rbac.organisations': false,
      'admission.queueNamespace': false,
      'privateCA.services.configMap': 'services-ca',
      'privateCA.sites.configMap': 'sites-ca',
      'imageCredentials.registry': 'registry.example.com',
      'imageCredentials.username': 'robot',
      'imageCredentials.password': 'token',
      'targets.allow': [`${services.host}/32`],
      'publicScans.enabled': true,
      'api.service.type': 'NodePort',
      'api.service.nodePort': port,
      'api.publicBaseUrl': url,
      'scanner.resources': { requests: { cpu: '100m', memory: '384Mi' }, limits: { memory: '2Gi' } },
    };
  });
  after(async () => {
    if (folder === undefined) return;
    await helm('uninstall', 'curbcut', '--namespace', namespace, '--ignore-not-found', '--wait').catch(() => undefined);
    await Promise.all([removeNamespace(scans), removeNamespace(namespace)]);
    await site?.close();
    await demo?.close();
    await services?.close();
    await rm(folder, { recursive: true });
  });

  it('says which value opens the name servers, if they are not where the chart expects them', async () => {
    await upgrade(NO_NAME_SERVER);
    const log = () => inRelease('logs', 'deployment/curbcut-api').catch(() => '');
    await eventually(
      log,
      (text) => text.includes('No name server answers for services.') && text.includes('set networkPolicy.dns'),
      120_000,
    );
    expect(await inRelease('get', 'deployment', 'curbcut-api', '-o', 'jsonpath={.status.readyReplicas}')).to.equal('');
  });

  it('becomes ready with the name servers, without any right on the cluster', async () => {
    await ready();
    const cluster = (await objectsOf([namespace, scans])).filter((line) => !line.includes('/'));
    expect(cluster.filter((line) => !line.startsWith('Namespace '))).to.deep.equal([]);
    await admin('organisation', 'add', 'acme', '--namespaces', scans);
    await admin('organisation', 'grant', 'acme', String(GRANTED));
    key = (JSON.parse(await admin('key', 'issue', '--organisation', 'acme', '--name', 'CI', '--json')) as { key: string }).key;
  });

  it('scans a site of its own authority, and stores the report with a session of the token service', async () => {
    const body = JSON.stringify({ url: `https://${services.host}:${site.port}/en/`, max_pages: 1 });
    const answer = await ask('/v1/ci/scans', { method: 'POST', body });
    const submitted = await answer.text();
    expect(answer.status, submitted).to.equal(202);
    const { scan_id: id } = JSON.parse(submitted) as { scan_id: string };
    const events = await follow(ask, id);
    expect(events.at(-1), JSON.stringify(events)).to.include({ event: 'complete', status: 'done' });
    expect(await (await ask('/v1/billing/credits')).json()).to.include({ balance: GRANTED - 1 });

    const { url: link } = (await (await ask(`/v1/scans/${id}/report`)).json()) as { url: string };
    const { hostname, port, pathname, search } = new URL(link);
    const options = {
      host: services.host,
      servername: hostname,
      port,
      path: `${pathname}${search}`,
      headers: { host: `${hostname}:${port}` },
    };
    const file = await new Promise<Buffer>((resolve, reject) => {
      get({ ...options, ca: services.authority, timeout: 30_000 }, (response) => void buffer(response).then(resolve, reject)).on(
        'error',
        reject,
      );
    });
    expect(file.subarray(0, 5).toString()).to.equal('%PDF-');
    const account = (name: string) => `system:serviceaccount:${namespace}:curbcut-${name}`;
    expect([...services.exchanged].toSorted()).to.deep.equal([account('api'), account('operator')]);
  });

  it('pulls every image with the registry credentials, in both namespaces', async () => {
    const path = 'jsonpath={range .items[*]}{.spec.imagePullSecrets[*].name}{"\\n"}{end}';
    for (const name of [namespace, scans]) {
      const used = (await kubectl(['-n', name, 'get', 'pods', '-o', path])).trim().split('\n');
      expect(new Set(used), name).to.deep.equal(new Set(['curbcut-registry']));
      const config = await kubectl(['-n', name, 'get', 'secret', 'curbcut-registry', '-o', 'jsonpath={.data.\\.dockerconfigjson}']);
      const { auths } = JSON.parse(Buffer.from(config, 'base64').toString()) as { auths: Record<string, { auth: string }> };
      expect(Buffer.from(auths['registry.example.com']!.auth, 'base64').toString()).to.equal('robot:token');
    }
  });

  it('sends mails to a server of the authority', async () => {
    const email = 'visitor@example.com';
    const body = JSON.stringify({ url: `https://${services.host}:${site.port}/en/`, email, locale: 'en' });
    const requested = await fetch(`${url}/v1/public/scan-request`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    expect(requested.status, await requested.text()).to.equal(200);
    const mails = async () => ((await (await fetch(`${services.inboxUrl}/api/mails?to=${email}`)).json()) as { data: unknown[] }).data;
    await eventually(mails, (all) => all.length > 0, 120_000);
  });

  it('can be upgraded after a change with kubectl: a field has one owner, which the refusal names', async () => {
    await kubectl(['-n', scans, 'patch', 'scanqueue', 'default', '--type=merge', '-p', '{"spec":{"maxRunning":3}}']);
    await ready();
    expect(await kubectl(['-n', scans, 'get', 'scanqueue', 'default', '-o', 'jsonpath={.spec.maxRunning}'])).to.equal('3');

    await inRelease('scale', 'deployment', 'curbcut-api', '--replicas=1');
    const refusal = await ready().then(String, (error: Error) => error.message);
    expect(refusal).to.match(/conflict.*\n?.*\.spec\.replicas/s);
    await upgrade({ ...dns, 'api.replicaCount': null }, '--wait', '--timeout', '4m');
    expect(await replicas()).to.equal('1');
    await upgrade({ ...dns, 'api.replicaCount': null, 'api.podAnnotations': { again: 'true' } }, '--wait', '--timeout', '4m');
    expect(await replicas()).to.equal('1');
    await upgrade(dns, '--wait', '--timeout', '4m', '--force-conflicts');
    expect(await replicas()).to.equal('2');
  });

  it('leaves nothing but its scan queues after an uninstall', async () => {
    await kubectl(['-n', scans, 'delete', 'accessibilityscans', '--all', '--timeout=60s']);
    await asInstaller('uninstall', 'curbcut', '--wait');
    // Pods, and what belongs to scans, are deleted shortly after their owners.
    const left = await eventually(
      () => objectsOf([namespace, scans]),
      (lines) => lines.filter((line) => !empty.includes(line) && !line.startsWith('ScanQueue ')).length === 0,
      120_000,
    );
    expect(left.filter((line) => !empty.includes(line))).to.deep.equal([`ScanQueue ${scans}/default`, `ScanQueue ${scans}/public`]);
    expect(empty.filter((line) => !left.includes(line))).to.deep.equal([]);
  });
});
