/** Failures of pods, nodes and the API server on a real cluster: phase, reason, attempts and charge of each scan. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { AccessibilityScan, AccessibilityScanSpec } from '../../core/protocol/custom-resources.ts';
import { eventually, ON_CLUSTER, startWholeProduct, type WholeProduct } from '../journey/product.ts';
import { detour } from '../runtime/cluster.ts';
import type { Proxy } from '../runtime/proxy.ts';
import { addGhostNode } from './ghost-node.ts';

const PAGES = 12;
const WITHIN_MS = 180_000;
const run = promisify(execFile);

interface JobSeen {
  status: { failed?: number; succeeded?: number };
}
interface PodSeen {
  metadata: { name: string };
  spec: { nodeName?: string };
  status: { phase: string };
}

/** Requests that the tests make of a product. */
function user(product: WholeProduct) {
  const json = async <T>(args: string[]): Promise<T> => JSON.parse(await product.kubectl([...args, '-o', 'json'])) as T;
  const scan = (name: string): Promise<AccessibilityScan> => json(['get', 'a11y', name]);
  return {
    scan,
    balance: async (): Promise<number> => ((await (await product.request('/v1/billing/credits')).json()) as { balance: number }).balance,
    /** @param settleMs how long each page is waited for, so that a test can act in the middle of the scan */
    async submit(settleMs = 0): Promise<string> {
      const answer = await product.request('/v1/ci/scans', {
        method: 'POST',
        body: JSON.stringify({ url: product.demoUrl, max_pages: PAGES, settle_ms: settleMs }),
      });
      const text = await answer.text();
      expect(answer.status, text).to.equal(202);
      return `scan-${(JSON.parse(text) as { scan_id: string }).scan_id}`;
    },
    /** Creates the resource directly, because the API does not accept a podTemplate. */
    async apply(podTemplate: AccessibilityScanSpec['podTemplate'], maxPages = PAGES): Promise<string> {
      const name = `by-hand-${randomUUID().slice(0, 8)}`;
      const spec = { url: `${product.demoUrl}/`, maxPages, podTemplate };
      await product.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata: { name }, spec })); // prettier-ignore
      return name;
    },
    /** Waits until the pod is testing pages. */
    inTheMiddle: (name: string): Promise<AccessibilityScan> =>
      eventually(
        () => scan(name),
        ({ status }) => status?.phase === 'scanning' && (status.pages?.scanned ?? 0) < PAGES,
        WITHIN_MS,
      ),
    ended: (name: string): Promise<AccessibilityScan> =>
      eventually(
        () => scan(name),
        ({ status }) => ['done', 'failed', 'canceled'].includes(status?.phase ?? ''),
        WITHIN_MS,
      ),
    /** Waits for the reason. @returns its message */
    waitsFor: (name: string, reason: string): Promise<string> =>
      eventually(
        async () => (await scan(name)).status?.conditions?.find(({ type }) => type === 'Succeeded'),
        (condition) => condition?.reason === reason,
        WITHIN_MS,
      ).then((condition) => condition!.message),
    job: (of: AccessibilityScan): Promise<JobSeen> => json(['get', 'job', of.status!.jobName!]),
    pod: (name: string): Promise<PodSeen> => json(['get', 'pod', name]),
    quota: (hard: object): Promise<string> =>
      product.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'tight' }, spec: { hard } })), // prettier-ignore
  };
}

/** Longer than kubectl takes on a loaded machine, with all pages. */
const SLOWLY_MS = 2000;

/** An image that does not exist. The registry's address refuses connections at once, without a DNS lookup. */
const absentImage = (): string => `127.0.0.1:1/scanner:absent-${randomUUID().slice(0, 8)}`;

const succeeded = (scan: AccessibilityScan) => scan.status!.conditions!.find(({ type }) => type === 'Succeeded')!;

