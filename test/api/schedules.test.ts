/** Schedules over REST: they are ScanSchedules of the dashboard's kind; those of manifests are read. The dashboard's tests have the races. */
import { expect } from 'chai';
import { GROUP, SCHEDULES_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import { DASHBOARD_SCHEDULES_MAX, RUN_ANNOTATION, type ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { HIGH_LIMITS, useContext } from './context.ts';
import { down, type Request } from './replica.ts';
import { NAMESPACE } from './stack.ts';

const LIST = '/v1/schedules';
const SCAN = {
  url: 'https://example.com/shop',
  max_pages: 7,
  min_score: 90,
  metadata: { team: 'shop' },
  prepare: [{ click: 'button.adult' }],
};
const BODY = { display_name: 'Shop, Mondays', schedule: '0 8 * * 1', time_zone: 'Europe/Berlin', scan: SCAN };

describe('/v1/schedules', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  const pathOf = (name: string) => context.kubernetes.path({ group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL }, NAMESPACE, name);
  const read = (name: string): Promise<ScanSchedule> => context.kubernetes.request('GET', pathOf(name));
  const trailOf = async (organisation: string): Promise<string[]> =>
    (await context.stores.organisations.auditPage(organisation, { limit: 50 }))
      .map(({ action }) => action)
      .filter((action) => action.startsWith('schedule.'))
      .toReversed();
  const send = (method: string, path: string, key: string, more: Request = {}) => context.request(method, path, { key, ...more });
  const refusal = ({ status, body }: { status: number; body: { detail: unknown } }) => [status, body.detail];

  async function create(body: object = BODY) {
    const { id, key } = await context.organisation({ credits: 20 });
    const answer = await send('POST', LIST, key, { body });
    expect(answer.status, answer.text).to.equal(201);
    return { organisation: id, key, path: answer.headers.get('location')!, name: answer.body.name as string, body: answer.body };
  }

  it('creates one in the cluster, which reads as it was sent and can be sent again', async () => {
    const { organisation, key, path, name, body } = await create();
    expect(body).to.deep.include({ id: `${NAMESPACE}/${name}`, schedule: '0 8 * * 1', time_zone: 'Europe/Berlin', suspended: false });
    expect(body).to.deep.include({ url: SCAN.url, max_pages: 7, source: { by: 'api', tool: null, application: null, writer: null } });
    expect(body.scan).to.deep.include({ ...SCAN, wcag_version: '2.1', max_violations: null });
    const { spec } = await read(name);
    expect(spec).to.include({ schedule: '0 8 * * 1', timeZone: 'Europe/Berlin', suspend: false, concurrencyPolicy: 'Forbid' });
    expect(spec.scanTemplate.spec).to.deep.include({ url: SCAN.url, maxPages: 7, thresholds: { minScore: 90 } });
    expect((await send('GET', path, key)).body).to.deep.equal(body);
    const again = await send('PATCH', path, key, { body: { scan: body.scan } });
    expect([again.status, again.body.scan]).to.deep.equal([200, body.scan]);
    expect(await trailOf(organisation)).to.deep.equal(['schedule.add', 'schedule.change']);
  });

  it('changes only what is sent, replaces a scan as a whole, suspends and resumes', async () => {
    const { organisation, key, path, name } = await create();
    expect((await send('PATCH', path, key, { body: { schedule: '@daily' } })).body).to.deep.include({ schedule: '@daily', max_pages: 7 });
    const { body } = await send('PATCH', path, key, { body: { scan: { url: 'https://example.com/' }, suspended: true } });
    expect(body).to.deep.include({ display_name: 'Shop, Mondays', schedule: '@daily', time_zone: 'Europe/Berlin', suspended: true });
    expect(body.scan).to.deep.include({ min_score: null, metadata: {}, prepare: [] });
    expect((await send('PATCH', path, key, { body: { suspended: false } })).body.suspended).to.equal(false);
    expect((await read(name)).spec).to.include({ schedule: '@daily', suspend: false });
    expect(await trailOf(organisation)).to.deep.equal([
      ...['schedule.add', 'schedule.change', 'schedule.change', 'schedule.suspend', 'schedule.resume'],
    ]);
  });

  it('runs it once for each request, and not while a requested run waits', async () => {
    const { organisation, key, path, name } = await create();
    const run = (id: string) => send('POST', `${path}/run`, key, { headers: { 'Idempotency-Key': id } });
    expect((await run('one')).status).to.equal(202);
    const token = (await read(name)).metadata.annotations![RUN_ANNOTATION];
    expect((await run('one')).headers.get('idempotent-replayed')).to.equal('true');
    expect((await read(name)).metadata.annotations![RUN_ANNOTATION]).to.equal(token);
    expect(refusal(await run('two'))).to.deep.equal([409, 'schedule_run_requested']);
    expect(await trailOf(organisation)).to.deep.equal(['schedule.add', 'schedule.run']);
  });

  it('creates one also if the first request died before its response was stored', async () => {
    const { id, key } = await context.organisation();
    const post = () => send('POST', LIST, key, { body: BODY, headers: { 'Idempotency-Key': 'once' } });
    context.faults.set('idempotency.complete', down);
    const first = await post();
    context.faults.clear();
    await context.db.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });
    const again = await post();
    expect([again.status, again.body.id, again.headers.get('location')]).to.deep.equal([201, first.body.id, `${LIST}/${first.body.id}`]);
    expect(await context.db.collection('dashboardSchedules').countDocuments({ organisation: id })).to.equal(1);
  });

  it('deletes it', async () => {
    const { organisation, key, path, name } = await create();
    expect((await send('DELETE', path, key)).status).to.equal(204);
    expect(refusal(await send('GET', path, key))).to.deep.equal([404, 'schedule_not_found']);
    expect((await read(name).catch((error: { reason?: string }) => error.reason)) as unknown).to.equal('NotFound');
    expect(await trailOf(organisation)).to.deep.equal(['schedule.add', 'schedule.delete']);
  });

  it('lists them page by page, and names the source of those that it does not change', async () => {
    const { id: organisation, key } = await context.organisation();
    const source = { by: 'manifest', tool: 'Flux', application: 'flux-system/shop' } as const;
    for (const name of ['a', 'b', 'c']) await context.stores.schedules.put(scheduleRow({ organisation, name, source }), 'x');
    const first = (await send('GET', `${LIST}?limit=2`, key)).body;
    const rest = (await send('GET', `${LIST}?limit=2&cursor=${first.next_cursor}`, key)).body;
    expect([...first.data, ...rest.data].map(({ id }: { id: string }) => id)).to.deep.equal(['team/a', 'team/b', 'team/c']);
    expect(rest.next_cursor).to.equal(null);
    const named = { ...source, writer: null };
    expect((await send('GET', `${LIST}/team/a`, key)).body).to.deep.include({ source: named, scan: null });
    for (const [method, path, body] of [
      ['PATCH', `${LIST}/team/a`, { suspended: true }],
      ['POST', `${LIST}/team/a/run`, undefined],
      ['DELETE', `${LIST}/team/a`, undefined],
    ] as const) {
      const answer = await send(method, path, key, { body });
      expect([answer.status, answer.body.detail, answer.body.source]).to.deep.equal([409, 'schedule_read_only', named]);
    }
  });

  it('names the program that has changed one in the cluster, which can still be suspended', async () => {
    const { key, path, name } = await create();
    const body = { spec: { schedule: '*/5 * * * *' } };
    const query = { fieldManager: 'kubectl-patch' };
    await context.kubernetes.request('PATCH', pathOf(name), { body, contentType: 'application/merge-patch+json', query });
    const refused = await send('PATCH', path, key, { body: { schedule: '@daily' } });
    expect([refused.body.detail, refused.body.source.writer]).to.deep.equal(['schedule_read_only', 'kubectl-patch']);
    expect((await send('PATCH', path, key, { body: { suspended: true } })).body).to.include({ suspended: true, schedule: '*/5 * * * *' });
  });

  it('says where a request is wrong', async () => {
    const { key } = await context.organisation();
    for (const [body, loc, type] of [
      [{ ...BODY, schedule: '0 8 * *' }, ['schedule'], 'schedule.times'],
      [{ ...BODY, time_zone: 'Mars' }, ['time_zone'], 'schedule.time_zone'],
      [{ ...BODY, scan: { url: 'http://127.0.0.1/' } }, ['scan', 'url'], 'url.private_address'],
      [{ ...BODY, scan: { ...SCAN, fail_on_truncation: false } }, ['scan', 'fail_on_truncation'], 'unexpected_field'],
    ] as const) {
      const answer = await send('POST', LIST, key, { body });
      expect(answer.body.detail[0]).to.deep.include({ loc: ['body', ...loc], type });
    }
  });

  it('refuses what the cluster refuses, too many, and a change that others overtake', async () => {
    const { organisation, key, path } = await create();
    const failed = (reason: string) => async () => ({ ok: false, reason, message: 'quota' });
    context.faults.set('scheduleResources.create', failed('refused'));
    const refused = await send('POST', LIST, key, { body: BODY });
    expect(refusal(refused)).to.deep.equal([409, 'schedule_refused']);
    expect(refused.text).to.not.include('quota');
    context.faults.set('scheduleResources.replace', failed('changed'));
    expect(refusal(await send('PATCH', path, key, { body: { suspended: true } }))).to.deep.equal([409, 'schedule_changed']);
    const createdAt = new Date();
    for (let count = 1; count < DASHBOARD_SCHEDULES_MAX; count += 1)
      await context.stores.dashboardSchedules.add({
        namespace: NAMESPACE,
        name: `${organisation}-${count}`,
        organisation,
        createdAt,
        values: '',
      });
    expect(refusal(await send('POST', LIST, key, { body: BODY }))).to.deep.equal([409, 'too_many_schedules']);
  });

  it('answers 503 while the Kubernetes API is down, but for those of manifests', async () => {
    const { organisation, key, path, name } = await create();
    await context.stores.schedules.put(scheduleRow({ organisation, namespace: NAMESPACE, name, source: { by: 'dashboard' } }), 'x');
    await context.stores.schedules.put(scheduleRow({ organisation, name: 'nightly' }), 'x');
    context.faults.set('scheduleResources.find', down);
    expect(refusal(await send('GET', path, key))).to.deep.equal([503, 'service_unavailable']);
    expect((await send('GET', `${LIST}/team/nightly`, key)).status).to.equal(200);
    expect((await send('GET', LIST, key)).body.data).to.have.lengthOf(2);
  });
});
