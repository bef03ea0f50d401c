/** What the rules of states find and what they do not: small pages, each tested in one state. */
import { expect } from 'chai';
import type { StateKind } from '../../core/scan/states.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import { html, inStates, openSite, type Route, scan, testedOf } from './site.ts';

const WORDS = 'Some words that are a text and go on for quite a while, so that they need several lines in a narrow window.';
const TEXT = `<div>${WORDS}</div>`;
const SLOT = '<template shadowrootmode="open"><div style="overflow: auto"><slot></slot></div></template>';
const inShadow = (content: string): string => `<x-a><template shadowrootmode="open">${content}</template></x-a>`;

/** A page by its name: its styles, and its body. */
type Pages = Record<string, readonly [css: string, body?: string]>;
/** What is found, and the pages on which exactly this is found. */
type Cases = readonly (readonly [found: string, pages: Pages])[];

const CELLS = '<td>Heading</td>'.repeat(20);
const LINE = 'overflow: hidden; white-space: nowrap';
const UNSEEN = `position: absolute; width: 1px; height: 1px; ${LINE}`;

const REFLOW: Cases = [
  [
    'reflow div',
    {
      'a text of a fixed width': ['div { width: 900px }'],
      'a text of a least width': ['div { min-width: 600px }'],
      'a text that is moved to the side': ['div { width: 200px; margin-left: 250px }'],
      'a text in a place of its own': ['div { position: absolute; left: 250px; width: 200px }'],
      'a text that a transformation moves': ['div { transform: translateX(200px) }'],
      'a text that the window cuts': ['body { overflow-x: hidden } div { width: 900px }'],
      'a text from right to left': ['html { direction: rtl } div { width: 900px }'],
      'a large word': ['div { font-size: 80px }', '<div>Accessibility</div>'],
      'a long word': ['', `<div>${'word'.repeat(20)}</div>`],
      'columns of fixed widths': [
        'div { display: grid; grid-template-columns: 300px 300px; width: 600px }',
        `<div><p>A text</p><p>${WORDS}</p></div>`,
      ],
      'a text beside a table that is less wide': [
        'div { width: 900px } table { width: 400px }',
        `<div>${WORDS}<table><tr>${CELLS.slice(0, 60)}</tr></table></div>`,
      ],
    },
  ],
  ['reflow button', { 'a button beyond the side': ['button { margin-left: 300px; width: 100px }', '<form><button>Send</button></form>'] }],
  ['reflow input', { 'a wide field': ['input { width: 500px }', '<input aria-label="Name">'] }],
  ['reflow select', { 'a list as wide as its options': ['', `<select aria-label="One"><option>${WORDS}</option></select>`] }],
  [
    'reflow p',
    {
      'a text that does not wrap in a box that scrolls': ['div { overflow: auto } p { white-space: nowrap }', `<div><p>${WORDS}</p></div>`],
      'a wide text in a box that scrolls': ['div { overflow: auto } p { width: 700px }', `<div><p>${WORDS}</p></div>`],
      'a text in a slot that scrolls': ['p { white-space: nowrap }', `<x-a>${SLOT}<p>${WORDS}</p></x-a>`],
    },
  ],
  [
    'reflow p:nth-child(2)',
    { 'boxes side by side': ['div { display: flex } p { flex: none; width: 250px }', `<div><p>${WORDS}</p><p>${WORDS}</p></div>`] },
  ],
  ['reflow x-a >>> div', { 'a text in a shadow root': ['x-a { display: block; width: 900px }', inShadow(TEXT)] }],
  [
    '?text-cut x-a >>> p',
    {
      'a wide text in a shadow root': [
        'section { overflow: hidden }',
        `<section>${inShadow(`<p style="width: 900px">${WORDS}</p>`)}</section>`,
      ],
    },
  ],
  [
    '?text-cut div',
    {
      'a text in a box of a fixed height': ['div { height: 45px; overflow: hidden }'],
      'a text in a box of a greatest height': ['div { max-height: 45px; overflow: hidden }'],
      'a text in a box that clips': ['div { height: 45px; overflow: clip }'],
      'a line that does not wrap': [`div { ${LINE} }`],
      'a box that shrinks with the window': ['div { height: 12vh; overflow: hidden }'],
      'a box of a fixed shape': ['div { aspect-ratio: 16 / 1; overflow: hidden }'],
      'a box with a text on top': [
        'section { position: relative; height: 60px; overflow: hidden } div { position: absolute; top: 10px }',
        `<section>${TEXT}</section>`,
      ],
      'a text in a row of a fixed height': [
        'section { display: grid; grid-template-rows: 45px } div { overflow: hidden }',
        `<section>${TEXT}</section>`,
      ],
      'a wide text in a box that cuts': ['section { overflow-x: hidden } div { width: 700px }', `<section>${TEXT}</section>`],
    },
  ],
  [
    '?text-cut button',
    { 'a button of a fixed height': ['button { height: 24px; overflow: hidden }', `<button>${WORDS.slice(0, 70)}</button>`] },
  ],
  ['?text-cut x-a >>> p', { 'a cut text in a shadow root': ['', inShadow(`<p style="height: 45px; overflow: hidden">${WORDS}</p>`)] }],
  [
    '',
    {
      'a text that wraps': ['div { max-width: 900px }'],
      'a width for wide windows': ['@media (min-width: 400px) { div { width: 900px } }'],
      'a word that wraps anywhere': ['div { overflow-wrap: anywhere }', `<div>${'word'.repeat(20)}</div>`],
      'a wide table': ['', `<table><tr>${CELLS}</tr></table>`],
      'a wide table in a box that grows with it': [
        'div { display: inline-block }',
        `<div><p>${WORDS}</p><table><tr>${CELLS}</tr></table></div>`,
      ],
      'a grid': ['div { width: 900px }', `<div role="grid" tabindex="0"><div role="row"><div role="gridcell">${WORDS}</div></div></div>`],
      code: ['', `<pre>${'x'.repeat(200)}</pre>`],
      'code in a text': ['', `<p>Words <code>${'x'.repeat(80)}</code></p>`],
      'a picture': ['img { width: 900px }', '<img src="/x.png" alt="X">'],
      'a drawing': ['', '<svg width="900" height="20" role="img" aria-label="X"><text>Some words in a drawing that is wide</text></svg>'],
      'a wide box without a text': ['div { width: 900px; height: 9px; background: red }', '<div></div>'],
      'cards that scroll to the side': [
        'div { display: flex; overflow: auto } p { flex: none; width: 250px }',
        `<div><p>${WORDS}</p><p>${WORDS}</p></div>`,
      ],
      'links that scroll to the side': [
        'nav { overflow: auto; white-space: nowrap }',
        `<nav>${'<a href="#a">All of it</a> '.repeat(9)}</nav>`,
      ],
      'a drawer beyond the side': ['nav { position: absolute; left: 100%; width: 200px }', `<nav>${WORDS}</nav>`],
      'a drawer that is beyond the side with a part of it': [
        'nav { width: 400px; transform: translateX(-400px) }',
        `<nav><p>${WORDS}</p></nav>`,
      ],
      'a drawer before the side': ['nav { position: absolute; left: 0; transform: translateX(-100%) }', `<nav>${WORDS}</nav>`],
      'a wide text that cannot be seen': ['div { width: 900px; visibility: hidden }'],
      'a text that is hidden for the eye': [`div { ${UNSEEN} }`],
      'a text that a path hides': ['div { position: absolute; width: 900px; clip-path: inset(50%) }'],
      'half a pixel': ['body { margin: 0 } main { width: 320.5px }'],
      'a text that was cut before': ['div { height: 10px; overflow: hidden }'],
      'an ellipsis': [`div { ${LINE}; text-overflow: ellipsis }`],
      'an ellipsis of several lines': [
        'div { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }',
      ],
      'a box that grows': ['div { min-height: 20px; overflow: hidden }'],
      'a box that scrolls': ['div { height: 45px; overflow: auto }', `<div tabindex="0">${WORDS}</div>`],
      'a box that scrolls in one that cuts': [
        'section { height: 45px; overflow: hidden } div { height: 45px; overflow: auto }',
        `<section><div tabindex="0">${WORDS}</div></section>`,
      ],
      'a slide': ['div { height: 40px; overflow: hidden }', `<div class="carousel"><p>${WORDS}</p></div>`],
      'a slide by its description': [
        'div { height: 40px; overflow: hidden }',
        `<div role="group" aria-label="X" aria-roledescription="slide"><p>${WORDS}</p></div>`,
      ],
      'a moving text': ['', `<marquee>${WORDS}</marquee>`],
      'a menu that closes': ['nav { overflow: hidden } @media (max-width: 400px) { nav { max-height: 0 } }', `<nav>${WORDS}</nav>`],
      'a text outside of the box that cuts': [
        'section { height: 60px; overflow: hidden } div { position: absolute }',
        `<section>${TEXT}</section>`,
      ],
      'a text that stays in the window': [
        'section { height: 60px; overflow: hidden } div { position: fixed; width: 50% }',
        `<section>${TEXT}</section>`,
      ],
      'a text that comes into view': [
        'section { height: 40px; overflow: hidden; position: relative } div { position: absolute; left: 1300px; width: 200px } @media (max-width: 400px) { div { left: 200px } }',
        `<section>${TEXT}</section>`,
      ],
      'leading that is cut': ['p { height: 19px; overflow: hidden; line-height: 1.1 }', '<p>Word</p>'],
      'a text that is replaced by a picture': [`div { text-indent: 100%; ${LINE} }`],
    },
  ],
];

