/** States of pages: what is found in them, restored afterwards, on the first pages of a template, and the same in every run. */
import { expect } from 'chai';
import { chromium, type Page } from 'playwright-core';
import { knownStandards } from '../../report/rules/rules.ts';
import { rootCausesOf } from '../../report/causes/root-causes.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import type { StateKind } from '../../core/scan/states.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import { FAULT, html, inStates, machine, openSite, scan, testedOf, type Route, type Site } from './site.ts';

const results = ({ states = [] }: TestedPage): string[] =>
  states.map(({ kind, result, reason }) => [kind, result, ...(reason === undefined ? [] : [reason])].join(' '));

const style = (css: string): { head: string } => ({ head: `<style>${css}</style>` });
/** A page whose hint cannot be read in the dark. */
const DIM = style('@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } } .h { color: #444 }');

describe('states of pages', () => {
  let site: Site;
  afterEach(() => site.close());

  async function pages(
    routes: Record<string, Route>,
    options: { states?: StateKind[]; pictures?: boolean; maxPages?: number } = {},
  ): Promise<TestedPage[]> {
    site = await openSite(routes);
    return testedOf((await scan(`${site.origin}/`, { maxPages: 20, ...options }, { workers: 2 })).pages);
  }

  it('need review and count for nothing unless the scan names them', async () => {
    const body = html('<p class="h">Hint</p>', DIM);
    const [listed] = await pages({ '/': body });
    expect([inStates(listed!), listed!.score]).to.deep.equal([['?color-contrast p'], 100]);
    await site.close();
    const [counted] = await pages({ '/': body }, { states: ['dark'] });
    expect(inStates(counted!)).to.deep.equal(['color-contrast p']);
    expect(counted!.score).to.be.below(100);
    await site.close();
    const [none] = await pages({ '/': body }, { states: [] });
    expect([inStates(none!), none!.states]).to.deep.equal([[], undefined]);
  });

  it('list rules that find nothing as passed, in the score only if the scan names them, and say that frames are left out', async () => {
    const routes = {
      '/': html('<p>Words</p><iframe title="Frame" src="/frame"></iframe>', DIM),
      '/frame': html('<p>Words in a frame</p>'),
    };
    const passed = async (states?: StateKind[]) => {
      const [tested] = await pages(routes, { ...(states && { states }), maxPages: 1 });
      await site.close();
      const own = ['reflow', 'text-cut', 'text-spacing'].filter((id) => tested!.rules_passed.includes(knownStandards().indexOf(id)));
      return [own, tested!.rules.serious.passed, results(tested!)] as const;
    };
    const [none, before] = await passed([]);
    const all = ['reflow', 'text-cut', 'text-spacing'];
    const coverage = ['dark tested', 'reflow tested frames', 'spacing tested frames', 'keyboard tested frames'];
    expect(none).to.deep.equal([]);
    expect(await passed()).to.deep.equal([all, before, coverage]);
    expect(await passed(['reflow'])).to.deep.equal([all.slice(0, 2), before + 1, coverage.slice(1, 2)]);
  });

  it('do not repeat what is found at rest', async () => {
    const css = '@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } b { color: #444 } } .h { color: #888 }';
    const [tested] = await pages(
      { '/': html('<p class="h" id="a">Hint</p><b>Bold</b>', style(`${css} #a { background: #999 }`)) },
      { states: ['dark'] },
    );
    expect(inStates(tested!)).to.deep.equal(['color-contrast b']);
    expect(tested!.violations[0]!.nodes.map(({ selector, also_in }) => [selector, also_in])).to.deep.equal([
      ['#a', ['dark']],
      ['b', undefined],
    ]);
    const [cause] = rootCausesOf([tested!], 'violations').filter(({ at_rest }) => at_rest === 1);
    expect(cause).to.deep.include({ states: ['dark'], elements: 1 });
  });

  it('fail what needs review at rest, which is listed once unless the scan names the state', async () => {
    const css = 'p { color: #444; background: linear-gradient(#fff, #ccc) } @media (prefers-color-scheme: dark) { p { background: #222 } }';
    const body = html('<p>Hint</p>', style(css));
    const contrast = ({ violations, needs_review }: TestedPage) =>
      [violations, needs_review].map((list) =>
        list.flatMap(({ rule, nodes }) => (rule === 'color-contrast' ? nodes.map(({ state, also_in }) => [state?.kind, also_in]) : [])),
      );
    const [counted] = await pages({ '/': body }, { states: ['dark'] });
    expect(contrast(counted!)).to.deep.equal([[['dark', undefined]], [[undefined, undefined]]]);
    expect(counted!.score).to.be.below(100);
    await site.close();
    const [listed] = await pages({ '/': body });
    expect(contrast(listed!)).to.deep.equal([[], [[undefined, ['dark']]]]);
  });

  it('are tested on the first three tested pages of a template, with any number of workers', async () => {
    const article = (name: string): string => html(`<p class="h">News ${name}</p>`, DIM);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const links = html(['missing', ...names].map((name) => `<a href="/news/${name}">${name}</a>`).join(' '));
    const routes = { '/': links, ...Object.fromEntries(names.map((name) => [`/news/${name}`, article(name)])) };
    const expected = [...names.slice(0, 3).map(() => ['dark tested']), ...names.slice(3).map(() => ['dark skipped template'])];
    for (const workers of [1, 3]) {
      site = await openSite(routes);
      const tested = testedOf((await scan(`${site.origin}/`, { states: ['dark'] }, { workers })).pages).slice(1);
      expect(tested.map(results)).to.deep.equal(expected);
      expect(tested.map((one) => inStates(one).length)).to.deep.equal([1, 1, 1, 0, 0, 0]);
      if (workers === 1) await site.close();
    }
  });

  it('have pictures of their own, and leave the page as it was', async () => {
    const atRest = html(`${FAULT}<p class="h">Hint</p><a href="/only">Only</a>`, DIM);
    site = await openSite({ '/': atRest, '/only': html('<p class="h">Another hint</p>', DIM) });
    const result = await scan(`${site.origin}/`, { pictures: true, states: ['dark'] });
    const causes = rootCausesOf(result.pages, 'violations');
    expect([...result.pagePictures.keys()], 'of pages').to.have.members([`${site.origin}/`, `${site.origin}/only`]);
    const light = causes.map(({ fingerprint, rule }) => [rule, result.pictures.get(fingerprint)!] as const);
    expect([...new Set(light.map(([rule]) => rule))]).to.have.members(['image-alt', 'color-contrast']);
    const browser = await chromium.launch({ executablePath: findChromium(machine), chromiumSandbox: false });
    try {
      const blank = await browser.newPage();
      const corners = await Promise.all(light.map(async ([rule, { bytes }]) => [rule, (await corner(blank, bytes)) < 100]));
      expect(Object.fromEntries(corners)).to.deep.equal({ 'image-alt': false, 'color-contrast': true });
    } finally {
      await browser.close();
    }
  });
});

/** The brightness of the last pixel of a picture. */
const corner = (page: Page, bytes: Uint8Array): Promise<number> =>
  page.evaluate<number>(`(async () => {
    const data = Uint8Array.from(atob('${Buffer.from(bytes).toString('base64')}'), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([data], { type: 'image/jpeg' }));
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(image.width - 2, image.height - 2, 1, 1).data[0];
  })()`);
