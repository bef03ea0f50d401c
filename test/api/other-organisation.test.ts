/**
 * Each page and REST route with what belongs to another organisation. The cases are held against the app's own list of routes,
 * so a new route needs a case here.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KNOWN_ISSUES_PATH, WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { PICTURES_TYPE } from '../../core/protocol/pod-messages.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { optionsKeyOf } from '../../stores/scans/scan-row.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { accountOf } from '../support/account-of.ts';
import { issueKey } from '../support/issue-key.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { createScheduleResources } from '../../stores/schedules/schedule-resources.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { storeView } from '../web/scan-views.ts';
import { tokenIn } from './client.ts';
import { useContext, SUBMISSION, type ApiContext } from './context.ts';
import { addPerson, PASSWORD, signedIn, type Person } from './people.ts';
import { FACTORS } from './second-factor.ts';
import { NAMESPACE } from './stack.ts';

/** The root cause of a scan that has a picture. */
const FINGERPRINT = '0123456789abcdef';
/** Of the scans of this test. */
const DEFAULT_OPTIONS_KEY = optionsKeyOf({ options: withDefaults({ url: 'https://example.com/' }) });

/** Stores one picture of a scan, and the view that has its place. */
async function storePictures(context: ApiContext, scanId: string): Promise<void> {
  await storeView(context, scanId, {}, ({ pictures }) =>
    pictures.push({ fingerprint: FINGERPRINT, offset: 0, bytes: 5, width: 1, height: 1, page_url: 'https://example.com/' }),
  );
  const link = await context.stores.reports.uploadLink(reportKeys(scanId).pictures, PICTURES_TYPE, 60);
  await fetch(link, { method: 'PUT', body: 'bytes', headers: { 'content-type': PICTURES_TYPE } });
}

/** What an organisation has. */
interface Belongings {
  organisation: string;
  scan: string;
  site: string;
  liveScan: string;
  key: string;
  knownIssue: string;
  email: string;
  invitation: string;
  passkey: string;
  webhook: string;
  delivery: string;
  /** The name of a schedule of the dashboard. */
  schedule: string;
}

/**
 * `missing`: the response is the one for something that does not exist, and nothing changes. `own`: the route takes no ID, and
 * its response has nothing of another organisation. `open`: the route has no caller; the token in its address is the permission.
 */
type Case =
  | { expect: 'missing'; ids: (of: Belongings) => { path: string; form?: Record<string, string> } }
  | { expect: 'own'; status: number }
  | 'open';

const OWN: Case = { expect: 'own', status: 200 };
const on = (path: (of: Belongings) => string): Case => ({ expect: 'missing', ids: (of) => ({ path: path(of) }) });
const withForm = (path: string, form: (of: Belongings) => Record<string, string>): Case => ({
  expect: 'missing',
  ids: (of) => ({ path, form: form(of) }),
});

