/** States of pages: what is found in them, restored afterwards, on the first pages of a template, and the same in every run. */
import { expect } from 'chai';
import { chromium, type Page } from 'playwright-core';
import { rootCausesOf } from '../../report/causes/root-causes.ts';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import type { StateKind } from '../../core/scan/states.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import { FAULT, html, machine, openSite, scan, testedOf, type Route, type Site } from './site.ts';

/** What a page has in a state, as `rule selector`; `?` in front of what needs review. */
const inStates = ({ violations, needs_review }: TestedPage, kind?: StateKind): string[] =>
  [violations, needs_review].flatMap((list, at) =>
    list.flatMap(({ rule, nodes }) =>
      nodes.flatMap(({ state, selector }) =>
        state === undefined || (kind !== undefined && state.kind !== kind) ? [] : [`${at === 1 ? '?' : ''}${rule} ${selector}`],
      ),
    ),
  );
const results = ({ states = [] }: TestedPage): string[] =>
  states.map(({ kind, result, reason }) => [kind, result, ...(reason === undefined ? [] : [reason])].join(' '));

const style = (css: string): { head: string } => ({ head: `<style>${css}</style>` });
/** A page whose hint cannot be read in the dark. */
const DIM = style('@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } } .h { color: #444 }');
const page = (body: string, css = ''): string => html(body, style(css));

/** A template of its own. */
const pathOf = (at: number): string => `/case${String.fromCharCode(97 + at)}`;

