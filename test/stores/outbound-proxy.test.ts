/** Connections of API and operator through an outbound proxy with credentials. */
import { expect } from 'chai';
import { startObjects } from '../../local/objects/objects.ts';
import { startMail } from '../../local/mail/mail.ts';
import type { CaughtMail } from '../../local/mail/mailbox.ts';
import { openMailServer } from '../../api/outbox/smtp.ts';
import { createPost } from '../../api/outbox/post.ts';
import { mistakesIn, Type } from '../../platform/configuration.ts';
import { applyOutboundSettings, noProxyMistakes, outboundProxyOf, proxyFor, useProxy } from '../../platform/outbound-proxy.ts';
import { openSettingFiles } from '../../platform/setting-files.ts';
import { MailSettings, OutboundProxySettings } from '../../platform/settings.ts';
import { createOtlpTracer } from '../../platform/otlp.ts';
import { createReports } from '../../stores/reports.ts';
import { eventually } from '../api/context.ts';
import { startCollector } from '../support/collector.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { startProxy, type TestProxy } from '../support/http-proxy.ts';
import { mountSecret } from '../support/mounted-secret.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

describe('connections through an outbound proxy', () => {
  let proxy: TestProxy;
  let settings: Record<string, string>;
  let changed: (() => void)[];
  const closing: (() => unknown)[] = [];
  const live = {
    credential: (name: string) => (settings[name] === undefined ? undefined : () => settings[name]!),
    onChange: (_names: readonly string[], listener: () => void) => void changed.push(listener),
  };
  beforeEach(async () => {
    proxy = await startProxy();
    closing.push(() => proxy.close());
    settings = { HTTPS_PROXY: proxy.url, NO_PROXY: '' };
    changed = [];
  });
  afterEach(async () => {
    useProxy(undefined);
    for (const close of closing.splice(0).reverse()) await close();
  });
  const portOf = (url: string): string => new URL(url).port;
  const rotate = (password: string): void => {
    proxy.accept(password);
    settings['HTTPS_PROXY'] = proxy.url.replace('hush', password);
    for (const listener of changed) listener();
  };

  it('carry mails, with credentials that may be rotated', async () => {
    const mail = await startMail();
    closing.push(() => mail.close());
    const smtpUrl = `smtp://mail.example:${portOf(mail.smtpUrl)}`;
    const transport = openMailServer({ smtpUrl, from: 'a@example.com', connections: 1, proxy: outboundProxyOf(live) });
    closing.push(() => transport.close());
    const send = () => transport.send({ messageId: '<1@x>', date: new Date(), to: 'ada@example.com', subject: 's', text: 't', html: '', headers: {} }); // prettier-ignore
    expect(await send()).to.deep.equal({ ok: true });
    rotate('quiet');
    expect(await send()).to.deep.equal({ ok: true });
    expect(proxy.asked).to.deep.equal(Array(2).fill(`CONNECT mail.example:${portOf(mail.smtpUrl)}`));
    const { data } = (await (await fetch(`${mail.inboxUrl}/api/mails`)).json()) as { data: CaughtMail[] };
    expect(data).to.have.length(2);
    rotate('third');
    proxy.accept('another');
    const refused = await send();
    expect(refused).to.include({ ok: false, failure: 'unavailable' });
    expect(JSON.stringify(refused)).not.to.include('third');
  });

  it('carry webhooks to addresses that were judged', async () => {
    const receiver = await startReceiver();
    closing.push(() => receiver.close());
    const resolver = {
      resolve: (name: string) =>
        Promise.resolve({ ok: true as const, addresses: [name.startsWith('inside') ? '10.0.0.1' : '203.0.114.7'] }),
    };
    const post = createPost({ rules: { allow: [], deny: [] }, resolver, userAgent: 'test', proxy: outboundProxyOf(live) });
    const port = portOf(receiver.url);
    expect((await post(`http://hook.example:${port}/`, {}, '{}')).outcome).to.equal('delivered');
    expect((await post(`http://inside.example:${port}/`, {}, '{}')).outcome).to.equal('disallowed');
    rotate('quiet');
    expect((await post(`http://hook.example:${port}/`, {}, '{}')).outcome).to.equal('delivered');
    expect(proxy.asked).to.deep.equal(Array(2).fill(`CONNECT hook.example:${port}`));
    proxy.refused.add('hook.example');
    expect((await post(`http://hook.example:${port}/`, {}, '{}')).attempt.error).to.equal(
      'The outbound proxy of this installation refused the connection.',
    );
  });

  it('carry requests to the object store', async () => {
    const objects = await startObjects({ bucket: 'reports', accessKeyId: 'x', secretAccessKey: 'y' });
    closing.push(() => objects.close());
    const endpoint = `http://store.example:${portOf(objects.endpoint)}`;
    const reports = createReports({ endpoint, region: 'us-east-1', bucket: 'reports', accessKeyId: 'x', secretAccessKey: 'y', proxy: outboundProxyOf(live) }); // prettier-ignore
    closing.push(() => reports.close());
    live.onChange([], () => reports.renew());
    await reports.ping();
    rotate('quiet');
    await reports.ping();
    expect(proxy.asked.filter((line) => line.includes('store.example'))).to.have.length(2);
  });

  it('carry what fetch sends, but not to hosts of NO_PROXY', async () => {
    const collector = await startCollector();
    closing.push(() => collector.close());
    settings['NO_PROXY'] = '.svc, 127.0.0.1';
    applyOutboundSettings(live, createFakeLogger());
    const port = portOf(collector.url);
    const trace = async (endpoint: string) => {
      const tracer = createOtlpTracer({ endpoint, service: 's', version: '1', logger: createFakeLogger() });
      tracer.start('span').end();
      await tracer.close();
      return collector.spans.length;
    };
    expect(await trace(`http://collector.example:${port}`)).to.equal(1);
    rotate('quiet');
    expect(await trace(`http://collector.example:${port}`)).to.equal(2);
    const before = proxy.asked.length;
    expect(await trace(`http://127.0.0.1:${port}`)).to.equal(3);
    expect(proxy.asked.slice(before)).to.deep.equal([]);
  });
});

