import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import { createMailbox, MAILS_MAX, type CaughtMail } from './mailbox.ts';
import { startMail, type MailCatcher } from './mail.ts';
import { framedHtml } from './pages.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

describe('mail catcher', () => {
  let catcher: MailCatcher;
  before(async () => {
    catcher = await startMail();
  });
  beforeEach(async () => {
    await fetch(`${catcher.inboxUrl}/api/mails`, { method: 'DELETE' });
  });
  after(() => catcher.close());

  async function send(mail: object = {}): Promise<void> {
    const transport = createTransport(catcher.smtpUrl);
    await transport.sendMail({
      from: 'Curbcut <no-reply@localhost>',
      to: 'ada@example.com',
      subject: 'Wyniki są gotowe',
      text: 'tekst',
      ...mail,
    });
    transport.close();
  }
  const mails = async (query = ''): Promise<CaughtMail[]> =>
    ((await (await fetch(`${catcher.inboxUrl}/api/mails${query}`)).json()) as { data: CaughtMail[] }).data;
  const page = async (path: string) => {
    const response = await fetch(`${catcher.inboxUrl}${path}`);
    return { status: response.status, policy: response.headers.get('content-security-policy'), body: await response.text() };
  };

  it('keeps a mail with its headers, texts and source', async () => {
    expect((await page('/')).body).to.include('No mail has arrived yet');
    await send({ html: '<p>tekst <b>HTML</b></p>', headers: { 'X-Check': 'yes' } });
    const [mail] = await mails();
    expect(mail).to.deep.include({
      from: 'Curbcut <no-reply@localhost>',
      to: 'ada@example.com',
      subject: 'Wyniki są gotowe',
      html: '<p>tekst <b>HTML</b></p>\n',
      envelope: { from: 'no-reply@localhost', to: ['ada@example.com'] },
    });
    expect(mail!.text!.trim()).to.equal('tekst');
    expect(mail!.headers).to.deep.include({ name: 'x-check', value: 'yes' });
    expect((await page(`/mails/${mail!.id}/source`)).body).to.equal(mail!.source).and.include('X-Check: yes'); // prettier-ignore
    expect((await page('/')).body)
      .to.include('Inbox (1)')
      .and.include('Wyniki są gotowe');
    expect((await page(`/mails/${mail!.id}`)).body).to.include('<h1>Wyniki są gotowe</h1>');
  });

  it('lists the newest mail first, and those to one address', async () => {
    await send({ subject: 'first' });
    await send({ subject: 'second', to: 'grace@example.com' });
    expect((await mails()).map(({ subject }) => subject)).to.deep.equal(['second', 'first']);
    expect((await mails('?to=ada@example.com')).map(({ subject }) => subject)).to.deep.equal(['first']);
  });

  it('escapes mails on its pages, and shows their HTML where nothing can run or load', async () => {
    await send({ subject: HOSTILE, text: HOSTILE, html: `<html><head></head><body>${HOSTILE}<script>alert(1)</script></body></html>` });
    const [mail] = await mails();
    for (const path of ['/', `/mails/${mail!.id}`]) {
      const { body, policy } = await page(path);
      expect(body).to.include('&lt;img src=x onerror=alert(1)&gt;').and.not.include(HOSTILE); // prettier-ignore
      expect(policy).to.match(/^default-src 'none'; style-src 'self';/);
    }
    const framed = await page(`/mails/${mail!.id}/html`);
    expect(framed.policy).to.include("default-src 'none'").and.match(/sandbox allow-popups allow-popups-to-escape-sandbox$/); // prettier-ignore
    expect(framed.policy).not.to.include('script');
    expect((await page(`/mails/${mail!.id}`)).body).to.include('sandbox="allow-popups allow-popups-to-escape-sandbox"');
  });

  it('opens the links of a mail in a new tab', () => {
    expect(framedHtml('<!doctype html><html><head lang="en"><title>t</title>')).to.equal(
      '<!doctype html><html><head lang="en"><base target="_blank" /><title>t</title>',
    );
    expect(framedHtml('<p>t</p>')).to.equal('<base target="_blank" /><p>t</p>');
  });

  it('answers 404 for an unknown mail, 405 for other methods, and refuses names that another site may own', async () => {
    expect((await page('/mails/999')).status).to.equal(404);
    expect((await page('/nothing')).status).to.equal(404);
    expect((await fetch(catcher.inboxUrl, { method: 'POST' })).status).to.equal(405);
    const { request } = await import('node:http');
    const statusFor = (host: string) =>
      new Promise((resolve) =>
        request(`${catcher.inboxUrl}/api/mails`, { headers: { host } }, ({ statusCode }) => resolve(statusCode)).end(),
      );
    expect(await statusFor('attacker.example')).to.equal(421);
    expect(await statusFor('localhost:8025')).to.equal(200);
    expect(await statusFor('[::1]:8025')).to.equal(200);
  });

  it('keeps the newest mails within its limits of number and size', async () => {
    const add = async (mailbox: ReturnType<typeof createMailbox>, subject: string, size = 10) =>
      mailbox.add(Buffer.from(`Subject: ${subject}\r\n\r\n${'x'.repeat(size)}`), { from: 'a@example.com', to: ['b@example.com'] });
    const many = createMailbox();
    for (let n = 1; n <= MAILS_MAX + 3; n += 1) await add(many, `mail ${n}`);
    expect(many.list()).to.have.lengthOf(MAILS_MAX);
    expect(many.list().at(-1)?.subject).to.equal('mail 4');
    expect(many.find(3)).to.equal(null);
    const large = createMailbox({ bytesMax: 1000 });
    for (const subject of ['one', 'two', 'three']) await add(large, subject, 450);
    expect(large.list().map(({ subject }) => subject)).to.deep.equal(['three', 'two']);
  });

  it('frees its ports when it is closed', async () => {
    const first = await startMail();
    const [smtpPort, httpPort] = [first.smtpUrl, first.inboxUrl].map((url) => Number(new URL(url).port));
    await first.close();
    const second = await startMail({ smtpPort, httpPort });
    expect(second).to.include({ smtpUrl: first.smtpUrl, inboxUrl: first.inboxUrl });
    const taken = await startMail({ httpPort }).then(() => 'started', (error: NodeJS.ErrnoException) => error.code); // prettier-ignore
    expect(taken).to.equal('EADDRINUSE');
    await second.close();
  });
});
