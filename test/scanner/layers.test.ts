/** Layers that keep visitors from the content of a page are a caveat; layers that do not are none. arrival.test.ts has scans with both. */
import { expect } from 'chai';
import { chromium, type Browser, type Page } from 'playwright-core';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import { axeSource } from '../../scanner-image/page/scripts/source.ts';
import { contentBlocked } from '../../scanner-image/page/visit/caveats.ts';
import type { VisibleContent } from '../../scanner-image/page/visit/visit.ts';
import { BLOCKED, IN_USE } from './fixtures/layers.ts';
import { html, machine, openSite, type Site } from './site.ts';

describe('content behind a layer', () => {
  let site: Site;
  let browser: Browser;
  let page: Page;
  let source: string;
  before(async () => {
    source = await axeSource('en');
    browser = await chromium.launch({ executablePath: findChromium(machine), chromiumSandbox: false });
    page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    site = await openSite({
      '/ask': html('<p>We use cookies.</p><button>Accept</button>'),
      '/page': (request, response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(shown),
    });
  });
  after(() => Promise.all([browser.close(), site.close()]));

  let shown = '';
  /** What the scripts of the scanner say about a page. Its frames come from another site. */
  async function messageOf(body: string): Promise<string | null> {
    const other = `http://localhost:${site.port}`;
    shown = `<!doctype html><html lang="en"><head><title>Page</title></head><body>${body.replaceAll('OTHER', other)}</body></html>`;
    await page.goto(`${site.origin}/page`);
    await page.evaluate(`${source};0`);
    const { visible } = JSON.parse(await page.evaluate<string>('curbcut.facts(false)')) as { visible: VisibleContent };
    return visible.blocked === null ? null : contentBlocked(visible.blocked).message;
  }

  for (const [name, [body, names]] of Object.entries(BLOCKED))
    it(`is a caveat that names the layer: ${name}`, async () => {
      expect(await messageOf(body))
        .to.include(names)
        .and.include('crawl.prepare');
    });

  for (const [name, body] of Object.entries(IN_USE))
    it(`is no caveat on a page in use: ${name}`, async () => {
      expect(await messageOf(body)).to.equal(null);
    });
});