describe('the credentials of a proxy and a mail server', () => {
  const schema = Type.Object({ ...OutboundProxySettings, ...MailSettings });
  const problemsOf = (name: string, value: string): readonly string[] => mistakesIn(name, schema.properties[name as 'SMTP_URL'], value);
  for (const [name, scheme] of [
    ['HTTPS_PROXY', 'http'],
    ['SMTP_URL', 'smtp'],
  ] as const)
    it(`must be percent-encoded in ${name}, and are in no message`, () => {
      for (const rest of [
        'user:hu#sh@host:25',
        'user:hu?sh@host:25',
        'user:1#hush@host:25',
        'user:hush%@host:25',
        'user:hush@host:99999',
        'user:hush@host:0',
      ]) {
        // prettier-ignore
        const problems = problemsOf(name, `${scheme}://${rest}`);
        expect(problems, rest).to.have.length(1);
        expect(problems[0]).to.match(new RegExp(`^${name} is \\(hidden\\).*%23`)).and.not.match(/hu.?sh/); // prettier-ignore
      }
      for (const rest of ['user:hu%23%25sh@host:25', 'user:hush@host', '[fd00::1]:25', 'host'])
        expect(problemsOf(name, `${scheme}://${rest}`), rest).to.deep.equal([]);
    });

  it('stay in use if their replacement is not valid, and a listener that fails does not end the process', async () => {
    const logger = createFakeLogger();
    const mounted = mountSecret({ HTTPS_PROXY: 'http://user:hush@127.0.0.1:1', SMTP_URL: 'smtp://127.0.0.1:1' });
    const files = openSettingFiles(schema, mounted.environment);
    const stop = files.follow(logger, 10);
    try {
      let told = 0;
      files.onChange(['SMTP_URL'], () => {
        throw new Error('smtp://user:hush@');
      });
      files.onChange(['SMTP_URL'], () => void told++);
      mounted.write({ HTTPS_PROXY: 'http://user:hu#sh@127.0.0.1:1', SMTP_URL: 'smtp://user:hush@127.0.0.1:2' });
      await eventually('the change', () => told === 1);
      expect(files.credential('HTTPS_PROXY')!()).to.equal('http://user:hush@127.0.0.1:1');
      const errors = logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
      expect(errors).to.deep.equal(['changed setting refused, the earlier value stays in use', 'changed setting not applied; restart the process']); // prettier-ignore
      expect(JSON.stringify(logger.lines)).to.not.match(/hu.?sh/);
    } finally {
      stop();
      mounted.remove();
    }
  });

  it('let a delivery fail and not throw, whatever they are', async () => {
    let smtpUrl = 'smtp://127.0.0.1:1';
    const transport = openMailServer({ smtpUrl: () => smtpUrl, from: 'a@example.com', connections: 1 });
    smtpUrl = 'smtp://user:hu#sh@127.0.0.1:1';
    const delivery = await transport.send({ messageId: '<1@x>', date: new Date(), to: 'ada@example.com', subject: 's', text: 't', html: '', headers: {} }); // prettier-ignore
    transport.close();
    expect(delivery).to.include({ ok: false });
    expect(JSON.stringify(delivery)).to.not.match(/hu.?sh/);
  });
});

