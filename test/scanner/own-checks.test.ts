/** Our own checks change nothing on pages without the content that they are about. */
import { expect } from 'chai';
import { chromium, type Browser } from 'playwright-core';
import { engineOf, isOwnRule } from '../../report/schema/engines.ts';
import { plantedFaults, SLOW_PAGES, startDemoSite, type DemoSite } from '../../demo-site/server.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import type { AxeResults } from '../../scanner-image/page/axe/results.ts';
import { checkSources, openWorld, type Sources } from '../../tools/without-checks.ts';
import { nightly } from '../support/nightly.ts';
import { html, machine } from './site.ts';

/** Every sixth page (for a commit every 30th), of both languages. */
const paths = Object.keys(plantedFaults()).filter((path, at) => !SLOW_PAGES.test(path) && at % nightly(30, 6) === 0);

/** A page with most of what the checks look at, where they have nothing to add. */
const NEAR = html(
  `<p style="line-height: 2 !important; width: 200px">${'A text of several lines. '.repeat(9)}</p>
   <p style="background: linear-gradient(#fff, #000); color: #888">A gradient</p><p style="color: #ccc">Pale</p>
   <fieldset><legend>Size</legend><label><input type="radio" name="a">S</label><label><input type="radio" name="a">M</label></fieldset>
   <label>Name <input placeholder="Jo"></label><input><img alt="" src="data:,"><img title="t" src="data:,">`,
  { head: '<style>@media (orientation: portrait) { p { color: #000 } }</style>' },
);

describe('our own checks', () => {
  let browser: Browser;
  let demo: DemoSite;
  let sources: Sources;
  before(async () => {
    browser = await chromium.launch({ executablePath: findChromium(machine), chromiumSandbox: false });
    [demo, sources] = await Promise.all([startDemoSite({}), checkSources()]);
  });
  after(() => Promise.all([browser.close(), demo.close()]));

  /** The results of a page with and without our checks. */
  async function bothOf(load: { url: string } | { html: string }): Promise<[AxeResults, AxeResults]> {
    const page = await browser.newPage({ reducedMotion: 'reduce', viewport: { width: 1280, height: 720 } });
    try {
      if ('url' in load) await page.goto(load.url, { waitUntil: 'load' });
      else await page.setContent(load.html);
      const cdp = await page.context().newCDPSession(page);
      const runs = [await openWorld(page, cdp, sources.with), await openWorld(page, cdp, sources.without)];
      return [await runs[0]!(), await runs[1]!()];
    } finally {
      await page.close();
    }
  }

  const withoutOwn = (results: AxeResults): AxeResults => ({
    ...results,
    incomplete: results.incomplete.filter(({ id }) => !isOwnRule(id)),
    passes: results.passes.filter(({ id }) => !isOwnRule(id)),
    // axe-core does not run its rule about the orientation by itself.
    inapplicable: results.inapplicable.filter((id) => !isOwnRule(id) && id !== 'css-orientation-lock'),
  });

  it('are not in the script that they are compared with', () => {
    expect(sources.with).to.match(/addOwnRule\('option-group-name'/);
    expect(sources.without).not.to.match(/addOwnRule\(|curbcutSheets = /);
  });

  it('leave every finding, passed rule and description of the demo site as it is', async () => {
    expect(paths.length).to.be.greaterThan(nightly(1, 12));
    const changed: string[] = [];
    for (const path of paths) {
      const [ours, plain] = await bothOf({ url: demo.url + path });
      if (JSON.stringify(withoutOwn(ours)) !== JSON.stringify(plain)) changed.push(path);
    }
    expect(changed).to.deep.equal([]);
  });

  it('leave a page near to what they are about as it is', async () => {
    const [ours, plain] = await bothOf({ html: NEAR });
    expect(withoutOwn(ours)).to.deep.equal(plain);
    expect(ours.incomplete.filter(({ id }) => isOwnRule(id))).to.deep.equal([]);
    expect(plain.incomplete.map(({ id }) => id)).to.include('color-contrast');
  });

  it('add only to rules that say so', async () => {
    const [ours, plain] = await bothOf({
      html: html(
        `<p style="line-height: 1 !important; width: 200px">${'A text of several lines. '.repeat(9)}</p>
         <p style="background: linear-gradient(#fff, #eee); color: #bbb">A gradient</p><input placeholder="Name">`,
        { head: '<style>@media (orientation: portrait) { body { rotate: 90deg } }</style>' },
      ),
    });
    const idsOf = ({ violations, incomplete }: AxeResults): string[] => [
      ...violations.map(({ id }) => id),
      ...incomplete.map(({ id }) => `review: ${id}`),
    ];
    const added = idsOf(ours).filter((id) => !idsOf(plain).includes(id));
    expect(added.sort()).to.deep.equal([
      'avoid-inline-spacing',
      'color-contrast',
      'css-orientation-lock',
      'review: placeholder-only-label',
    ]);
    expect(added.filter((id) => engineOf(id.replace('review: ', '')) === 'axe-core')).to.deep.equal([]);
  });
});
