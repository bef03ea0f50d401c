import { expect } from 'chai';
import { WORDS, wordsIn } from '../../report/words/words.ts';
import { reviewText } from '../../report/rule-texts/review-texts.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { expectAccessible } from './accessible.ts';
import { sampleView, servePublicPages, storePublicScan } from './public-world.ts';
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
