/** Which events are put into the queues of webhooks that were added, or added again, in the meantime. */
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
  const announce = () =>
    announceTask(contextOf({ stores, metrics: { stores: metrics }, settings: { publicBaseUrl: null } }), () => []).run(signal);
  const checkCredits = () => sayCreditsLow({ stores, metrics, publicBaseUrl: null, now: () => new Date() }, signal);
  const typesOf = async (webhook: string) => (await stores.deliveries.list(ACME, webhook, { limit: 10 })).map(({ type }) => type);

  it('get no end of a scan that was announced before the webhook was added', async () => {
    const row = scanRow({ organisation: ACME, submission: 'accepted' });
    await stores.scans.create({ ...row, phase: 'queued' });
    await stores.scans.mirror(row.id, { phase: 'done', passed: false, finishedAt: new Date() });
    const add = async (name: string) => {
      const events = ['scan.completed', 'schedule.regressed'] as const;
      const added = await stores.webhooks.add({ ...FIELDS, name, events, organisation: ACME, createdBy: 'ada@example.com' });
      if (!added.ok) throw new Error(added.reason);
      return added.webhook.id;
    };
    const early = await add('early');
    await announce();
    const late = await add('late');
    const about = { namespace: 'team', name: 'nightly', url: 'https://shop.example.com/', comparison: null };
    const data = { ...about, scanId: row.id, previousScanId: 'before', passed: false };
    await stores.webhookEvents.add({ scan: row.id, organisation: ACME, at: new Date(), data });
    await announce();
    expect(await typesOf(early)).to.have.members(['scan.completed', 'schedule.regressed']);
    expect(await typesOf(late)).to.deep.equal(['schedule.regressed']);
    expect(announced).to.deep.equal(['scan.completed', 'schedule.regressed', 'schedule.regressed']);
  });

  it('get a low balance again after a webhook of a manifest was deleted and added again', async () => {
    const declared = { ...FIELDS, name: 'm', events: ['credits.low'], secret: `whsec_${'A'.repeat(43)}=` } as const;
    const [added] = await stores.webhooks.declare(ACME, [declared]);
    await checkCredits();
    await checkCredits();
    expect(await typesOf(added!.webhook.id)).to.deep.equal(['credits.low']);
    await stores.webhooks.declare(ACME, []);
    await stores.webhooks.declare(ACME, [declared]);
    await checkCredits();
    expect(await typesOf(added!.webhook.id)).to.deep.equal(['credits.low', 'credits.low']);
    expect(announced).to.deep.equal(['credits.low', 'credits.low']);
  });
});
