/** Public pages as people use them: by keyboard, without JavaScript, with mistakes, and while a scan runs. */
import { expect } from 'chai';
import { WORDS } from '../../report/words/words.ts';
import type { PublicScanOutcome, PublicScanRequest } from '../../api/public/request-public-scan.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { showCount } from '../support/counts.ts';
import { sampleNode, sampleViolation } from '../report/samples.ts';
import { sampleView, servePublicPages, storePublicScan, storeView } from './public-world.ts';
import { opened } from '../support/opened.ts';
import { useWeb } from './web.ts';

const [en, de] = [WORDS.en.publicPages, WORDS.de.publicPages];

describe('public pages', () => {
  const web = useWeb();
  let asked: PublicScanRequest[] = [];
  let outcome: PublicScanOutcome = { ok: false, reason: 'queue_paused' };
  const pages = opened(() =>
    servePublicPages({
      requestPublicScan: (request) => {
        asked.push(request);
        return Promise.resolve(outcome);
      },
    }),
  );
  beforeEach(() => (asked = []));

  it('can be used by keyboard alone: skip link, then every control in order, each with a visible focus', async () => {
    const page = await web.open(pages.url);
    const order: string[] = [];
    for (let step = 0; step < 11; step++) {
      await page.keyboard.press('Tab');
      const [name, outline] = await page.evaluate<[string, string]>(
        '[document.activeElement.innerText || document.activeElement.id, getComputedStyle(document.activeElement).outlineWidth]',
      );
      order.push(name.trim());
      expect(outline, name).to.equal('3px');
    }
    expect(order).to.deep.equal([
      'Skip to main content',
      'Curbcut',
      'English',
      'Deutsch',
      'Français',
      'Nederlands',
      'Polski',
      'Documentation',
      'Dashboard',
      'url',
      'email',
    ]);
  });

  it('let the skip link move the focus to the main part', async () => {
    const page = await web.open(pages.url);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
  });

  for (const javaScriptEnabled of [true, false])
    it(`keep what was typed, and link each error to its field, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
      const page = await web.open(`${pages.url}/de`, { javaScriptEnabled });
      await page.getByLabel(de.home.url).fill('https://example.com/"><script>alert(1)</script>');
      await page.getByLabel(de.home.email).fill('keine Adresse');
      await page.getByRole('button', { name: de.home.submit }).click();
      await page.getByRole('alert').waitFor();
      expect(page.url()).to.equal(`${pages.url}/de/scan-request`);
      expect(await page.getByLabel(de.home.url).inputValue()).to.equal('https://example.com/"><script>alert(1)</script>');
      const email = page.getByLabel(de.home.email);
      expect(await email.inputValue()).to.equal('keine Adresse');
      expect(await email.getAttribute('aria-invalid')).to.equal('true');
      const ids = (await email.getAttribute('aria-describedby'))!.split(' ');
      expect(await page.locator(`#${ids[1]}`).innerText()).to.equal(de.refused.emailInvalid);
      expect(await page.title()).to.match(/^Es gibt \d Problem/);
      expect(await page.getByRole('link', { name: de.refused.emailInvalid }).getAttribute('href')).to.equal('#email');
      expect(asked).to.deep.equal([]);
    });

  it('move the focus to the errors', async () => {
    const page = await web.open(pages.url);
    await page.getByRole('button', { name: en.home.submit }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).to.equal('alert');
  });

  it('send a request once, and lead to its scan in the same language without JavaScript', async () => {
    outcome = { ok: true, token: 'abc', estimatedSeconds: 60, repeated: false, limits: [] };
    const page = await web.open(`${pages.url}/de`, { javaScriptEnabled: false });
    await page.getByLabel(de.home.url).fill('example.com');
    await page.getByLabel(de.home.email).fill('ann@example.com');
    await page.getByRole('button', { name: de.home.submit }).click();
    await page.waitForURL(`${pages.url}/de/scan/abc`);
    expect(asked).to.have.length(1);
    expect(asked[0]).to.include({
      url: 'https://example.com',
      email: 'ann@example.com',
      locale: 'de',
      address: '127.0.0.1',
      turnstileToken: '',
    });
  });

  it('say when to try again', async () => {
    outcome = { ok: false, reason: 'rate_limited', states: [], retryAfterSeconds: 90 };
    const body = new URLSearchParams({ url: 'example.com', email: 'ann@example.com' });
    const response = await fetch(`${pages.url}/scan-request`, { method: 'POST', body });
    expect([response.status, response.headers.get('retry-after')]).to.deep.equal([429, '90']);
    expect(await response.text()).to.include('Try again in 2 minutes.');
  });

  it('explain the product instead of the form if public scans are disabled', async () => {
    const disabled = await servePublicPages({ requestPublicScan: null });
    try {
      const page = await web.open(disabled.url);
      expect(await page.getByText(en.home.disabled.title).count()).to.equal(1);
      expect(await page.locator('form').count()).to.equal(0);
      const response = await fetch(`${disabled.url}/scan-request`, {
        method: 'POST',
        body: new URLSearchParams({ url: 'example.com', email: 'a@example.com' }),
      });
      expect(response.status).to.equal(403);
    } finally {
      await disabled.close();
    }
  });

  it('load the check for programs from its own origin only, and only if it is configured', async () => {
    const script = 'https://challenges.cloudflare.com/turnstile/v0/api.js';
    const withCheck = await servePublicPages({ requestPublicScan: () => Promise.resolve(outcome), turnstile: { siteKey: 'key' } });
    try {
      const response = await fetch(withCheck.url);
      expect(response.headers.get('content-security-policy'))
        .to.include("script-src 'self' https://challenges.cloudflare.com;")
        .and.include('frame-src https://challenges.cloudflare.com;');
      expect(await response.text())
        .to.include(`<script src="${script}" async defer></script>`)
        .and.include('data-sitekey="key"');
      expect((await fetch(pages.url)).headers.get('content-security-policy')).to.not.include('https:');
    } finally {
      await withCheck.close();
    }
  });

  it('follow a scan, announce its states, and show the result without reloading', async () => {
    const token = await storePublicScan(web, { phase: 'queued' });
    const scan = (await web.stores.publicScans.findByToken(token))!;
    const page = await web.open(`/scan/${token}`);
    await page.evaluate('globalThis.sameDocument = true');
    expect(await page.locator('h1').innerText()).to.equal('We are testing www.example.org/visit');
    await web.stores.scans.mirror(scan.scanId, { phase: 'scanning' });
    await page.locator('[aria-current="step"]', { hasText: en.waiting.states.scanning }).waitFor();
    await page.locator('[role="status"]', { hasText: en.waiting.states.scanning }).waitFor({ state: 'attached' });
    await web.stores.scans.mirror(scan.scanId, await storeView(web, scan.scanId, sampleView()));
    await page.getByRole('heading', { level: 1, name: 'Result for www.example.org/visit' }).waitFor();
    await page.locator('[role="status"]', { hasText: en.result.ready }).waitFor({ state: 'attached' });
    expect(await page.title()).to.equal('Result for www.example.org/visit – Curbcut');
    expect(await page.evaluate('globalThis.sameDocument')).to.equal(true);
    expect((await web.stores.scans.find(scan.scanId, ANONYMOUS))!.phase).to.equal('done');
  });

  it('offer a link to refresh a waiting scan without JavaScript, and never reload by themselves', async () => {
    const token = await storePublicScan(web, { phase: 'queued' });
    const page = await web.open(`/scan/${token}`, { javaScriptEnabled: false });
    expect(await page.getByRole('link', { name: en.waiting.again }).getAttribute('href')).to.equal(`/scan/${token}`);
    expect(await page.content()).to.not.match(/http-equiv="refresh"/i);
  });

  it('copy a selector, and say so', async () => {
    const token = await storePublicScan(web, { phase: 'done' }, sampleView());
    const page = await web.open(`/scan/${token}`, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy Selector' }).first().click();
    await page.locator('[role="status"]', { hasText: 'Copied' }).waitFor({ state: 'attached' });
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal('li:nth-child(1) > .card-photo');
  });

  it('show no copy buttons without JavaScript', async () => {
    const token = await storePublicScan(web, { phase: 'done' }, sampleView());
    const page = await web.open(`/scan/${token}`, { javaScriptEnabled: false });
    expect(await page.locator('.finding').count()).to.equal(4);
    expect(await page.getByRole('button', { name: /^Copy/ }).count()).to.equal(0);
  });

  it('mark the texts of the scan with their language', async () => {
    const token = await storePublicScan(web, { phase: 'failed', message: 'The site did not answer.' });
    const page = await web.open(`/pl/scan/${token}`);
    expect(await page.getByText('The site did not answer.').getAttribute('lang')).to.equal('en');
    const future = sampleViolation('future-rule', 'minor', 'A rule of the future', [sampleNode('<p></p>', 'p')]);
    const done = await storePublicScan(web, { phase: 'done' }, sampleView([future]));
    await page.goto(`/fr/scan/${done}`);
    expect(await page.getByRole('heading', { name: 'A rule of the future' }).getAttribute('lang')).to.equal('en');
    await page.goto(`/scan/${done}`);
    expect(await page.getByRole('heading', { name: 'A rule of the future' }).getAttribute('lang')).to.equal(null);
  });

  it('keep the page when the language changes', async () => {
    const token = await storePublicScan(web, { phase: 'canceled' });
    const page = await web.open(`/scan/${token}`);
    await page.getByRole('link', { name: 'Nederlands' }).click();
    await page.waitForURL(`**/nl/scan/${token}`);
    expect(await page.locator('html').getAttribute('lang')).to.equal('nl');
  });

  it('fill the form with the address of a scan that is to be repeated', async () => {
    const page = await web.open(`${pages.url}/?url=${encodeURIComponent('https://example.com/a?b=c')}`);
    expect(await page.getByLabel(en.home.url).inputValue()).to.equal('https://example.com/a?b=c');
  });

  it('transfer less than 50 KB for the first page', async () => {
    const visitor = await web.visitor();
    const page = await visitor.newPage();
    const sizes: number[] = [];
    page.on(
      'requestfinished',
      (request) =>
        void request.sizes().then(({ responseBodySize, responseHeadersSize }) => sizes.push(responseBodySize + responseHeadersSize)),
    );
    await page.goto(pages.url, { waitUntil: 'networkidle' });
    // The page, its style and its script.
    expect(sizes.length).to.be.at.least(3);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).to.be.lessThan(50_000);
    showCount(total, 'bytes that the first page transfers');
  });

  it('are not shown in search results, cached, or named in referrers, if they belong to one person', async () => {
    const token = await storePublicScan(web, { phase: 'canceled' });
    const response = await fetch(`${web.url}/scan/${token}`);
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(response.headers.get('referrer-policy')).to.equal('same-origin');
    expect(await response.text()).to.include('<meta name="robots" content="noindex" />');
  });
});
