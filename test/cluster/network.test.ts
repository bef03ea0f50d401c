/**
 * What the chart's pods can reach and what can reach them, tested with real connections: first without the chart's
 * NetworkPolicies, then with them. Needs a cluster that enforces them, and servers outside of it (CURBCUT_CLUSTER_* and
 * the command `outside` of the test cluster, or CURBCUT_CLUSTER_OUTSIDE).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { CHART, clusterAndHelm, eventually, helm, kubectl, removeNamespace, SERVICE_IMAGE, settings } from './release.ts';

const OUTSIDE = process.env.CURBCUT_CLUSTER_OUTSIDE ?? join(CHART, '..', '..', 'shared', 'cluster', 'outside');
const OUTSIDE_PORTS = [22, 53, 80, 443, 8080];
const POD_PORTS = [4222, 6379, 8080, 8081, 9000, 9090, 27017];

/** A program that listens on the given ports on all addresses, and then prints `listening`. */
const LISTEN = `const n=require('node:net');let l=process.argv.slice(1).map(Number);let c=l.length;for(const p of l)n.createServer(s=>s.end()).listen(p,'0.0.0.0',()=>--c||console.log('listening'))`;
/** A program that connects to every target of a JSON object, and prints the names of those that accept. */
const DIAL = `const n=require('node:net');const t=JSON.parse(process.argv[1]);Promise.all(Object.entries(t).map(([k,[h,p]])=>new Promise(r=>{const s=n.connect({host:h,port:p});const e=v=>{s.destroy();r(v)};s.setTimeout(2000,()=>e(null));s.on('connect',()=>e(k));s.on('error',()=>e(null))}))).then(a=>console.log(JSON.stringify(a.filter(Boolean).sort())))`;
/** A program that resolves a name. */
const RESOLVE = `require('node:dns').lookup(process.argv[1],(e,a)=>{console.log(e?e.code:a)})`;

type Targets = Record<string, readonly [host: string, port: number]>;