describe('running scan', function () {
  this.timeout(2 * WITHIN_MS);
  let product: WholeProduct;
  let by: ReturnType<typeof user>;
  let proxy: Proxy | undefined;
  let folder: string | undefined;
  let had: number;
  before(async function () {
    if (!ON_CLUSTER) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-faults-'));
    const way = await detour(process.env.KUBECONFIG!, folder);
    proxy = way.proxy;
    product = await startWholeProduct({ KUBECONFIG: way.path, SCANNER_RETRIES: '1', POD_TEMPLATE_ALLOW: 'resources,tolerations,affinity' });
    by = user(product);
  });
  after(async () => {
    await product?.close();
    await proxy?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    await product.changeKey();
    had = await by.balance();
  });

  /** Waits until the scan is done, and checks its attempts and that its pages were charged once. */
  const isDone = async (name: string, attempts: number): Promise<AccessibilityScan> => {
    const scan = await by.ended(name);
    expect(scan.status, JSON.stringify(scan.status)).to.include({ phase: 'done', attempts });
    expect(succeeded(scan)).to.include({ status: 'True' });
    expect(scan.status!.pages).to.include({ reserved: PAGES, scanned: PAGES });
    await eventually(by.balance, (now) => now === had - PAGES);
    return scan;
  };

  /** Whether the operator holds its lease, according to its metrics. */
  const leads = async (): Promise<boolean> => {
    const metrics = await (await fetch(`${product.processes.operatorUrl}/metrics`)).text();
    return /^curbcut_leader\{.*\} 1$/m.test(metrics);
  };

  it('restarts if its pod is deleted more often than it is retried after crashes', async () => {
    const name = await by.submit(SLOWLY_MS);
    const { status } = await by.inTheMiddle(name);
    await product.kubectl(['delete', 'pod', status!.podName!, '--wait=false']);
    const second = await eventually(
      () => by.scan(name),
      (scan) => scan.status?.attempts === 2 && scan.status.podName !== status!.podName,
      WITHIN_MS,
    );
    await product.kubectl(['delete', 'pod', second.status!.podName!, '--wait=false']);
    const scan = await isDone(name, 3);
    const job = await eventually(
      () => by.job(scan),
      (seen) => seen.status.succeeded === 1,
    );
    expect(job.status.failed).to.equal(2);
  });

  it('restarts if its pod is evicted, without counting a crash', async () => {
    const name = await by.submit(SLOWLY_MS);
    const { status } = await by.inTheMiddle(name);
    const pod = status!.podName!;
    await product.kubectl(
      ['create', '--raw', `/api/v1/namespaces/${product.namespace}/pods/${pod}/eviction`, '-f', '-'],
      JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace: product.namespace } }),
    );
    const scan = await isDone(name, 2);
    const job = await eventually(
      () => by.job(scan),
      (seen) => seen.status.succeeded === 1,
    );
    expect(job.status.failed ?? 0).to.equal(0);
  });

  it('fails with the reason if it runs out of memory, and is not charged', async () => {
    const memory = '32Mi';
    const name = await by.apply({ resources: { requests: { memory }, limits: { memory } } });
    const scan = await by.ended(name);
    expect(scan.status).to.include({ phase: 'failed', attempts: 2 });
    expect(succeeded(scan)).to.include({ status: 'False', reason: 'Crashed' });
    expect(scan.status!.message).to.equal(
      'The scanner stopped unexpectedly 2 times (last: exit code 137, out of memory). Try fewer pages or more memory (podTemplate.resources). Nothing was charged.',
    );
    await eventually(by.balance, (now) => now === had);
  });

  it('goes back into its queue while an admission webhook fails, says why, and then runs', async () => {
    const webhook = `curbcut-test-${product.namespace}`;
    // No one listens there, so the API server answers 500 to each creation of a Job in this namespace.
    await product.kubectl(['create', '-f', '-'], JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: webhook },
      webhooks: [{
        name: 'jobs.curbcut.test',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: ['batch'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['jobs'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': product.namespace } },
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }],
    })); // prettier-ignore
    let name: string;
    try {
      name = await by.submit();
      expect(await by.waitsFor(name, 'LaunchFailed')).to.match(/could not be started.*failed calling webhook "jobs\.curbcut\.test"/);
      const { status } = await by.scan(name);
      expect(status!.conditions!.find(({ type }) => type === 'Admitted')).to.include({ status: 'False', reason: 'LaunchFailed' });
      const events = await product.kubectl(['get', 'events', '--field-selector', `involvedObject.name=${name},reason=LaunchFailed`, '-o', 'name']); // prettier-ignore
      expect(events.trim().split('\n')).to.have.length(1);
    } finally {
      await product.kubectl(['delete', 'validatingwebhookconfiguration', webhook]);
    }
    await isDone(name, 1);
  });

  it('restarts on another node if its node becomes not ready', async () => {
    const node = await addGhostNode(product.kubectl);
    try {
      const name = await by.apply(node.podTemplate);
      const { status } = await eventually(
        () => by.scan(name),
        (scan) => scan.status?.podName !== undefined,
      );
      const first = status!.podName!;
      await eventually(
        () => by.pod(first),
        ({ spec }) => spec.nodeName === node.name,
      );
      await node.run(first);
      await eventually(
        () => by.scan(name),
        (scan) => scan.status?.phase === 'crawling',
      );
      await node.fail();
      const scan = await isDone(name, 2);
      expect((await by.pod(scan.status!.podName!)).spec.nodeName).not.to.equal(node.name);
      expect((await by.job(scan)).status.failed ?? 0).to.equal(0);
    } finally {
      await node.remove();
    }
  });

  it('continues in the same pod if the API server is unavailable until the operator loses its lease', async () => {
    const name = await by.submit(SLOWLY_MS);
    const { status } = await by.inTheMiddle(name);
    await proxy!.refuse();
    await eventually(leads, (leader) => !leader);
    await proxy!.accept();
    await eventually(leads, (leader) => leader);
    const scan = await isDone(name, 1);
    expect(scan.status!.podName).to.equal(status!.podName);
  });
});

