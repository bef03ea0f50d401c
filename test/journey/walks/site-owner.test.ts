/** The owner of a site, who reads German on a narrow phone: from the form to a shared result that is taken back. */
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { wordsIn } from '../../../report/words/words.ts';
import { sharedBrowser } from '../../web/browser.ts';
import { takeScreenshot } from '../../web/screenshots.ts';
import { eventually, type WholeProduct } from '../product.ts';
import { sharedProduct } from '../shared-product.ts';

/** A small phone, or a desktop at 400 % zoom. */
const NARROW = { width: 320, height: 640 };
const EMAIL = 'inhaberin@example.com';

describe('the owner of a site, in German at 320 px', function () {
  this.timeout(180_000);
  const { texts, format } = wordsIn('de', 'publicPages');
  const report = wordsIn('de', 'report').texts;
  let product: WholeProduct;
  let visitor: BrowserContext;
  let page: Page;
  /** The address of the page, as it is entered and as titles name it. */
  let address: string;
  /** The address of the result. */
  let own: string;
  /** The address to share. */
  let shared: string;
  before(async () => {
    product = await sharedProduct();
    visitor = await newVisitor();
    page = await visitor.newPage();
  });
  after(async () => {
    await visitor?.close();
  });

  async function newVisitor(): Promise<BrowserContext> {
    const one = await (await sharedBrowser()).newContext({ baseURL: product.url, viewport: NARROW, locale: 'de-DE' });
    one.setDefaultTimeout(60_000);
    return one;
  }
  /** What the main part of a page shows. Fails if the page scrolls sideways. */
  const shows = async (name: string, shown: Page = page): Promise<string> => {
    await takeScreenshot(shown, `walk-owner-${name}`);
    expect(await shown.evaluate('document.documentElement.scrollWidth'), name).to.equal(NARROW.width);
    return shown.locator('main').innerText();
  };

  it('enters an address without a scheme, and sees the progress', async () => {
    await page.goto('/de');
    expect(await shows('1-form')).to.include(texts.home.urlHint);
    address = `${new URL(product.demoUrl).host}/de/`;
    await page.getByLabel(texts.home.url).fill(address);
    await page.getByLabel(texts.home.email).fill(EMAIL);
    await page.getByRole('button', { name: texts.home.submit }).click();
    await page.waitForURL(/\/de\/scan\/[\w-]{43}$/);
    own = page.url();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.not.include('http');
    await shows('2-progress');
  });

  it('reads what fails, how much contrast is missing, and what to do', async () => {
    await page.getByRole('heading', { name: texts.result.fixTitle }).waitFor({ timeout: 90_000 });
    const text = await shows('3-result');
    expect(text)
      .to.include(report.howToFix)
      .and.match(/Kontrast \d,\d+:1, erforderlich 4,5:1/);
    expect(text).to.include(texts.share.private);
  });

  it('gets a mail that leads back to the result', async () => {
    const inbox = `${product.inboxUrl}/api/mails?to=${encodeURIComponent(EMAIL)}`;
    const mails = async () => ((await (await fetch(inbox)).json()) as { data: { subject: string; text: string }[] }).data;
    const received = await eventually(mails, ({ length }) => length > 0);
    expect(received).to.have.length(1);
    const mail = received[0]!;
    expect(mail.subject).to.match(/^Barrierefreiheit von .*: \d+ Verst/);
    await page.goto(product.inboxUrl!);
    await page.getByRole('link', { name: mail.subject }).click();
    await takeScreenshot(page, 'walk-owner-4-mail');
    expect(mail.text).to.include(wordsIn('de', 'mail').texts.result.done.button).and.include(own);
    // The site does not answer over https.
    expect(mail.text).to.include(`${report.page}: ${product.demoUrl}/de/`);
    await page.goto(own);
    await page.getByRole('heading', { name: texts.result.fixTitle }).waitFor();
  });

  it('downloads the PDF', async () => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: texts.share.pdf }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).to.match(/\.pdf$/);
  });

  it('shares the result with somebody who can only read it', async () => {
    await page.getByRole('button', { name: texts.share.create }).click();
    shared = await page.locator('#share-link').innerText();
    expect(await shows('5-shared')).to.include(texts.share.shared.split('{date}')[0]);
    const guest = await newVisitor();
    try {
      const theirs = await guest.newPage();
      await theirs.goto(shared);
      await theirs.getByRole('heading', { name: texts.result.fixTitle }).waitFor();
      expect(await shows('6-guest', theirs)).to.not.include(texts.share.private);
      expect(await theirs.getByRole('button', { name: texts.share.revoke }).count()).to.equal(0);
    } finally {
      await guest.close();
    }
  });

  it('takes the link back, which ends it for everybody else', async () => {
    await page.getByRole('button', { name: texts.share.revoke }).click();
    await page.getByRole('button', { name: texts.share.create }).waitFor();
    await shows('7-taken-back');
    await page.goto(shared);
    expect(await shows('8-ended'))
      .to.include(texts.unknown.text)
      .and.include(texts.home.formTitle);
  });

  it('is led back to the form to test the page again', async () => {
    await page.goto(own);
    await page.getByRole('heading', { name: format(texts.result.title, { site: address }) }).waitFor();
    await page.getByRole('heading', { name: texts.result.anotherTitle, level: 2 }).waitFor();
    await page.getByRole('link', { name: texts.again }).click();
    expect(await page.getByLabel(texts.home.url).inputValue()).to.include(address);
  });
});
