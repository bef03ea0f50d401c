import { expect } from 'chai';
import { systemClock } from '../../platform/clock.ts';
import { startController } from '../../operator/runtime/controller.ts';
import { type LeaderElectionOptions, type Lease, LEASES, runLeaderElection } from '../../operator/runtime/leader-election.ts';
import { createWorkqueue } from '../../operator/runtime/workqueue.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { configMaps, CONFIGMAPS, useCluster, until, type ConfigMap } from './cluster.ts';
import { createFakeLogger } from '../support/fake-logger.ts';

describe('leader election, against a Kubernetes API', () => {
  const cluster = useCluster();
  let namespace: string;
  const campaigns: { stop: AbortController; over: Promise<void> }[] = [];

  beforeEach(async () => {
    namespace = await cluster.namespace();
  });
  afterEach(async () => {
    for (const { stop } of campaigns) stop.abort();
    await Promise.all(campaigns.splice(0).map(({ over }) => over));
  });

  function campaign(connection: KubernetesConnection, identity: string, whileLeading?: LeaderElectionOptions['whileLeading']) {
    const stop = new AbortController();
    const it = { stop, leads: false, lost: false, over: Promise.resolve() };
    it.over = runLeaderElection({
      connection,
      namespace,
      name: 'operator',
      identity,
      clock: systemClock,
      logger: createFakeLogger(),
      signal: stop.signal,
      leaseDurationMs: 3000,
      renewDeadlineMs: 2000,
      retryPeriodMs: 300,
      async whileLeading(signal, lost) {
        it.leads = true;
        lost.addEventListener('abort', () => ([it.leads, it.lost] = [false, true]));
        if (whileLeading) await whileLeading(signal, lost);
        else await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        it.leads = false;
      },
    });
    campaigns.push(it);
    return it;
  }
  const lease = () => cluster.connection.request<Lease>('GET', cluster.connection.path(LEASES, namespace, 'operator'));

  it('elects one leader, and the next one at once when it stops', async () => {
    const all = ['a', 'b', 'c'].map((identity) => campaign(cluster.connection, identity));
    await until('one leads', () => all.some(({ leads }) => leads));
    const renewed = (await lease()).spec?.renewTime;
    await until('the lease is renewed', async () => (await lease()).spec?.renewTime !== renewed);
    expect(all.filter(({ leads }) => leads).length).to.equal(1);
    const first = all.find(({ leads }) => leads)!;
    first.stop.abort();
    await first.over;
    await until('another leads', () => all.some((one) => one !== first && one.leads));
    const { spec } = await lease();
    expect(spec?.leaseTransitions).to.be.greaterThan(0);
    expect(spec?.renewTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it("does not overwrite the next leader's writes after losing the lease during a write", async () => {
    const { connection, proxy } = await cluster.breakable();
    const maps = configMaps(cluster.connection, namespace);
    await maps.create('scan', 'start');
    const seen: string[] = [];
    const attempts: { by: string; problem?: unknown }[] = [];

    /** Reads, is delayed, and writes an outdated decision: the worst moment to lose a lease. */
    const work = (own: KubernetesConnection, by: string, delay: () => Promise<void>): LeaderElectionOptions['whileLeading'] =>
      async function whileLeading(signal, lost) {
        const queue = createWorkqueue({ clock: systemClock });
        const path = own.path(CONFIGMAPS, namespace, 'scan');
        const controller = startController({
          name: by,
          queue,
          workers: 1,
          logger: createFakeLogger(),
          signal: lost,
          async reconcile(_key, signal) {
            const current = await own.request<ConfigMap>('GET', path, { signal });
            seen.push(`${by} sees ${current.data?.['value']}`);
            await delay();
            try {
              await own.request('PUT', path, { body: { ...current, data: { value: by } }, signal });
              attempts.push({ by });
            } catch (problem) {
              attempts.push({ by, problem });
              throw problem;
            }
          },
        });
        queue.add('scan');
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        await controller.stop();
      };

    const stuck = Promise.withResolvers<void>();
    const a = campaign(
      connection,
      'a',
      work(connection, 'a', async () => {
        proxy.freeze();
        stuck.resolve();
      }),
    );
    await stuck.promise;
    const b = campaign(
      cluster.connection,
      'b',
      work(cluster.connection, 'b', async () => {}),
    );
    await until('b has written', () => attempts.some(({ by }) => by === 'b'));
    expect([a.lost, b.leads]).to.deep.equal([true, true]);
    await until('the write of a has ended', () => attempts.some(({ by }) => by === 'a'));
    expect(String(attempts.find(({ by }) => by === 'a')?.problem)).to.contain('lost lease');
    expect(seen).to.deep.equal(['a sees start', 'b sees start']);
    expect((await maps.get('scan')).data).to.deep.equal({ value: 'b' });
  });
});