const SPACED = 'width: 480px; height: 44px; overflow: hidden; line-height: 1.3';
const SPACING: Cases = [
  [
    '?text-spacing div',
    {
      'a text in a box of a fixed height': [`div { ${SPACED} }`],
      'a text in a box of a greatest height': ['div { width: 480px; max-height: 44px; overflow: hidden; line-height: 1.3 }'],
      'a text in a box that clips': ['div { width: 480px; height: 44px; overflow: clip; line-height: 1.3 }'],
      'a text in a small box': [
        'div { width: 220px; height: 66px; overflow: hidden; line-height: 1.3 }',
        '<div>This text has a box of fixed height that cannot grow at all, so text is cut</div>',
      ],
      'a line that does not wrap': [`div { width: 900px; ${LINE} }`],
      'a line that is cut only to the side': ['div { width: 900px; overflow-x: hidden; white-space: nowrap }'],
      'a text in a row of a fixed height': [
        'section { display: grid; grid-template-rows: 44px } div { width: 480px; overflow: hidden; line-height: 1.3 }',
        `<section>${TEXT}</section>`,
      ],
      'a box with a text on top': [
        'section { position: relative; height: 50px; overflow: hidden } div { position: absolute; width: 480px; line-height: 1.3 }',
        `<section>${TEXT}</section>`,
      ],
    },
  ],
  ['?text-spacing button', { 'a button of a fixed width': [`button { width: 130px; ${LINE} }`, '<button>Send the form now</button>'] }],
  ['?text-spacing a', { 'a tab of a fixed width': [`a { display: block; width: 120px; ${LINE} }`, '<a href="#a">All addresses</a>'] }],
  [
    '?text-spacing h2',
    {
      'a heading of a fixed height': [
        'h2 { font-size: 24px; width: 400px; height: 56px; overflow: hidden; line-height: 1.1 }',
        '<h2>A heading that just fits into two lines of its box</h2>',
      ],
    },
  ],
  [
    '?text-spacing p:nth-child(2)',
    {
      'paragraphs that are moved down': ['div { height: 60px; overflow: hidden } p { margin: 0 0 8px }', '<div><p>One</p><p>Two</p></div>'],
    },
  ],
  ['?text-spacing x-a >>> p', { 'a text in a shadow root': ['', inShadow(`<p style="${SPACED}; margin: 0">${WORDS}</p>`)] }],
  [
    '',
    {
      'a box that grows': ['div { width: 480px; min-height: 44px; overflow: hidden; line-height: 1.3 }'],
      'a box with room': ['div { width: 480px; height: 120px; overflow: hidden; line-height: 1.3 }'],
      'a box that does not cut': ['div { width: 480px; height: 44px; line-height: 1.3 }'],
      'a box that scrolls': [`div { ${SPACED}; overflow: auto }`, `<div tabindex="0">${WORDS}</div>`],
      'a text that was cut before': ['div { width: 300px; height: 44px; overflow: hidden; line-height: 1.3 }'],
      'an ellipsis': [`div { width: 900px; ${LINE}; text-overflow: ellipsis }`],
      'an ellipsis of several lines': [
        'div { width: 480px; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }',
      ],
      'a text that is hidden for the eye': [`div { ${UNSEEN} }`],
      'a slide': [`div { ${SPACED} }`, `<div class="swiper"><p>${WORDS}</p></div>`],
      'a moving text': ['', `<marquee>${WORDS}</marquee>`],
      'leading that is cut': ['p { height: 19px; overflow: hidden; line-height: 1.1 }', '<p>Word</p>'],
      'a text outside of the box that cuts': [
        'section { width: 480px; height: 44px; overflow: hidden; line-height: 1.3 } div { position: absolute; width: 480px }',
        `<section>${TEXT}</section>`,
      ],
      'a text that is replaced by a picture': [`div { width: 400px; text-indent: 100%; ${LINE} }`],
      'a text with wide spacing': [
        'div { width: 480px; height: 74px; overflow: hidden; line-height: 1.5; letter-spacing: .12em; word-spacing: .16em }',
      ],
    },
  ],
];

