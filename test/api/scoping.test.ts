/**
 * Tries every route of a caller with the ids of another organisation. The cases come from the route table: a route with an
 * unknown parameter, or a new form, fails here until it has a case.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KNOWN_ISSUES_PATH, SCHEDULES_PATH, WEBHOOKS_PATH } from '../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../stores/schedules/dashboard-schedules.ts';
import { issueKey } from '../support/issue-key.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { accountOf } from '../support/account-of.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { PASSWORD, signedIn } from './people.ts';
import { FACTORS } from './second-factor.ts';
import { NAMESPACE } from './stack.ts';

/** What the other organisation has. */
interface Theirs {
  organisation: string;
  scan: string;
  site: string;
  optionsKey: string;
  key: string;
  email: string;
  invitation: string;
  passkey: string;
  webhook: string;
  delivery: string;
  knownIssue: string;
  schedule: DashboardScheduleRef;
}

/** The value of each parameter in a path. */
const PARAMETERS: Readonly<Record<string, (theirs: Theirs) => string>> = {
  scan_id: ({ scan }) => scan,
  id: ({ scan }) => scan,
  key_id: ({ key }) => key,
  name: () => '0123456789abcdef.jpg',
  site: ({ site }) => site,
  optionsKey: ({ optionsKey }) => optionsKey,
  page: () => '1',
  webhook_id: ({ webhook }) => webhook,
  delivery_id: ({ delivery }) => delivery,
  known_issue_id: ({ knownIssue }) => knownIssue,
  namespace: ({ schedule }) => schedule.namespace,
};

/** The ids in the forms of the dashboard. Empty: the form has none, so it can change only what belongs to the sender. */
const MEMBERS = '/dashboard/settings/members';
const FORMS: Readonly<Record<string, (theirs: Theirs) => Record<string, string>>> = {
  'POST /dashboard/account/name': () => ({}),
  'POST /dashboard/account/delete': () => ({}),
  'POST /dashboard/organisations/switch': ({ organisation }) => ({ organisation: organisation }),
  'POST /dashboard/organisations/join': ({ invitation }) => ({ id: invitation }),
  'POST /dashboard/organisations/decline': ({ invitation }) => ({ id: invitation }),
  'POST /dashboard/organisations/confirm': ({ organisation }) => ({ organisation: organisation }),
  'POST /dashboard/organisations/leave': ({ organisation }) => ({ organisation: organisation }),
  'POST /dashboard/account/password': () => ({}),
  'POST /dashboard/account/sign-out-everywhere': () => ({}),
  'POST /dashboard/account/confirm': () => ({}),
  [`POST ${FACTORS}/passkeys/new`]: () => ({}),
  [`POST ${FACTORS}/passkeys/:id`]: () => ({ name: 'Mine' }),
  [`POST ${FACTORS}/passkeys/:id/remove`]: () => ({}),
  [`POST ${FACTORS}/app`]: () => ({}),
  [`POST ${FACTORS}/app/begin`]: () => ({}),
  [`POST ${FACTORS}/app/removal`]: () => ({}),
  [`POST ${FACTORS}/recovery-codes`]: () => ({}),
  'POST /dashboard/settings/security/second-factor': () => ({}),
  'POST /dashboard/settings/api-keys/new': () => ({}),
  'POST /dashboard/settings/api-keys/:key_id/revoke': () => ({}),
  [`POST ${MEMBERS}/invitations`]: () => ({}),
  [`POST ${MEMBERS}/invitations/cancel`]: ({ invitation }) => ({ id: invitation }),
  [`POST ${MEMBERS}/role`]: ({ email }) => ({ email, role: 'viewer' }),
  [`POST ${MEMBERS}/remove`]: ({ email }) => ({ email }),
  [`POST ${MEMBERS}/keys`]: ({ email }) => ({ email }),
  [`POST ${WEBHOOKS_PATH}/new`]: () => ({}),
  ...Object.fromEntries(
    ['rotate', 'delete', 'enable', 'disable', 'test', 'deliveries/:delivery_id/replay'].map((action) => [
      `POST ${WEBHOOKS_PATH}/:webhook_id/${action}`,
      () => ({}),
    ]),
  ),
  [`POST ${KNOWN_ISSUES_PATH}/new`]: ({ scan }) => ({ scan, cause: '0123456789abcdef' }),
  [`POST ${KNOWN_ISSUES_PATH}/:known_issue_id`]: () => ({ reason: 'Mine.', owner: 'Mine', expires_at: '' }),
  [`POST ${KNOWN_ISSUES_PATH}/:known_issue_id/remove`]: () => ({}),
  [`POST ${SCHEDULES_PATH}/new`]: () => ({}),
  ...Object.fromEntries(
    ['run', 'suspend', 'resume', 'change', 'delete'].map((action) => [`POST ${SCHEDULES_PATH}/:namespace/:name/${action}`, () => ({})]),
  ),
  'POST /dashboard/scans/new': () => ({}),
  'POST /dashboard/scans/:id/cancel': () => ({}),
  'POST /dashboard/scans/:id/again': () => ({}),
};
/** Of REST routes that require one. */
const BODIES: Readonly<Record<string, string>> = {
  'PATCH /v1/webhooks/:webhook_id': '{"name":"Mine"}',
  'PATCH /v1/known-issues/:known_issue_id': '{"reason":"Mine."}',
};
/** Routes that stop the session of the test. */
const ENDS_SESSION = 'POST /dashboard/account/sign-out-everywhere';

