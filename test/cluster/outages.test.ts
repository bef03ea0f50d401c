/** Outages of MongoDB, S3 and NATS while real pods run scans: each scan ends `done` and is charged once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { nightly } from '../support/nightly.ts';
import { eventually, ON_CLUSTER, startWholeProduct, type WholeProduct } from '../journey/product.ts';
import { startDependencies, type Dependencies } from './dependencies.ts';

const PAGES = 12;
/** Longer than every time-out of a client, so that clients see the outage. */
const OUTAGE_MS = 30_000;
/** Set it to 900 to see what docs/operate.md states: a scan survives 15 minutes without S3. */
const S3_OUTAGE_MS = Number(process.env.S3_OUTAGE_SECONDS ?? nightly(30, 60)) * 1000;
const WITHIN_MS = 180_000 + S3_OUTAGE_MS;

describe('outage of a dependency', function () {
  this.timeout(2 * WITHIN_MS);
  let folder: string | undefined;
  let dependencies: Dependencies | undefined;
  let product: WholeProduct;
  let had: number;
  before(async function () {
    if (!ON_CLUSTER) return this.skip();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-outages-'));
    dependencies = await startDependencies(process.env.CURBCUT_CLUSTER_HOST_IP ?? '127.0.0.1', folder);
    product = await startWholeProduct(dependencies.environment);
  });
  after(async () => {
    await product?.close();
    await dependencies?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    await product.changeKey();
    had = await balance();
  });

  const balance = async (): Promise<number> =>
    ((await (await product.request('/v1/billing/credits')).json()) as { balance: number }).balance;
  const send = (idempotencyKey: string): Promise<Response> =>
    product.request('/v1/ci/scans', {
      method: 'POST',
      headers: { 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ url: product.demoUrl, max_pages: PAGES }),
    });
  const submit = async (): Promise<string> => {
    const answer = await send(`outage-${Math.random()}`);
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    return (JSON.parse(text) as { scan_id: string }).scan_id;
  };
  const scan = async (id: string): Promise<AccessibilityScan> =>
    JSON.parse(await product.kubectl(['get', 'a11y', `scan-${id}`, '-o', 'json'])) as AccessibilityScan;
  const reaches = (id: string, phase: string): Promise<AccessibilityScan> =>
    eventually(
      () => scan(id),
      ({ status }) => status?.phase === phase,
      WITHIN_MS,
    );
  const jobHasPod = async (id: string, phase: string): Promise<boolean> =>
    (await product.kubectl(['get', 'pods', '-l', `curbcut.dev/scan-id=${id}`, '-o', 'jsonpath={.items[*].status.phase}']))
      .split(' ')
      .includes(phase);

  /** Waits until the scans are done as clients and people see them, and checks that each was charged once. */
  const areDone = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) {
      const result = await eventually(
        async () => (await (await product.request(`/v1/ci/scans/${id}`)).json()) as { status: string; message: string | null },
        ({ status }) => ['done', 'failed', 'canceled'].includes(status),
        WITHIN_MS,
      );
      expect(result, JSON.stringify(result)).to.include({ status: 'done' });
      expect((await scan(id)).status).to.include({ phase: 'done', attempts: 1 });
    }
    await eventually(balance, (now) => now === had - ids.length * PAGES);
  };

  it('MongoDB hangs: submissions get 503 and charge nothing, and running scans end done', async () => {
    const running = await submit();
    await reaches(running, 'scanning');
    await dependencies!.mongodb.interrupt();
    const key = `hang-${Math.random()}`;
    try {
      const [answer] = await Promise.all([send(key), sleep(OUTAGE_MS)]);
      expect(answer.status, await answer.text()).to.equal(503);
      expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
    } finally {
      await dependencies!.mongodb.restore();
    }
    // The same key again: the first attempt may have reached any step, and is neither lost nor charged twice.
    const again = await eventually(
      () => send(key),
      ({ status }) => status === 202,
      90_000,
    );
    const { scan_id: second } = (await again.json()) as { scan_id: string };
    await areDone([running, second]);
  });

  it('NATS is down: progress is slower, and the result is the same', async () => {
    const running = await submit();
    await reaches(running, 'scanning');
    await dependencies!.nats.interrupt();
    try {
      const started = await submit();
      await areDone([running, started]);
    } finally {
      await dependencies!.nats.restore();
    }
  });

  it('S3 is down before the scan ends: the scanner keeps its results until it can store them', async () => {
    const running = await submit();
    await reaches(running, 'scanning');
    await dependencies!.objects.interrupt();
    try {
      await sleep(S3_OUTAGE_MS);
      expect((await scan(running)).status?.phase).not.to.be.oneOf(['done', 'failed', 'canceled']);
    } finally {
      await dependencies!.objects.restore();
    }
    await areDone([running]);
  });

  it('S3 is down after the scan ended: the operator verifies the results when it can read them', async () => {
    const running = await submit();
    await reaches(running, 'scanning');
    // Without an operator, the pod stores its results and ends, and nothing reads them.
    await product.processes.stop('operator');
    await eventually(
      () => jobHasPod(running, 'Succeeded'),
      (ended) => ended,
      WITHIN_MS,
    );
    await dependencies!.objects.interrupt();
    try {
      await product.processes.crash('operator');
      await sleep(S3_OUTAGE_MS);
      expect((await scan(running)).status?.phase).not.to.be.oneOf(['done', 'failed', 'canceled']);
    } finally {
      await dependencies!.objects.restore();
    }
    await areDone([running]);
  });
});