const HINT = '<p class="h">Hint</p>';
const DARK_BODY = 'body { background: #111; color: #eee }';
const inDark = (css: string): string => `@media (prefers-color-scheme: dark) { ${DARK_BODY} ${css} }`;
const DARK: Cases = [
  [
    'color-contrast p',
    {
      'a text that is too dim': [`${inDark('')} .h { color: #444 }`, HINT],
      'a text that is dimmed': [inDark('.h { color: #555 }'), HINT],
      'a variable': [`:root { --hint: #333 } ${inDark(':root { --hint: #444 }')} .h { color: var(--hint) }`, HINT],
      'a background that turns dark': ['.h { color: #222 } @media (prefers-color-scheme: dark) { .h { background: #000 } }', HINT],
      'a background that stays light': [inDark('').concat('.h { background: #fff }'), HINT],
      'a scheme of the browser': [':root { color-scheme: light dark } .h { color: #333 }', HINT],
      'a rule in a layer': [`@layer a { ${inDark('')} } .h { color: #444 }`, HINT],
      'a rule that is imported': ['@import url("/dark.css") (prefers-color-scheme: dark); .h { color: #222 }', HINT],
      opacity: [inDark('.h { opacity: .3 }'), HINT],
    },
  ],
  ['color-contrast a', { 'a link of the browser': [inDark('').concat('a { color: #00e }'), '<p>See <a href="#a">all of it</a></p>'] }],
  [
    'color-contrast button',
    {
      'a button that stays light': [
        inDark('button { color: #ddd }').concat('button { background: #fff; border: 0 }'),
        '<button>Send</button>',
      ],
    },
  ],
  ['color-contrast x-a >>> p', { 'a text in a shadow root': [inDark(''), inShadow('<p style="color: #444">Hint</p>')] }],
  [
    '',
    {
      'a text that can be read': [inDark('.h { color: #bbb }'), HINT],
      'a text that can be read on the canvas': [
        ':root { color-scheme: light dark; color: #222 } @media (prefers-color-scheme: dark) { :root { color: #ddd } }',
        HINT,
      ],
      'a text that was too dim before': [':root { color-scheme: dark light } p { color: #aaa; background: #fff }', HINT],
      'a text that is better in the dark': [inDark('').concat('.h { color: #777 }'), HINT],
      'a transition': [
        'p { color: #000; transition: color 9s } @media (prefers-color-scheme: dark) { body { background: #000 } p { color: #fff } }',
        HINT,
      ],
      'a light scheme': ['@media (prefers-color-scheme: light) { .h { color: #222 } }', HINT],
      'a scheme that is only light': [
        ':root { color-scheme: light } .h { color: #222 } @media (prefers-color-scheme: dark) { b { color: red } }',
        HINT,
      ],
      'a dark scheme for print': ['@media print and (prefers-color-scheme: dark) { .h { background: #000 } } .h { color: #222 }', HINT],
      'a text that cannot be seen': [inDark('.h { color: #444; visibility: hidden }'), HINT],
      'a button that is off': [inDark('button { color: #444; background: #333 }'), '<button disabled>Send</button>'],
      'a large text': [inDark('.h { color: #777; font-size: 40px }'), HINT],
      'a gradient that cannot be decided': [inDark('.h { background: linear-gradient(#fff, #000); color: #777 }'), HINT],
    },
  ],
];