describe('the scope of every route', () => {
  const context = useContext();
  let theirs: Theirs;
  before(async () => {
    const { id: organisation, keyId: key } = await context.organisation({ credits: 77 });
    const email = `theirs-${randomUUID().slice(0, 8)}@people.example`;
    await context.stores.users.add({ email, organisation, password: PASSWORD });
    await context.stores.users.add({ email: `second-${email}`, organisation, password: PASSWORD });
    const created = await context.stores.invitations.create({
      organisation,
      email: `i-${email}`,
      role: 'member',
      createdBy: email,
      mailed: true,
    });
    if (!created.ok) throw new Error(created.reason);
    const reports = await context.storeReports(randomUUID());
    const { id: scan, site, optionsKey } = await context.scan(organisation, { phase: 'done', reports });
    const passkey = randomUUID();
    await context.stores.secondFactors.addPasskey(await accountOf(context.db, email), {
      id: passkey,
      name: 'Theirs',
      rpId: 'curbcut.example',
      publicKey: '',
      counter: 0,
      transports: [],
    });
    const known = await context.stores.knownIssues.add({
      organisation,
      site: 'www.example.com',
      fingerprint: '0123456789abcdef',
      reason: 'Theirs.',
      owner: email,
      expiresAt: new Date(Date.now() + 86_400_000),
      createdBy: email,
      createdAt: new Date(),
    });
    if (!known.ok) throw new Error(known.reason);
    const schedule = { namespace: NAMESPACE, name: `theirs-${randomUUID().slice(0, 8)}` };
    expect(await context.stores.dashboardSchedules.add({ ...schedule, organisation, createdAt: new Date() })).to.not.equal(null);
    await context.stores.schedules.put(scheduleRow({ ...schedule, organisation }), 'x');
    const { webhook, delivery } = await addWebhook(context.stores, { organisation });
    theirs = {
      organisation,
      scan,
      site,
      optionsKey,
      key,
      email,
      invitation: created.invitation.id,
      passkey,
      webhook: webhook.id,
      delivery,
      knownIssue: known.issue.id,
      schedule,
    };
  });

  const fill = (url: string): string =>
    url.replace(/:(\w+)/g, (_, name: string) => {
      if (url.startsWith(FACTORS)) return theirs.passkey;
      if (url.startsWith(SCHEDULES_PATH) && name === 'name') return theirs.schedule.name;
      const value = PARAMETERS[name];
      if (value === undefined) throw new Error(`the parameter ${name} of ${url} has no value in this test`);
      return value(theirs);
    });

  it('shows and changes nothing of another organisation', async () => {
    const { client, organisation } = await signedIn(context);
    const { secret } = await issueKey(context.stores.keys, organisation);
    const token = tokenIn((await client.get('/dashboard/account')).text);
    const routes = [...new Set(context.app.protectedRoutes)].filter((route) => route !== ENDS_SESSION);
    expect(routes).to.include.members(['GET /v1/ci/scans/:scan_id', `POST ${MEMBERS}/remove`]);
    for (const route of routes) {
      const [method = '', url = ''] = route.split(' ');
      const page = url.startsWith('/dashboard');
      const form = FORMS[route];
      if (page && method !== 'GET') expect(form, `${route} has no case in this test`).to.be.a('function');
      const fields = form?.(theirs) ?? {};
      const answer = page
        ? method === 'GET'
          ? await client.get(fill(url))
          : await client.post(fill(url), { _csrf: token, ...fields })
        : await client.request(method, fill(url), {
            headers: { 'X-API-Key': secret, Accept: 'application/json', ...(BODIES[route] && { 'Content-Type': 'application/json' }) },
            body: BODIES[route],
          });
      const asks = url.includes(':') || Object.keys(fields).length > 0;
      if (asks) expect(answer.status, route).to.equal(404);
      expect(answer.status, route).to.be.below(500);
      for (const marker of [theirs.organisation, theirs.email, theirs.invitation]) expect(answer.text, route).to.not.include(marker);
    }
  });

  it('left what belongs to the other organisation as it was', async () => {
    const { dashboardSchedules, members, keys, invitations, scans, credits, secondFactors, webhooks, deliveries, knownIssues } =
      context.stores;
    expect(await knownIssues.find(theirs.organisation, theirs.knownIssue)).to.include({ reason: 'Theirs.' });
    expect((await webhooks.list(theirs.organisation)).map(({ name, disabled }) => [name, disabled])).to.deep.equal([['Chat', null]]);
    const sent = await deliveries.list(theirs.organisation, theirs.webhook, { limit: 5 });
    expect(sent.map(({ state }) => state)).to.deep.equal(['waiting']);
    expect(await dashboardSchedules.list(theirs.organisation)).to.have.lengthOf(1);
    expect((await members.find(theirs.organisation, theirs.email))?.role).to.equal('owner');
    expect([...(await keys.usable([theirs.key]))]).to.deep.equal([theirs.key]);
    expect((await invitations.list(theirs.organisation)).map(({ id }) => id)).to.deep.equal([theirs.invitation]);
    expect((await scans.find(theirs.scan, theirs.organisation))?.phase).to.equal('done');
    expect((await credits.balance(theirs.organisation)).balance).to.equal(77);
    expect((await secondFactors.find(theirs.email)).passkeys.map(({ id, name }) => [id, name])).to.deep.equal([[theirs.passkey, 'Theirs']]);
  });
});
