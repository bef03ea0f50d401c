/** The walk with the keyboard: what it finds, what it does not, where it ends, and that the page is as it was. */
import { expect } from 'chai';
import type { ScanOptions } from '../../core/scan/options.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import { html, openSite, scan, script, testedOf } from './site.ts';

/** What the walk found on a page, as `rule selector (presses of Tab)`; `?` in front of what needs review. */
const found = ({ violations, needs_review }: TestedPage): string[] =>
  [violations, needs_review].flatMap((list, at) =>
    list.flatMap(({ rule, nodes }) =>
      nodes
        .filter(({ state }) => state?.kind === 'keyboard')
        .map(({ selector, state }) => `${at === 1 ? '?' : ''}${rule} ${selector} (${state!.steps[0]!.times ?? '–'})`),
    ),
  );

/** Pages by their names, tested with the keyboard. */
async function walked(
  pages: readonly (readonly [name: string, page: string, ...unknown[]])[],
  options: Partial<ScanOptions> = {},
): Promise<Map<string, TestedPage>> {
  const path = (at: number): string => `/page${String.fromCharCode(97 + Math.floor(at / 26), 97 + (at % 26))}`;
  const links = pages.map((_, at) => `<a href="${path(at)}">page</a>`).join(' ');
  const site = await openSite({ '/': html(links), ...Object.fromEntries(pages.map(([, page], at) => [path(at), page])) });
  const { pages: all } = await scan(
    `${site.origin}/`,
    { maxPages: 99, states: ['keyboard'], wcagVersion: '2.2', ...options },
    { workers: 2 },
  );
  await site.close();
  const tested = new Map(testedOf(all).map((page) => [new URL(page.url).pathname, page]));
  return new Map(pages.map(([name], at) => [name, tested.get(path(at))!]));
}

const page = (body: string, css = ''): string => html(body, { head: `<style>${css}</style>` });
const A = '<a href="#a" id="a">First</a> ';
const B = '<a href="#b" id="b">Last</a> ';
const LINES = Array.from({ length: 40 }, (_, at) => `<p><a href="#l${at}">Link ${at}</a> and text</p>`).join('');
const NONE = '*:focus { outline: none }';
const OFF = '.off { position: absolute; left: -9999px }';
const CHECK = '<label class="c"><input type="checkbox" id="c"><span>Agree</span></label>';
const HIDDEN_CHECK = '.c input { position: absolute; opacity: 0 }';
const onKey = (body: string): string => script(`addEventListener('keydown', (event) => { if (event.key === 'Tab') { ${body} } })`);

