/** The mail about a public scan while operators and replicas of the API come and go. */
import { expect } from 'chai';
import { SMTPServer } from 'smtp-server';
import { ANONYMOUS } from '../../core/organisation.ts';
import { resultMailId } from '../../stores/outbox/mails.ts';
import { findMail } from '../support/find-mail.ts';
import { openContext, until, type OperatorContext, type Scan } from './context.ts';

describe('operator: the mail about a public scan', () => {
  let context: OperatorContext;
  let server: SMTPServer;
  /** Ends a delivery: the server then accepts the mail. */
  let accepts: (() => void)[];
  let delivered: number;

  beforeEach(async () => {
    [accepts, delivered] = [[], 0];
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      disableReverseLookup: true,
      closeTimeout: 100,
      onData(stream, _session, done) {
        stream.resume().on('end', () => accepts.push(() => ((delivered += 1), done())));
      },
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    context = await openContext();
  });
  afterEach(async () => {
    await context?.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  const mail = () => ({
    smtpUrl: `smtp://127.0.0.1:${(server.server.address() as { port: number }).port}`,
    from: 'no-reply@curbcut.example.com',
  });

  async function publicScan(): Promise<Scan> {
    const scan = await context.submit({ queue: 'public', maxPages: 1 }, 1, ANONYMOUS);
    const [createdAt, expiresAt] = [new Date(), new Date(Date.now() + 86_400_000)];
    const person = { url: 'https://example.com/', email: `${scan.id}@example.com`, locale: 'en' } as const;
    const token = `token-${scan.id}`;
    await context.stores.publicScans.claim({ token, scanId: scan.id, ...person, createdAt, expiresAt }, '192.0.2.1');
    return scan;
  }
  const entry = ({ id }: Scan) => findMail(context.db, resultMailId(id));

  it('is sent once by several replicas, also while no operator leads', async () => {
    const scan = await publicScan();
    await scan.patch({ spec: { cancel: true } });
    const operator = context.start();
    await scan.settles();
    const first = context.startOutbox({ mail: mail() });
    await until('the mail is being delivered', () => accepts.length === 1);
    expect(await entry(scan)).to.include({ state: 'waiting', attempts: 1 });

    const later = await publicScan();
    await later.patch({ spec: { cancel: true } });
    await later.settles();
    await operator.stop();
    const second = context.startOutbox({ mail: mail() });
    await until('the other mail is being delivered', () => accepts.length === 2);
    expect((await entry(later))?.attempts).to.equal(1);
    for (const accept of accepts) accept();
    for (const one of [scan, later]) {
      await until('the mail was recorded', async () => (await entry(one))?.state === 'delivered');
      expect((await entry(one))?.attempts).to.equal(1);
    }
    await Promise.all([first.stop(), second.stop()]);
    expect(delivered).to.equal(2);
    expect([...first.lines, ...second.lines].filter(({ message }) => message === 'mail sent')).to.have.lengthOf(2);
  });
});
