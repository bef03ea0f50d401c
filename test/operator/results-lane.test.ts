/** Slow, hostile and unavailable results: they must not delay other scans, and finished scans must survive an outage. */
import { expect } from 'chai';
import type { Reports } from '../../stores/reports.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { JOBS, PODS, type Pod } from '../../operator/scan/kube-types.ts';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, useContext, reasonOf, until, type Scan } from './context.ts';

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

  it('does not delay an unrelated cancel, and verifies two results at a time', async () => {
    const gate = Promise.withResolvers<void>();
    const { reports, reads, reading } = gated(() => gate.promise);
    context.start({}, { reports });
    const slow = await Promise.all(Array.from({ length: 9 }, () => context.submit()));
    await Promise.all(slow.map(store));
    const unrelated = await context.submit();
    await unrelated.pod();
    await until('two results are read', () => reading() === 2);
    await unrelated.patch({ spec: { cancel: true } });
    expect((await unrelated.settles()).status?.phase).to.equal('canceled');
    expect(reads, 'results that were read so far').to.have.length(2);
    gate.resolve();
    for (const scan of slow) expect((await scan.settles()).status?.phase).to.equal('done');
    expect(reads).to.have.length(9);
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

  it('verifies only results of attempts that had a pod', async () => {
    const { reports, reads } = gated(() => undefined);
    context.start({}, { reports });
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    const lie = { ...stored, export: { ...stored.export, sha256: '0'.repeat(64) } };
    await scan.reaches('launched and its pod observed', ({ status }) => status?.attempts === 1);
    for (let attempt = 1; attempt <= 20; attempt += 1) await scan.publish(JSON.stringify({ ...lie, attempt }));
    await scan.publish(lie);
    const refused = await scan.settles();
    expect(reasonOf(refused, 'Succeeded')).to.equal('ResultsRefused');
    expect(reads).to.have.length(1);
  });

  it('verifies three of the results at most that a hostile pod leaves in the slots of other attempts', async () => {
    const { reports, reads } = gated(() => undefined);
    context.start({}, { reports });
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    const { uploads } = await scan.input();
    const stored = await scan.upload(pod, Buffer.from('{}'));
    for (const slot of uploads) {
      const put = (link: string, body: string) => fetch(link, { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
      await put(slot.export, '{}');
      await put(slot.result, JSON.stringify({ ...stored, attempt: slot.attempt }));
    }
    expect(uploads.length).to.be.greaterThan(3);
    await scan.endPod(pod, { exitCode: 0 });
    const refused = await scan.settles();
    expect(reasonOf(refused, 'Succeeded')).to.equal('ResultsRefused');
    expect(reads).to.have.length(3);
    expect(reads[0], 'the slot of the only attempt that had a pod comes first').to.match(/\/0\/0\/report\.json$/);
  });

  /** An object store that is down until `repair` is called. */
  function down(): { reports: Reports; repair: () => void } {
    let isDown = true;
    const { reports } = gated(() => {
      if (isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    });
    return { reports, repair: () => (isDown = false) };
  }

  it('waits while the object store is down, says so, and stays cancelable', async () => {
    const { reports, repair } = down();
    context.start({ timeouts: { cancelMs: 1_500 } }, { reports });
    const [scan, canceled] = [await context.submit(), await context.submit()];
    for (const one of [scan, canceled]) await store(one);
    const waiting = await scan.reaches('waiting for the object store', (read) => reasonOf(read, 'Succeeded') === 'StoreUnavailable');
    expect(waiting.status).not.to.have.property('completionTime');
    await canceled.patch({ spec: { cancel: true } });
    expect((await canceled.settles()).status?.phase).to.equal('canceled');
    await until('there is an Event', async () => (await scan.events()).includes('StoreUnavailable'));
    repair();
    expect((await scan.settles()).status?.phase).to.equal('done');
  });

  it('completes a scan whose deadline passed while the object store was down', async () => {
    const { reports, repair } = down();
    context.start({}, { reports });
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await context.connection.request('PATCH', context.connection.path(JOBS, scan.namespace, `scan-${scan.id}`), {
      contentType: 'application/merge-patch+json',
      body: { spec: { activeDeadlineSeconds: 1 } },
    });
    await until('the Job has failed', async () => (await scan.job())?.status?.conditions?.some(({ type }) => type === 'Failed'));
    await scan.reaches('waiting for the object store', (read) => reasonOf(read, 'Succeeded') === 'StoreUnavailable');
    repair();
    expect((await scan.settles()).status?.phase).to.equal('done');
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

  it('charges once if two attempts have stored results', async () => {
    const operator = context.start();
    const spent = await context.spent();
    const scan = await context.submit();
    const first = await scan.pod();
    await scan.startPod(first);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    const report = bytesOf(reportOf(await scan.input()));
    await scan.evictPod(first);
    const second = await scan.pod(2);
    await scan.reaches('in the second attempt', ({ status }) => status?.attempts === 2);
    await operator.stop();
    const stored = [await scan.upload(first, report), await scan.upload(second, report)];
    expect(stored.map(({ attempt }) => attempt)).to.deep.equal([0, 1]);
    await scan.endPod(second, { exitCode: 0 });
    context.start();
    const done = await scan.settles();
    expect(done.status).to.include({ phase: 'done', attempts: 2 });
    expect((await context.spent()) - spent).to.equal(2);
    expect(await settlesOf(scan)).to.equal(1);
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

  it('completes a scan whose pod and Job ended long before an operator looked', async () => {
    const operator = context.start({ timeouts: { jobTtlMs: 100 } });
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.reaches('launched', ({ status }) => status?.jobName !== undefined);
    await operator.stop();
    await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await scan.endPod(pod, { exitCode: 0 });
    await until('the Job is complete', async () => (await scan.job())?.status?.conditions?.some(({ type }) => type === 'Complete'));
    await context.connection.request('DELETE', context.connection.path(PODS, scan.namespace, pod.metadata.name), {
      body: { gracePeriodSeconds: 0 },
    });
    expect(identityOf(pod)).to.deep.equal({ attempt: 0, shard: 0 });
    context.start({ timeouts: { jobTtlMs: 100 } });
    expect((await scan.settles()).status?.phase).to.equal('done');
    await until('the Job is gone', async () => (await scan.job()) === null);
  });
});