describe('NO_PROXY', () => {
  const isDirect = (url: string, noProxy: string) => proxyFor({ url: 'http://proxy:1', noProxy }, new URL(url)) === null;
  it('names hosts, domains and addresses, each with or without a port', () => {
    for (const [url, noProxy] of [
      ['https://a.example/', 'a.example'],
      ['https://a.example./', 'A.Example'],
      ['https://a.example/', '.example'],
      ['https://a.example/', '*.example'],
      ['https://a.example/', 'x, a.example:443'],
      ['http://10.0.0.1:81/', '10.0.0.1'],
      ['http://10.0.0.1:81/', '10.0.0.1:81'],
      ['http://[fd00::1]/', '[fd00::1]'],
      ['http://[fd00::1]:81/', 'fd00::1'],
      ['http://[fd00::1]:81/', '[fd00::1]:81'],
      ['smtp://mail.example:587', 'mail.example:587'],
      ['https://a.example/', '*'],
    ] as const)
      expect(isDirect(url, noProxy), `${url} ${noProxy}`).to.equal(true);
    for (const [url, noProxy] of [
      ['https://b.a.example/', 'a.example'],
      ['https://aexample/', '.example'],
      ['https://example/', '.example'],
      ['https://a.example/', 'a.example:80'],
      ['http://[fd00::1]:81/', '[fd00::1]:82'],
      ['https://a.example/', ''],
    ] as const)
      expect(isDirect(url, noProxy), `${url} ${noProxy}`).to.equal(false);
  });

  it('may have ranges, which programs read in different ways, but they are ignored with a warning', () => {
    expect(noProxyMistakes('NO_PROXY', '.svc,localhost,10.0.0.1:80,[::1]:80,fd00::1,*,*.example.com,10.0.0.0/8')).to.deep.equal([]);
    expect(noProxyMistakes('NO_PROXY', 'http://a.example')[0]).to.match(/^NO_PROXY holds "http:.*"; each item must be a host name/);
    expect(isDirect('http://10.0.0.1/', '10.0.0.0/8')).to.equal(false);
    const logger = createFakeLogger();
    const settings: Record<string, string> = { SCANNER_HTTPS_PROXY: 'http://proxy:1', SCANNER_NO_PROXY: '.svc, 10.0.0.0/8,fd00::/8', NO_PROXY: '10.0.0.0/8' }; // prettier-ignore
    applyOutboundSettings({ credential: (name) => (settings[name] ? () => settings[name]! : undefined), onChange: () => undefined }, logger); // prettier-ignore
    expect(logger.lines.map(({ level, fields }) => [level, fields])).to.deep.equal([
      ['warn', { setting: 'SCANNER_NO_PROXY', ranges: ['10.0.0.0/8', 'fd00::/8'] }],
    ]);
  });
});
