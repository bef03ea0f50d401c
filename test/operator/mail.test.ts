import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import PostalMime, { type Email } from 'postal-mime';
import { withDefaults } from '../../core/scan/options.ts';
import { createMetrics } from '../../api/metrics.ts';
import { compose, messageIdOf } from '../../api/outbox/compose.ts';
import { queueResultMails } from '../../api/outbox/result-mails.ts';
import { RECORD } from '../../api/outbox/delivery-loop.ts';
import { CLAIM_LEASE_MS, sendMails, type MailContext } from '../../api/outbox/mail-transport.ts';
import { openMailServer, SMTP_LIMITS, type SmtpLimits } from '../../api/outbox/smtp.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import type { MailEntry } from '../../stores/outbox/entries.ts';
import { MAIL_PRIORITIES, resultMailId, type NewMail } from '../../stores/outbox/mails.ts';
import type { CountedRequest } from '../../stores/rate-limits.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { until } from '../runtime/cluster.ts';
import { useDatabase } from '../stores/database.ts';
import { findMail } from '../support/find-mail.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { OWN_LOOPBACK } from '../support/own-loopback.ts';
import { scanRow } from '../support/scan-rows.ts';

/** What a sender has instead of the ordinary. */
type SenderChanges = Partial<Omit<MailContext, 'stores'>> & { stores?: Partial<AllStores> };

const BASE = 'https://curbcut.example.com';
const LIMITS: SmtpLimits = { connectMs: 2_000, greetingMs: 2_000, socketMs: 700, deliveryMs: 5_000 };
const refusal = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });

