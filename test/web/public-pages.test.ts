/** Public pages as people use them: by keyboard, without JavaScript, with mistakes, and while a scan runs. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { WORDS, wordsIn } from '../../report/words/words.ts';
import { reviewText } from '../../report/rule-texts/rule-texts.ts';
import { openStores } from '../../stores/stores.ts';
import { PUBLIC_SCANS } from '../api/public-context.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { sampleNode, sampleViolation } from '../report/samples.ts';
import { showCount } from '../support/counts.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { expectAccessible } from './accessible.ts';
import { sampleView, servePublicPages, storePublicScan, storeView, TESTED_URL } from './public-world.ts';
import { opened } from '../support/opened.ts';
import { useWeb } from './web.ts';

const [en, de] = [WORDS.en.publicPages, WORDS.de.publicPages];

describe('public pages', () => {
  // One request for each language, and one more is refused.
  const web = useWeb({ publicScans: { ...PUBLIC_SCANS, perAddressAndHour: SOME_LOCALES.length } });
  const openIn = (path: string, options?: Parameters<typeof web.open>[1]) => web.open(inLanguage('de', path), options);

  it('promise the time of the estimate, and a mail unless the address unsubscribed', async () => {
    const finishedAt = new Date();
    const createdAt = new Date(finishedAt.getTime() - 180_000);
    for (let n = 0; n < 4; n += 1) await storePublicScan(web, { phase: 'done', submission: 'accepted', createdAt, finishedAt });
    const shown = async (token: string) => (await openIn(`/scan/${token}`)).locator('.lead').innerText();
    const text = await shown(await storePublicScan(web, { phase: 'scanning', startedAt: new Date() }));
    expect(text).to.equal(`${de.waiting.estimate.replace('{time}', 'etwa 3 Minuten')} ${de.waiting.mail}`);
    const email = 'gone@example.com';
    const { suppressions } = openStores(web.db);
    await suppressions.unsubscribe(await suppressions.tokenFor(email, 'de'));
    expect(await shown(await storePublicScan(web, { phase: 'scanning' }, null, email)))
      .to.include(de.waiting.noMail)
      .and.not.include(de.waiting.mail);
  });

  for (const locale of SOME_LOCALES) {
    const texts = WORDS[locale].publicPages;
    it(`show each state of a scan accessibly in ${locale}`, async () => {
      const token = await storePublicScan(web, { phase: 'done' }, sampleView());
      const page = await web.open(inLanguage(locale, `/scan/${token}`));
      expect(await page.locator('html').getAttribute('lang')).to.equal(locale);
      expect(await page.locator('h1').innerText()).to.equal(texts.result.title.replace('{site}', 'www.example.org/visit'));
      expect(await page.locator('.finding').count()).to.equal(4);
      await expectAccessible(page, `result-${locale}`);
      const open = async (token: string) => page.goto(inLanguage(locale, `/scan/${token}`));
      await open(await storePublicScan(web, { phase: 'failed', message: 'The site did not answer.' }));
      await expectAccessible(page, `failed-${locale}`);
      await open(await storePublicScan(web, { phase: 'scanning' }));
      expect(await page.locator('[aria-current="step"]').innerText()).to.equal(texts.waiting.states.scanning);
      await expectAccessible(page, `waiting-${locale}`);
    });

    it(`lead from the form, by its mistakes, to the result in ${locale}`, async () => {
      const { home, waiting, result } = texts;
      const page = await web.open(inLanguage(locale, '/'));
      await page.getByLabel(home.url).fill('ht tp:/x y');
      await page.getByRole('button', { name: home.submit }).click();
      await page.getByRole('alert').waitFor();
      expect(await page.evaluate("document.activeElement.getAttribute('role')")).to.equal('alert');
      await expectAccessible(page, `home-${locale}`);
      await page.getByLabel(home.url).fill('example.com');
      await page.getByLabel(home.email).fill(`ann-${locale}@example.com`);
      await page.getByRole('button', { name: home.submit }).click();
      await page.getByRole('heading', { level: 1, name: waiting.title.replace('{site}', 'example.com') }).waitFor();
      const scan = (await web.stores.publicScans.findByToken(new URL(page.url()).pathname.split('/').at(-1)!))!;
      expect(scan).to.include({ url: 'https://example.com/', email: `ann-${locale}@example.com`, locale });
      await page.evaluate('globalThis.sameDocument = true');
      await web.stores.scans.mirror(scan.scanId, { phase: 'scanning' });
      await page.locator('[role="status"]', { hasText: waiting.states.scanning }).waitFor({ state: 'attached' });
      await web.stores.scans.mirror(scan.scanId, await storeView(web, scan.scanId, sampleView()));
      await page.getByRole('heading', { level: 2, name: result.fixTitle }).waitFor();
      await page.locator('[role="status"]', { hasText: result.ready }).waitFor({ state: 'attached' });
      expect(await page.evaluate('globalThis.sameDocument')).to.equal(true);
    });
  }

  it('refuse a request after too many, with the time to wait, and keep what was typed', async () => {
    const page = await web.open('/');
    await page.getByLabel(en.home.url).fill('https://example.com/');
    await page.getByLabel(en.home.email).fill('bob@example.com');
    await page.getByRole('button', { name: en.home.submit }).click();
    expect(await page.getByRole('alert').innerText()).to.include(en.refused.rateLimited.split('{when}')[0]!);
    expect(await page.getByLabel(en.home.email).inputValue()).to.equal('bob@example.com');
    const body = new URLSearchParams({ url: 'example.com', email: 'bob@example.com' });
    const answer = await fetch(`${web.url}/scan-request`, { method: 'POST', body });
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).to.deep.equal([429, true]);
  });

  it('can be used by keyboard alone: skip link, then every control in order, each with a visible focus', async () => {
    const page = await web.open('/');
    const order: string[] = [];
    for (let step = 0; step < 11; step++) {
      await page.keyboard.press('Tab');
      const [name, outline] = await page.evaluate<[string, string]>(
        '[document.activeElement.innerText || document.activeElement.id, getComputedStyle(document.activeElement).outlineWidth]',
      );
      order.push(name.trim());
      expect(outline, name).to.equal('3px');
    }
    const languages = ['English', 'Deutsch', 'Français', 'Nederlands', 'Polski'];
    expect(order).to.deep.equal(['Skip to main content', 'Curbcut', ...languages, 'Documentation', 'Dashboard', 'url', 'email']);
    await page.goto('/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
  });

  it('keep what was typed and link each error to its field without JavaScript, and open again at the form', async () => {
    const page = await openIn('/', { javaScriptEnabled: false });
    await page.getByLabel(de.home.url).fill('https://example.com/"><script>alert(1)</script>');
    await page.getByLabel(de.home.email).fill('keine Adresse');
    await page.getByRole('button', { name: de.home.submit }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel(de.home.url).inputValue()).to.equal('https://example.com/"><script>alert(1)</script>');
    const email = page.getByLabel(de.home.email);
    expect(await email.inputValue()).to.equal('keine Adresse');
    expect(await email.getAttribute('aria-invalid')).to.equal('true');
    const ids = (await email.getAttribute('aria-describedby'))!.split(' ');
    expect(await page.locator(`#${ids[1]}`).innerText()).to.equal(de.refused.emailInvalid);
    expect(await page.title()).to.match(/^Es gibt \d Problem/);
    expect(await page.getByRole('link', { name: de.refused.emailInvalid }).getAttribute('href')).to.equal('#email');
    const response = await page.goto(page.url());
    expect([response!.status(), new URL(page.url()).pathname]).to.deep.equal([200, '/de']);
  });

  it('transfer less than 70 KB for the first page, of which the typeface is 50 KB', async () => {
    const page = await (await web.visitor()).newPage();
    const sizes: number[] = [];
    page.on(
      'requestfinished',
      (request) =>
        void request.sizes().then(({ responseBodySize, responseHeadersSize }) => sizes.push(responseBodySize + responseHeadersSize)),
    );
    await page.goto('/', { waitUntil: 'networkidle' });
    // The page, its style, its typeface and its script.
    expect(sizes.length).to.be.at.least(4);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).to.be.lessThan(70_000);
    showCount(total, 'bytes that the first page transfers');
  });

  it('offer a link to refresh a waiting scan without JavaScript, and never reload by themselves', async () => {
    const token = await storePublicScan(web, { phase: 'queued' });
    const page = await web.open(`/scan/${token}`, { javaScriptEnabled: false });
    expect(await page.getByRole('link', { name: en.waiting.again }).getAttribute('href')).to.equal(`/scan/${token}`);
    expect(await page.content()).to.not.match(/http-equiv="refresh"/i);
  });

  it('copy a selector, and say so, and have no button for it without JavaScript', async () => {
    const token = await storePublicScan(web, { phase: 'done' }, sampleView());
    const page = await web.open(`/scan/${token}`, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy Selector' }).first().click();
    await page.locator('[role="status"]', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal('li:nth-child(1) > .card-photo');
    const plain = await web.open(`/scan/${token}`, { javaScriptEnabled: false });
    expect(await plain.locator('.finding').count()).to.equal(4);
    expect(await plain.getByRole('button', { name: /^Copy/ }).count()).to.equal(0);
  });

  it('of one person are not shown in search results or cached; addresses keep the page in another language and the site to test', async () => {
    const token = await storePublicScan(web, { phase: 'canceled' });
    const page = await web.open('/');
    const response = (await page.goto(`/scan/${token}`))!;
    expect(response.headers()).to.include({ 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
    expect(await response.text()).to.include('<meta name="robots" content="noindex" />');
    expect(await page.locator('main').innerText()).to.include(en.failed.notCounted);
    await page.getByRole('link', { name: 'Nederlands' }).click();
    await page.waitForURL(`**/nl/scan/${token}`);
    await page.goto(`/?url=${encodeURIComponent('https://example.com/a?b=c')}`);
    expect(await page.getByLabel(en.home.url).inputValue()).to.equal('https://example.com/a?b=c');
  });

  it('show the measured contrast with both colours, and mark what a person must check', async () => {
    const page = await openIn(`/scan/${await storePublicScan(web, { phase: 'done' }, sampleView())}`);
    const { texts } = wordsIn('de', 'report');
    const colors = page.locator('.finding .contrast');
    expect(await colors.getByRole('listitem').allInnerTexts()).to.deep.equal([
      'Kontrast 3,87:1, erforderlich 4,5:1',
      'Text #777777',
      'Hintergrund #eeeeee',
      '14 px',
    ]);
    const fills = await colors.locator('rect').evaluateAll((all) => all.map((one) => one.getAttribute('fill')));
    expect(fills).to.deep.equal(['#777777', '#eeeeee']);
    const review = page.locator('.finding-review');
    expect(await review.count()).to.equal(1);
    expect(await review.locator('.severity').count(), 'has no severity').to.equal(0);
    const headings = await review.getByRole('heading', { level: 4 }).allInnerTexts();
    expect(headings).to.include.members([texts.whatToCheck, texts.undecided]).and.not.include(texts.howToFix);
    expect(await review.innerText())
      .to.include(de.result.reviewMark)
      .and.include(reviewText('video-caption', 'de'));
  });

  it('share a result without scripts, show others the result only, and end when the link is taken back', async () => {
    const token = await storePublicScan(web, { phase: 'done' }, sampleView());
    const page = await openIn(`/scan/${token}`, { javaScriptEnabled: false });
    await page.getByRole('button', { name: de.share.create }).click();
    const link = await page.locator('#share-link').innerText();
    expect(new URL(page.url()).hash).to.equal('#share');
    const path = new URL(link).pathname;
    expect(path).to.match(/^\/de\/shared\/[\w-]{43}$/);

    const guest = await web.open(path);
    expect(await guest.locator('.finding').count()).to.equal(4);
    expect(await guest.getByRole('link', { name: de.again }).count()).to.equal(1);
    expect(await guest.content()).to.not.include(token);
    expect(await guest.getByRole('button', { name: de.share.revoke }).count()).to.equal(0);
    await expectAccessible(guest, 'result-shared-de');

    await page.getByRole('button', { name: de.share.revoke }).click();
    await page.getByRole('button', { name: de.share.create }).waitFor();
    await guest.goto(path);
    expect(await guest.locator('h1').innerText()).to.equal(de.unknown.title);
  });

  it('let the visitor and those with a link download the PDF, and only them', async () => {
    const id = randomUUID();
    const token = await storePublicScan(web, { id, phase: 'done' }, sampleView());
    const pdf = (path: string) => fetch(`${web.url}${path}`, { redirect: 'manual' });
    expect((await pdf(`/scan/${token}/report.pdf`)).status, 'before it is stored').to.equal(404);
    await web.storeReports(id, ['pdf']);
    const { share: shared } = (await openStores(web.db).publicScans.share(token))!;
    for (const [path, seconds] of [
      [`/scan/${token}/report.pdf`, '3600'],
      [`/shared/${shared}/report.pdf`, '60'],
    ] as const) {
      const answer = await pdf(path);
      expect([answer.status, answer.headers.get('cache-control')]).to.deep.equal([303, 'no-store']);
      const link = new URL(answer.headers.get('location')!);
      expect(link.searchParams.get('X-Amz-Expires'), path).to.equal(seconds);
      expect(await (await fetch(link)).text()).to.equal('the pdf');
    }
    for (const path of [`/scan/${shared}/report.pdf`, `/shared/${token}/report.pdf`]) expect((await pdf(path)).status).to.equal(404);
  });

  const options = (httpFallback: boolean) => withDefaults({ url: TESTED_URL, httpFallback });
  const view = sampleView();
  const atHttp = { ...view, pages: [{ ...view.pages[0]!, url: TESTED_URL.replace('https:', 'http:') }] };
  for (const [what, store, url] of [
    ['the http address that the scan fell back to', () => storePublicScan(web, { options: options(true) }, atHttp), atHttp.pages[0]!.url],
    [
      'the address without its scheme if the scan failed and could fall back',
      () => storePublicScan(web, { phase: 'failed', options: options(true) }),
      TESTED_URL.replace('https://', ''),
    ],
    ['the address as it was typed with a scheme', () => storePublicScan(web, { phase: 'failed', options: options(false) }), TESTED_URL],
  ] as const)
    it(`test again ${what}`, async () => {
      const page = await web.open(`/scan/${await store()}`, { javaScriptEnabled: false });
      const link = page.getByRole('link', { name: en.again });
      expect(await link.getAttribute('href')).to.equal(`/?url=${encodeURIComponent(url)}`);
    });

  it('say in their language why a scan failed, with the message of the scanner among the details', async () => {
    const message = 'https://www.example.org/visit could not be tested. The page did not load: net::ERR_CONNECTION_REFUSED.';
    const page = await openIn(`/scan/${await storePublicScan(web, { phase: 'failed', reason: 'TargetUnreachable', message })}`);
    expect(await page.locator('.lead').innerText()).to.equal(de.failed.reasons.unreachable);
    expect(await page.locator('main').innerText()).to.not.include('net::');
    await page.locator('details').getByText(de.failed.details).click();
    expect(await page.locator('details [lang=en]').innerText()).to.match(/net::ERR_CONNECTION_REFUSED\.$/);
    await page.goto(`/de/scan/${await storePublicScan(web, { phase: 'failed', reason: 'SignInRequired', message })}`);
    expect(await page.locator('.lead').innerText()).to.equal(de.failed.reasons.signInPage);
    const future = sampleViolation('future-rule', 'minor', 'A rule of the future', [sampleNode('<p></p>', 'p')]);
    await page.goto(`/fr/scan/${await storePublicScan(web, { phase: 'done' }, sampleView([future]))}`);
    expect(await page.getByRole('heading', { name: 'A rule of the future' }).getAttribute('lang')).to.equal('en');
  });
});

describe('the home page', () => {
  const requestPublicScan = () => Promise.reject(new Error('not asked'));
  const plain = opened(() => servePublicPages({ requestPublicScan }));

  it('promises the time of the estimate, or none if it is unknown', async () => {
    const { get, getIn } = en.home;
    for (const [seconds, text] of [
      [25, getIn.replace('{time}', 'about 25 seconds')],
      [3_600, getIn.replace('{time}', 'about 60 minutes')],
      [null, get.at(-1)],
    ] as const) {
      const estimate = () => (seconds === null ? Promise.reject(new Error('down')) : Promise.resolve(seconds));
      const served = await servePublicPages({ requestPublicScan, estimate });
      expect(await (await fetch(served.url)).text()).to.include(`<li>${text}</li></ul>`);
      await served.close();
    }
  });

  it('explains the product instead of the form if public scans are disabled', async () => {
    const disabled = await servePublicPages({ requestPublicScan: null });
    try {
      expect(await (await fetch(disabled.url)).text())
        .to.include(en.home.disabled.title)
        .and.not.include('<form');
      const body = new URLSearchParams({ url: 'example.com', email: 'a@example.com' });
      expect((await fetch(`${disabled.url}/scan-request`, { method: 'POST', body })).status).to.equal(403);
    } finally {
      await disabled.close();
    }
  });

  it('loads the check for programs from its own origin only, and only if it is configured', async () => {
    const script = 'https://challenges.cloudflare.com/turnstile/v0/api.js';
    const withCheck = await servePublicPages({ requestPublicScan, turnstile: { siteKey: 'key' } });
    try {
      const response = await fetch(withCheck.url);
      expect(response.headers.get('content-security-policy'))
        .to.include("script-src 'self' https://challenges.cloudflare.com;")
        .and.include('frame-src https://challenges.cloudflare.com;');
      expect(await response.text())
        .to.include(`<script src="${script}" async defer></script>`)
        .and.include('data-sitekey="key"');
      expect((await fetch(plain.url)).headers.get('content-security-policy')).to.not.include('https:');
    } finally {
      await withCheck.close();
    }
  });
});