describe('network policies', function () {
  this.timeout(180_000);
  const release = `curbcut-net-${process.pid}`;
  const scans = `${release}-scans`;
  const data = `${release}-data`;
  const stranger = `${release}-stranger`;
  const labels = (component: string) =>
    `app.kubernetes.io/name=curbcut,app.kubernetes.io/instance=curbcut,app.kubernetes.io/component=${component}`;
  /** One pod with the labels of each of the chart's pods, and pods of other namespaces. */
  const PODS = {
    api: { namespace: release, labels: labels('api') },
    operator: { namespace: release, labels: labels('operator') },
    scanner: { namespace: scans, labels: 'app.kubernetes.io/name=curbcut-scanner' },
    unknown: { namespace: scans, labels: 'app=unknown' },
    data: { namespace: data, labels: 'app=data' },
    stranger: { namespace: stranger, labels: 'app=stranger' },
    prometheus: { namespace: stranger, labels: 'app.kubernetes.io/name=prometheus' },
  };
  type Name = keyof typeof PODS;
  let outside: ChildProcess | undefined;
  let targets: Targets;
  let policies: string;

  const exec = (pod: Name, ...args: string[]) => kubectl(['exec', pod, '-n', PODS[pod].namespace, '--', 'node', '-e', ...args]);
  const reach = async (pod: Name, of: Targets): Promise<string[]> => JSON.parse(await exec(pod, DIAL, JSON.stringify(of))) as string[];
  const addressOf = (pod: Name) => kubectl(['get', 'pod', pod, '-n', PODS[pod].namespace, '-o', 'jsonpath={.status.podIP}']);

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    const {
      CURBCUT_CLUSTER_PUBLIC_IP: publicIp,
      CURBCUT_CLUSTER_PRIVATE_IP: privateIp,
      CURBCUT_CLUSTER_METADATA_IP: metadataIp,
    } = process.env;
    if (!publicIp || !privateIp || !metadataIp || !existsSync(OUTSIDE)) {
      console.log('      (skipped: no servers outside this cluster; CURBCUT_CLUSTER_OUTSIDE names the command that starts one)');
      return this.skip();
    }
    outside = spawn(OUTSIDE, [process.execPath, '-e', LISTEN, ...OUTSIDE_PORTS.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise<void>((resolve, reject) => {
      outside!.stdout!.once('data', () => resolve());
      outside!.once('exit', (code) => reject(new Error(`the server outside ended with ${code}`)));
    });

    for (const name of new Set(Object.values(PODS).map(({ namespace }) => namespace))) await kubectl(['create', 'namespace', name]);
    for (const [name, pod] of Object.entries(PODS)) {
      const command = ['--command', '--', 'node', '-e', LISTEN, ...POD_PORTS.map(String)];
      await kubectl([
        'run',
        name,
        '-n',
        pod.namespace,
        `--image=${SERVICE_IMAGE}`,
        `--labels=${pod.labels}`,
        '--restart=Never',
        ...command,
      ]);
    }
    for (const [name, { namespace }] of Object.entries(PODS))
      await kubectl(['wait', '-n', namespace, `pod/${name}`, '--for=condition=Ready', '--timeout=60s']);

    const nameServer = (
      await exec('data', `console.log(/nameserver (\\S+)/.exec(require('fs').readFileSync('/etc/resolv.conf','utf8'))[1])`)
    ).trim();
    const [server, serverPort] = (
      await kubectl([
        'get',
        'endpointslices',
        'kubernetes',
        '-n',
        'default',
        '-o',
        'jsonpath={.endpoints[0].addresses[0]} {.ports[0].port}',
      ])
    ).split(' ');
    const own = { data: await addressOf('data'), stranger: await addressOf('stranger'), scanner: await addressOf('scanner') };
    targets = {
      'public:80': [publicIp, 80],
      'public:443': [publicIp, 443],
      'public:8080': [publicIp, 8080],
      'public:22': [publicIp, 22],
      'private:80': [privateIp, 80],
      'private:53': [privateIp, 53],
      'private:8080': [privateIp, 8080],
      'metadata:80': [metadataIp, 80],
      kubernetes: [server!, Number(serverPort)],
      'kubernetes service': ['kubernetes.default.svc', 443],
      mongodb: [own.data, 27017],
      nats: [own.data, 4222],
      s3: [own.data, 9000],
      'data:6379': [own.data, 6379],
      'stranger:8080': [own.stranger, 8080],
      'another pod of scans': [own.scanner, 8080],
    };
    policies = await helm(
      ...['template', 'curbcut', CHART, '--namespace', release, '--show-only', 'templates/networkpolicies.yaml'],
      ...settings({
        'mongodb.url': `mongodb://db.${data}.svc:27017/curbcut`,
        'nats.url': `nats://nats.${data}.svc:4222`,
        's3.endpoint': `http://s3.${data}.svc:9000`,
        's3.bucket': 'reports',
        's3.existingSecret.name': 's3',
        'networkPolicy.dns.to': [
          { ipBlock: { cidr: `${nameServer}/32` } },
          { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
        ],
        'networkPolicy.kubernetesApi.to': [{ ipBlock: { cidr: `${server}/32` } }],
      }),
    );
  });
  after(async () => {
    outside?.kill();
    if (outside) await Promise.all([...new Set(Object.values(PODS).map(({ namespace }) => namespace))].map(removeNamespace));
  });

  it('are necessary: without them, every pod reaches every target', async () => {
    for (const pod of ['scanner', 'api', 'operator'] as const) expect(await reach(pod, targets), pod).to.have.members(Object.keys(targets));
  });

  it('allow only the connections that each pod needs', async () => {
    await kubectl(['apply', '-f', '-'], policies);
    const service = ['kubernetes', 'kubernetes service', 'mongodb', 'nats', 's3'];
    const internet = ['public:443', 'public:80', 'public:8080'];
    const wanted: [Name, string[]][] = [
      // The scanner pod is not tested against itself.
      ['scanner', ['nats', ...internet, 's3']],
      // It sends webhooks, to public addresses only.
      ['api', [...service, ...internet].sort()],
      ['operator', service],
      ['unknown', []],
    ];
    for (const [pod, names] of wanted) {
      const { 'another pod of scans': neighbour, ...others } = targets;
      const tried = pod === 'scanner' ? others : { ...others, 'another pod of scans': neighbour! };
      await eventually(
        () => reach(pod, tried),
        (reached) => reached.join() === names.join(),
        20_000,
      ).catch((error: Error) => {
        throw new Error(`${pod}: ${error.message}; expected ${names.join(', ')}`);
      });
    }
  });

  it('allow DNS', async () => {
    for (const pod of ['scanner', 'api', 'operator'] as const)
      expect((await exec(pod, RESOLVE, 'kubernetes.default.svc')).trim()).to.match(/^\d+(\.\d+){3}$/);
  });

  it('allow connections to served ports only', async () => {
    const ports = async (pod: Name, from: Name = 'stranger'): Promise<string[]> => {
      const address = await addressOf(pod);
      return reach(from, Object.fromEntries(POD_PORTS.map((port) => [String(port), [address, port] as const])));
    };
    expect(await ports('api')).to.deep.equal(['8080']);
    expect(await ports('operator')).to.deep.equal([]);
    expect(await ports('api', 'prometheus')).to.deep.equal(['8080', '9090']);
    expect(await ports('operator', 'prometheus')).to.deep.equal(['9090']);
    expect(await ports('scanner')).to.deep.equal([]);
    expect(await ports('data')).to.have.length(POD_PORTS.length);
  });
});