describe('mails of the outbox', () => {
  const database = useDatabase();
  let stores: AllStores;
  const closers: (() => Promise<unknown>)[] = [];
  before(async () => {
    stores = openStores(database.db);
  });
  beforeEach(async () => {
    for (const name of ['outbox', 'mail_addresses', 'public_scans', 'scans']) await database.db.collection(name).deleteMany({});
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** A real SMTP server that keeps what it accepts. */
  async function startServer(options: SMTPServerOptions = {}, port = 0) {
    const received: { mail: Email; to: string }[] = [];
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      disableReverseLookup: true,
      closeTimeout: 100,
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          void PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
            received.push({ mail, to: session.envelope.rcptTo[0]!.address });
            done();
          }, done);
        });
      },
      ...options,
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(port, OWN_LOOPBACK, resolve));
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    closers.push(close);
    const { port: bound } = server.server.address() as { port: number };
    return { url: `smtp://${OWN_LOOPBACK}:${bound}`, port: bound, received, close };
  }

  /** Runs a sender as a replica does. */
  function startSender(smtpUrl: string, { stores: replaced, ...over }: SenderChanges = {}, clock: Clock = systemClock) {
    const logger = createFakeLogger();
    const metrics = createMetrics();
    const stopping = new AbortController();
    const about = { stores, reports: { readView: async () => null }, publicBaseUrl: BASE };
    const context = {
      stores: { ...stores, ...replaced },
      compose: (mail: MailEntry) => compose(about, mail),
      openServer: (connections: number) =>
        openMailServer({ smtpUrl, from: 'Curbcut <no-reply@curbcut.example.com>', connections, limits: LIMITS }),
      metrics,
      logger,
      clock,
      pollMs: 20,
      ...over,
    };
    const done = sendMails(context, stopping.signal).catch((error: unknown) => error);
    const stop = async () => {
      stopping.abort();
      return done;
    };
    closers.push(stop);
    const value = async (name: string, labels: Record<string, string> = {}): Promise<number | undefined> => {
      const metric = await metrics.registry.getSingleMetric(name)!.get();
      return metric.values.find((one) => Object.entries(labels).every(([key, wanted]) => one.labels[key] === wanted))?.value;
    };
    return { stop, done, lines: logger.lines, value };
  }

  const reset = (to: string, over: Partial<NewMail> = {}): NewMail =>
    ({
      id: `password-reset:${randomUUID()}`,
      kind: 'password_reset',
      to,
      locale: 'nl',
      data: { url: `${BASE}/dashboard/reset-password/secret`, expiresAt: new Date(Date.now() + 3_600_000).toISOString() },
      ...over,
    }) as NewMail;
  const mailOf = (id: string) => findMail(database.db, id);
  const stateOf = async (id: string) => (await mailOf(id))?.state;
  const ended = (mail: NewMail) => until('the mail has ended', async () => (await stateOf(mail.id)) !== 'waiting');
  const tried = (mail: NewMail) => until('the mail was tried', async () => (await mailOf(mail.id))?.reason);

  async function publicScan(
    phase: 'done' | 'failed' | 'queued' = 'done',
    locale: 'de' | 'en' = 'de',
    counted?: CountedRequest,
    change: Partial<ScanRow> = {},
  ) {
    const row = scanRow({
      organisation: 'anonymous',
      phase,
      submission: 'accepted',
      finishedAt: new Date(),
      options: withDefaults({ url: 'https://shop.example.com/' }),
      ...change,
    });
    const violations = { critical: 0, serious: 2, moderate: 0, minor: 0, total: 2 };
    const outcome = phase === 'done' ? { score: 88.5, violations, pages: { scanned: 1, failed: 0, total: 1 } } : null;
    await stores.scans.create({ ...row, outcome, message: phase === 'failed' ? 'No page could be tested.' : null });
    const token = randomUUID();
    const times = { createdAt: new Date(), expiresAt: new Date(Date.now() + 86_400_000) };
    const about = { url: `https://shop.example.com/${token}`, email: 'ada@example.com', locale };
    await stores.publicScans.claim({ token, scanId: row.id, ...about, ...times, ...(counted && { counted }) }, '192.0.2.1');
    return { scanId: row.id, token };
  }
  const queueResults = (replaced: Partial<AllStores> = {}, mailed = true) =>
    queueResultMails({ stores: { ...stores, ...replaced }, mailed, now: () => new Date() }, new AbortController().signal);

  describe('about public scans', () => {
    it('are queued and sent once when the scan has ended, in its language and with the headers of RFC 8058', async () => {
      const server = await startServer();
      const { scanId, token } = await publicScan();
      const live = await publicScan('queued');
      await queueResults();
      await queueResults();
      expect(await stateOf(resultMailId(scanId))).to.equal('waiting');
      expect(await stateOf(resultMailId(live.scanId))).to.equal(undefined);
      const sender = startSender(server.url);
      await until('the mail was sent', async () => (await stateOf(resultMailId(scanId))) === 'delivered');
      await queueResults();
      await sender.stop();

      expect(server.received).to.have.lengthOf(1);
      const [{ mail, to }] = server.received as [{ mail: Email; to: string }];
      const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
      expect(to).to.equal('ada@example.com');
      expect(mail.subject).to.equal('Barrierefreiheit von shop.example.com: 2 Verstöße');
      expect(mail.from).to.deep.include({ name: 'Curbcut', address: 'no-reply@curbcut.example.com' });
      expect(mail.messageId).to.equal(messageIdOf(resultMailId(scanId), 'curbcut.example.com'));
      expect(Date.parse(mail.date!)).to.be.closeTo(Date.now(), 60_000);
      expect(header('auto-submitted')).to.equal('auto-generated');
      expect(header('list-unsubscribe-post')).to.equal('List-Unsubscribe=One-Click');
      expect(header('list-unsubscribe')).to.match(/^<https:\/\/curbcut\.example\.com\/unsubscribe\/[\w-]{43}>$/);
      for (const content of [mail.html, mail.text]) expect(content).to.include(`${BASE}/de/scan/${token}`);
      const unsubscribe = header('list-unsubscribe')!.slice(1, -1);
      for (const content of [mail.html, mail.text]) expect(content).to.include(unsubscribe);
      expect(await stores.suppressions.recipient(unsubscribe.split('/').at(-1)!)).to.deep.equal({ locale: 'de', unsubscribed: false });
      expect(await sender.value('curbcut_mail_attempts_total', { kind: 'scan_result', outcome: 'sent' })).to.equal(1);
    });

    const VISITOR = ['public-hour', 'public-hour-56', 'public-day'];
    const ALL = [...VISITOR, 'public-email', 'public-domain', 'public-all'];
    for (const [what, change, returned] of [
      ['failed through a fault of ours', { phase: 'failed', reason: 'Unschedulable' }, VISITOR],
      ['never ran', { submission: 'abandoned' }, ALL],
      ['failed because of its page', { phase: 'failed', reason: 'TargetUnreachable' }, []],
    ] as const)
      it(`return the request to ${returned.length} of the limits if the scan ${what}, and forget the visitor`, async () => {
        const rules = ALL.map((policy) => ({ policy, subject: randomUUID(), limit: 1, windowSeconds: 3600 }));
        const hit = randomUUID();
        expect((await stores.rateLimits.admit(rules, { hit })).ok).to.equal(true);
        const logs = rules.map(({ policy, subject }) => ({ policy, subject }));
        const { scanId, token } = await publicScan('queued', 'de', { hit, logs }, change);
        await queueResults();
        await queueResults();
        const open: string[] = [];
        for (const rule of rules) if ((await stores.rateLimits.admit([rule])).ok) open.push(rule.policy);
        expect(open).to.deep.equal(returned);
        expect(await stateOf(resultMailId(scanId)), 'each mail counts').to.equal(returned === ALL ? undefined : 'waiting');
        expect(await database.db.collection<{ _id: string }>('public_scans').findOne({ _id: token })).to.not.have.property('counted');
      });

    it('stay due without a mail server, and the visitor is forgotten nevertheless', async () => {
      const rule = { policy: 'public-hour', subject: randomUUID(), limit: 1, windowSeconds: 3600 };
      const hit = randomUUID();
      await stores.rateLimits.admit([rule], { hit });
      const { scanId, token } = await publicScan('failed', 'de', { hit, logs: [rule] }, { reason: 'Unschedulable' });
      await queueResults({}, false);
      expect((await stores.rateLimits.admit([rule])).ok, 'returned').to.equal(true);
      expect(await stores.publicScans.findByScan(scanId))
        .to.include({ token })
        .and.not.have.property('counted');
      expect(await stateOf(resultMailId(scanId))).to.equal(undefined);
      await queueResults();
      expect(await stateOf(resultMailId(scanId)), 'with a mail server').to.equal('waiting');
    });

    it('are not sent when the scan was forgotten meanwhile', async () => {
      const { scanId, token } = await publicScan();
      await queueResults();
      await stores.publicScans.remove(token);
      startSender((await startServer()).url);
      await until('the mail was given up', async () => (await stateOf(resultMailId(scanId))) === 'failed');
      expect((await mailOf(resultMailId(scanId)))?.reason).to.equal('gone');
    });
  });

  describe('and the mail server', () => {
    it('suppress an address that the server refuses for good, and report it', async () => {
      const server = await startServer({ onRcptTo: (_, __, done) => done(refusal(550, '5.1.1 <ada@example.com> is unknown')) });
      const [first, second] = [reset('ada@example.com'), reset('Ada@example.com')];
      await stores.outbox.enqueue(first);
      const sender = startSender(server.url);
      await ended(first);
      await stores.outbox.enqueue(second);
      await ended(second);
      expect(await mailOf(first.id)).to.include({ state: 'failed', reason: '550 5.1.1 <(address)> is unknown' });
      expect(await mailOf(second.id)).to.include({ state: 'suppressed', reason: 'bounced' });
      expect(await sender.value('curbcut_mail_bounces_total')).to.equal(1);
      expect(sender.lines.some(({ message }) => message === 'mail given up')).to.equal(true);
      expect(JSON.stringify(sender.lines)).not.to.include('ada@');
    });

    it('wait for the end of a bounce if they have no link or it lives longer, and are suppressed else', async () => {
      const server = await startServer();
      await stores.suppressions.bounced('ada@example.com', 'certain');
      const { until: bouncedUntil } = (await stores.suppressions.find('ada@example.com', 'account'))!;
      const link = (ms: number) => ({
        url: `${BASE}/dashboard/reset-password/secret`,
        expiresAt: new Date(bouncedUntil!.getTime() + ms).toISOString(),
      });
      const [short, long] = [
        reset('ada@example.com', { data: link(-1) } as never),
        reset('ada@example.com', { data: link(60_000) } as never),
      ];
      const data = { event: 'password', at: new Date().toISOString(), client: { network: '203.0.113.0/24', browser: 'Firefox' } } as const;
      const notice = { id: 'account-notice:bounced', kind: 'account_notice', to: 'ada@example.com', locale: 'en', data } as const;
      for (const mail of [short, long, notice]) await stores.outbox.enqueue(mail);
      const sender = startSender(server.url);
      await ended(short);
      for (const mail of [long, notice]) await tried(mail);
      expect(await mailOf(short.id)).to.include({ state: 'suppressed', reason: 'bounced' });
      for (const { id } of [long, notice])
        expect(await mailOf(id)).to.deep.include({ state: 'waiting', reason: 'bounced', dueAt: bouncedUntil });
      // The bounce is over: the mail is sent, and its delivery lifts the bounce for results as well.
      await sender.stop();
      await database.db.collection('mail_addresses').updateMany({}, { $set: { othersFrom: new Date() } });
      await database.db
        .collection<{ _id: string }>('outbox')
        .updateMany({ _id: { $in: [long.id, notice.id] } }, { $set: { dueAt: new Date() } });
      expect((await stores.suppressions.find('ada@example.com', 'public'))?.reason).to.equal('bounced');
      startSender(server.url);
      for (const mail of [long, notice]) {
        await ended(mail);
        expect(await stateOf(mail.id)).to.equal('delivered');
      }
      expect(server.received.map(({ mail }) => mail.text).join('\n')).to.include(`${BASE}/dashboard/account`);
      await until('the bounce is lifted', async () => (await stores.suppressions.find('ada@example.com', 'public')) === null);
    });

    it('are tried again after a doubtful refusal, except results', async () => {
      const server = await startServer({ onRcptTo: (_, __, done) => done(refusal(550, 'Go away')) });
      const password = reset('grace@example.com');
      await stores.outbox.enqueue(password);
      const { scanId } = await publicScan();
      await queueResults();
      startSender(server.url);
      await tried(password);
      await until('the result was given up', async () => (await stateOf(resultMailId(scanId))) === 'failed');
      expect(await mailOf(password.id)).to.include({ state: 'waiting', attempts: 1, reason: '550 Go away' });
      expect((await stores.suppressions.find('grace@example.com', 'account'))?.reason).to.equal('bounced');
    });

    it('do not suppress an address because the relay denies it or refuses the content', async () => {
      const server = await startServer({
        onRcptTo: ({ address }, _, done) => done(address.startsWith('relay') ? refusal(550, '5.7.1 Relaying denied') : null),
        onData(stream, _, done) {
          stream.resume().on('end', () => done(refusal(554, '5.7.1 Content rejected')));
        },
      });
      const mails = [reset('relay@example.com'), reset('content@example.com')];
      for (const mail of mails) await stores.outbox.enqueue(mail);
      startSender(server.url);
      for (const mail of mails) {
        await ended(mail);
        expect(await stateOf(mail.id)).to.equal('failed');
        expect(await stores.suppressions.find(mail.to, 'public')).to.equal(null);
      }
    });

    it('are tried again later after a temporary refusal, and other mails go on', async () => {
      const server = await startServer({
        onRcptTo: ({ address }, _, done) => done(address.startsWith('busy') ? refusal(451, '4.7.1 Later') : null),
      });
      const [busy, other] = [reset('busy@example.com'), reset('other@example.com')];
      for (const mail of [busy, other]) await stores.outbox.enqueue(mail);
      const sender = startSender(server.url, { random: () => 0.5 });
      await ended(other);
      await tried(busy);
      const entry = (await mailOf(busy.id))!;
      expect(entry).to.include({ state: 'waiting', attempts: 1, reason: '451 4.7.1 Later' });
      expect(entry.dueAt.getTime() - entry.createdAt.getTime()).to.be.at.least(60_000);
      expect(await sender.value('curbcut_mail_attempts_total', { kind: 'password_reset', outcome: 'deferred' })).to.equal(1);
    });

    it('are given up after the last attempt', async () => {
      const server = await startServer({ onRcptTo: (_, __, done) => done(refusal(451, '4.7.1 Later')) });
      const mail = reset('busy@example.com');
      await stores.outbox.enqueue(mail);
      await database.db.collection<{ _id: string }>('outbox').updateOne({ _id: mail.id }, { $set: { attempts: 12 } });
      startSender(server.url);
      await ended(mail);
      expect(await mailOf(mail.id)).to.include({ state: 'failed', attempts: 13, reason: '451 4.7.1 Later' });
    });

    it('wait without an attempt while no server listens, and are sent when it is back', async () => {
      const first = await startServer();
      await first.close();
      const mails = Array.from({ length: 5 }, (_, n) => reset(`ada${n}@example.com`));
      for (const mail of mails) await stores.outbox.enqueue(mail);
      await database.db.collection('outbox').updateMany({}, { $set: { dueAt: new Date(Date.now() - 900_000) } });
      const sender = startSender(first.url, { clock: fast(40) }, fast(40));
      await until(
        'it is known for how long they are due',
        async () => ((await sender.value('curbcut_mail_oldest_due_seconds')) ?? 0) >= 900,
      );
      await until('sending was paused', () => sender.lines.some(({ message }) => message === 'mail server unavailable, sending paused'));
      const server = await startServer({}, first.port);
      for (const mail of mails) await ended(mail);
      for (const mail of mails) expect(await mailOf(mail.id)).to.include({ state: 'delivered', attempts: 1 });
      expect(server.received).to.have.lengthOf(5);
    });

    it('wait while the encryption or the credentials are wrong', async () => {
      const untrusted = await startServer({ disabledCommands: [], hideSTARTTLS: false });
      const wrong = await startServer({
        disabledCommands: ['STARTTLS'],
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: (_, __, done) => done(null, {}),
      });
      for (const url of [
        untrusted.url,
        wrong.url.replace('smtp://', 'smtp://user:wrong-password@'),
        untrusted.url.replace('smtp:', 'smtps:'),
      ]) {
        const mail = reset('ada@example.com');
        await stores.outbox.enqueue(mail);
        const sender = startSender(url);
        const paused = await until('sending was paused', () => sender.lines.find(({ message }) => message.includes('sending paused')));
        await until('the mail was released', async () => (await stores.outbox.oldestDue(MAIL_PRIORITIES)) !== null);
        expect(await mailOf(mail.id)).to.include({ state: 'waiting', attempts: 0 });
        expect(JSON.stringify(paused)).not.to.include('wrong-password');
        await sender.stop();
        await database.db.collection('outbox').deleteMany({});
      }
    });
  });

  describe('and operators', () => {
    it('send again, with the same Message-ID, only what was accepted and not recorded by a replica that died', async () => {
      const server = await startServer();
      const mail = reset('ada@example.com');
      await stores.outbox.enqueue(mail);
      const crashed = new Promise(() => undefined);
      let died = false;
      const outbox: AllStores['outbox'] = {
        ...stores.outbox,
        // An operator that died claims nothing more.
        claim: async (...filter) => {
          if (died) return null;
          const claim = await stores.outbox.claim(...filter);
          died = claim !== null;
          return claim;
        },
        end: () => crashed as Promise<boolean>,
      };
      const dying = startSender(server.url, { stores: { outbox } });
      await until('the server accepted the mail', () => server.received.length === 1);

      const successor = startSender(server.url);
      await stores.outbox.enqueue(reset('other@example.com'));
      await until('the other mail was sent', () => server.received.length === 2);
      expect(
        server.received.map(({ to }) => to),
        'the lease still holds',
      ).to.deep.equal(['ada@example.com', 'other@example.com']);
      await successor.stop();

      const lateOutbox = openStores(database.db).outbox;
      await database.db.collection<{ _id: string }>('outbox').updateOne({ _id: mail.id }, { $set: { dueAt: new Date() } });
      startSender(server.url, { stores: { outbox: lateOutbox } });
      await ended(mail);
      expect(server.received.map(({ to }) => to)).to.deep.equal(['ada@example.com', 'other@example.com', 'ada@example.com']);
      expect(server.received[2]!.mail.messageId).to.equal(server.received[0]!.mail.messageId);
      expect(server.received[2]!.mail.date).to.equal(server.received[0]!.mail.date);
      // Its delivery never ends, so it would wait for it.
      closers.splice(closers.indexOf(dying.stop), 1);
    });

    it('record a delivery when the database is back', async () => {
      const server = await startServer();
      const mail = reset('ada@example.com');
      await stores.outbox.enqueue(mail);
      let failures = 2;
      const end: AllStores['outbox']['end'] = async (...claim) =>
        failures-- > 0 ? Promise.reject(new Error('down')) : stores.outbox.end(...claim);
      const outbox = { ...stores.outbox, end };
      startSender(server.url, { stores: { outbox }, clock: fast(100) });
      await ended(mail);
      expect(await stateOf(mail.id)).to.equal('delivered');
      expect(server.received).to.have.lengthOf(1);
    });

    it('do not send a link that has expired', async () => {
      const server = await startServer();
      const data = { url: `${BASE}/dashboard/reset-password/secret`, expiresAt: new Date(Date.now() - 1000).toISOString() };
      const mail = reset('ada@example.com', { data } as Partial<NewMail>);
      await stores.outbox.enqueue(mail);
      startSender(server.url);
      await ended(mail);
      expect(await mailOf(mail.id)).to.include({ state: 'failed', reason: 'it expired' });
      expect(server.received).to.deep.equal([]);
    });
  });

  it('have a lease that is longer than the longest delivery', () => {
    const { connectMs, greetingMs, deliveryMs } = SMTP_LIMITS;
    expect(CLAIM_LEASE_MS).to.be.above(deliveryMs + 2 * (connectMs + greetingMs) + RECORD.attempts * RECORD.pauseMs);
  });
});

/** A clock whose timers are `factor` times as fast. */
const fast = (factor: number): Clock => ({
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * factor,
  after: (ms, run) => systemClock.after(ms / factor, run),
});
