/** Schedules in the dashboard: forms become ScanSchedules, those of others are read-only, and nothing is lost or done twice. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { GROUP, SCHEDULES_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import { DASHBOARD_MANAGER, DASHBOARD_SCHEDULES_MAX, RUN_ANNOTATION, type ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { uuidOf } from '../../core/uuid.ts';
import { nameOf } from '../../api/schedules/management.ts';
import { requestedRun } from '../../core/schedule/requested-run.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { useContext } from './context.ts';
import { signedIn, type Person } from './people.ts';
import { down } from './replica.ts';
import { NAMESPACE } from './stack.ts';

const LIST = '/dashboard/schedules';
const NEW = `${LIST}/new`;
const SCHEDULES = { group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL };

describe('schedules in the dashboard', () => {
  const context = useContext();

  const member = async (): Promise<Person> =>
    signedIn(context, { role: 'member', organisation: (await context.organisation({ credits: 20 })).id });
  const fields = (change: Record<string, string> = {}) => ({
    frequency: 'week',
    weekday: '1',
    time: '08:00',
    minute: '0',
    day: '1',
    cron: '',
    time_zone: 'Europe/Berlin',
    url: 'https://example.com/shop',
    max_pages: '7',
    wcag_version: '2.2',
    wcag_level: 'AA',
    locale: 'en',
    pictures: 'on',
    advice: 'on',
    min_score: '90',
    consent: 'keep',
    prepare: '- click: button.adult',
    metadata: 'team=shop',
    baseline: 'team=shop',
    form_id: randomUUID(),
    ...change,
  });
  const read = (name: string): Promise<ScanSchedule> =>
    context.kubernetes.request('GET', context.kubernetes.path(SCHEDULES, NAMESPACE, name));
  /** Writes as another program. @param subresource `status` or empty */
  const patch = (name: string, body: object, fieldManager = 'kubectl-patch', subresource = ''): Promise<ScanSchedule> =>
    context.kubernetes.request('PATCH', context.kubernetes.path(SCHEDULES, NAMESPACE, name, subresource), {
      body,
      contentType: 'application/merge-patch+json',
      query: { fieldManager },
    });
  const recordsOf = (organisation: string): Promise<number> => context.db.collection('dashboardSchedules').countDocuments({ organisation });
  const trailOf = async (organisation: string): Promise<string[]> =>
    (await context.stores.organisations.auditPage(organisation, { limit: 50 }))
      .map(({ action }) => action)
      .filter((action) => action.startsWith('schedule.'))
      .toReversed();

  /** Creates a schedule. @returns the path of its page, and its name */
  async function created({ client }: Person, change: Record<string, string> = {}): Promise<{ path: string; name: string }> {
    const { status, headers, text } = await client.submit(NEW, fields(change));
    expect(status, text).to.equal(303);
    const path = headers.get('location')!.split('?')[0]!;
    return { path, name: path.split('/').at(-1)! };
  }
  const hidden = (text: string, name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

  it('never take over one whose record is lost, such as of a purged organisation, whatever the form says', async () => {
    const [theirs, person] = [await member(), await member()];
    const { name } = await created(theirs);
    const { metadata, ...orphan } = await read(name);
    await context.stores.dashboardSchedules.remove(theirs.organisation, { namespace: NAMESPACE, name });
    const sent = fields();
    const taken = nameOf(sent.url, uuidOf(`${person.organisation}/${person.email}/${sent.form_id}`));
    const body = { ...orphan, metadata: { name: taken, namespace: NAMESPACE, labels: metadata.labels } };
    await context.kubernetes.request('POST', context.kubernetes.path(SCHEDULES, NAMESPACE), { body });
    expect((await person.client.submit(NEW, sent)).status).to.equal(409);
    expect(await recordsOf(person.organisation)).to.equal(0);
    expect((await person.client.get(`${LIST}/${NAMESPACE}/${taken}`)).status).to.equal(404);
  });

  it('become ScanSchedules of the field manager of the dashboard', async () => {
    const person = await member();
    const { name } = await created(person);
    expect(name).to.match(/^example-com-[0-9a-f]{8}$/);
    const { metadata, spec } = await read(name);
    expect(metadata.labels).to.deep.equal({ 'app.kubernetes.io/managed-by': DASHBOARD_MANAGER });
    expect(metadata.managedFields!.map(({ manager, operation }) => [manager, operation])).to.deep.equal([[DASHBOARD_MANAGER, 'Apply']]);
    expect(spec).to.include({ schedule: '0 8 * * 1', timeZone: 'Europe/Berlin', suspend: false, concurrencyPolicy: 'Forbid' });
    const { scanTemplate } = spec;
    expect(scanTemplate.metadata).to.deep.equal({ annotations: { 'metadata.curbcut.dev/team': 'shop' } });
    expect(scanTemplate.spec).to.deep.include({
      url: 'https://example.com/shop',
      maxPages: 7,
      thresholds: { minScore: 90 },
      baseline: { metadata: { team: 'shop' }, optional: false, count: 'elements' },
    });
    expect(scanTemplate.spec.crawl!.prepare).to.deep.equal([{ click: 'button.adult' }]);
    expect(await trailOf(person.organisation)).to.deep.equal(['schedule.add']);
  });

  it('are created once if the form is sent twice, also at the same time', async () => {
    const { client, organisation } = await member();
    const form = fields();
    const answers = [...(await Promise.all([client.submit(NEW, form), client.submit(NEW, form)])), await client.submit(NEW, form)];
    expect(answers.map(({ status }) => status)).to.deep.equal([303, 303, 303]);
    expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).to.equal(1);
    expect(await recordsOf(organisation)).to.equal(1);
    expect(await trailOf(organisation)).to.deep.equal(['schedule.add']);
  });

  it('are not overwritten by the form that has created them, which then creates another one', async () => {
    const person = await member();
    const form = fields();
    const { path, name } = await created(person, form);
    expect((await person.client.submit(`${path}/suspend`, {}, path)).status).to.equal(303);
    const changed = { ...form, time: '18:00', min_score: '' };
    const second = await person.client.submit(NEW, changed);
    expect(second.status).to.equal(409);
    expect(second.text).to.include('was sent before, with other values').and.include('value="18:00"').and.not.include(form.form_id);
    expect((await read(name)).spec).to.include({ schedule: '0 8 * * 1', suspend: true });
    // The same values lead to it, also after it was suspended.
    expect((await person.client.submit(NEW, form)).headers.get('location')).to.include(path);
    const third = await person.client.submit(NEW, { ...changed, form_id: hidden(second.text, 'form_id') });
    expect(third.status).to.equal(303);
    expect(await recordsOf(person.organisation)).to.equal(2);
    expect(await trailOf(person.organisation)).to.deep.equal(['schedule.add', 'schedule.suspend', 'schedule.add']);
  });

  it('use no place if the cluster refuses them, and keep it if they exist', async () => {
    const { client, organisation } = await member();
    const message = 'exceeded quota: schedules of curbcut-scans';
    context.faults.set('scheduleResources.create', async () => ({ ok: false, reason: 'refused', message }));
    const refused = await client.submit(NEW, fields());
    expect(refused.status).to.equal(409);
    expect(refused.text).to.include('The cluster does not accept this schedule').and.not.include(message);
    expect(await recordsOf(organisation)).to.equal(0);
    // Another request with this form has created it meanwhile.
    context.faults.set('scheduleResources.create', async (real, ...parameters) => {
      await real(...parameters);
      return { ok: false, reason: 'refused', message };
    });
    expect((await client.submit(NEW, fields())).status).to.equal(409);
    expect(await recordsOf(organisation)).to.equal(1);
  });

  it('are not overwritten by the same form with other values at the same time', async () => {
    const person = await member();
    const form = fields();
    // Both requests have found nothing before either writes.
    const both = Promise.withResolvers<void>();
    let found = 0;
    context.faults.set('scheduleResources.find', async (real, ...parameters) => {
      const schedule = await real(...parameters);
      found += 1;
      if (found === 2) both.resolve();
      await both.promise;
      return schedule;
    });
    const times = ['08:00', '18:00'];
    const answers = await Promise.all(times.map((time) => person.client.submit(NEW, { ...form, time })));
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([303, 409]);
    const winner = answers.findIndex(({ status }) => status === 303);
    const name = answers[winner]!.headers.get('location')!.split('?')[0]!.split('/').at(-1)!;
    expect((await read(name)).spec.schedule).to.equal(`0 ${Number(times[winner]!.slice(0, 2))} * * 1`);
    expect(answers[1 - winner]!.text).to.include('was sent before, with other values');
    expect(await trailOf(person.organisation)).to.deep.equal(['schedule.add']);
  });

  it('show the next five runs in their time zone before anything is stored, with what was typed', async () => {
    const { client, organisation } = await member();
    const { status, text } = await client.submit(NEW, fields({ frequency: 'day', time: '23:45', time_zone: 'Asia/Tokyo', preview: 'yes' }));
    expect(status).to.equal(200);
    expect(text.match(/<time datetime="[^"]*T14:45:00.000Z">[^<]*, 23:45<\/time>/g)).to.have.length(5);
    expect(text).to.include('value="23:45"').and.include('value="https://example.com/shop"').and.include('- click: button.adult');
    expect(await recordsOf(organisation)).to.equal(0);
  });

  it('say at each field what is wrong, and keep what was typed', async () => {
    const { client, organisation } = await member();
    const wrong = { frequency: 'cron', cron: '0 8 * *', time_zone: 'Mars', max_pages: 'many' };
    const { status, text } = await client.submit(NEW, fields(wrong));
    expect(status).to.equal(422);
    for (const field of ['cron', 'time_zone', 'max_pages']) expect(text, field).to.include(`id="${field}-error"`);
    expect(text).to.include('value="0 8 * *"').and.include('value="many"');
    const target = await client.submit(NEW, fields({ url: 'http://127.0.0.1/' }));
    expect([target.status, target.text.includes('id="url-error"')]).to.deep.equal([422, true]);
    expect(await recordsOf(organisation)).to.equal(0);
  });

  it('fill the form again, and change without a loss', async () => {
    const person = await member();
    const { path, name } = await created(person, { name: 'Shop, Mondays', include: '/shop/**\n/cart' });
    expect((await person.client.get(path)).text).to.include('<h1>Shop, Mondays</h1>');
    const form = await person.client.get(`${path}/change`);
    expect(form.text)
      .to.include('value="Shop, Mondays"')
      .and.include('value="08:00"')
      .and.include('value="https://example.com/shop"')
      .and.include('value="team=shop"');
    expect(form.text).to.include('/shop/**\n/cart').and.include('- click: button.adult');
    const version = hidden(form.text, 'version');
    const changed = await person.client.submit(
      `${path}/change`,
      fields({ name: '', frequency: 'hour', minute: '5', min_score: '', version }),
    );
    expect(changed.status, changed.text).to.equal(303);
    const { spec } = await read(name);
    expect(spec).to.include({ schedule: '5 * * * *' }).and.not.have.property('displayName');
    expect(spec.scanTemplate.spec).to.not.have.nested.property('thresholds.minScore');
    expect(await trailOf(person.organisation)).to.deep.equal(['schedule.add', 'schedule.change']);
  });

  it('keep what was typed if somebody else has changed the schedule, and store it when it is sent again', async () => {
    const person = await member();
    const { path, name } = await created(person);
    const version = hidden((await person.client.get(`${path}/change`)).text, 'version');
    expect((await person.client.submit(`${path}/suspend`, {}, path)).status).to.equal(303);
    const stale = await person.client.submit(`${path}/change`, fields({ time: '09:30', version }));
    expect(stale.status).to.equal(409);
    expect(stale.text).to.include('was changed meanwhile').and.include('value="09:30"');
    expect((await read(name)).spec.schedule).to.equal('0 8 * * 1');
    const again = await person.client.submit(`${path}/change`, fields({ time: '09:30', version: hidden(stale.text, 'version') }));
    expect(again.status).to.equal(303);
    expect((await read(name)).spec).to.include({ schedule: '30 9 * * 1', suspend: true });
  });

  it('are no stale form because the operator has written the status meanwhile', async () => {
    const person = await member();
    const { path, name } = await created(person);
    const version = hidden((await person.client.get(`${path}/change`)).text, 'version');
    const operate = (activeCount: number) => patch(name, { status: { activeCount } }, 'curbcut-operator', 'status');
    await operate(1);
    // Also between the read and the write of the change.
    let writes = 0;
    context.faults.set('scheduleResources.replace', async (real, ...parameters) => {
      writes += 1;
      if (writes <= 2) await operate(1 + writes);
      return real(...parameters);
    });
    expect((await person.client.submit(`${path}/change`, fields({ time: '09:30', version }))).status).to.equal(303);
    expect([writes, (await read(name)).spec.schedule]).to.deep.equal([3, '30 9 * * 1']);
  });

  it('are suspended and continued, and run once per form', async () => {
    const person = await member();
    const { path, name } = await created(person);
    const act = (action: string, form: Record<string, string> = {}) => person.client.submit(`${path}/${action}`, form, path);
    expect((await act('suspend')).status).to.equal(303);
    expect((await read(name)).spec.suspend).to.equal(true);
    expect((await person.client.get(path)).text)
      .to.include('None: it is suspended')
      .and.include('Resume')
      .and.include('may start at once');
    expect((await act('resume')).status).to.equal(303);
    expect((await read(name)).spec.suspend).to.equal(false);
    const form = { form_id: randomUUID() };
    const tokens: unknown[] = [];
    for (const sent of [form, form, { form_id: randomUUID() }]) {
      expect((await act('run', sent)).status).to.equal(303);
      tokens.push((await read(name)).metadata.annotations![RUN_ANNOTATION]);
      if (tokens.length < 2) continue;
      // Another one is refused until the operator has started that run.
      const early = await act('run', { form_id: randomUUID() });
      expect([early.status, early.text.includes('A run was requested already')]).to.deep.equal([409, true]);
      await patch(name, { status: { lastRunRequest: tokens.at(-1) } }, 'curbcut-operator', 'status');
    }
    expect([tokens[0] === tokens[1], tokens[1] === tokens[2]]).to.deep.equal([true, false]);
    // A change does not take the request back.
    expect((await act('suspend')).status).to.equal(303);
    expect((await read(name)).metadata.annotations![RUN_ANNOTATION]).to.equal(tokens[2]);
    expect(await trailOf(person.organisation)).to.deep.equal([
      'schedule.add',
      'schedule.suspend',
      'schedule.resume',
      'schedule.run',
      'schedule.run',
      'schedule.suspend',
    ]);
  });

  it('run again after somebody has requested a run with a long token, which the operator records as its digest', async () => {
    const person = await member();
    const { path, name } = await created(person);
    const token = 'x'.repeat(201);
    const asked = await patch(name, { metadata: { annotations: { [RUN_ANNOTATION]: token } } });
    const act = () => person.client.submit(`${path}/run`, { form_id: randomUUID() }, path);
    expect((await act()).status, 'before the operator has seen it').to.equal(409);
    await patch(name, { status: { lastRunRequest: requestedRun(asked) } }, 'curbcut-operator', 'status');
    expect((await act()).status).to.equal(303);
  });

  it('are deleted after a question, and give their place back', async () => {
    const person = await member();
    const { path, name } = await created(person);
    expect((await person.client.get(`${path}/delete`)).text).to.include('Delete this schedule?');
    expect((await person.client.submit(`${path}/delete`, {}, `${path}/delete`)).headers.get('location')).to.equal(`${LIST}?done=deleted`);
    expect(await recordsOf(person.organisation)).to.equal(0);
    expect((await read(name).catch((error: { reason?: string }) => error.reason)) as unknown).to.equal('NotFound');
    expect(await trailOf(person.organisation)).to.deep.equal(['schedule.add', 'schedule.delete']);
  });

  it('are only suspended and deleted if another program has changed them', async () => {
    const person = await member();
    const { path, name } = await created(person);
    await patch(name, { spec: { schedule: '*/5 * * * *', suspend: false } });
    const page = await person.client.get(path);
    expect(page.text).to.include('Read-only here').and.include('kubectl-patch').and.not.include('Run now').and.not.include('>Change<');
    for (const action of ['resume', 'run']) {
      const { status, text } = await person.client.submit(`${path}/${action}`, {}, LIST);
      expect([status, text.includes('is changed there')], action).to.deep.equal([409, true]);
    }
    expect((await person.client.get(`${path}/change`)).headers.get('location')).to.equal(path);
    // The organisation pays for it.
    expect((await person.client.submit(`${path}/suspend`, {}, path)).status).to.equal(303);
    expect((await read(name)).spec).to.include({ schedule: '*/5 * * * *', suspend: true });
    expect((await person.client.submit(`${path}/delete`, {}, `${path}/delete`)).status).to.equal(303);
    expect(await recordsOf(person.organisation)).to.equal(0);
  });

  it('of manifests are shown with their source, and never written', async () => {
    const person = await member();
    const source = { by: 'manifest', tool: 'Flux', application: 'flux-system/shop' } as const;
    await context.stores.schedules.put(scheduleRow({ organisation: person.organisation, name: 'flux-nightly', source }), 'x');
    expect((await person.client.get(LIST)).text).to.include('flux-system/shop');
    const path = `${LIST}/team/flux-nightly`;
    expect((await person.client.get(path)).text)
      .to.include('Flux applies the manifest')
      .and.not.include('Run now');
    context.calls.length = 0;
    for (const action of ['suspend', 'run', 'delete'])
      expect((await person.client.submit(`${path}/${action}`, {}, LIST)).status, action).to.equal(409);
    expect(context.calls.filter((call) => call.startsWith('scheduleResources.'))).to.deep.equal([]);
  });

  it('are read by viewers, who cannot write them', async () => {
    const person = await member();
    const { path } = await created(person);
    const viewer = await signedIn(context, { role: 'viewer', organisation: person.organisation });
    const page = await viewer.client.get(path);
    expect([page.status, page.text.includes('Run now')]).to.deep.equal([200, false]);
    for (const action of ['suspend', 'change'])
      expect((await viewer.client.submit(`${path}/${action}`, {}, LIST)).status, action).to.equal(403);
  });

  it('have a limit, also if many are created at the same time, and what is left over in it is found', async () => {
    const { client, organisation } = await member();
    const createdAt = new Date();
    const add = (name: string, at: Date) =>
      context.stores.dashboardSchedules.add({ namespace: NAMESPACE, name, organisation, createdAt: at, values: '' });
    const names = Array.from({ length: DASHBOARD_SCHEDULES_MAX + 10 }, (_, count) => `${organisation}-${count}`);
    const added = await Promise.all(names.map((name) => add(name, createdAt).catch(() => null)));
    expect(added.filter(Boolean).length).to.equal(await recordsOf(organisation));
    expect(await recordsOf(organisation)).to.be.at.most(DASHBOARD_SCHEDULES_MAX);
    // Some may have collided.
    for (const name of names) await add(name, createdAt).catch(() => null);
    expect(await recordsOf(organisation)).to.equal(DASHBOARD_SCHEDULES_MAX);
    const full = await client.submit(NEW, fields());
    expect(full.status).to.equal(409);
    expect(full.text).to.include(`has ${DASHBOARD_SCHEDULES_MAX} schedules, which is the limit`);
    // One whose creation has failed long ago.
    const [{ name }] = (await context.db.collection('dashboardSchedules').find({ organisation }).limit(1).toArray()) as unknown as [
      { name: string },
    ];
    await context.stores.dashboardSchedules.remove(organisation, { namespace: NAMESPACE, name });
    await add('long-gone', new Date(createdAt.getTime() - 3_600_000));
    expect((await client.submit(NEW, fields())).status).to.equal(303);
    expect(await recordsOf(organisation)).to.equal(DASHBOARD_SCHEDULES_MAX);
  });

  it('answer 503 while the Kubernetes API is down, with what was typed, and create one schedule afterwards', async () => {
    const person = await member();
    const form = fields();
    context.faults.set('scheduleResources.create', async (real, ...parameters) => {
      await real(...parameters);
      return down();
    });
    const lost = await person.client.submit(NEW, form);
    expect(lost.status).to.equal(503);
    expect(lost.headers.get('retry-after')).to.match(/^\d+$/);
    expect(lost.text).to.include('value="https://example.com/shop"').and.include(form.form_id);
    context.faults.clear();
    const again = await person.client.submit(NEW, form);
    expect(again.status).to.equal(303);
    expect(await recordsOf(person.organisation)).to.equal(1);

    // The list and the page show what the operator has stored.
    const path = again.headers.get('location')!.split('?')[0]!;
    const name = path.split('/').at(-1)!;
    await context.stores.schedules.put(
      scheduleRow({ organisation: person.organisation, namespace: NAMESPACE, name, source: { by: 'dashboard' } }),
      'x',
    );
    context.faults.set('scheduleResources.find', down);
    expect((await person.client.get(LIST)).text).to.include(name);
    const page = await person.client.get(path);
    expect([page.status, page.text.includes('The Kubernetes API does not answer')]).to.deep.equal([200, true]);
    const run = await person.client.submit(`${path}/run`, {}, LIST);
    expect([run.status, run.headers.get('retry-after') !== null]).to.deep.equal([503, true]);
  });

  it('that are stalled because their scans fail still show their next runs', async () => {
    const person = await member();
    const stalled = { reason: 'ScansFail', message: 'The last three scans failed.', since: new Date() };
    const put = (name: string, nextAt: Date | null) =>
      context.stores.schedules.put(scheduleRow({ organisation: person.organisation, name, stalled, nextAt }), 'x');
    await put('fails', new Date(Date.now() + 3_600_000));
    await put('held', null);
    expect((await person.client.get(`${LIST}/team/fails`)).text).to.not.include('None: it is stalled');
    expect((await person.client.get(`${LIST}/team/held`)).text).to.include('None: it is stalled');
  });

  it('have runs that people cancel here, unlike those of manifests in other namespaces', async () => {
    const { client, organisation } = await member();
    const run = async (namespace: string) => {
      const resource = { namespace, name: `shop-${randomUUID()}` };
      return (await context.scan(organisation, { origin: 'manifest', schedule: 'shop', resource })).id;
    };
    const cancel = async (id: string) => (await client.submit(`/dashboard/scans/${id}/cancel`, {}, '/dashboard/account')).status;
    const [own, other] = [await run(NAMESPACE), await run('team')];
    const page = await client.get(`/dashboard/scans/${own}`);
    expect(page.text).to.include('Cancel scan').and.include('Schedule').and.include(`${NAMESPACE}/shop`);
    expect(await cancel(own)).to.equal(303);
    expect((await client.get(`/dashboard/scans/${other}`)).text).to.include('Cancel it in the cluster');
    expect(await cancel(other)).to.equal(409);
  });
});