const NOTHING: Cases = [['', { 'a page without a dark scheme': ['p { color: #222 }', HINT] }]];

for (const [kind, cases, result] of [
  ['dark', DARK, 'tested'],
  ['dark', NOTHING, 'nothing'],
  ['reflow', REFLOW, 'tested'],
  ['spacing', SPACING, 'tested'],
] as const satisfies readonly (readonly [StateKind, Cases, string])[])
  describe(`in the state ${kind}`, () => {
    const all = cases.flatMap(([found, pages]) => Object.entries(pages).map(([name, [css, body = TEXT]]) => ({ name, found, css, body })));
    const path = (at: number): string => `/case${String.fromCharCode(97 + Math.floor(at / 26), 97 + (at % 26))}`;
    let tested: TestedPage[];
    before(async () => {
      const routes: Record<string, Route> = Object.fromEntries(
        all.map(({ css, body }, at) => [path(at), html(body, { head: `<style>${css}</style>` })]),
      );
      routes['/'] = html(all.map((_, at) => `<a href="${path(at)}">case</a>`).join(' '));
      routes['/dark.css'] = (_request, response) => void response.setHeader('content-type', 'text/css').end('body { background: #000 }');
      const site = await openSite(routes);
      tested = testedOf((await scan(`${site.origin}/`, { maxPages: 99, states: [kind] }, { workers: 2 })).pages);
      await site.close();
    });
    for (const [at, { name, found }] of all.entries())
      it(`finds ${found === '' ? 'nothing' : found} about ${name}`, () => {
        const page = tested.find(({ url }) => url.endsWith(path(at)))!;
        expect([inStates(page), page.states]).to.deep.equal([found === '' ? [] : [found], [{ kind, result }]]);
      });
  });
