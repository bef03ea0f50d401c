/** Each page and REST route of the app with what belongs to another organisation. A new route is one of them. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KNOWN_ISSUES_PATH, RECIPIENTS_PATH, TRACKER_PATH } from '../../core/web-paths.ts';
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
import { smallReport } from '../report/samples.ts';
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
  // From which the formats are made.
  const exported = await context.stores.reports.uploadLink(reportKeys(scanId).export, 'application/json', 60);
  await fetch(exported, { method: 'PUT', body: JSON.stringify(smallReport()), headers: { 'content-type': 'application/json' } });
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
  recipient: string;
  passkey: string;
  webhook: string;
  delivery: string;
  /** The name of a schedule of the dashboard. */
  schedule: string;
}

/** The path of a route, with IDs of an organisation. @throws for a parameter that has no value here */
function pathOf(route: string, of: Belongings): string {
  const url = route.split(' ')[1]!;
  const scan = /\/(?:progress|events|cancel)$/.test(url) ? of.liveScan : of.scan;
  const values: Readonly<Record<string, string>> = {
    ...{ scan_id: scan, key_id: of.key, known_issue_id: of.knownIssue, webhook_id: of.webhook, delivery_id: of.delivery },
    ...{ site: of.site, optionsKey: DEFAULT_OPTIONS_KEY, page: '1', cause: FINGERPRINT, namespace: NAMESPACE },
    id: url.startsWith(FACTORS) ? of.passkey : scan,
    name: url.includes('/pictures/') ? `${FINGERPRINT}.jpg` : of.schedule,
  };
  return url.replace(/:(\w+)/g, (_, name: string) => {
    if (values[name] === undefined) throw new Error(`${route}: a new parameter needs a value here`);
    return values[name];
  });
}

/** What each PATCH changes. */
const PATCHES: readonly (readonly [path: string, body: object])[] = [
  ['/v1/known-issues', { reason: 'Mine' }],
  ['/v1/schedules', { suspended: true }],
  ['/v1/webhooks', { name: 'Mine' }],
];
const MEMBERS = '/dashboard/settings/members';
const ORGANISATIONS = '/dashboard/organisations';

/** Routes that name something outside of their path. */
const NAMED: Readonly<Record<string, (of: Belongings) => { query?: string; form?: Record<string, string> }>> = {
  [`GET ${KNOWN_ISSUES_PATH}/new`]: ({ scan }) => ({ query: `?scan=${scan}&cause=${FINGERPRINT}` }),
  [`POST ${KNOWN_ISSUES_PATH}/new`]: ({ scan }) => ({ form: { scan, cause: FINGERPRINT } }),
  [`POST ${MEMBERS}/invitations/cancel`]: ({ invitation }) => ({ form: { id: invitation } }),
  [`POST ${RECIPIENTS_PATH}/remove`]: ({ recipient }) => ({ form: { id: recipient } }),
  [`POST ${MEMBERS}/role`]: ({ email }) => ({ form: { email, role: 'viewer' } }),
  [`POST ${MEMBERS}/remove`]: ({ email }) => ({ form: { email } }),
  [`GET ${MEMBERS}/left-behind`]: ({ email }) => ({ query: `?of=${email}` }),
  [`POST ${MEMBERS}/left-behind`]: ({ email, key }) => ({ query: `?of=${email}`, form: { do: 'adopt', id: key } }),
  [`POST ${ORGANISATIONS}/switch`]: ({ organisation }) => ({ form: { organisation } }),
  [`POST ${ORGANISATIONS}/join`]: ({ invitation }) => ({ form: { id: invitation } }),
  [`POST ${ORGANISATIONS}/decline`]: ({ invitation }) => ({ form: { id: invitation } }),
  [`POST ${ORGANISATIONS}/confirm`]: ({ organisation }) => ({ form: { organisation } }),
  [`POST ${ORGANISATIONS}/leave`]: ({ organisation }) => ({ form: { organisation } }),
  [`POST ${FACTORS}/passkeys/:id`]: () => ({ form: { name: 'x' } }),
};

/** Routes without a name that answer neither 200 to GET nor 422 to an empty POST. */
const REDIRECTING = [
  'POST /dashboard/account/mails',
  'POST /dashboard/account/name',
  'POST /dashboard/account/sign-out-everywhere',
  'POST /dashboard/settings/security/second-factor',
  `POST ${TRACKER_PATH}`,
  ...['GET app', 'POST app', 'POST app/begin', 'GET app/removal', 'POST app/removal', 'POST recovery-codes'].map((route) =>
    route.replace(' ', ` ${FACTORS}/`),
  ),
];

