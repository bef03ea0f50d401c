/** A public scan from the form to its result, through the real app. */
import { expect } from 'chai';
import { WORDS } from '../../report/words/words.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { PUBLIC_SCANS } from '../api/public-context.ts';
import { sampleView, storeView } from './public-world.ts';
import { useWeb } from './web.ts';

describe('a public scan in the browser', () => {
  const web = useWeb({ publicScans: { ...PUBLIC_SCANS, perAddressAndHour: SOME_LOCALES.length } });

  for (const locale of SOME_LOCALES)
    it(`goes from the form to the result in ${locale}`, async () => {
      const { home, waiting, result } = WORDS[locale].publicPages;
      const page = await web.open(inLanguage(locale, '/'));
      await page.getByLabel(home.url).fill('example.com');
      await page.getByLabel(home.email).fill(`ann-${locale}@example.com`);
      await page.getByRole('button', { name: home.submit }).click();
      await page.getByRole('heading', { level: 1, name: waiting.title.replace('{site}', 'example.com') }).waitFor();
      const path = new URL(page.url()).pathname;
      expect(path).to.match(new RegExp(`^${inLanguage(locale, '/scan/')}[\\w-]{43}$`));
      const scan = (await web.stores.publicScans.findByToken(path.split('/').at(-1)!))!;
      expect(scan).to.include({ url: 'https://example.com/', email: `ann-${locale}@example.com`, locale });
      await web.stores.scans.mirror(scan.scanId, await storeView(web, scan.scanId, sampleView()));
      await page.getByRole('heading', { level: 2, name: result.fixTitle }).waitFor();
    });

  it('is refused after too many, with the time to wait, and keeps what was typed', async () => {
    const { home, refused } = WORDS.en.publicPages;
    const page = await web.open('/');
    await page.getByLabel(home.url).fill('https://example.com/');
    await page.getByLabel(home.email).fill('bob@example.com');
    await page.getByRole('button', { name: home.submit }).click();
    expect(await page.getByRole('alert').innerText()).to.include(refused.rateLimited.split('{when}')[0]!);
    expect(await page.getByLabel(home.email).inputValue()).to.equal('bob@example.com');
  });
});