const CASES: Readonly<Record<string, Case>> = {
  'GET /dashboard': OWN,
  'GET /dashboard/site-rows': OWN,
  'GET /dashboard/sites/:site': on(({ site }) => `/dashboard/sites/${site}`),
  'GET /dashboard/sites/:site/:optionsKey': on(({ site }) => `/dashboard/sites/${site}/${DEFAULT_OPTIONS_KEY}`),
  'GET /dashboard/scans': OWN,
  'GET /dashboard/scans/rows': OWN,
  'GET /dashboard/scans/new': OWN,
  'POST /dashboard/scans/new': { expect: 'own', status: 422 },
  'GET /dashboard/scans/:id': on(({ scan }) => `/dashboard/scans/${scan}`),
  'GET /dashboard/scans/:id/progress': on(({ liveScan }) => `/dashboard/scans/${liveScan}/progress`),
  'GET /dashboard/scans/:id/events': on(({ liveScan }) => `/dashboard/scans/${liveScan}/events`),
  'GET /dashboard/scans/:id/difference': on(({ scan }) => `/dashboard/scans/${scan}/difference`),
  'GET /dashboard/scans/:id/pages': on(({ scan }) => `/dashboard/scans/${scan}/pages`),
  'GET /dashboard/scans/:id/pages/:page': on(({ scan }) => `/dashboard/scans/${scan}/pages/1`),
  'GET /dashboard/scans/:id/pictures/:name': on(({ scan }) => `/dashboard/scans/${scan}/pictures/${FINGERPRINT}.jpg`),
  'GET /dashboard/scans/:id/report': on(({ scan }) => `/dashboard/scans/${scan}/report`),
  'GET /dashboard/scans/:id/report/json': on(({ scan }) => `/dashboard/scans/${scan}/report/json`),
  'POST /dashboard/scans/:id/again': on(({ scan }) => `/dashboard/scans/${scan}/again`),
  'POST /dashboard/scans/:id/cancel': on(({ liveScan }) => `/dashboard/scans/${liveScan}/cancel`),
  'GET /dashboard/schedules': OWN,
  'GET /dashboard/schedules/new': OWN,
  'POST /dashboard/schedules/new': { expect: 'own', status: 422 },
  'GET /dashboard/schedules/:namespace/:name': on(({ schedule }) => `/dashboard/schedules/${NAMESPACE}/${schedule}`),
  ...Object.fromEntries(
    ['GET change', 'POST change', 'GET delete', 'POST delete', 'POST run', 'POST suspend', 'POST resume'].map((route) => {
      const [method, action] = route.split(' ');
      const path = `/dashboard/schedules/:namespace/:name/${action}`;
      return [`${method} ${path}`, on(({ schedule }) => `/dashboard/schedules/${NAMESPACE}/${schedule}/${action}`)];
    }),
  ),
  [`GET ${KNOWN_ISSUES_PATH}`]: OWN,
  [`GET ${KNOWN_ISSUES_PATH}/new`]: on(({ scan }) => `${KNOWN_ISSUES_PATH}/new?scan=${scan}&cause=${FINGERPRINT}`),
  [`POST ${KNOWN_ISSUES_PATH}/new`]: withForm(`${KNOWN_ISSUES_PATH}/new`, ({ scan }) => ({ scan, cause: FINGERPRINT })),
  [`GET ${KNOWN_ISSUES_PATH}/:known_issue_id`]: on(({ knownIssue }) => `${KNOWN_ISSUES_PATH}/${knownIssue}`),
  [`POST ${KNOWN_ISSUES_PATH}/:known_issue_id`]: on(({ knownIssue }) => `${KNOWN_ISSUES_PATH}/${knownIssue}`),
  [`GET ${KNOWN_ISSUES_PATH}/:known_issue_id/remove`]: on(({ knownIssue }) => `${KNOWN_ISSUES_PATH}/${knownIssue}/remove`),
  [`POST ${KNOWN_ISSUES_PATH}/:known_issue_id/remove`]: on(({ knownIssue }) => `${KNOWN_ISSUES_PATH}/${knownIssue}/remove`),
  'GET /dashboard/credits': OWN,
  'GET /dashboard/credits/ledger.csv': OWN,
  'GET /dashboard/settings/api-keys': OWN,
  'GET /dashboard/settings/api-keys/new': OWN,
  'POST /dashboard/settings/api-keys/new': { expect: 'own', status: 422 },
  'GET /dashboard/settings/api-keys/:key_id/revoke': on(({ key }) => `/dashboard/settings/api-keys/${key}/revoke`),
  'POST /dashboard/settings/api-keys/:key_id/revoke': on(({ key }) => `/dashboard/settings/api-keys/${key}/revoke`),
  [`GET ${WEBHOOKS_PATH}`]: OWN,
  [`GET ${WEBHOOKS_PATH}/new`]: OWN,
  [`POST ${WEBHOOKS_PATH}/new`]: { expect: 'own', status: 422 },
  [`GET ${WEBHOOKS_PATH}/:webhook_id`]: on(({ webhook }) => `${WEBHOOKS_PATH}/${webhook}`),
  ...Object.fromEntries(
    ['rotate', 'delete', 'enable', 'disable', 'test'].map((action) => [
      `POST ${WEBHOOKS_PATH}/:webhook_id/${action}`,
      on(({ webhook }) => `${WEBHOOKS_PATH}/${webhook}/${action}`),
    ]),
  ),
  [`POST ${WEBHOOKS_PATH}/:webhook_id/deliveries/:delivery_id/replay`]: on(
    ({ webhook, delivery }) => `${WEBHOOKS_PATH}/${webhook}/deliveries/${delivery}/replay`,
  ),
  'GET /dashboard/settings/members': OWN,
  'POST /dashboard/settings/members/invitations': { expect: 'own', status: 422 },
  'POST /dashboard/settings/members/invitations/cancel': withForm('/dashboard/settings/members/invitations/cancel', ({ invitation }) => ({
    id: invitation,
  })),
  'POST /dashboard/settings/members/role': withForm('/dashboard/settings/members/role', ({ email }) => ({ email, role: 'viewer' })),
  'POST /dashboard/settings/members/remove': withForm('/dashboard/settings/members/remove', ({ email }) => ({ email })),
  'GET /dashboard/settings/members/keys': on(({ email }) => `/dashboard/settings/members/keys?of=${email}`),
  'POST /dashboard/settings/members/keys': withForm('/dashboard/settings/members/keys', ({ email }) => ({ email })),
  'GET /dashboard/settings/audit-log': OWN,
  'GET /dashboard/account': OWN,
  'GET /dashboard/account/delete': OWN,
  'POST /dashboard/account/delete': { expect: 'own', status: 422 },
  'GET /dashboard/organisations': OWN,
  'POST /dashboard/organisations/switch': withForm('/dashboard/organisations/switch', ({ organisation }) => ({
    organisation: organisation,
  })),
  'POST /dashboard/organisations/join': withForm('/dashboard/organisations/join', ({ invitation }) => ({ id: invitation })),
  'POST /dashboard/organisations/decline': withForm('/dashboard/organisations/decline', ({ invitation }) => ({ id: invitation })),
  'POST /dashboard/organisations/confirm': withForm('/dashboard/organisations/confirm', ({ organisation }) => ({
    organisation: organisation,
  })),
  'POST /dashboard/organisations/leave': withForm('/dashboard/organisations/leave', ({ organisation }) => ({ organisation: organisation })),
  'POST /dashboard/account/name': { expect: 'own', status: 303 },
  'POST /dashboard/account/password': { expect: 'own', status: 422 },
  'GET /dashboard/account/confirm': OWN,
  'POST /dashboard/account/confirm': { expect: 'own', status: 422 },
  [`GET ${FACTORS}`]: OWN,
  [`GET ${FACTORS}/passkeys/new`]: OWN,
  [`POST ${FACTORS}/passkeys/new`]: { expect: 'own', status: 422 },
  [`GET ${FACTORS}/passkeys/:id`]: on(({ passkey }) => `${FACTORS}/passkeys/${passkey}`),
  [`POST ${FACTORS}/passkeys/:id`]: {
    expect: 'missing',
    ids: ({ passkey }) => ({ path: `${FACTORS}/passkeys/${passkey}`, form: { name: 'x' } }),
  },
  [`POST ${FACTORS}/passkeys/:id/remove`]: on(({ passkey }) => `${FACTORS}/passkeys/${passkey}/remove`),
  [`GET ${FACTORS}/app`]: { expect: 'own', status: 303 },
  [`POST ${FACTORS}/app`]: { expect: 'own', status: 303 },
  [`POST ${FACTORS}/app/begin`]: { expect: 'own', status: 303 },
  [`GET ${FACTORS}/app/removal`]: { expect: 'own', status: 303 },
  [`POST ${FACTORS}/app/removal`]: { expect: 'own', status: 303 },
  [`POST ${FACTORS}/recovery-codes`]: { expect: 'own', status: 303 },
  'GET /dashboard/settings/security': OWN,
  'POST /dashboard/settings/security/second-factor': { expect: 'own', status: 303 },
  'GET /dashboard/sign-in/second-factor': 'open',
  'POST /dashboard/sign-in/second-factor': 'open',
  'GET /dashboard/sign-in/passkey': 'open',
  'POST /dashboard/sign-in/passkey': 'open',
  'POST /dashboard/account/sign-out-everywhere': { expect: 'own', status: 303 },
  'GET /dashboard/sign-in': 'open',
  'POST /dashboard/sign-in': 'open',
  'POST /dashboard/sign-out': 'open',
  'GET /dashboard/invitation/:token': 'open',
  'POST /dashboard/invitation/:token': 'open',
  'GET /dashboard/reset-password': 'open',
  'POST /dashboard/reset-password': 'open',
  'GET /dashboard/reset-password/:token': 'open',
  'POST /dashboard/reset-password/:token': 'open',
  'GET /v1/ci/scans': OWN,
  'POST /v1/ci/scans': { expect: 'own', status: 422 },
  'GET /v1/ci/scans/:scan_id': on(({ scan }) => `/v1/ci/scans/${scan}`),
  'GET /v1/ci/scans/:scan_id/events': on(({ liveScan }) => `/v1/ci/scans/${liveScan}/events`),
  'POST /v1/ci/scans/:scan_id/cancel': on(({ liveScan }) => `/v1/ci/scans/${liveScan}/cancel`),
  'GET /v1/scans/:scan_id/report': on(({ scan }) => `/v1/scans/${scan}/report`),
  'GET /v1/scans/:scan_id/report/json': on(({ scan }) => `/v1/scans/${scan}/report/json`),
  'GET /v1/scans/:scan_id/report/pictures': on(({ scan }) => `/v1/scans/${scan}/report/pictures`),
  'GET /v1/billing/credits': OWN,
  'GET /v1/billing/ledger': OWN,
  'GET /v1/api-keys': OWN,
  'GET /v1/me': OWN,
  'POST /v1/api-keys': { expect: 'own', status: 422 },
  'GET /v1/known-issues': OWN,
  'POST /v1/known-issues': { expect: 'own', status: 422 },
  'GET /v1/known-issues/:known_issue_id': on(({ knownIssue }) => `/v1/known-issues/${knownIssue}`),
  'PATCH /v1/known-issues/:known_issue_id': on(({ knownIssue }) => `/v1/known-issues/${knownIssue}`),
  'DELETE /v1/known-issues/:known_issue_id': on(({ knownIssue }) => `/v1/known-issues/${knownIssue}`),
  'DELETE /v1/api-keys/:key_id': on(({ key }) => `/v1/api-keys/${key}`),
  'GET /v1/webhooks': OWN,
  'POST /v1/webhooks': { expect: 'own', status: 422 },
  'GET /v1/webhooks/:webhook_id': on(({ webhook }) => `/v1/webhooks/${webhook}`),
  'PATCH /v1/webhooks/:webhook_id': on(({ webhook }) => `/v1/webhooks/${webhook}`),
  'DELETE /v1/webhooks/:webhook_id': on(({ webhook }) => `/v1/webhooks/${webhook}`),
  'POST /v1/webhooks/:webhook_id/rotate-secret': on(({ webhook }) => `/v1/webhooks/${webhook}/rotate-secret`),
  'POST /v1/webhooks/:webhook_id/test': on(({ webhook }) => `/v1/webhooks/${webhook}/test`),
  'GET /v1/webhooks/:webhook_id/deliveries': on(({ webhook }) => `/v1/webhooks/${webhook}/deliveries`),
  'POST /v1/webhooks/:webhook_id/deliveries/:delivery_id/replay': on(
    ({ webhook, delivery }) => `/v1/webhooks/${webhook}/deliveries/${delivery}/replay`,
  ),
  'POST /v1/public/scan-request': 'open',
  'GET /v1/public/scan-status/:token': 'open',
};

