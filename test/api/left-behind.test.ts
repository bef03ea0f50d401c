/** What a person leaves behind in an organisation: the page that lists it, its buttons, and who may press them. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { GROUP, SCHEDULES_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { issueKey } from '../support/issue-key.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { mailedLink, PASSWORD, signedIn, type Person } from './people.ts';
import { ageSessions } from './second-factor.ts';
import { NAMESPACE } from './stack.ts';

const MEMBERS = '/dashboard/settings/members';
const PAGE = `${MEMBERS}/left-behind`;
const NEW_SCHEDULE = '/dashboard/schedules/new';
const SCHEDULES = { group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL };
const SCHEDULE = {
  ...{ frequency: 'week', weekday: '1', time: '08:00', minute: '0', day: '1', cron: '', time_zone: 'Europe/Berlin' },
  ...{ url: 'https://example.com/shop', max_pages: '7', wcag_version: '2.2', wcag_level: 'AA', locale: 'en', consent: 'keep' },
};

describe('what a person leaves behind', () => {
  const context = useContext({ mail: true });
  const pathOf = (person: Person, done?: string) => `${PAGE}?${new URLSearchParams({ of: person.email, ...(done && { done }) })}`;
  const press = (by: Person, of: Person, name: string, id: string) => by.client.submit(pathOf(of), { do: name, id }, pathOf(of));
  const shown = async (by: Person, of: Person) => (await by.client.get(pathOf(of))).text;
  const send = async (key: string, path: string, body: object) => (await context.request('POST', path, { key, body })).body;
  const limitOf = async (key: string, id: string) =>
    (await context.request('GET', '/v1/api-keys', { key })).body.data.find((one: { id: string }) => one.id === id).limited_by;
  const actions = async (organisation: string) =>
    (await context.stores.organisations.auditPage(organisation, { limit: 30 })).map(({ action, subject }) => `${action} ${subject}`);

  /** A member with a key, and with a key, a webhook and a schedule that these have made. */
  async function leaver() {
    const { id: organisation, key: admins } = await context.organisation({ credits: 9 });
    const owner = await signedIn(context, { organisation });
    const member = await signedIn(context, { organisation, role: 'member' });
    const creator = { createdBy: member.email, rootCreator: member.email };
    const { key, secret } = await issueKey(context.stores.keys, organisation, { name: 'Pipeline', creator });
    const child = await send(secret, '/v1/api-keys', { name: 'Child' });
    const hook = { name: 'Chat', url: 'https://example.com/hook', events: ['scan.failed'] };
    const webhook = (await send(secret, '/v1/webhooks', hook)) as { id: string };
    const created = await member.client.submit(NEW_SCHEDULE, { ...SCHEDULE, form_id: randomUUID() }, NEW_SCHEDULE);
    const schedule = /schedules\/([^?]+)/.exec(created.headers.get('location')!)![1]!;
    const name = schedule.split('/')[1]!;
    await context.stores.schedules.put(scheduleRow({ organisation, namespace: NAMESPACE, name }), 'x');
    return { organisation, admins, owner, member, key, secret, child: child as { id: string; key: string }, webhook, schedule, name };
  }
  const remove = (owner: Person, { email }: Person) => owner.client.submit(`${MEMBERS}/remove`, { email }, MEMBERS);

  it('is listed after a demotion, a removal, and whenever an owner asks, with a button for each thing', async () => {
    const { owner, member, name } = await leaver();
    expect((await owner.client.get(MEMBERS)).text).to.include(`left-behind?of=${encodeURIComponent(member.email)}`);
    const demoted = await owner.client.submit(`${MEMBERS}/role`, { email: member.email, role: 'viewer' }, MEMBERS);
    expect(demoted.headers.get('location')).to.equal(pathOf(member, 'role'));
    expect((await remove(owner, member)).headers.get('location')).to.equal(pathOf(member, 'removed'));
    const page = await shown(owner, member);
    for (const text of ['Pipeline', 'Child', 'API key Pipeline', 'Chat', 'Sends to example.com', name, 'at most what a viewer may do'])
      expect(page).to.include(text);
    for (const button of ['revoke', 'adopt', 'disable', 'deleteWebhook', 'suspend', 'deleteSchedule', 'revokeAll'])
      expect(page, button).to.include(`value="${button}"`);
    const [mail] = await context.db.collection('outbox').find({ to: owner.email, 'data.event': 'left_behind' }).toArray();
    expect(mail!.data).to.include({ person: member.email, subject: '2, 1, 1', path: pathOf(member) });
  });

  it('ends, or is paused, by the button of each thing', async () => {
    const { organisation, owner, member, key, child, webhook, schedule, name } = await leaver();
    await remove(owner, member);
    const resource = () => context.kubernetes.request<ScanSchedule>('GET', context.kubernetes.path(SCHEDULES, NAMESPACE, name));
    expect((await press(owner, member, 'revoke', child.id)).headers.get('location')).to.equal(pathOf(member, 'revoke'));
    expect((await context.stores.keys.recognise(child.key))?.key).to.equal(undefined);
    await press(owner, member, 'disable', webhook.id);
    expect((await context.stores.webhooks.find(organisation, webhook.id))!.disabled).to.include({ reason: 'requested' });
    await press(owner, member, 'suspend', schedule);
    expect((await resource()).spec.suspend).to.equal(true);
    for (const [one, id] of [['deleteWebhook', webhook.id], ['deleteSchedule', schedule]] as const) await press(owner, member, one, id); // prettier-ignore
    expect(await context.stores.dashboardSchedules.list(organisation)).to.deep.equal([]);
    const last = await press(owner, member, 'revokeAll', '');
    expect((await owner.client.get(last.headers.get('location')!)).text)
      .to.include('The keys are revoked.')
      .and.to.include('There is nothing');
    expect((await owner.client.get(pathOf(member))).status, 'someone who is not known').to.equal(404);
    expect(await actions(organisation)).to.include.members([
      ...[`key.revoke ${key.id}`, `key.revoke ${child.id}`, `webhook.disable Chat (${webhook.id})`, `webhook.delete Chat (${webhook.id})`],
      ...['schedule.suspend', 'schedule.delete'].map((action) => `${action} example.com ${schedule}`),
    ]);
  });

  it('says that something changed meanwhile, and does nothing', async () => {
    const { owner, member, key, webhook, schedule } = await leaver();
    await remove(owner, member);
    const other = await signedIn(context, { organisation: owner.organisation });
    await press(other, member, 'adopt', key.id);
    await press(other, member, 'deleteWebhook', webhook.id);
    await press(other, member, 'deleteSchedule', schedule);
    for (const [name, id] of [['adopt', key.id], ['adopt', 'no-id'], ['disable', webhook.id], ['suspend', schedule], ['deleteSchedule', 'x']] as const) {
      const { status, text } = await press(owner, member, name, id);
      expect([status, text.includes('Nothing was done.')], `${name} ${id}`).to.deep.equal([409, true]);
    } // prettier-ignore
    expect((await context.stores.keys.find(owner.organisation, key.id))!.rootCreator).to.equal(other.email);
    expect((await press(owner, member, 'constructor', key.id)).status).to.equal(404);
  });

  it('gives an adopted key the role of the owner, after a fresh proof, which the audit log and a mail say', async () => {
    const { organisation, admins, owner, member, key, secret, child } = await leaver();
    await remove(owner, member);
    const grandchild = await send(secret, '/v1/api-keys', { name: 'Late' });
    for (const id of [key.id, child.id, grandchild.id])
      expect(await limitOf(admins, id as string)).to.deep.equal({ email: member.email, role: 'member', left: true });
    await ageSessions(context, owner.email);
    const asked = await press(owner, member, 'adopt', key.id);
    expect(asked.headers.get('location')).to.equal(`/dashboard/account/confirm?next=${encodeURIComponent(pathOf(member))}`);
    expect(await limitOf(admins, key.id)).to.include({ left: true });
    await ageSessions(context, owner.email, 0);
    expect((await press(owner, member, 'adopt', key.id)).headers.get('location')).to.equal(pathOf(member, 'adopt'));
    expect(await limitOf(admins, key.id)).to.deep.equal({ email: owner.email, role: 'owner', left: false });
    expect(await limitOf(admins, child.id), 'a child has a button of its own').to.include({ email: member.email });
    expect((await context.request('GET', '/v1/known-issues', { key: secret })).status, 'what only owners may do').to.equal(200);
    expect(await shown(owner, member))
      .to.include('Adopt Child')
      .and.not.include('Adopt Pipeline');
    expect((await owner.client.get('/dashboard/settings/api-keys')).text).to.include(`(adopted by ${owner.email})`);
    expect(await actions(organisation)).to.include(`key.adopt ${key.id} of ${member.email}`);
    const mails = await context.db.collection('outbox').find({ 'data.event': 'key_adopted', to: owner.email }).toArray();
    expect(mails.map(({ data }) => `${data.person} ${data.subject}`)).to.deep.equal([`${owner.email} Pipeline`]);
  });

  it('is for owners, and for the person, with the buttons that the role permits', async () => {
    const { owner, member, key, secret } = await leaver();
    const other = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    const outside = await signedIn(context);
    expect((await other.client.get(pathOf(member))).status).to.equal(403);
    expect((await outside.client.get(pathOf(member))).status).to.equal(404);
    const csrf = tokenIn((await outside.client.get(PAGE)).text);
    const sent = await outside.client.post(pathOf(member), { _csrf: csrf, do: 'revoke', id: key.id });
    expect(sent.status, 'a key of another organisation').to.equal(404);
    expect((await owner.client.post(pathOf(member), { do: 'revoke', id: key.id })).status, 'without a token').to.equal(403);
    expect((await context.stores.keys.recognise(secret))!.key.id).to.equal(key.id);
    for (const nobody of ['curbcut-admin', 'manifest', 'nobody@people.example'])
      expect((await owner.client.get(`${PAGE}?of=${nobody}`)).status, nobody).to.equal(404);
    const mine = { createdBy: owner.email, rootCreator: owner.email };
    const { key: owners } = await issueKey(context.stores.keys, owner.organisation, { creator: mine });
    expect((await press(owner, owner, 'adopt', owners.id)).status, 'a key of oneself').to.equal(409);
    const own = (await member.client.get(PAGE)).text;
    expect(own).to.include('Your keys, webhooks and schedules').and.to.include('Revoke Pipeline').and.not.include('Adopt');
    expect((await press(member, member, 'adopt', key.id)).status).to.equal(403);
    await owner.client.submit(`${MEMBERS}/role`, { email: member.email, role: 'viewer' }, MEMBERS);
    const asViewer = (await member.client.get(PAGE)).text;
    expect(asViewer).to.include('Pipeline').and.not.include('value="revoke"');
    const page = '/dashboard/account';
    const token = tokenIn((await member.client.get(page)).text);
    expect((await member.client.post(PAGE, { _csrf: token, do: 'revoke', id: key.id })).status).to.equal(403);
  });

  it('is shown to a person after a new password, a reset, and after signing out everywhere', async () => {
    const { member } = await leaver();
    const account = '/dashboard/account';
    const renewed = { password: PASSWORD, 'new-password': 'nine tin kettles hum' };
    const changed = await member.client.submit(`${account}/password`, renewed, account);
    expect(changed.headers.get('location')).to.equal(`${PAGE}?done=password`);
    expect((await member.client.get(`${PAGE}?done=password`)).text)
      .to.include('Your password is changed.')
      .and.to.include('Pipeline');
    const out = await member.client.submit(`${account}/sign-out-everywhere`, {}, account);
    expect(out.headers.get('location')).to.equal(`/dashboard/sign-in?signedOut&next=${encodeURIComponent(PAGE)}`);
    await member.client.submit('/dashboard/reset-password', { email: member.email });
    const link = await mailedLink(context, member.email);
    expect((await member.client.submit(link, { 'new-password': 'ten tin kettles hum' })).headers.get('location')).to.equal(PAGE);
    const nothing = await signedIn(context);
    const again = await nothing.client.submit(`${account}/sign-out-everywhere`, {}, account);
    expect(again.headers.get('location')).to.equal('/dashboard/sign-in?signedOut');
  });
});