const WRONG: readonly [name: string, page: string, found: string[]][] = [
  [
    'a field that keeps Tab',
    page(A + '<input id="i" aria-label="Code">' + B + script("i.onkeydown = (e) => e.key === 'Tab' && e.preventDefault()")),
    ['?keyboard-trap #i (2)'],
  ],
  [
    'two links that lead to each other',
    page(
      A +
        '<a href="#x" id="x">X</a> <a href="#y" id="y">Y</a> ' +
        B +
        onKey('const to = { x: y, y: x }[document.activeElement.id]; if (to) { event.preventDefault(); to.focus(); }'),
    ),
    ['?keyboard-trap #y (3)'],
  ],
  [
    'a button that opens a page on focus',
    page(A + '<button id="x" onfocus="location.href = \'/elsewhere\'">X</button>' + B),
    ['focus-moves #x (2)'],
  ],
  [
    'a form that is sent on focus',
    page('<form id="f">' + A + '<button id="x" onfocus="f.submit()">X</button></form>' + B),
    ['focus-moves #x (2)'],
  ],
  [
    'a link that opens a window on focus',
    page(A + '<a href="#x" id="x" onfocus="window.open(\'/elsewhere\')">X</a> ' + B),
    ['focus-moves #x (2)'],
  ],
  ['links outside the window', page(A + '<p class="off"><a href="#x" id="x">X</a></p>' + B, OFF), ['focus-on-hidden #x (2)']],
  [
    'a skip link that is never seen',
    page('<a href="#m" id="x" class="off">Skip to content</a><p id="m">Text</p>' + B, OFF),
    ['focus-on-hidden #x (1)'],
  ],
  [
    'links in a menu that is transparent',
    page(A + '<p class="m"><a href="#x" id="x">X</a></p>' + B, '.m { opacity: 0 }'),
    ['focus-on-hidden #x (2)'],
  ],
  [
    'a link in a drawer on the right',
    page(A + '<p class="m"><a href="#x" id="x">X</a></p>' + B, '.m { position: fixed; left: 100vw }'),
    ['focus-on-hidden #x (2)'],
  ],
  [
    'a hidden button in a shadow root',
    page(A + '<div id="h"></div>' + B + script("h.attachShadow({ mode: 'open' }).innerHTML = '<button style=\"opacity: 0\">X</button>'")),
    ['focus-on-hidden button (2)'],
  ],
  [
    'no outlines',
    page(A + '<button id="x">X</button> <input aria-label="T"><select id="s" aria-label="S"></select>', NONE),
    ['?focus-not-visible #a (1)', '?focus-not-visible #x (2)', '?focus-not-visible #s (4)'],
  ],
  ['a transparent outline', page(A, 'a:focus { outline: 2px solid transparent }'), ['?focus-not-visible #a (1)']],
  ['a hidden checkbox whose label stays as it is', page(A + CHECK, HIDDEN_CHECK), ['?focus-not-visible #c (2)']],
  [
    'a link under a fixed footer',
    page(
      A + '<p><a href="#x" id="x">X</a></p><div class="f">Footer</div>',
      '#x { position: absolute; top: 500px } .f { position: fixed; inset: 400px 0 0; background: #333; color: #fff }',
    ),
    ['?focus-obscured #x (2)'],
  ],
  ['a link that removes its focus', page(A + '<a href="#x" id="x" onfocus="this.blur()">X</a> ' + B), ['focus-not-reached #x (2)']],
  [
    'a link that Tab leaves out',
    page(
      A +
        '<a href="#x" id="x">X</a> ' +
        B +
        onKey(
          'const to = { a: b, b: a }[document.activeElement.id]; if (to && (to === b) === !event.shiftKey) { event.preventDefault(); to.focus(); }',
        ),
    ),
    ['?focus-not-reached #x (–)'],
  ],
  ['a skip link to nothing', page('<a href="#nowhere" id="x">Skip to content</a> ' + B), ['?skip-link-target #x (1)']],
  ['a skip link that is not in UTF-8', page('<a href="#d%E9but" id="x">Skip to content</a> ' + B), ['?skip-link-target #x (1)']],
];