/** Routes that have no caller; the token in the address is the permission. */
const OPEN = [
  /^\S+ \/dashboard\/(?:sign-in|sign-in\/second-factor|sign-in\/passkey|sign-out)$/,
  /^\S+ \/dashboard\/(?:invitation\/:token|reset-password|reset-password\/:token)$/,
  /^\S+ \/v1\/public\//,
];

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
    const asked = { addedBy: their.email, locale: 'en', timeZone: 'UTC' } as const;
    const recipient = await stores.subscriptions.add({
      organisation: other.id,
      email: `${SECRET}@recipients.example`,
      topics: ['weekly'],
      recipient: asked,
    });
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
    const wanted = {
      displayName: null,
      schedule: '0 0 29 2 *',
      timeZone: 'UTC',
      suspend: false,
      options: withDefaults({ url: `https://${SITE}/` }),
    };
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
      recipient: recipient!.id,
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
  async function send(route: string, of: Belongings) {
    const [method = ''] = route.split(' ');
    const { query = '', form = {} } = NAMED[route]?.(of) ?? {};
    const path = pathOf(route, of) + query;
    if (path.startsWith('/v1')) {
      const refused = method === 'POST' && !/\/(?:cancel|rotate-secret)$/.test(path) ? { ...SUBMISSION, unknown: true } : undefined;
      const [, change] = PATCHES.find(([part]) => path.startsWith(part)) ?? [];
      return context.request(method, path, { key: myKey, body: method === 'PATCH' ? change : refused });
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
    recipient: randomUUID(),
    passkey: randomUUID(),
    webhook: randomUUID(),
    delivery: `msg_${randomUUID()}`,
    schedule: `shop-${randomUUID()}`,
  });
  /** The text of a response without what differs between any two. */
  const plain = (text: string, of: Belongings): string =>
    [...Object.values(of), /value="[^"]{20,}"/g, /[0-9a-f]{8}-[0-9a-f-]{27}/g].reduce<string>((all, one) => all.replaceAll(one, '…'), text);

  /** Each page and REST route of the app that has a caller, those that read first. */
  const routes = (): string[] =>
    [...context.app.acceptedMethods()]
      .flatMap(([url, methods]) => [...methods].map((method) => `${method} ${url}`))
      .filter((route) => /^(?!HEAD)\S+ \/(?:dashboard|v\d+)(?:\/|$)/.test(route) && !OPEN.some((pattern) => pattern.test(route)))
      .sort();
  const isNamed = (route: string): boolean => route.includes(':') || route in NAMED;

  it('are not there for any route, and no request changes them', async () => {
    const before = await stored();
    expect(routes())
      .to.have.length.above(100)
      .and.include.members([...Object.keys(NAMED), ...REDIRECTING]);
    for (const route of routes()) {
      const answer = await send(route, theirs);
      if (isNamed(route)) {
        const unknown = nobodys();
        const expected = await send(route, unknown);
        expect(answer.status, `${route}: ${answer.text}`).to.equal(404);
        expect(plain(answer.text, theirs), route).to.equal(plain(expected.text, unknown));
      } else {
        const status = REDIRECTING.includes(route) ? 303 : route.startsWith('GET') ? 200 : 422;
        expect(answer.status, `${route}: ${answer.text}`).to.equal(status);
        for (const mark of marks) expect(answer.text, route).to.not.include(mark);
      }
      if (!route.startsWith('GET')) expect(await stored(), `after ${route}`).to.deep.equal(before);
      if (route.endsWith('/sign-out-everywhere')) await me.client.signIn(me.email, PASSWORD);
    }
    expect(await stored()).to.deep.equal(before);
  });

  it('are there for its own people, so that the cases above mean something', async () => {
    // The passkey is not one that can be used.
    const { secret } = (await context.stores.sessions.start({ email: their.email, method: 'password', browser: '' }))!;
    their.client.cookies.set('__Host-curbcut_session', secret);
    for (const route of routes()) {
      if (!isNamed(route) || !route.startsWith('GET /dashboard') || route.endsWith('/events')) continue;
      const { status, text } = await their.client.get(pathOf(route, theirs) + (NAMED[route]?.(theirs).query ?? ''));
      expect(status, `${route}: ${text}`).to.be.oneOf([200, 303]);
    }
  });
});