describe('states of pages', () => {
  let site: Site;
  afterEach(() => site.close());

  async function pages(routes: Record<string, Route>, options: { states?: StateKind[]; pictures?: boolean } = {}): Promise<TestedPage[]> {
    site = await openSite(routes);
    return testedOf((await scan(`${site.origin}/`, { maxPages: 20, ...options }, { workers: 2 })).pages);
  }

  describe('in the dark', () => {
    const DARK: readonly [name: string, page: string, found: string[], result: string][] = [
      ['a text that is too dim', html('<p class="h">Hint</p>', DIM), ['color-contrast p'], 'tested'],
      [
        'a text that was too dim before',
        page('<p>Hint</p>', ':root { color-scheme: dark light } p { color: #aaa; background: #fff }'),
        [],
        'tested',
      ],
      [
        'a transition',
        page(
          '<p>Hint</p>',
          'p { color: #000; transition: color 9s } @media (prefers-color-scheme: dark) { body { background: #000 } p { color: #fff } }',
        ),
        [],
        'tested',
      ],
      [
        'a link to a style sheet',
        html('<p class="h">Hint</p>', {
          head: '<link rel="stylesheet" media="(prefers-color-scheme: dark)" href="/dark.css"><style>.h { color: #222 }</style>',
        }),
        ['color-contrast p'],
        'tested',
      ],
      ['a page without a dark scheme', page('<p>Hint</p>', 'p { color: #222 }'), [], 'nothing'],
    ];
    for (const [name, body, found, result] of DARK)
      it(`finds what is right about ${name}`, async () => {
        const [tested] = await pages(
          {
            '/': body,
            '/dark.css': (_request, response) => void response.setHeader('content-type', 'text/css').end('body { background: #000 }'),
          },
          { states: ['dark'] },
        );
        expect([inStates(tested!), results(tested!)]).to.deep.equal([found, [`dark ${result}`]]);
      });
  });

  const WORDS = 'Some words that are a text and go on for quite a while, so that they need several lines in a narrow window.';
  const NARROW: readonly [name: string, page: string, found: string[]][] = [
    ['a text of a fixed width', page(`<div>${WORDS}</div>`, 'div { width: 900px }'), ['reflow div']],
    [
      'a button beyond the side',
      page('<form><button>Send</button></form>', 'button { margin-left: 300px; width: 100px }'),
      ['reflow button'],
    ],
    [
      'a text that does not wrap in a box that scrolls',
      page(`<div><p>${WORDS}</p></div>`, 'div { overflow: auto } p { white-space: nowrap }'),
      ['reflow p'],
    ],
    ['a text that wraps', page(`<div>${WORDS}</div>`, 'div { max-width: 900px }'), []],
    ['a wide table', page(`<table><tr>${'<td>Heading</td>'.repeat(20)}</tr></table>`), []],
    [
      'a wide table in a box that grows with it',
      page(`<div><p>${WORDS}</p><table><tr>${'<td>Heading</td>'.repeat(20)}</tr></table></div>`, 'div { display: inline-block }'),
      [],
    ],
    ['code', page(`<pre>${'x'.repeat(200)}</pre>`), []],
    ['a picture', page('<img src="/x.png" alt="X">', 'img { width: 900px }'), []],
    [
      'cards that scroll to the side',
      page(`<div><p>${WORDS}</p><p>${WORDS}</p></div>`, 'div { display: flex; overflow: auto } p { flex: none; width: 250px }'),
      [],
    ],
    ['a drawer beyond the side', page(`<nav>${WORDS}</nav>`, 'nav { position: absolute; left: 100%; width: 200px }'), []],
    [
      'a text that is hidden for the eye',
      page(`<p>${WORDS}</p>`, 'p { position: absolute; width: 1px; height: 1px; overflow: hidden; white-space: nowrap }'),
      [],
    ],
    ['a text in a box of a fixed height', page(`<div>${WORDS}</div>`, 'div { height: 45px; overflow: hidden }'), ['?text-cut div']],
    ['a text that was cut before', page(`<div>${WORDS}</div>`, 'div { height: 10px; overflow: hidden }'), []],
    ['an ellipsis', page(`<div>${WORDS}</div>`, 'div { overflow: hidden; white-space: nowrap; text-overflow: ellipsis }'), []],
    ['a box that grows', page(`<div>${WORDS}</div>`, 'div { min-height: 20px; overflow: hidden }'), []],
    ['a slide', page(`<div class="carousel"><p>${WORDS}</p></div>`, 'div { height: 40px; overflow: hidden }'), []],
  ];
  const SPACED: readonly [name: string, page: string, found: string[]][] = [
    [
      'a text in a box of a fixed height',
      page(`<div>${WORDS}</div>`, 'div { width: 480px; height: 44px; overflow: hidden; line-height: 1.3 }'),
      ['?text-spacing div'],
    ],
    [
      'a button of a fixed width',
      page('<button>Send the form now</button>', 'button { width: 130px; overflow: hidden; white-space: nowrap }'),
      ['?text-spacing button'],
    ],
    ['a box that grows', page(`<div>${WORDS}</div>`, 'div { width: 400px; min-height: 44px; overflow: hidden }'), []],
    ['a box that scrolls', page(`<div tabindex="0">${WORDS}</div>`, 'div { width: 400px; height: 44px; overflow: auto }'), []],
    ['a moving text', page(`<marquee>${WORDS}</marquee>`), []],
    ['leading that is cut', page('<p>Word</p>', 'p { height: 19px; overflow: hidden; line-height: 1.1 }'), []],
  ];
  for (const [kind, cases] of [
    ['reflow', NARROW],
    ['spacing', SPACED],
  ] as const)
    describe(`in the state ${kind}`, () => {
      let all: TestedPage[];
      before(async () => {
        const links = cases.map((_, at) => `<a href="${pathOf(at)}">case</a>`).join(' ');
        const routes = Object.fromEntries(cases.map(([, body], at) => [pathOf(at), body]));
        const local = await openSite({ '/': html(links), ...routes });
        all = testedOf((await scan(`${local.origin}/`, { maxPages: 50, states: [kind] }, { workers: 2 })).pages);
        await local.close();
      });
      for (const [at, [name, , found]] of cases.entries())
        it(`finds what is right about ${name}`, () => {
          const tested = all.find(({ url }) => url.endsWith(pathOf(at)))!;
          expect([inStates(tested), results(tested)]).to.deep.equal([found, [`${kind} tested`]]);
        });
    });

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