const RIGHT: readonly [name: string, page: string][] = [
  ['links and fields', page(A + '<input aria-label="T"><select aria-label="S"></select><textarea aria-label="A"></textarea>' + B)],
  ['a field that has the focus at first', page(A + '<input id="i" aria-label="T" autofocus>' + B)],
  [
    'fields without an outline, which have a caret',
    page(A + '<input aria-label="T"><textarea aria-label="A"></textarea>' + B, 'input, textarea { outline: none }'),
  ],
  [
    'a date, a time and a player',
    page('<input type="datetime-local" aria-label="D"><input type="time" aria-label="T"><video controls></video>' + B),
  ],
  ['a frame', page(A + '<iframe title="F" srcdoc="' + '<a href=#x>x</a>'.repeat(20) + '"></iframe>' + B)],
  ['radio buttons', page('<label><input type="radio" name="r"> A</label> <label><input type="radio" name="r"> B</label>' + B)],
  ['a checkbox that is drawn', page(A + CHECK, HIDDEN_CHECK + ' input:focus + span { box-shadow: 0 0 0 3px #00f }')],
  [
    'a checkbox whose parts change in a transition',
    page(A + CHECK, HIDDEN_CHECK + ' span { transition: background-color 2s } input:focus + span { background-color: #ff0 }'),
  ],
  ['a mark around a link', page('<p class="w">' + A + '</p><p class="w">' + B + '</p>', NONE + '.w:focus-within { background: #fd0 }')],
  ['a mark before a link', page(A + B, NONE + 'a:focus::before { content: "→ " }')],
  ['a link with another background', page(A + B, 'a:focus { outline: 0; background: #000; color: #fff }')],
  [
    'a mark that a script removes late',
    page(
      '<p>' +
        A +
        '</p><p>' +
        B +
        '</p>' +
        script(
          "for (const link of document.links) { link.style.outline = 'none'; link.onfocus = () => link.className = 'on'; link.onblur = () => setTimeout(() => link.className = '', 300) }",
        ),
      '.on { background: #fd0 }',
    ),
  ],
  ['a skip link that appears', page('<a href="#m" class="off s">Skip to content</a><p id="m">Text</p>' + B, OFF + ' .s:focus { left: 0 }')],
  [
    'a skip link that appears late',
    page(
      '<a href="#m" id="x" class="off">Skip to content</a><p id="m">Text</p>' +
        B +
        script("x.onfocus = () => setTimeout(() => x.className = '', 100)"),
      OFF,
    ),
  ],
  [
    'a menu that opens for the keyboard',
    page(
      '<ul><li>' + A + '<ul class="m"><li><a href="#x">X</a></li></ul></li></ul>' + B,
      '.m { opacity: 0 } li:focus-within .m { opacity: 1 }',
    ),
  ],
  [
    'a link around a picture that floats',
    page(
      '<a href="#x"><img alt="X" src="data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22/>" style="float: left; width: 40px; height: 40px"></a>' +
        B,
    ),
  ],
  ['a link whose picture does not load', page(A + '<a href="#x" aria-label="X"><i class="icon"></i></a> ' + B)],
  [
    'links in a box that cuts them until they have the focus',
    page('<div class="m">' + LINES + '</div>' + B, '.m { height: 100px; overflow: hidden }'),
  ],
  [
    'links above a footer for which space is reserved',
    page(
      LINES + '<div class="f">Footer</div>',
      'html { scroll-padding-bottom: 120px } body { padding-bottom: 120px } .f { position: fixed; inset: auto 0 0; height: 60px; background: #333; color: #fff }',
    ),
  ],
  [
    'an open dialog that keeps the focus',
    page(A + '<dialog id="d" aria-label="D"><button>X</button> <button>Y</button></dialog>' + script('d.showModal()')),
  ],
  [
    'a layer with the role of a dialog, which keeps the focus',
    page(
      A +
        '<div role="dialog" aria-label="D"><button id="x">X</button> <button id="y">Y</button></div>' +
        script('x.focus()') +
        onKey('event.preventDefault(); (document.activeElement === x ? y : x).focus()'),
    ),
  ],
  [
    'what is out of the order on purpose',
    page(
      A +
        '<button tabindex="-1">X</button> <button disabled>X</button> <p inert><a href="#x">X</a></p> <details><summary>S</summary><a href="#x">X</a></details>',
    ),
  ],
  [
    'a page that scrolls in a box',
    page('<div class="m"><p>Text</p></div>' + A, '.m { height: 100px; overflow: auto } .m p { height: 900px } .m:focus { outline: 0 }'),
  ],
  [
    'timers that open a page',
    page(
      A +
        B +
        script(
          "onkeydown = () => { onkeydown = null; for (const ms of [10, 550, 600]) setTimeout(() => { location.href = '/elsewhere' }, ms) }",
        ),
    ),
  ],
  ['an address that changes within the page', page(A + "<button onfocus=\"history.replaceState(null, '', '?x')\">X</button>" + B)],
];

describe('the walk with the keyboard', () => {
  let pages: Map<string, TestedPage>;
  before(async () => (pages = await walked([...WRONG, ...RIGHT])));

  for (const [name, , expected] of WRONG) it(`finds ${name}`, () => expect(found(pages.get(name)!)).to.deep.equal(expected));
  for (const [name] of RIGHT) it(`finds nothing wrong in ${name}`, () => expect(found(pages.get(name)!)).to.deep.equal([]));

  it('ends after 60 stops and says how many are left', async () => {
    const many = Array.from({ length: 75 }, (_, at) => `<a href="#${at}">Link ${at}</a> `).join('');
    const tested = await walked([
      ['many', page(many)],
      ['none', page('<p>Text</p>')],
    ]);
    expect([...tested.values()].map(({ states }) => states)).to.deep.equal([
      [{ kind: 'keyboard', result: 'tested', left: 15 }],
      [{ kind: 'keyboard', result: 'nothing' }],
    ]);
  });

  it('tests only rules of the target', async () => {
    const [name, body] = WRONG.find(([one]) => one === 'no outlines')!;
    const covered = WRONG.find(([one]) => one === 'a link under a fixed footer')!;
    const tested = await walked([[name, body], covered], { wcagLevel: 'A', wcagVersion: '2.1' });
    expect([...tested.values()].flatMap(found)).to.deep.equal([]);
  });
});
