/**
 * Random kills on a real cluster: pods of API, operator and scanner are deleted without grace while several organisations
 * submit scans. Every scan ends `done`, and credits equal the tested pages.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { clusterAndHelm, eventually, kubectl, removeNamespace, startEvaluation, type Evaluation } from './release.ts';

const ORGANISATIONS = ['ash', 'birch', 'cedar'];
const SCANS_OF_EACH = nightly(4, 8);
const GRANTED = 1000;
const PAGES = 4;
const KILLS = nightly(15, 30);
/** Killed scanners are no crashes. The Job controller waits longer after each, so that more would take too long. */
const KILLS_OF_EACH = 4;
const WITHIN_MS = 480_000;

interface Result {
  scan_id: string;
  status: string;
  message: string | null;
}

describe('chaos', function () {
  this.timeout(2 * WITHIN_MS);
  const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
  const tenant = `curbcut-tenant-${process.pid}`;
  const keys = new Map<string, string>();
  let product: Evaluation;
  let demo: string;

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    console.log(`      CHAOS_SEED=${seed}`);
    await kubectl(['create', 'namespace', tenant]);
    product = await startEvaluation({ 'scans.extraNamespaces': [tenant] });
    demo = `http://curbcut-demo.${product.namespace}.svc/`;
    for (const organisation of ORGANISATIONS) {
      await admin('organisation', 'add', organisation, ...(organisation === 'ash' ? ['--namespaces', tenant] : []));
      await admin('organisation', 'grant', organisation, String(GRANTED));
      const issued = await admin('key', 'issue', '--organisation', organisation, '--name', 'chaos', '--json');
      keys.set(organisation, (JSON.parse(issued) as { key: string }).key);
    }
  });
  after(async () => {
    // First the scans: their finalizers need the operator.
    await kubectl(['delete', 'accessibilityscans', '--all', '-n', tenant, '--timeout=60s']).catch(() => {});
    await product?.close();
    if (keys.size > 0) await removeNamespace(tenant);
  });

  const admin = (...args: string[]): Promise<string> =>
    kubectl(['exec', 'deployment/curbcut-api', '-n', product.namespace, '--', 'curbcut-admin', ...args]);

  /** Sends a request until the service answers it: a killed replica or an outage must only delay a client. */
  async function ask(organisation: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { 'X-API-Key': keys.get(organisation)!, ...(init.headers as Record<string, string>) };
    for (const until = Date.now() + 120_000; ;) {
      const answer = await product
        .ask(path, { ...init, headers, signal: AbortSignal.timeout(15_000) })
        .catch((error: unknown) => error as Error);
      if (answer instanceof Response && ![409, 429, 500, 502, 503].includes(answer.status)) return answer;
      const seen = answer instanceof Response ? `${answer.status} ${await answer.text().catch(String)}` : String(answer);
      if (answer instanceof Response && answer.status === 500) throw new Error(`${path}: ${seen}`);
      if (Date.now() > until) throw new Error(`${path} was not answered: ${seen}`);
      const after = answer instanceof Response ? Number(answer.headers.get('retry-after') ?? 1) : 1;
      await sleep(Math.min(after, 10) * 1000);
    }
  }

  async function submit(organisation: string, number: number): Promise<string> {
    const answer = await ask(organisation, '/v1/ci/scans', {
      method: 'POST',
      headers: { 'Idempotency-Key': `${organisation}-${seed}-${number}` },
      body: JSON.stringify({ url: demo, max_pages: PAGES }),
    });
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    return (JSON.parse(text) as { scan_id: string }).scan_id;
  }

  const result = async (organisation: string, id: string): Promise<Result> =>
    (await (await ask(organisation, `/v1/ci/scans/${id}`)).json()) as Result;

  const ended = (organisation: string, id: string): Promise<Result> =>
    eventually(
      async () => {
        // A key may send 60 requests a minute, and each organisation follows all its scans.
        await sleep(1250 * SCANS_OF_EACH);
        return result(organisation, id);
      },
      ({ status }) => ['done', 'failed', 'canceled'].includes(status),
      WITHIN_MS,
    );

  const balance = async (organisation: string): Promise<number> =>
    ((await (await ask(organisation, '/v1/billing/credits')).json()) as { balance: number }).balance;

  /** Names of running pods. */
  const pods = async (namespace: string, selector: string): Promise<string[]> =>
    (
      await kubectl([
        'get', 'pods', '-n', namespace, '-l', selector, '--field-selector=status.phase=Running', '-o', 'jsonpath={.items[*].metadata.name}',
      ])
    )
      .split(' ')
      .filter(Boolean); // prettier-ignore

  /**
   * Deletes random pods without grace until `stop` returns true or all kills are done; of each component at least one.
   * @returns the number of kills by component
   */
  async function kill(random: () => number, stop: () => boolean): Promise<Record<string, number>> {
    const killed: Record<string, number> = { api: 0, operator: 0, scanner: 0 };
    const kills = new Map<string, number>();
    for (let count = 0; count < KILLS && !stop();) {
      await sleep(1000 + random() * 4000);
      const draw = random();
      const component = ['scanner', 'operator', 'api'][count] ?? (draw < 0.25 ? 'api' : draw < 0.55 ? 'operator' : 'scanner');
      const namespace = component === 'scanner' ? product.scans : product.namespace;
      const selector = component === 'scanner' ? 'app.kubernetes.io/name=curbcut-scanner' : `app.kubernetes.io/component=${component}`;
      const job = (pod: string): string => pod.replace(/-\d+-[a-z0-9]+$/, '');
      const found = (await pods(namespace, selector)).filter(
        (pod) => component !== 'scanner' || (kills.get(job(pod)) ?? 0) < KILLS_OF_EACH,
      );
      const victim = found[Math.floor(random() * found.length)];
      if (victim === undefined) continue;
      await kubectl(['delete', 'pod', victim, '-n', namespace, '--grace-period=0', '--force', '--wait=false']).catch(() => {});
      kills.set(job(victim), (kills.get(job(victim)) ?? 0) + 1);
      killed[component]! += 1;
      count += 1;
    }
    return killed;
  }

  it('ends every scan done and charges each tested page once, whatever is killed', async () => {
    const random = createRandom(seed);
    let over = false;
    const load = Promise.all(
      ORGANISATIONS.flatMap((organisation) =>
        Array.from({ length: SCANS_OF_EACH }, async (_, number) => {
          await sleep(number * 4000);
          return { organisation, ...(await ended(organisation, await submit(organisation, number))) };
        }),
      ),
    ).finally(() => (over = true));
    const [killed, results] = await Promise.all([kill(random, () => over), load]);
    console.log(`      ${results.length} scans, killed: ${JSON.stringify(killed)}`);
    for (const [component, count] of Object.entries(killed)) expect(count, `killed pods: ${component}`).to.be.greaterThan(0);
    expect(
      results.filter(({ status }) => status !== 'done').map(({ scan_id: id, status, message }) => ({ id, status, message })),
    ).to.deep.equal([]);
    expect(new Set(results.map(({ scan_id: id }) => id)).size).to.equal(results.length);
    // The demo site has more pages than a scan requests, so each scan tests as many as it requests.
    for (const organisation of ORGANISATIONS) await eventually(() => balance(organisation), (now) => now === GRANTED - SCANS_OF_EACH * PAGES, 90_000); // prettier-ignore
  });
});