describe('scan whose pod does not start', function () {
  this.timeout(2 * WITHIN_MS);
  const SECONDS = 40;
  const image = absentImage();
  let product: WholeProduct;
  let by: ReturnType<typeof user>;
  let had: number;
  before(async function () {
    if (!ON_CLUSTER) return this.skip();
    product = await startWholeProduct({
      SCANNER_IMAGE: image,
      PENDING_DEADLINE_SECONDS: String(SECONDS),
      POD_TEMPLATE_ALLOW: 'nodeSelector,runtimeClassName',
    });
    by = user(product);
    had = await by.balance();
  });
  after(() => product?.close());

  const failsWith = async (name: string, reason: string, message: RegExp, attempts: number): Promise<void> => {
    const scan = await by.ended(name);
    expect(scan.status, JSON.stringify(scan.status)).to.include({ phase: 'failed' });
    expect(scan.status!.attempts ?? 0).to.equal(attempts);
    expect(succeeded(scan)).to.include({ status: 'False', reason });
    expect(scan.status!.message).to.match(message);
    expect(scan.status!.message).to.match(new RegExp(`^The scanner could not start within ${SECONDS} s: .* Nothing was charged\\.$`));
  };

  it('fails with the message of the kubelet, uncharged, but waits for the scheduler and the quota without a place', async () => {
    const [missing, homeless] = [await by.submit(), await by.apply({ nodeSelector: { 'curbcut.test/nowhere': 'true' } })];
    expect(await by.waitsFor(homeless, 'Unschedulable')).to.match(/node affinity\/selector/);
    expect(await by.waitsFor(missing, 'ImagePull')).to.include(image);
    // The two other pods exist already; the quota keeps this one from being created.
    await by.quota({ pods: '0' });
    const full = await by.submit();
    await failsWith(missing, 'ImagePull', new RegExp(`image pull failed .*${image}.* Ask the administrator`), 1);
    for (const [name, reason, message] of [
      [full, 'QuotaExceeded', /quota exceeded \(.*exceeded quota: tight/],
      [homeless, 'Unschedulable', /unschedulable \(.*node affinity\/selector/],
    ] as const) {
      const waits = await eventually(
        () => by.scan(name),
        ({ status }) => status?.conditions?.some((one) => one.type === 'Admitted' && one.reason === reason) ?? false,
        WITHIN_MS,
      );
      expect(waits.status).to.include({ phase: 'queued' }).and.not.have.property('jobName');
      expect(waits.status!.message).to.match(message);
      await product.kubectl(['patch', 'a11y', name, '--type=merge', '-p', '{"spec":{"cancel":true}}']);
    }
    await product.kubectl(['delete', 'resourcequota', 'tight']);
    await eventually(by.balance, (now) => now === had);
  });

  it('fails before that on a node without user namespaces, with the values of the chart that help', async () => {
    const runtimeClass = `curbcut-test-${product.namespace}`;
    // The kubelet refuses pods with hostUsers: false if the handler does not support user namespaces, or is unknown to the node.
    await product.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: runtimeClass }, handler: 'absent' })); // prettier-ignore
    try {
      const scan = await by.ended(await by.apply({ runtimeClassName: runtimeClass }));
      expect(succeeded(scan)).to.include({ status: 'False', reason: 'UserNamespacesUnavailable' });
      expect(scan.status!.message)
        .to.match(/RuntimeClass handler "absent" does not support user namespaces/)
        .and.include('scanner.hostUsers: true')
        .and.match(/Nothing was charged\.$/);
      await eventually(by.balance, (now) => now === had);
    } finally {
      await product.kubectl(['delete', 'runtimeclass', runtimeClass]);
    }
  });
});

describe('scan whose image becomes available late', function () {
  this.timeout(2 * WITHIN_MS);
  let product: WholeProduct;
  let folder: string | undefined;
  const image = absentImage();
  before(async function () {
    // IMAGE_BUILD is the command that builds an image and loads it into the cluster.
    if (!ON_CLUSTER || !process.env.IMAGE_BUILD) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-late-'));
    product = await startWholeProduct({ SCANNER_IMAGE: image });
  });
  after(async () => {
    await product?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  it('waits with a condition, and runs when the image can be pulled', async () => {
    const by = user(product);
    const had = await by.balance();
    const name = await by.submit();
    expect(await by.waitsFor(name, 'ImagePull')).to.include(image);
    await writeFile(join(folder!, 'Dockerfile'), `FROM ${process.env.SCANNER_IMAGE ?? 'curbcut.dev/scanner:dev'}\n`);
    await run('sh', ['-c', `${process.env.IMAGE_BUILD} "$@"`, 'sh', image, '-f', join(folder!, 'Dockerfile'), folder!]);
    const scan = await by.ended(name);
    expect(scan.status, JSON.stringify(scan.status)).to.include({ phase: 'done', attempts: 1 });
    await eventually(by.balance, (now) => now === had - PAGES);
  });
});
