/** Servers with certificates of a private authority: every client of API and operator refuses them, until the authority is trusted. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { startDocuments } from '../../local/documents/documents.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { openMailServer } from '../../api/outbox/smtp.ts';
import { createPost } from '../../api/outbox/post.ts';
import { createIdentityProvider } from '../../api/accounts/sessions/identity-provider.ts';
import { authorityHint, bundleMistakes, trustAuthorities } from '../../platform/authorities.ts';
import { createOtlpTracer } from '../../platform/otlp.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { openNatsConnection } from '../../stores/nats-connection.ts';
import { createReports } from '../../stores/reports.ts';
import { eventually } from '../api/context.ts';
import { startCollector } from '../support/collector.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { startProvider } from '../support/oidc-provider.ts';
import { createAuthority, restoreAuthorities, startTlsFront } from '../support/private-authority.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

describe('servers of a private authority', () => {
  const authority = createAuthority('Acme');
  const closing: (() => unknown)[] = [];
  restoreAuthorities();
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function frontOf(address: string): Promise<number> {
    const front = await startTlsFront(Number(new URL(address).port), authority.issue());
    closing.push(front.close);
    return front.port;
  }
  const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (error: unknown) => error); // prettier-ignore
  const isHinted = (error: unknown): void => {
    expect(authorityHint(error), String(error)).to.include('Add the authority to PRIVATE_CA');
  };

  it('are reached by the driver of MongoDB', async () => {
    const documents = await startDocuments();
    closing.push(documents.close);
    const url = new URL(documents.url.replace('mongodb:', 'http:'));
    url.port = String(await frontOf(url.href));
    url.searchParams.set('tls', 'true');
    url.searchParams.set('serverSelectionTimeoutMS', '500');
    const open = () => {
      const connection = connectMongo({ url: url.href.replace('http:', 'mongodb:') });
      closing.push(() => connection.close());
      return connection;
    };
    isHinted(await failureOf(open().ping()));
    trustAuthorities(createAuthority('Another').bundle);
    isHinted(await failureOf(open().ping()));
    trustAuthorities(authority.bundle);
    await open().ping();
  });

  it('are reached by the client of S3', async () => {
    const objects = await startObjects({ bucket: 'reports', accessKeyId: 'x', secretAccessKey: 'y' });
    closing.push(objects.close);
    const endpoint = `https://127.0.0.1:${await frontOf(objects.endpoint)}`;
    const reports = createReports({ endpoint, region: 'us-east-1', bucket: 'reports', accessKeyId: 'x', secretAccessKey: 'y' });
    closing.push(() => reports.close());
    isHinted(await failureOf(reports.ping()));
    trustAuthorities(authority.bundle);
    await reports.ping();
  });

  it('are reached by the client of NATS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'curbcut-nats-tls-'));
    closing.push(() => rmSync(folder, { recursive: true, force: true }));
    const { key, certificate } = authority.issue();
    const [keyFile, certificateFile] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string];
    writeFileSync(keyFile, key);
    writeFileSync(certificateFile, certificate);
    const port = 20_000 + (process.pid % 20_000);
    const server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), '--tls', '--tlscert', certificateFile, '--tlskey', keyFile], { stdio: 'ignore' }); // prettier-ignore
    closing.push(async () => {
      server.kill('SIGKILL');
      await once(server, 'close');
    });
    const listens = () => new Promise<boolean>((resolve) => connect(port, '127.0.0.1').on('error', () => resolve(false)).on('connect', function (this: ReturnType<typeof connect>) { this.destroy(); resolve(true); })); // prettier-ignore
    await eventually('the server', listens);
    const logger = createFakeLogger();
    const bus = openNatsConnection({ url: `tls://127.0.0.1:${port}`, readCredentials: null, logger });
    closing.push(() => bus.close());
    isHinted((await eventually('the refusal', () => logger.lines.find(({ level }) => level === 'warn'))).fields['err']);
    trustAuthorities(authority.bundle);
    await eventually('the connection', () => bus.connected);
  });

  it('are reached by mail, and a refusal is explained', async () => {
    const { key, certificate } = authority.issue();
    const received: string[] = [];
    const server = new SMTPServer({
      secure: true,
      key,
      cert: certificate,
      disabledCommands: ['AUTH'],
      disableReverseLookup: true,
      onData: (stream, session, done) => void stream.resume().on('end', () => (received.push(session.envelope.rcptTo[0]!.address), done())),
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const { port } = server.server.address() as { port: number };
    const send = async () => {
      const transport = openMailServer({ smtpUrl: `smtps://127.0.0.1:${port}`, from: 'a@example.com', connections: 1 });
      const sent = await transport.send({ messageId: '<1@x>', date: new Date(), to: 'ada@example.com', subject: 's', text: 't', html: '', headers: {} }); // prettier-ignore
      transport.close();
      return sent;
    };
    expect(await send())
      .to.have.property('reason')
      .that.includes('Add the authority to PRIVATE_CA');
    trustAuthorities(authority.bundle);
    expect(await send()).to.deep.equal({ ok: true });
    expect(received).to.deep.equal(['ada@example.com']);
  });

  it('are reached by webhooks, spans and sign-in', async () => {
    const receiver = await startReceiver();
    const collector = await startCollector();
    closing.push(() => receiver.close(), () => collector.close()); // prettier-ignore
    const resolver = { resolve: () => Promise.resolve({ ok: true as const, addresses: ['127.0.0.1'] }) };
    const post = createPost({ rules: { allow: ['127.0.0.0/8'], deny: [] }, resolver, userAgent: 'test' });
    const hook = `https://127.0.0.1:${await frontOf(receiver.url)}/`;
    const collected = `https://127.0.0.1:${await frontOf(collector.url)}`;
    // Its documents name an issuer without TLS, which the client refuses only after it has read them.
    const provider = await startProvider('https://curbcut.example/callback');
    closing.push(() => provider.close());
    const issuer = `https://127.0.0.1:${await frontOf(provider.issuer)}`;
    const signIn = () => failureOf(createIdentityProvider({ issuer, clientId: 'c', clientSecret: 's', redirectUri: 'https://curbcut.example/callback' }).start()); // prettier-ignore
    const trace = async () => {
      const tracer = createOtlpTracer({ endpoint: collected, service: 's', version: '1', logger: createFakeLogger() });
      tracer.start('span').end();
      await tracer.close();
      return collector.spans.length;
    };
    expect((await post(hook, {}, '{}')).attempt.error).to.include('The certificate of the endpoint is not accepted');
    isHinted(await signIn());
    expect(await trace()).to.equal(0);
    trustAuthorities(authority.bundle);
    expect((await post(hook, {}, '{}')).outcome).to.equal('delivered');
    expect(authorityHint(await signIn())).to.equal(undefined);
    expect(await trace()).to.equal(1);
  });

  it('need a bundle of certificates, and of nothing else', () => {
    expect(bundleMistakes('PRIVATE_CA', `Acme\n${authority.bundle}`)).to.deep.equal([]);
    const mistakeIn = (bundle: string) => bundleMistakes('PRIVATE_CA', bundle)[0];
    expect(mistakeIn('/etc/ca.pem')).to.equal('PRIVATE_CA holds no certificate; it must be certificates of authorities in PEM format.');
    expect(mistakeIn(authority.issue().key)).to.include('PRIVATE_CA holds a private key');
    expect(mistakeIn(authority.bundle.replace(/\n.{20}/, '\nAAAA'))).to.include('PRIVATE_CA: certificate 1 of 1 is malformed');
    expect(mistakeIn(authority.bundle.repeat(300))).to.include('leave out the public authorities');
  });
});
