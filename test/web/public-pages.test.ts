import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { WORDS, wordsIn } from '../../report/words/words.ts';
import { reviewText } from '../../report/rule-texts/rule-texts.ts';
import { openStores } from '../../stores/stores.ts';
import { PUBLIC_SCANS } from '../api/public-context.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { expectAccessible } from './accessible.ts';
import { sampleView, servePublicPages, storePublicScan, TESTED_URL } from './public-world.ts';
import { opened } from '../support/opened.ts';
import { useWeb } from './web.ts';

describe('the page of a public scan', () => {
  const web = useWeb();

  for (const locale of SOME_LOCALES) {
    const texts = WORDS[locale].publicPages;
    it(`shows a result accessibly in ${locale}`, async () => {
      const token = await storePublicScan(web, { phase: 'done' }, sampleView());
      const page = await web.open(inLanguage(locale, `/scan/${token}`));
      expect(await page.locator('html').getAttribute('lang')).to.equal(locale);
      expect(await page.locator('h1').innerText()).to.equal(texts.result.title.replace('{site}', 'www.example.org/visit'));
      expect(await page.locator('.finding').count()).to.equal(4);
      await expectAccessible(page, `result-${locale}`);
    });

    it(`shows a waiting scan accessibly in ${locale}`, async () => {
      const token = await storePublicScan(web, { phase: 'scanning' });
      const page = await web.open(inLanguage(locale, `/scan/${token}`));
      expect(await page.locator('[aria-current="step"]').innerText()).to.equal(texts.waiting.states.scanning);
      await expectAccessible(page, `waiting-${locale}`);
    });

    it(`shows failed, canceled and unknown scans accessibly in ${locale}`, async () => {
      const failed = await storePublicScan(web, { phase: 'failed', message: 'The site did not answer.' });
      const canceled = await storePublicScan(web, { phase: 'canceled' });
      for (const [name, token] of [
        ['failed', failed],
        ['canceled', canceled],
        ['unknown', 'x'],
      ] as const) {
        const page = await web.open(inLanguage(locale, `/scan/${token}`));
        await expectAccessible(page, `${name}-${locale}`);
      }
    });
  }
});

describe('the result of a public scan', () => {
  const web = useWeb();

  it('shows the measured contrast with both colours, and marks what a person must check', async () => {
    const token = await storePublicScan(web, { phase: 'done' }, sampleView());
    const page = await web.open(inLanguage('de', `/scan/${token}`));
    const { texts } = wordsIn('de', 'report');
    const colors = page.locator('.finding .contrast');
    expect(await colors.getByRole('listitem').allInnerTexts()).to.deep.equal([
      'Kontrast 3,87:1, erforderlich 4,5:1',
      'Text #777777',
      'Hintergrund #eeeeee',
      '14 px',
    ]);
    expect(await colors.locator('rect').evaluateAll((all) => all.map((one) => one.getAttribute('fill')))).to.deep.equal([
      '#777777',
      '#eeeeee',
    ]);
    const review = page.locator('.finding-review');
    expect(await review.count()).to.equal(1);
    expect(await review.locator('.severity').count(), 'has no severity').to.equal(0);
    const headings = await review.getByRole('heading', { level: 4 }).allInnerTexts();
    expect(headings).to.include.members([texts.whatToCheck, texts.undecided]).and.not.include(texts.howToFix);
    expect(await review.innerText())
      .to.include(WORDS.de.publicPages.result.reviewMark)
      .and.include(reviewText('video-caption', 'de'));
  });
});

