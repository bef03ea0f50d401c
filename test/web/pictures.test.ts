/** What pages show of the evidence: pictures of elements, standards, and what may have been missed. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { WORDS } from '../../report/words/words.ts';
import { inLanguage } from '../../api/web/languages.ts';
import type { ReportView } from '../../report/view/view.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { expectAccessible } from './accessible.ts';
import { PICTURE_SIZE, storePicture, takePicture } from './element-pictures.ts';
import { openAs, unfold } from './open-as.ts';
import { sampleView, storePublicScan } from './public-world.ts';
import { OUTCOME, storeView } from './scan-views.ts';
import { useWeb } from './web.ts';

const GAPS = {
  frames_untested: [
    { path: ['iframe.map'], url: 'https://maps.example/', reason: 'timeout', message: 'The frame did not respond within 10 s.' },
  ],
  frames_total: 3,
  caveats: [{ kind: 'requests_unanswered', message: 'cdn.example never answered.' }],
} satisfies Partial<Extract<ReportView['pages'][number], { tested: true }>>;

/** The widths of a page's pictures in pixels; 0 if one did not load. They load when they come into view. */
const loadedWidths = (page: Page): Promise<number[]> =>
  page.evaluate<number[]>(`Promise.all([...document.querySelectorAll('.element-picture img')].map((image) => {
    image.scrollIntoView();
    return image.decode().then(() => image.naturalWidth, () => 0);
  }))`);

