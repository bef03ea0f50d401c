/** Which events are put into the queues of webhooks. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { announceTask } from '../../operator/maintenance/announce.ts';
import { sayCreditsLow } from '../../api/outbox/credits-low.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { contextOf } from '../support/operator-context.ts';
import { useDatabase } from '../stores/database.ts';
import { scanRow } from '../support/scan-rows.ts';

const ACME = 'acme';
const FIELDS = { url: 'https://example.com/', format: 'json', creditsBelow: 10 } as const;

describe('the queues of webhooks', () => {
  const database = useDatabase();
  let stores: AllStores;
  let announced: string[];
  before(() => {
    stores = openStores(database.db);
  });
  beforeEach(async () => {
    for (const name of ['webhooks', 'outbox', 'webhook_events', 'scans']) await database.db.collection(name).deleteMany({});
    announced = [];
  });

  const { signal } = new AbortController();
  const metrics = { ...createOperatorMetrics().stores, webhookEvent: (event: string) => void announced.push(event) };
  const announce = (undeclared: string[] | null = [], webhooks = true) =>
    announceTask(contextOf({ stores, metrics: { stores: metrics }, settings: { publicBaseUrl: null, webhooks } }), () => undeclared).run(
      signal,
    );
  const checkCredits = () => sayCreditsLow({ stores, metrics, publicBaseUrl: null, now: () => new Date() }, signal);
  const typesOf = async (webhook: string) => (await stores.deliveries.list(ACME, webhook, { limit: 10 })).map(({ type }) => type);

  async function endScan(organisation = ACME): Promise<string> {
    const row = scanRow({ id: randomUUID(), organisation, submission: 'accepted' });
    await stores.scans.create({ ...row, phase: 'queued' });
    await stores.scans.mirror(row.id, { phase: 'done', passed: false, finishedAt: new Date() });
    return row.id;
  }
  async function add(name: string, organisation = ACME): Promise<string> {
    const events = ['scan.completed', 'schedule.regressed'] as const;
    const added = await stores.webhooks.add({ ...FIELDS, name, events, organisation, createdBy: 'ada@example.com' });
    if (!added.ok) throw new Error(added.reason);
    return added.webhook.id;
  }

  it('get no end of a scan that was announced before the webhook was added', async () => {
    const scanId = await endScan();
    const early = await add('early');
    await announce();
    const late = await add('late');
    const comparison = { new: 2, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 5, notTested: 0 };
    const about = { namespace: 'team', name: 'nightly', url: 'https://shop.example.com/' };
    const data = { ...about, scanId, previousScanId: 'before', passed: false, comparison };
    for (let twice = 0; twice < 2; twice += 1) await stores.webhookEvents.add({ scan: scanId, organisation: ACME, at: new Date(), data });
    await announce();
    const [regressed] = await stores.deliveries.list(ACME, late, { limit: 1 });
    expect((JSON.parse(regressed!.body) as { data: object }).data).to.deep.include({
      schedule: about,
      scan_id: scanId,
      previous_scan_id: 'before',
      passed: false,
      comparison: { new: 2, on_new_pages: 0, new_known: 0, new_root_causes: 1, fixed: 0, unchanged: 5, not_tested: 0 },
    });
    expect(await typesOf(early)).to.have.members(['scan.completed', 'schedule.regressed']);
    expect(await typesOf(late)).to.deep.equal(['schedule.regressed']);
    expect(announced).to.deep.equal(['scan.completed', 'schedule.regressed', 'schedule.regressed']);
  });

  it('get no regression of a scan that was deleted meanwhile', async () => {
    const webhook = await add('one');
    const scanId = await endScan();
    const comparison = { new: 2, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 5, notTested: 0 };
    const data = {
      namespace: 'team',
      name: 'nightly',
      url: 'https://shop.example.com/',
      scanId,
      previousScanId: 'p',
      passed: false,
      comparison,
    };
    await stores.webhookEvents.add({ scan: scanId, organisation: ACME, at: new Date(), data });
    await stores.scans.erase(ACME, scanId);
    await announce();
    expect(await typesOf(webhook)).to.deep.equal([]);
    const [left] = await database.db.collection('webhook_events').find().toArray();
    expect(left).to.include({ done: true }).and.not.have.property('data');
  });

  it('get the ends of scans when the webhooks of their manifest are declared, and other organisations theirs before', async () => {
    const other = await add('other', 'globex');
    await Promise.all([endScan(), endScan('globex')]);
    await announce(null);
    expect(announced).to.deep.equal([]);
    await announce([ACME]);
    expect((await stores.deliveries.list('globex', other, { limit: 10 })).map(({ type }) => type)).to.deep.equal(['scan.completed']);
    const late = await add('late');
    expect(await typesOf(late)).to.deep.equal([]);
    await announce();
    expect(await typesOf(late)).to.deep.equal(['scan.completed']);
  });

  it('get nothing that ended while webhooks were off', async () => {
    const one = await add('one');
    await endScan();
    await announce([], false);
    expect(await stores.scans.unannounced(1)).to.deep.equal([]);
    await announce();
    expect(await typesOf(one)).to.deep.equal([]);
  });

  it('get a low balance once, and again after it was high enough', async () => {
    const declared = { ...FIELDS, name: 'm', events: ['credits.low'], secret: `whsec_${'A'.repeat(43)}=` } as const;
    const [added] = await stores.webhooks.declare(ACME, [declared]);
    await checkCredits();
    await checkCredits();
    expect(await typesOf(added!.webhook.id)).to.deep.equal(['credits.low']);
    await stores.credits.grant(ACME, 'order', 100);
    await checkCredits();
    await stores.webhooks.declare(ACME, [{ ...declared, creditsBelow: 1000 }]);
    await checkCredits();
    const [second] = await stores.deliveries.list(ACME, added!.webhook.id, { limit: 10 });
    expect((JSON.parse(second!.body) as { data: object }).data).to.deep.equal({ balance: 100, credits_below: 1000 });
    await database.db.collection('accounts').deleteMany({});
  });

  it('get a low balance again after a webhook of a manifest was deleted and added again', async () => {
    const declared = { ...FIELDS, name: 'm', events: ['credits.low'], secret: `whsec_${'A'.repeat(43)}=` } as const;
    const [added] = await stores.webhooks.declare(ACME, [declared]);
    await checkCredits();
    expect(await typesOf(added!.webhook.id)).to.deep.equal(['credits.low']);
    await stores.webhooks.declare(ACME, []);
    await stores.webhooks.declare(ACME, [declared]);
    await checkCredits();
    expect(await typesOf(added!.webhook.id)).to.deep.equal(['credits.low', 'credits.low']);
    expect(announced).to.deep.equal(['credits.low', 'credits.low']);
  });
});