describe('sharing the result of a public scan', () => {
  const web = useWeb();
  const { share, again, unknown } = WORDS.de.publicPages;

  it('works without scripts, shows others the result only, and ends when the link is taken back', async () => {
    const id = randomUUID();
    const token = await storePublicScan(web, { id, phase: 'done' }, sampleView());
    const page = await web.open(inLanguage('de', `/scan/${token}`), { javaScriptEnabled: false });
    await page.getByRole('button', { name: share.create }).click();
    const link = await page.locator('#share-link').innerText();
    expect(new URL(page.url()).hash).to.equal('#share');
    const path = new URL(link).pathname;
    expect(path).to.match(/^\/de\/shared\/[\w-]{43}$/);

    const guest = await web.open(path);
    expect(await guest.locator('.finding').count()).to.equal(4);
    expect(await guest.getByRole('link', { name: again }).count()).to.equal(1);
    expect(await guest.content()).to.not.include(token);
    expect(await guest.getByRole('button', { name: share.revoke }).count()).to.equal(0);
    await expectAccessible(guest, 'result-shared-de');
    await expectAccessible(await web.open(inLanguage('de', `/scan/${token}`)), 'result-sharing-de');

    await page.getByRole('button', { name: share.revoke }).click();
    await page.getByRole('button', { name: share.create }).waitFor();
    const ended = await web.open(path);
    expect(await ended.locator('h1').innerText()).to.equal(unknown.title);
  });

  it('and the visitor download the PDF, and only they', async () => {
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
});

describe('a waiting public scan', () => {
  const web = useWeb({ publicScans: PUBLIC_SCANS });
  const { waiting } = WORDS.de.publicPages;
  const shown = async (token: string) => (await web.open(inLanguage('de', `/scan/${token}`))).locator('.lead').innerText();

  it('promises the time of the estimate, and a mail', async () => {
    const finishedAt = new Date();
    for (let n = 0; n < 4; n += 1)
      await storePublicScan(web, {
        phase: 'done',
        submission: 'accepted',
        createdAt: new Date(finishedAt.getTime() - 180_000),
        finishedAt,
      });
    const text = await shown(await storePublicScan(web, { phase: 'scanning', startedAt: new Date() }));
    expect(text).to.equal(`${waiting.estimate.replace('{time}', 'etwa 3 Minuten')} ${waiting.mail}`);
  });

  it('promises no mail to an address that unsubscribed', async () => {
    const email = 'gone@example.com';
    const { suppressions } = openStores(web.db);
    await suppressions.unsubscribe(await suppressions.tokenFor(email, 'de'));
    expect(await shown(await storePublicScan(web, { phase: 'scanning' }, null, email)))
      .to.include(waiting.noMail)
      .and.not.include(waiting.mail);
  });
});

describe('the link that tests the page of a public scan again', () => {
  const web = useWeb({ publicScans: PUBLIC_SCANS });
  const { again, home } = WORDS.en.publicPages;
  const options = (httpFallback: boolean) => withDefaults({ url: TESTED_URL, httpFallback });
  const view = sampleView();
  const atHttp = { ...view, pages: [{ ...view.pages[0]!, url: TESTED_URL.replace('https:', 'http:') }] };

  for (const [what, token, url] of [
    ['the http address that the scan fell back to', () => storePublicScan(web, { options: options(true) }, atHttp), atHttp.pages[0]!.url],
    [
      'the address without its scheme if the scan failed and could fall back',
      () => storePublicScan(web, { phase: 'failed', options: options(true) }),
      TESTED_URL.replace('https://', ''),
    ],
    ['the address as it was typed with a scheme', () => storePublicScan(web, { phase: 'failed', options: options(false) }), TESTED_URL],
  ] as const)
    it(`fills the form with ${what}`, async () => {
      const page = await web.open(`/scan/${await token()}`);
      await page.getByRole('link', { name: again }).click();
      expect(await page.getByLabel(home.url).inputValue()).to.equal(url);
    });
});

describe('a public scan without a result', () => {
  const web = useWeb();
  const { reasons, notCounted, details } = WORDS.de.publicPages.failed;
  const MESSAGE =
    'https://www.example.org/visit could not be tested. The page did not load: net::ERR_CONNECTION_REFUSED. Nothing was charged.';
  const shown = async (change: { phase: 'failed' | 'canceled'; reason?: string; message?: string }) =>
    web.open(inLanguage('de', `/scan/${await storePublicScan(web, change)}`));

  it('says why in the language of the page, with the message of the scanner among the details', async () => {
    const page = await shown({ phase: 'failed', reason: 'TargetUnreachable', message: MESSAGE });
    expect(await page.locator('.lead').innerText()).to.equal(reasons.unreachable);
    const folded = page.locator('details');
    expect(await page.locator('main').innerText()).to.not.match(/net::|charged|zählt nicht/);
    await folded.getByText(details).click();
    expect(await folded.locator('[lang=en]').innerText()).to.match(/net::ERR_CONNECTION_REFUSED\.$/);
  });

  it('says that a fault of ours does not count', async () => {
    for (const change of [{ phase: 'failed', reason: 'Unschedulable' }, { phase: 'canceled' }] as const)
      expect(await (await shown(change)).locator('main').innerText()).to.include(notCounted);
  });
});

describe('the home page', () => {
  const web = useWeb();
  const pages = opened(() =>
    servePublicPages({
      requestPublicScan: () => Promise.resolve({ ok: false, reason: 'rate_limited', states: [], retryAfterSeconds: 1500 }),
    }),
  );

  it('promises the time of the estimate, or none if it is unknown', async () => {
    const { get, getIn } = WORDS.en.publicPages.home;
    const lastOf = async (url: string) => (await web.open(url)).locator('.ticks li').last().innerText();
    expect(await lastOf(pages.url)).to.equal(get.at(-1));
    const requestPublicScan = () => Promise.reject(new Error('not asked'));
    for (const [estimate, text] of [
      [() => Promise.resolve(25), getIn.replace('{time}', 'about 25 seconds')],
      [() => Promise.resolve(3_600), getIn.replace('{time}', 'about 60 minutes')],
      [() => Promise.reject(new Error('down')), get.at(-1)],
    ] as const) {
      const served = await servePublicPages({ requestPublicScan, estimate });
      expect(await lastOf(served.url)).to.equal(text);
      await served.close();
    }
  });

  it('opens again at the address of a form with errors', async () => {
    const { home } = WORDS.de.publicPages;
    const page = await web.open(`${pages.url}/de`);
    await page.getByRole('button', { name: home.submit }).click();
    await page.getByRole('alert').waitFor();
    expect(new URL(page.url()).pathname).to.equal('/de/scan-request');
    const response = await page.goto(page.url());
    expect([response!.status(), new URL(page.url()).pathname]).to.deep.equal([200, '/de']);
    expect(await page.getByRole('alert').count()).to.equal(0);
  });

  for (const locale of SOME_LOCALES) {
    const texts = WORDS[locale].publicPages;
    it(`is accessible in ${locale}`, async () => {
      const page = await web.open(pages.url + inLanguage(locale, '/'));
      expect(await page.locator('h1').innerText()).to.equal(texts.home.title);
      await expectAccessible(page, `home-${locale}`);
    });

    it(`says accessibly in ${locale} what is wrong with the form`, async () => {
      const page = await web.open(pages.url + inLanguage(locale, '/'));
      await page.getByLabel(texts.home.url).fill('ht tp:/x y');
      await page.getByRole('button', { name: texts.home.submit }).click();
      await page.getByRole('alert').waitFor();
      await expectAccessible(page, `home-errors-${locale}`);
    });
  }
});