describe('pictures of elements', () => {
  const web = useWeb();
  let picture: Uint8Array;
  before(async () => void (picture = await takePicture()));

  const statusOf = async (page: Page, path: string) => {
    const response = await page.request.get(path, { maxRedirects: 0 });
    return response.status();
  };

  describe('in the dashboard', () => {
    /** Stores a scan that is done, with a picture of its first root cause and a page that was tested in part. */
    async function scanWithPicture(organisation: string): Promise<{ row: ScanRow; path: string }> {
      const id = randomUUID();
      const place = await storePicture(web, id, picture);
      const view = await storeView(web, id, {}, (stored) => {
        const shown = { ...place, ...PICTURE_SIZE, page_url: stored.pages[0]!.url };
        stored.pictures.push({ fingerprint: stored.groups[0]!.fingerprint, ...shown });
        stored.page_pictures.push(shown);
        stored.groups[0]!.example.related = [{ selector: '#twin', html: '<img id="twin">' }];
        stored.groups[1]!.example.contrast = { foreground: '#999999', background: '#ffffff', ratio: 2.84, required: 4.5, font_size_px: 14 };
        Object.assign(stored.pages[0]!, GAPS);
        stored.pages.push({
          ...{ url: 'https://example.com/copy', final_url: null, http_status: 200, duration_ms: 1 },
          tested: false,
          reason: 'same_as',
          message: 'Its content equals that of another page.',
          same_as: 'https://example.com/original',
        });
        stored.pages_with_gaps = 1;
        stored.addresses_left = 41;
      });
      const options = withDefaults({ url: 'https://example.com/' });
      const row = await web.scan(organisation, { id, phase: 'done', outcome: OUTCOME, pages: OUTCOME.pages, options, reports: view });
      return { row, path: `/dashboard/scans/${id}/pictures/0123456789abcdef.jpg` };
    }

    it('are shown with their root cause, and the page says what was missed', async () => {
      const page = await openAs(web, 'viewer', '/dashboard');
      const { row } = await scanWithPicture(page.organisation);
      await page.goto(`/dashboard/scans/${row.id}`);
      expect(await loadedWidths(page)).to.deep.equal([PICTURE_SIZE.width]);
      expect(await page.locator('.element-picture img').getAttribute('alt')).to.match(/outlined\. Images must have alternative text$/);
      const addresses = await page.locator('#causes').innerText();
      expect(addresses).to.include('What to fix first: 2 causes, 91 % of the violations');
      await unfold(page);
      const found = await page.locator('main').innerText();
      await page.getByRole('link', { name: 'Show the list of' }).click();
      expect(found + (await page.locator('main').innerText()))
        .to.include('WCAG 1.1.1 Non-text Content (A) · EN 301 549 9.1.1.1 · RGAA 4 1.1.1 · Trusted Tester 5 7.A, 7.B · ACT 23a2a8')
        .and.match(/Contrast 2\.84:1, required 4\.5:1\s+text #999999\s+background #ffffff\s+14 px/)
        .and.include('Tested in part')
        .and.include('cdn.example never answered.')
        .and.include('3 frames not tested')
        .and.include('41 more addresses were found and not tested')
        .and.include('https://example.com/original');
      await page.goBack();
      await unfold(page);
      await page.locator('#leading-causes').getByRole('link', { name: 'Images must have alternative text' }).click();
      expect(new URL(page.url()).search).to.equal('?cause=0123456789abcdef');
      expect(await page.locator('#causes .cause').count()).to.equal(1);
    });

    it('keep their place while they load, so that nothing moves that the keyboard has reached', async () => {
      const page = await openAs(web, 'viewer', '/dashboard');
      const { row } = await scanWithPicture(page.organisation);
      let answer = (): void => undefined;
      const later = new Promise<void>((resolve) => (answer = resolve));
      await page.route('**/pictures/*', (route) => later.then(() => route.continue()));
      await page.goto(`/dashboard/scans/${row.id}`, { waitUntil: 'domcontentloaded' });
      const image = page.locator('.cause .element-picture img');
      const pending = (await image.boundingBox())!;
      answer();
      expect(await loadedWidths(page)).to.deep.equal([PICTURE_SIZE.width]);
      const { width, height } = (await image.boundingBox())!;
      expect([pending.width, pending.height]).to.deep.equal([width, height]);
    });

    it('are JPEGs that only this browser may keep, and pictures of pages have the number of their page', async () => {
      const page = await openAs(web, 'viewer', '/dashboard');
      const { row, path } = await scanWithPicture(page.organisation);
      const response = await page.request.get(path);
      expect(response.status()).to.equal(200);
      expect(response.headers()).to.include({
        'content-type': 'image/jpeg',
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, max-age=3600',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect((await response.body()).equals(Buffer.from(picture))).to.equal(true);
      const named = (name: string): string => `/dashboard/scans/${row.id}/pictures/${name}`;
      expect((await (await page.request.get(named('page-1.jpg'))).body()).equals(Buffer.from(picture))).to.equal(true);
      for (const name of ['page-0.jpg', 'page-2.jpg', 'page-1', 'page-01.jpg'])
        expect(await statusOf(page, named(name)), name).to.equal(404);
    });

    it('are not found for other organisations, other names and visitors', async () => {
      const owner = await openAs(web, 'owner', '/dashboard');
      const { row, path } = await scanWithPicture(owner.organisation);
      const other = await openAs(web, 'owner', '/dashboard');
      expect(await statusOf(other, path)).to.equal(404);
      const visitor = await web.open('/');
      expect(await statusOf(visitor, path), 'to the page for signing in').to.equal(303);
      for (const name of ['fedcba9876543210.jpg', '0123456789abcdef', '..%2Fview.json', '0123456789abcdef.jpg%00'])
        expect(await statusOf(owner, `/dashboard/scans/${row.id}/pictures/${name}`), name).to.equal(404);
      expect(await statusOf(owner, path)).to.equal(200);
      await web.stores.reports.removeAll(`scans/${row.id}/`);
      expect(await statusOf(owner, path), 'after retention').to.equal(404);
    });
  });

  describe('on public pages', () => {
    async function publicScan(): Promise<{ token: string; fingerprint: string }> {
      const id = randomUUID();
      const view = sampleView();
      const place = await storePicture(web, id, picture);
      const { fingerprint } = view.groups[0]!;
      view.pictures.push({ fingerprint, ...place, ...PICTURE_SIZE, page_url: view.pages[0]!.url });
      Object.assign(view.pages[0]!, GAPS);
      return { token: await storePublicScan(web, { id, phase: 'done' }, view), fingerprint };
    }

    it('are shown in the language of the page, with what may have been missed', async () => {
      const locale = 'de';
      const { token } = await publicScan();
      const page = await web.open(inLanguage(locale, `/scan/${token}`));
      expect(await loadedWidths(page)).to.deep.equal([PICTURE_SIZE.width]);
      const { result } = WORDS[locale].publicPages;
      expect(await page.locator('.element-picture img').getAttribute('alt')).to.include(result.pictureAlt.split('{help}')[0]!);
      const gaps = await page.locator('#gaps').innerText();
      const texts = WORDS[locale].report;
      expect(gaps)
        .to.include(result.gapsTitle)
        .and.include(texts.caveats.requests_unanswered)
        .and.include(`https://maps.example/: ${texts.frameReasons.timeout}`);
      expect(await page.locator('.finding-foot').first().innerText())
        .to.include('EN 301 549 9.1.1.1.')
        .and.include('ACT 23a2a8.');
      await expectAccessible(page, 'result-pictures');
    });

    it('need the token of their scan', async () => {
      const { token, fingerprint } = await publicScan();
      const without = await storePublicScan(web, { phase: 'done' }, sampleView());
      const page = await web.open('/');
      expect(await statusOf(page, `/scan/${token}/pictures/${fingerprint}.jpg`)).to.equal(200);
      expect(await statusOf(page, `/scan/${without}/pictures/${fingerprint}.jpg`), 'a scan without pictures').to.equal(404);
      expect(await statusOf(page, `/scan/${'x'.repeat(43)}/pictures/${fingerprint}.jpg`), 'an unknown token').to.equal(404);
    });
  });
});
