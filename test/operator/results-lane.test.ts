/** Slow, hostile and unavailable results: they must not delay other scans, and finished scans must survive an outage. */
import { expect } from 'chai';
import type { Reports } from '../../stores/reports.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, useContext, until, type Scan } from './context.ts';

describe('operator: the lane of results', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());

  /** The object store, with a gate before each read. Counts the reads of exports. */
  function gated(gate: (key: string) => Promise<void> | void): { reports: Reports; reads: string[]; reading: () => number } {
    const reads: string[] = [];
    let reading = 0;
    const reports: Reports = {
      ...context.reports,
      async read(key, maxBytes, signal) {
        if (key.endsWith('report.json')) {
          reads.push(key);
          reading += 1;
        }
        try {
          const aborted = new Promise<never>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
          await Promise.race([gate(key), aborted]);
          return await context.reports.read(key, maxBytes, signal);
        } finally {
          if (key.endsWith('report.json')) reading -= 1;
        }
      },
    };
    return { reports, reads, reading: () => reading };
  }

  async function store(scan: Scan): Promise<Pod> {
    const pod = await scan.pod();
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    return pod;
  }

  const settlesOf = async ({ id }: Scan) =>
    (await context.stores.credits.ledger(ORGANISATION, { limit: 1000 })).filter(
      ({ operation, scanId }) => operation === 'settle' && scanId === id,
    ).length;

  it('does not delay an unrelated cancel, and verifies one result at a time of each of two namespaces', async () => {
    const gate = Promise.withResolvers<void>();
    const { reports, reads, reading } = gated(() => gate.promise);
    context.start({}, { reports });
    const slow = await Promise.all([context.submit(), context.submit(), context.apply(context.team), context.apply(context.team)]);
    await Promise.all(slow.map(store));
    const unrelated = await context.submit();
    await unrelated.pod();
    await until('two results are read', () => reading() === 2);
    await unrelated.patch({ spec: { cancel: true } });
    expect((await unrelated.settles()).status?.phase).to.equal('canceled');
    expect(reads, 'results that were read so far').to.have.length(2);
    gate.resolve();
    for (const scan of slow) expect((await scan.settles()).status?.phase).to.equal('done');
    expect(reads).to.have.length(4);
  });

  it('verifies a result once although the write of its status conflicts', async () => {
    const { reports, reads } = gated(() => undefined);
    const { connection } = context;
    let conflicts = 3;
    const contested: typeof connection = {
      ...connection,
      namespace: connection.namespace,
      async request(method, path, options) {
        const isDone = method === 'PATCH' && JSON.stringify(options?.body ?? '').includes('"phase":"done"');
        if (isDone && conflicts-- > 0) throw new KubernetesError(409, 'Conflict', 'the object has been modified');
        return connection.request(method, path, options);
      },
    };
    context.start({}, { reports, connection: contested });
    const scan = await context.submit();
    await store(scan);
    expect((await scan.settles()).status?.phase).to.equal('done');
    expect(conflicts).to.equal(-1);
    expect(reads).to.have.length(1);
  });
  it('gives the pod more than 15 minutes after its deadline to store its results', async () => {
    context.start();
    const scan = await context.submit();
    await scan.pod();
    const input = await scan.input();
    const deadline = Date.parse(input.deadline);
    const uploadDeadline = Date.parse(input.uploadDeadline);
    expect(uploadDeadline - deadline).to.be.greaterThan(15 * 60_000);
    for (const slot of input.uploads)
      for (const link of [slot.export, slot.pdf, slot.result]) {
        const { searchParams } = new URL(link);
        const signed = searchParams.get('X-Amz-Date')!.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5');
        expect(Date.parse(signed) + Number(searchParams.get('X-Amz-Expires')) * 1000).to.be.greaterThan(uploadDeadline);
      }
    const { exp } = JSON.parse(Buffer.from(input.messages!.jwt.split('.')[1]!, 'base64url').toString()) as { exp: number };
    expect(exp * 1000).to.be.at.least(uploadDeadline);
    const job = (await scan.job())!;
    const ends = Date.parse(job.metadata.creationTimestamp!) + job.spec!.activeDeadlineSeconds! * 1000;
    expect(ends).to.be.greaterThan(uploadDeadline);
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
  });

  it('completes once if another operator takes over while a result is verified', async () => {
    const gate = Promise.withResolvers<void>();
    const { reports, reading } = gated(() => gate.promise);
    const { connection } = context;
    let isolated = false;
    const first = context.start(
      { leaseSeconds: 3 },
      {
        reports,
        connection: {
          ...connection,
          namespace: connection.namespace,
          async request(method, path, options) {
            if (isolated && path.includes('/leases')) throw new Error('the API server is unreachable');
            return connection.request(method, path, options);
          },
        },
      },
    );
    const spent = await context.spent();
    const scan = await context.submit();
    const pod = await store(scan);
    await until('the result is read', () => reading() === 1);
    isolated = true;
    await scan.endPod(pod, { exitCode: 0 });
    context.start({ leaseSeconds: 3 });
    expect((await scan.settles()).status?.phase).to.equal('done');
    const version = (await scan.read())!.metadata.resourceVersion;
    gate.resolve();
    await first.stop();
    expect((await scan.read())!.metadata.resourceVersion).to.equal(version);
    expect((await context.spent()) - spent).to.equal(2);
    expect(await settlesOf(scan)).to.equal(1);
  });
});
