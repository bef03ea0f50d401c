/** Mails to members: who asked for them, what they say, and how they end. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { compose } from '../../api/outbox/compose.ts';
import { queueSummaries } from '../../api/outbox/weekly-summary.ts';
import { announceTask } from '../../operator/maintenance/announce.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { MailEntry } from '../../stores/outbox/entries.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { contextOf } from '../support/operator-context.ts';
import { OUTCOME } from '../web/scan-views.ts';
import { createClient } from './client.ts';
import { useContext } from './context.ts';
import { mailedLink, type Person, signedIn } from './people.ts';

const BASE = 'https://curbcut.example.com';
const OPTIONS = withDefaults({ url: 'https://shop.example/?key=secret', thresholds: { minScore: 90 } });
const MAILS = '/dashboard/account/mails';
const MEMBERS = '/dashboard/settings/members';

describe('mails to members', () => {
  const context = useContext({ mail: true });

  const verify = ({ email }: Person) =>
    context.db.collection<{ _id: string }>('users').updateOne({ _id: email }, { $set: { verifiedAt: new Date() } });
  const ended = async (organisation: string, change: Partial<ScanRow> = {}) => {
    const row = await context.scan(organisation, { options: OPTIONS, ...change });
    await context.stores.scans.mirror(row.id, { phase: 'done', passed: false, outcome: OUTCOME, finishedAt: new Date() });
    await context.stores.sites.record([(await context.stores.scans.find(row.id))!]);
    return row.id;
  };
  const announce = () =>
    announceTask(contextOf({ stores: context.stores, settings: { publicBaseUrl: null, webhooks: false } }), () => []).run(
      new AbortController().signal,
    );
  const regress = async (organisation: string, { began = true, name = 'nightly', at = new Date() } = {}) => {
    const scan = await ended(organisation);
    const comparison = { new: 3, onNewPages: 0, newRootCauses: 1, fixed: 1, unchanged: 5, notTested: 0 };
    const data = {
      namespace: 'team',
      name,
      url: 'https://shop.example/?key=secret',
      scanId: scan,
      previousScanId: 'x',
      passed: false,
      began,
      comparison,
    };
    await context.stores.webhookEvents.add({ scan, organisation, at, data });
    await announce();
    return scan;
  };
  const mailsTo = async ({ email: to }: Person) =>
    (await context.db.collection<MailEntry>('outbox').find({ to, kind: 'scan_ended' }).sort({ createdAt: 1 }).toArray()) as MailEntry[];
  const composed = (mail: MailEntry) =>
    compose({ stores: context.stores, reports: { readView: async () => null }, publicBaseUrl: BASE }, mail);

  /** A member who watches the site of a scan, with a browser in German. */
  async function watching(organisation?: string): Promise<Person> {
    const person = await signedIn(context, { role: 'member', ...(organisation !== undefined && { organisation }) });
    await verify(person);
    await ended(person.organisation);
    const page = await person.client.get('/dashboard/sites/shop.example', { 'Accept-Language': 'de-CH,de;q=0.9,en;q=0.5' });
    const csrf = /name="_csrf" value="([^"]+)"/.exec(page.text)![1]!;
    const answer = await person.client.post(
      '/dashboard/sites/shop.example/watch',
      { _csrf: csrf, watch: 'yes', time_zone: 'Europe/Zurich' },
      { 'Accept-Language': 'de-CH,de;q=0.9,en;q=0.5' },
    );
    expect(answer.status).to.equal(303);
    return person;
  }

  it('say in their language that a schedule of a watched site got worse, until one click ends them, which can be undone', async () => {
    const person = await watching();
    const scan = await regress(person.organisation);
    await announce();
    const [mail, ...more] = await mailsTo(person);
    expect(more).to.deep.equal([]);
    const message = (await composed(mail!))!;
    expect(message.subject).to.equal('shop.example ist schlechter geworden');
    expect(message.text)
      .to.include('3 neu, 1 behoben, 5 unverändert')
      .and.include('(Europe/Zurich)')
      .and.include(`${BASE}/dashboard/scans/${scan}`);
    for (const version of [message.text, message.html]) expect(version).not.to.include('secret');
    expect(message.headers['List-Unsubscribe-Post']).to.equal('List-Unsubscribe=One-Click');
    const path = new URL(message.headers['List-Unsubscribe']!.slice(1, -1)).pathname;

    const stranger = createClient(context.url);
    expect((await stranger.get(path)).text).to.include('Diese E-Mails beenden?');
    expect(await composed(mail!), 'a program that opens the link').not.to.equal(null);
    expect((await stranger.post(path, { 'List-Unsubscribe': 'One-Click' })).status).to.equal(200);
    expect(await composed(mail!)).to.equal(null);
    await regress(person.organisation, { name: 'other' });
    expect(await mailsTo(person)).to.have.lengthOf(1);
    expect((await stranger.get(path)).text).to.include('Diese E-Mails sind beendet');
    await stranger.post(path, { action: 'subscribe' });
    expect(await composed(mail!)).not.to.equal(null);
    expect((await stranger.get(path.replace(/[^/]+$/, 'everything'))).status).to.equal(404);
  });

  it('are not repeated while a schedule stays worse, and come at most once a day from one that gets better and worse', async () => {
    const person = await watching();
    const noon = new Date('2054-11-22T12:00:00Z');
    const at = (hours: number) => new Date(noon.getTime() + hours * 3_600_000);
    await regress(person.organisation, { at: noon });
    await regress(person.organisation, { at: at(1), began: false });
    await regress(person.organisation, { at: at(2) });
    expect(await mailsTo(person)).to.have.lengthOf(1);
    await regress(person.organisation, { at: at(24) });
    expect(await mailsTo(person)).to.have.lengthOf(2);
  });

  it('say that a scan has ended to the person who started it in the dashboard, if they asked for it', async () => {
    const organisation = (await context.organisation()).id;
    const [person, other] = [await signedIn(context, { organisation }), await signedIn(context, { organisation })];
    for (const one of [person, other]) await verify(one);
    await ended(organisation, { submittedBy: person.email });
    await announce();
    for (const one of [person, other]) expect((await one.client.submit(MAILS, { topic: 'own_scans' })).status).to.equal(303);
    const scan = await ended(organisation, { submittedBy: person.email });
    for (let time = 0; time < 2; time += 1) await announce();
    expect(await mailsTo(other)).to.deep.equal([]);
    const mails = await mailsTo(person);
    expect(mails).to.have.lengthOf(1);
    expect((await composed(mails[0]!))!.subject).to.equal('shop.example did not pass');
    expect(mails[0]!.data).to.include({ scanId: scan });
  });

  it('about an account are in its language', async () => {
    const person = await signedIn(context);
    await context.stores.users.setReader(person.email, { locale: 'de', timeZone: 'Europe/Zurich' });
    expect((await person.client.submit(`${MEMBERS}/invitations`, { email: 'new@people.example', role: 'owner' }, MEMBERS)).status).to.equal(
      303,
    );
    const mails = (await context.db.collection<MailEntry>('outbox').find({ organisation: person.organisation }).toArray()) as MailEntry[];
    const subjects = await Promise.all(mails.map(async (mail) => [mail.kind, (await composed(mail))!.subject] as const));
    expect(Object.fromEntries(subjects)).to.have.keys('invitation', 'owner_notice');
    for (const [kind, subject] of subjects) expect(subject, kind).to.match(/^(?:Einladung zu|Der Zugang zu) /);
  });

  it('sum up the week on Monday at 08:00 of the reader, once with several replicas, and not if nothing was scanned', async () => {
    const person = await watching();
    await person.client.submit(MAILS, { topic: 'weekly', time_zone: 'Europe/Zurich' });
    const queue = (at: string) => queueSummaries({ stores: context.stores, now: () => new Date(at) }, new AbortController().signal);
    const summaries = () => context.db.collection<MailEntry>('outbox').find({ to: person.email, kind: 'weekly_summary' }).toArray();
    const before = new Date('2054-11-13T12:00:00Z');
    const earlier = await context.scan(person.organisation, {
      createdAt: before,
      phase: 'done',
      outcome: { ...OUTCOME, score: 80 },
      finishedAt: before,
      options: OPTIONS,
    });
    await context.stores.sites.record([earlier]);
    const within = { createdAt: new Date('2054-11-20T12:00:00Z'), finishedAt: new Date('2054-11-20T12:05:00Z'), passed: false };
    await context.db.collection('sites').deleteMany({ organisation: person.organisation });
    const later = await context.scan(person.organisation, { ...within, phase: 'done', outcome: OUTCOME, options: OPTIONS });
    await context.stores.sites.record([earlier, later]);

    await queue('2054-11-21T12:00:00Z');
    await queue('2054-11-23T06:59:00Z');
    expect(await summaries()).to.deep.equal([]);
    await Promise.all([1, 2, 3].map(() => queue('2054-11-23T07:00:30Z')));
    await queue('2054-11-23T07:01:30Z');
    const [mail, ...more] = await summaries();
    expect(more).to.deep.equal([]);
    const { subject, text } = (await composed(mail as MailEntry))!;
    expect(subject).to.match(/: 1 Website sollten Sie ansehen$/);
    expect(text.replace(/\s+/g, ' ')).to.include('shop.example · Punktzahl 71,5 (-8,5) · 12 Verstöße gefunden · Nicht bestanden');
    await queue('2054-11-30T07:00:30Z');
    expect(await summaries()).to.have.lengthOf(1);
  });

  it('go to someone without an account whom an owner added, after the consent and until the end, which the audit log records', async () => {
    const owner = await signedIn(context);
    await ended(owner.organisation);
    const email = `${randomUUID()}@recipients.example`;
    const add = (sites: string) => owner.client.submit('/dashboard/settings/recipients', { email, locale: 'de', sites });
    expect((await add('other.example')).status).to.equal(422);
    expect((await add('shop.example')).headers.get('location')).to.include('done=added');
    await regress(owner.organisation);
    const to = () => context.db.collection('outbox').find({ to: email }).sort({ createdAt: 1 }).toArray();
    const [question, ...none] = await to();
    expect(none, 'nothing else is sent before').to.deep.equal([]);
    const asked = (await composed(question as unknown as MailEntry))!;
    expect(asked.subject).to.match(/^Dürfen wir Ihnen E-Mails über .* senden\?$/);
    expect(asked.text.replace(/\s+/g, ' ')).to.include('Das Ergebnis eines Zeitplans von shop.example ist schlechter geworden');

    const path = await mailedLink(context, email);
    const stranger = createClient(context.url);
    expect((await stranger.get(path)).text).to.include('Ich stimme zu');
    await regress(owner.organisation, { name: 'second' });
    expect(await to(), 'the link was only opened').to.have.lengthOf(1);
    for (let twice = 0; twice < 2; twice += 1) expect((await stranger.post(path, { action: 'agree' })).status).to.equal(303);
    await regress(owner.organisation, { name: 'third' });
    const mail = (await to())[1] as unknown as MailEntry;
    const { text } = (await composed(mail))!;
    expect(text).to.include(`${BASE}${path}`);
    const stop = new URL(/\S+\/unsubscribe\/\S+/.exec(text)![0]).pathname;
    const others = ['weekly', 'site:other.example'].map((topic) => stop.replace(/[^/]+$/, encodeURIComponent(topic)));
    for (const other of others) expect((await stranger.post(other, { action: 'subscribe' })).status, 'nobody offered it').to.equal(404);
    for (const action of ['unsubscribe', 'subscribe']) expect((await stranger.post(stop, { action })).status).to.equal(303);
    expect((await stranger.post(path, { action: 'end' })).text).to.include('Ihre Adresse ist gelöscht');
    expect(await composed(mail)).to.equal(null);
    expect((await stranger.get(path)).status).to.equal(404);

    await add('shop.example');
    const page = await owner.client.get('/dashboard/settings/recipients');
    const id = /name="id" value="([^"]+)"/.exec(page.text)![1]!;
    expect((await owner.client.submit('/dashboard/settings/recipients/remove', { id }, '/dashboard/settings/recipients')).status).to.equal(
      303,
    );
    const entries = await context.stores.organisations.auditPage(owner.organisation, { limit: 20 });
    const about = entries.filter(({ action }) => action.startsWith('recipient.')).map(({ action }) => action.slice('recipient.'.length));
    expect(about.reverse()).to.deep.equal(['add', 'agree', 'end', 'add', 'remove']);
  });

  it('end with the membership, the site and the organisation, and go to no address that is not verified', async () => {
    const [left, blocked, unverified, deleted] = [await watching(), await watching(), await watching(), await watching()];
    for (const one of [left, blocked, unverified, deleted]) await regress(one.organisation);
    const owner = await signedIn(context, { organisation: deleted.organisation });
    await context.stores.members.remove(left.organisation, left.email);
    await context.stores.organisations.setBlocked(blocked.organisation, true);
    await context.db.collection<{ _id: string }>('users').updateOne({ _id: unverified.email }, { $unset: { verifiedAt: '' } });
    expect((await owner.client.submit('/dashboard/sites/shop.example/delete', { site: 'shop.example' })).status).to.equal(303);
    for (const one of [left, blocked, unverified, deleted]) expect(await composed((await mailsTo(one))[0]!), one.email).to.equal(null);
    expect(await context.stores.subscriptions.find(left.organisation, left.email)).to.equal(null);
    const site = `/dashboard/sites/${randomUUID()}.example`;
    expect((await deleted.client.submit(`${site}/watch`, { watch: 'yes' }, '/dashboard/account')).status).to.equal(404);
  });
});
