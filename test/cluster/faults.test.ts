/** What clusters do to pods, done to real ones: each scan ends as designed, says why, counts its attempts and costs what it should. */
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

/** What the tests ask of a product, whatever is wrong with it. */
function user(product: WholeProduct) {
  const json = async <T>(args: string[]): Promise<T> => JSON.parse(await product.kubectl([...args, '-o', 'json'])) as T;
  const scan = (name: string): Promise<AccessibilityScan> => json(['get', 'a11y', name]);
  return {
    scan,
    balance: async (): Promise<number> => ((await (await product.ask('/v1/billing/credits')).json()) as { balance: number }).balance,
    async submit(pages = PAGES): Promise<string> {
      const answer = await product.ask('/v1/ci/scans', {
        method: 'POST',
        body: JSON.stringify({ url: product.demoUrl, max_pages: pages }),
      });
      const text = await answer.text();
      expect(answer.status, text).to.equal(202);
      return `scan-${(JSON.parse(text) as { scan_id: string }).scan_id}`;
    },
    /** Applies a scan by hand, as whoever wants a podTemplate does. */
    async apply(podTemplate: AccessibilityScanSpec['podTemplate'], maxPages = PAGES): Promise<string> {
      const name = `by-hand-${randomUUID().slice(0, 8)}`;
      const spec = { url: `${product.demoUrl}/`, maxPages, podTemplate };
      await product.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata: { name }, spec })); // prettier-ignore
      return name;
    },
    /** The scan once its pod runs and it is among its pages. */
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
    /** The reason and the words that a scan gives while it waits. */
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

/** An image that is not there, of a registry that refuses at once: no name server has to be asked for it. */
const absentImage = (): string => `127.0.0.1:1/scanner:absent-${randomUUID().slice(0, 8)}`;

const succeeded = (scan: AccessibilityScan) => scan.status!.conditions!.find(({ type }) => type === 'Succeeded')!;

describe('a scan on a cluster that fails it in the middle', function () {
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
    product = await startWholeProduct({ KUBECONFIG: way.path, SCANNER_RETRIES: '1' });
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

  /** It came to its result, and cost the pages that were tested, once. */
  const isDone = async (name: string, attempts: number): Promise<AccessibilityScan> => {
    const scan = await by.ended(name);
    expect(scan.status, JSON.stringify(scan.status)).to.include({ phase: 'done', attempts });
    expect(succeeded(scan)).to.include({ status: 'True' });
    expect(scan.status!.pages).to.include({ reserved: PAGES, scanned: PAGES });
    await eventually(by.balance, (now) => now === had - PAGES);
    return scan;
  };

  it('begins again when its pod is deleted, and that counts as a crash', async () => {
    const name = await by.submit();
    const { status } = await by.inTheMiddle(name);
    await product.kubectl(['delete', 'pod', status!.podName!, '--wait=false']);
    const scan = await isDone(name, 2);
    expect(scan.status!.podName).not.to.equal(status!.podName);
    const job = await eventually(
      () => by.job(scan),
      (seen) => seen.status.succeeded === 1,
    );
    expect(job.status.failed).to.equal(1);
  });

  it('begins again when its pod is evicted, which counts as nobody’s fault', async () => {
    const name = await by.submit();
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

  it('fails when its memory does not suffice, says so, and costs nothing', async () => {
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

  it('waits for a quota that is full, says so, and runs when there is room', async () => {
    await by.quota({ pods: '0' });
    let name: string;
    try {
      name = await by.submit();
      expect(await by.waitsFor(name, 'QuotaExceeded')).to.match(/the namespace's quota does not allow its pod \(.*exceeded quota: tight/);
    } finally {
      await product.kubectl(['delete', 'resourcequota', 'tight']);
    }
    await isDone(name, 1);
  });

  it('begins again elsewhere when its node is not ready any more', async () => {
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

  it('goes on when the API server is away for a while', async () => {
    const name = await by.submit();
    const { status } = await by.inTheMiddle(name);
    await proxy!.refuse();
    // A duration is what is tried here: longer than the lease of the operator, which must win it anew.
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    await proxy!.accept();
    const scan = await isDone(name, 1);
    expect(scan.status!.podName).to.equal(status!.podName);
  });
});

describe('a scan whose pod does not start', function () {
  this.timeout(2 * WITHIN_MS);
  const SECONDS = 40;
  const image = absentImage();
  let product: WholeProduct;
  let by: ReturnType<typeof user>;
  let had: number;
  before(async function () {
    if (!ON_CLUSTER) return this.skip();
    product = await startWholeProduct({ SCANNER_IMAGE: image, PENDING_DEADLINE_SECONDS: String(SECONDS) });
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

  it('fails in the words of the kubelet, the scheduler or the quota, and costs nothing', async () => {
    const [missing, homeless] = [await by.submit(), await by.apply({ nodeSelector: { 'curbcut.test/nowhere': 'true' } })];
    expect(await by.waitsFor(homeless, 'Unschedulable')).to.match(/node affinity\/selector/);
    expect(await by.waitsFor(missing, 'ImagePull')).to.include(image);
    // Those two have their pods; this one gets none.
    await by.quota({ pods: '0' });
    const full = await by.submit();
    await failsWith(missing, 'ImagePull', new RegExp(`its image cannot be had .*${image}.* Ask the administrator`), 1);
    await failsWith(homeless, 'Unschedulable', /no node takes its pod \(.*node affinity\/selector/, 1);
    await failsWith(full, 'QuotaExceeded', /the namespace's quota does not allow its pod \(.*exceeded quota: tight/, 0);
    await product.kubectl(['delete', 'resourcequota', 'tight']);
    await eventually(by.balance, (now) => now === had);
  });
});

describe('a scan whose image comes late', function () {
  this.timeout(2 * WITHIN_MS);
  let product: WholeProduct;
  let folder: string | undefined;
  const image = absentImage();
  before(async function () {
    // The image must come into the cluster by the same command as all others.
    if (!ON_CLUSTER || !process.env.IMAGE_BUILD) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-late-'));
    product = await startWholeProduct({ SCANNER_IMAGE: image });
  });
  after(async () => {
    await product?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  it('waits for it, says so, and runs when it is there', async () => {
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
