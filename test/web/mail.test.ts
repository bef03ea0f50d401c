import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import { WORDS } from '../../report/words/words.ts';
import { SOME_LOCALES, someOf } from '../support/nightly.ts';
import { startMail } from '../../local/mail/mail.ts';
import { createSuppressions, type Suppressions } from '../../stores/outbox/suppressions.ts';
import type { MailTopic } from '../../stores/outbox/subscriptions.ts';
import { mailedLink } from '../api/people.ts';
import { down } from '../api/replica.ts';
import { SAMPLES } from '../support/mail-samples.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { sharedBrowser } from './browser.ts';
import { opened } from '../support/opened.ts';
import { useWeb } from './web.ts';

describe('mails and their unsubscribe links', () => {
  const web = useWeb({ mail: true });
  const catcher = opened(() => startMail());

  it('of each kind are accessible as a document', async () => {
    const page = await (await web.visitor()).newPage();
    for (const [kind, render] of someOf(Object.entries(SAMPLES), 5)) {
      await page.setContent(render('de').html);
      await expectAccessible(page, `mail-${kind}`);
    }
  });

  it('in the inbox of the mail catcher are listed and shown accessibly, run nothing, and open links in a new tab', async () => {
    const visitor = await web.visitor();
    const page = await visitor.newPage();
    await page.goto(catcher.inboxUrl);
    const transport = createTransport(catcher.smtpUrl);
    const { subject, html, text } = SAMPLES['done']!('de');
    const script = `<script>document.title = 'it ran'</script><img src="${web.url}/tracker.png" alt="" />`;
    const link = html.replaceAll('https://curbcut.example.com/scan/', `${web.url}/docs?`).replace('</body>', `${script}</body>`);
    await transport.sendMail({ from: 'Curbcut <no-reply@localhost>', to: 'ada@example.com', subject, text, html: link });
    transport.close();
    await page.getByRole('link', { name: 'Refresh' }).click();
    await expectAccessible(page, 'inbox');

    const address = `${catcher.inboxUrl}${await page.getByRole('link', { name: subject }).getAttribute('href')}`;
    await page.route(/\/html$/, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await page.goto(address);
    await expectAccessible(page, 'inbox-mail');

    // The browser reports what it blocked, so this visitor is one whose errors are not recorded.
    const other = await (await sharedBrowser()).newContext();
    const careless = await other.newPage();
    const answered: string[] = [];
    careless.on('response', (response) => answered.push(response.url()));
    await careless.goto(address);
    const framed = careless.frameLocator('iframe');
    await framed.getByRole('heading', { level: 1 }).waitFor();
    await careless.waitForLoadState('networkidle');
    expect(answered).to.include(`${address}/html`);
    expect(answered.filter((url) => url.startsWith(web.url))).to.deep.equal([]);
    expect(await framed.locator('title').innerText()).to.equal(subject);
    const [opened] = await Promise.all([
      other.waitForEvent('page'),
      framed.getByRole('link', { name: 'Vollständiges Ergebnis öffnen' }).click(),
    ]);
    await opened.waitForURL(`${web.url}/**`);
    await other.close();
  });

  let suppressions: Suppressions;
  before(() => void (suppressions = createSuppressions(web.db)));

  async function subscribed(email: string, topic: MailTopic) {
    await web.stores.subscriptions.set('acme', email, topic, true);
    return (await web.stores.subscriptions.find('acme', email))!;
  }

  const post = (token: string, body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(`${web.url}/unsubscribe/${token}`, { method: 'POST', headers: { 'content-type': type }, body, redirect: 'manual' });

  for (const locale of SOME_LOCALES)
    it(`unsubscribe and undo it with a button, without scripts, in ${locale}`, async () => {
      const email = `ada@${locale}.example`;
      const token = await suppressions.tokenFor(email, locale);
      const texts = WORDS[locale].publicPages.unsubscribe;
      const plain = await web.open(`/unsubscribe/${token}`, { javaScriptEnabled: false });
      expect(await plain.locator('html').getAttribute('lang')).to.equal(locale);
      expect(await suppressions.find(email, 'public'), 'a scanner that opens the link').to.equal(null);
      await plain.getByRole('button', { name: texts.unsubscribe }).click();
      expect(await plain.locator('h1').innerText()).to.equal(texts.doneTitle);
      expect((await suppressions.find(email, 'public'))?.reason).to.equal('unsubscribed');
      await plain.getByRole('button', { name: texts.resubscribe }).click();
      expect(await plain.locator('h1').innerText()).to.equal(texts.title);
      expect(await suppressions.find(email, 'public')).to.equal(null);
      await expectAccessible(await web.open(`/unsubscribe/${token}`), `unsubscribe-${locale}`);
    });

  it('about a site end with a button, without scripts, and begin again', async () => {
    const { token } = await subscribed('grace@sites.example', 'site:shop.example');
    const texts = WORDS.en.publicPages.stopMails;
    const page = await web.open(`/unsubscribe/${token}/site:shop.example`, { javaScriptEnabled: false });
    await page.getByRole('button', { name: texts.stop }).click();
    expect(await page.locator('h1').innerText()).to.equal(texts.doneTitle);
    await page.getByRole('button', { name: texts.again }).click();
    expect(await page.locator('h1').innerText()).to.equal(texts.title);
    await expectAccessible(await web.open(`/unsubscribe/${token}/site:shop.example`), 'stop-mails');
  });

  it('ask recipients without an account, who agree and end them without scripts', async () => {
    const owner = await openAs(web, 'owner', '/dashboard/settings/recipients');
    await web.scan(owner.organisation, { phase: 'done', finishedAt: new Date() });
    await owner.getByLabel('E-mail address').fill('lee@recipients.example');
    await owner.getByRole('button', { name: 'Ask for consent' }).click();
    await owner.getByRole('link', { name: 'Choose the weekly summary, or enter a site.' }).waitFor();
    await owner.getByLabel('A summary of all sites on Monday').check();
    await owner.getByRole('button', { name: 'Ask for consent' }).click();
    await owner.getByText('Nothing else is sent before').waitFor();
    await expectAccessible(owner, 'recipients');
    const texts = WORDS.en.publicPages.recipient;
    const page = await web.open(await mailedLink(web, 'lee@recipients.example'), { javaScriptEnabled: false });
    await page.getByRole('button', { name: texts.agree }).click();
    await page.getByText(texts.agreed).waitFor();
    await expectAccessible(await web.open(new URL(page.url()).pathname), 'recipient');
    await page.getByRole('button', { name: texts.remove }).click();
    expect(await page.locator('h1').innerText()).to.equal(texts.endedTitle);
  });

  for (const [encoding, type, body] of [
    ['url-encoded', 'application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    [
      'multipart',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    ],
  ] as const)
    it(`unsubscribe with one click of a mail program, ${encoding}, without cookies`, async () => {
      const token = await suppressions.tokenFor(`grace@${encoding}.example`, 'en');
      for (let time = 0; time < 2; time += 1) {
        const response = await post(token, body, type);
        expect(response.status).to.equal(200);
        expect(response.headers.get('set-cookie')).to.equal(null);
        expect((await suppressions.find(`grace@${encoding}.example`, 'public'))?.reason).to.equal('unsubscribed');
      }
    });

  it('say what to do if they are unknown or expired', async () => {
    const page = await web.open('/unsubscribe/unknown');
    expect(await page.locator('h1').innerText()).to.equal(WORDS.en.publicPages.unsubscribe.unknownTitle);
    expect((await fetch(`${web.url}/unsubscribe/unknown`)).status).to.equal(404);
    expect((await post('unknown', 'List-Unsubscribe=One-Click')).status).to.equal(404);
  });

  it('ask to try again while the database is down', async () => {
    const token = await suppressions.tokenFor('ada@example.com', 'en');
    web.faults.set('suppressions.unsubscribe', down);
    const response = await post(token, 'List-Unsubscribe=One-Click');
    web.faults.delete('suppressions.unsubscribe');
    expect(response.status).to.equal(503);
    expect(response.headers.get('retry-after')).to.match(/^\d+$/);
    expect(await suppressions.find('ada@example.com', 'public')).to.equal(null);
  });
});