/** A name that only the other organisation uses. */
const SECRET = 'not-for-others';
const SITE = `site.${SECRET}.example`;

describe("another organisation's things", () => {
  const context = useContext();
  let theirs: Belongings;
  /** Texts by which a response would reveal something of the other organisation. */
  let marks: string[];
  let me: Person;
  let their: Person;
  let myKey: string;

  before(async () => {
    const other = await context.organisation({ credits: 50 });
    const { stores } = context;
    their = await addPerson(context, other.id, 'owner');
    // A second owner, so that removing one or changing a role would be possible.
    await addPerson(context, other.id, 'owner');
    const { options } = await context.scan(other.id);
    const done: Partial<ScanRow> = {
      phase: 'done',
      reports: await context.storeReports(randomUUID()),
      outcome: {
        score: 71,
        violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 },
        pages: { scanned: 1, failed: 0, total: 1 },
      },
    };
    const scan = await context.scan(other.id, done);
    await storePictures(context, scan.id);
    await context.scan(other.id, { ...done, options: { ...options, url: `https://${SITE}/` } });
    const liveScan = await context.scan(other.id, { options: { ...options, url: `https://${SECRET}.example/` } });
    const invited = await stores.invitations.create({
      organisation: other.id,
      email: `${SECRET}@people.example`,
      role: 'owner',
      createdBy: their.email,
      mailed: true,
    });
    if (!invited.ok) throw new Error(invited.reason);
    const { id: invitation } = invited.invitation;
    await issueKey(stores.keys, other.id, { creator: { createdBy: their.email, rootCreator: their.email } });
    await stores.credits.grant(other.id, SECRET, 7);
    // Into the ledger: otherwise the replica does it at some time during the tests, which changes what is stored.
    await stores.credits.relay();
    await stores.organisations.record({ organisation: other.id, actor: their.email, action: 'user.invite', subject: SECRET });
    await stores.schedules.put(scheduleRow({ organisation: other.id, name: SECRET }), 'digest');
    const schedule = `shop-${SECRET}`;
    await stores.dashboardSchedules.add({
      namespace: NAMESPACE,
      name: schedule,
      organisation: other.id,
      createdAt: new Date(),
      values: '',
    });
    const wanted = { schedule: '0 0 29 2 *', timeZone: 'UTC', suspend: false, options: withDefaults({ url: `https://${SITE}/` }) };
    const written = await createScheduleResources(context.kubernetes, { namespace: NAMESPACE }).create(schedule, wanted);
    if (!written.ok) throw new Error(written.message);
    const passkey = randomUUID();
    await stores.secondFactors.addPasskey(await accountOf(context.db, their.email), {
      id: passkey,
      name: SECRET,
      rpId: SECRET,
      publicKey: '',
      counter: 0,
      transports: [],
    });
    const known = await stores.knownIssues.add({
      organisation: other.id,
      site: 'www.example.com',
      fingerprint: FINGERPRINT,
      reason: SECRET,
      owner: SECRET,
      expiresAt: new Date(Date.now() + 86_400_000),
      createdBy: their.email,
      createdAt: new Date(),
    });
    if (!known.ok) throw new Error(known.reason);
    const { webhook, delivery } = await addWebhook(stores, { organisation: other.id, name: SECRET, createdBy: their.email });
    const ids = {
      scan: scan.id,
      site: SITE,
      liveScan: liveScan.id,
      key: other.keyId,
      invitation,
      passkey,
      webhook: webhook.id,
      delivery,
      schedule,
      knownIssue: known.issue.id,
    };
    theirs = { organisation: other.id, email: their.email, ...ids };
    marks = [SECRET, other.id, ...Object.values(theirs)];
    const mine = await context.organisation({ credits: 50 });
    myKey = mine.key;
    me = await signedIn(context, { organisation: mine.id });
    await addPerson(context, mine.id, 'owner');
    // The same site, so that trends and comparisons have a reason to look further.
    await context.scan(mine.id, done);
  });

  /** Every stored document that names the other organisation or something of it. */
  async function stored(): Promise<string[]> {
    const collections = await context.db.listCollections().toArray();
    const all = await Promise.all(collections.map(({ name }) => context.db.collection(name).find().toArray()));
    return all
      .flat()
      .map((document) => JSON.stringify(document))
      .filter((text) => marks.some((mark) => text.includes(mark)))
      .sort();
  }

  /** Sends a request as the user if it is of a page, else with the key. Forms have a valid token. */
  async function send(method: string, path: string, form: Record<string, string> = {}) {
    if (path.startsWith('/v1')) {
      const refused = method === 'POST' && !path.endsWith('/cancel') ? { ...SUBMISSION, unknown: true } : undefined;
      const body = method === 'PATCH' ? (path.includes('known-issues') ? { reason: 'Mine' } : { name: 'Mine' }) : refused;
      return context.request(method, path, { key: myKey, body });
    }
    if (method === 'GET') return me.client.get(path);
    const token = tokenIn((await me.client.get('/dashboard/account')).text);
    return me.client.post(path, { _csrf: token, ...form });
  }

  const nobodys = (): Belongings => ({
    organisation: `org-${randomUUID()}`,
    scan: randomUUID(),
    site: `${randomUUID()}.example`,
    liveScan: randomUUID(),
    key: randomUUID(),
    knownIssue: randomUUID(),
    email: `${randomUUID()}@people.example`,
    invitation: randomUUID(),
    passkey: randomUUID(),
    webhook: randomUUID(),
    delivery: `msg_${randomUUID()}`,
    schedule: `shop-${randomUUID()}`,
  });
  /** The text of a response without what differs between any two. */
  const plain = (text: string, of: Belongings): string =>
    [...Object.values(of), /value="[^"]{20,}"/g, /[0-9a-f]{8}-[0-9a-f-]{27}/g].reduce<string>((all, one) => all.replaceAll(one, '…'), text);

  it('have a case for each route of pages and of REST', () => {
    const routes = [...context.app.acceptedMethods()].flatMap(([url, methods]) =>
      [...methods].filter((method) => method !== 'HEAD').map((method) => `${method} ${url}`),
    );
    const guarded = routes.filter((route) => /^\S+ \/(?:dashboard|v\d+)(?:\/|$)/.test(route));
    expect(Object.keys(CASES).sort()).to.deep.equal(guarded.sort());
  });

  for (const [route, one] of Object.entries(CASES)) {
    if (one === 'open') continue;
    const [method = '', url = ''] = route.split(' ');
    it(`are not there for ${route}`, async () => {
      const before = await stored();
      if (one.expect === 'own') {
        const { status, text } = await send(method, url);
        expect(status, text).to.equal(one.status);
        for (const mark of marks) expect(text).to.not.include(mark);
      } else {
        const unknown = nobodys();
        const [first, second] = [one.ids(theirs), one.ids(unknown)];
        const answer = await send(method, first.path, first.form);
        const expected = await send(method, second.path, second.form);
        expect(answer.status, answer.text).to.equal(404);
        expect(plain(answer.text, theirs)).to.equal(plain(expected.text, unknown));
      }
      expect(await stored(), 'nothing of it changed').to.deep.equal(before);
      if (route.endsWith('/sign-out-everywhere')) await me.client.signIn(me.email, PASSWORD);
    });
  }

  it('are there for its own people, so that the cases above mean something', async () => {
    // The passkey is not one that can be used.
    const { secret } = (await context.stores.sessions.start({ email: their.email, method: 'password', browser: '' }))!;
    their.client.cookies.set('__Host-curbcut_session', secret);
    for (const [route, one] of Object.entries(CASES)) {
      if (one === 'open' || one.expect !== 'missing' || !route.startsWith('GET /dashboard') || route.endsWith('/events')) continue;
      const { status, text } = await their.client.get(one.ids(theirs).path);
      expect(status, `${route}: ${text}`).to.be.oneOf([200, 303]);
    }
  });
});
