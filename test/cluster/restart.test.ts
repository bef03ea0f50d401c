/** API and operator are restarted while clients of several organisations submit and follow scans; charges stay exact. */
import { expect } from 'chai';
import { nightly } from '../support/nightly.ts';
import { clusterAndHelm, eventually, follow, kubectl, sharedEvaluation, type Evaluation } from './release.ts';

const ORGANISATIONS = nightly(['ash', 'birch'], ['ash', 'birch', 'cedar', 'elm']);
const CLIENTS_OF_EACH = 2;
const GRANTED = 1000;
/** The pause between two scans of a client: a key is limited to 60 requests per minute. */
const PAUSE_MS = 1500;

interface Submitted {
  organisation: string;
  id: string;
  status: string;
}

describe('kubectl rollout restart', function () {
  this.timeout(600_000);
  let product: Evaluation;
  const keys = new Map<string, string>();
  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    product = await sharedEvaluation();
    for (const organisation of ORGANISATIONS) {
      const admin = (...args: string[]) =>
        kubectl(['exec', 'deployment/curbcut-api', '-n', product.namespace, '--', 'curbcut-admin', ...args]);
      await admin('organisation', 'add', organisation);
      await admin('organisation', 'grant', organisation, String(GRANTED));
      const issued = await admin('key', 'issue', '--organisation', organisation, '--name', 'load', '--json');
      keys.set(organisation, (JSON.parse(issued) as { key: string }).key);
    }
  });

  it('loses no submission and no stream under load, and charges nothing twice', async () => {
    const demo = `http://curbcut-demo.${product.namespace}.svc/`;
    const resources = async (): Promise<string[]> =>
      (await kubectl(['get', 'accessibilityscans', '-n', product.scans, '-o', 'name'])).split('\n').filter(Boolean);
    const ofOthers = await resources();
    const submitted: Submitted[] = [];
    let restarted = false;

    async function submit(organisation: string, idempotencyKey: string): Promise<string> {
      const answer = await product.ask('/v1/ci/scans', {
        method: 'POST',
        headers: { 'X-API-Key': keys.get(organisation)!, 'Idempotency-Key': idempotencyKey },
        body: JSON.stringify({ url: demo, max_pages: 1 }),
      });
      const text = await answer.text();
      expect(answer.status, text).to.equal(202);
      return (JSON.parse(text) as { scan_id: string }).scan_id;
    }

    /** Submits and follows one scan after the other. */
    async function client(organisation: string, number: number): Promise<void> {
      for (let turn = 0; !restarted; turn++) {
        const id = await submit(organisation, `${organisation}-${number}-${turn}`);
        const events = await follow(product.ask, id, { 'X-API-Key': keys.get(organisation)! });
        submitted.push({ organisation, id, status: events.at(-1)!.status });
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }

    const clients = ORGANISATIONS.flatMap((organisation) =>
      Array.from({ length: CLIENTS_OF_EACH }, (_, number) => client(organisation, number)),
    );
    const load = Promise.all(clients);
    const rollOut = async (): Promise<void> => {
      await eventually(
        () => Promise.resolve(submitted.length),
        (count) => count > 0,
      );
      for (const name of ['curbcut-api', 'curbcut-operator']) {
        await kubectl(['rollout', 'restart', `deployment/${name}`, '-n', product.namespace]);
        await kubectl(['rollout', 'status', `deployment/${name}`, '-n', product.namespace, '--timeout=180s']);
      }
    };
    // A failing client ends the test at once; the others may finish their scan.
    await Promise.race([rollOut(), load]).finally(() => (restarted = true));
    await load;

    console.log(`      ${submitted.length} scans of ${ORGANISATIONS.length * CLIENTS_OF_EACH} clients while both were restarted`);
    expect(submitted.length).to.be.greaterThan(ORGANISATIONS.length * CLIENTS_OF_EACH);
    expect(submitted.filter(({ status }) => status !== 'done')).to.deep.equal([]);
    expect(new Set(submitted.map(({ id }) => id)).size).to.equal(submitted.length);
    for (const organisation of ORGANISATIONS) {
      const own = submitted.filter((scan) => scan.organisation === organisation).length;
      const answer = await product.ask('/v1/billing/credits', { headers: { 'X-API-Key': keys.get(organisation)! } });
      expect(await answer.json(), organisation).to.include({ balance: GRANTED - own });
    }
    expect((await resources()).filter((name) => !ofOthers.includes(name))).to.have.length(submitted.length);
  });
});
