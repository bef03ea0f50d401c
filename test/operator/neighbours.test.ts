/** Organisations beside each other on one installation: what makes the operator wait without an end, for one of them, holds no other. */
import { randomUUID } from 'node:crypto';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { until, useContext, type Scan } from './context.ts';

/** More scans than workers: without shares they would hold each of them. */
const WORKERS = 8;
const STUCK = 12;

describe('operator: neighbours', function () {
  this.timeout(240_000);
  const context = useContext();
  const [other, waiting] = ['ash', 'oak'];
  before(async () => {
    for (const id of [other, waiting]) {
      await context.stores.organisations.add({ id, displayName: id, plan: 'test', namespaces: [] });
      await context.stores.credits.open(id);
      await context.stores.credits.grant(id, randomUUID(), 1_000);
    }
    await context.grant(1_000);
  });

  const WAYS: { what: string; submit(): Promise<Scan>; isHeld(path: string, scans: Scan[]): boolean }[] = [
    {
      what: 'every write in the namespace of another one',
      submit: () => context.apply(context.team, { maxPages: 1 }),
      isHeld: (path) => path.includes(`/namespaces/${context.team}/`),
    },
    {
      what: 'every write for another one in the same namespace',
      submit: () => context.submit({ maxPages: 1 }, 1, waiting),
      isHeld: (path, scans) => scans.some(({ id }) => path.includes(id)),
    },
    {
      what: 'the name servers of the hosts of another one',
      submit: () => context.apply(context.team, { url: 'https://deaf.example/', maxPages: 1 }),
      isHeld: () => false,
    },
  ];
  for (const { what, submit, isHeld } of WAYS)
    it(`start a scan while ${what} gives no answer`, async () => {
      const scans: Scan[] = [];
      for (let count = 0; count < STUCK; count += 1) scans.push(await submit());
      let held = 0;
      const answer = Promise.withResolvers<void>();
      const hold = (): Promise<void> => ((held += 1), answer.promise);
      const connection: KubernetesConnection = {
        ...context.connection,
        async request(method, path, options) {
          if (method !== 'GET' && isHeld(path, scans)) await hold();
          return context.connection.request(method, path, options);
        },
      };
      const resolver = {
        async resolve(hostname: string) {
          if (hostname.startsWith('deaf')) await hold();
          return { ok: false as const, reason: 'not_found' as const };
        },
      };
      const operator = context.start({ scanWorkers: WORKERS, maxRunning: 200 }, { connection, resolver });
      try {
        await until('the operator waits', () => held > 0);
        const scan = await context.submit({ maxPages: 1 }, 1, other);
        await until('its Job is created', () => scan.job());
      } finally {
        answer.resolve();
        await operator.stop();
      }
    });
});
