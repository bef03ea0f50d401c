/** Parts of pages that are opened by keyboard: what is found in them, what is not opened, and that nothing reaches a server. */
import { expect } from 'chai';
import { STATE_KINDS } from '../../core/scan/states.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import { FAULT, html, inStates, openSite, scan, script, testedOf } from './site.ts';

/** A template of its own. */
const pathOf = (at: number): string => `/case${String.fromCharCode(97 + at)}`;

describe('opened parts of pages', () => {
  const toggle = 'const b = this; b.setAttribute("aria-expanded", b.nextElementSibling.hidden); b.nextElementSibling.hidden ^= 1';
  const control = (attributes: string, name = 'More', act = toggle): string =>
    `<button ${attributes} onclick='${act}'>${name}</button><div hidden>${FAULT}</div>`;
  const OPENED: readonly [name: string, body: string, found: string[], result: string][] = [
    ['details', `<details><summary>More</summary>${FAULT}</details>`, ['image-alt #fault'], '1'],
    ['a button that expands a part', control('aria-expanded="false"'), ['image-alt #fault'], '1'],
    [
      'a page that says how its visitor answered about cookies',
      `<details><summary>More</summary>${FAULT}</details>${script('document.body.className = "cookies-not-set"')}`,
      ['image-alt #fault'],
      '1',
    ],
    ['a part without a fault', '<details><summary>More</summary><p>Text</p></details>', [], '1'],
    [
      'a dialog',
      control('aria-haspopup="dialog" type="button"', 'Open', 'this.parentNode.querySelector("dialog").showModal()').replaceAll(
        /div( hidden)?>/g,
        'dialog>',
      ),
      ['image-alt #fault'],
      '1',
    ],
    ['a popover', `<button popovertarget="p">Open</button><div popover id="p">${FAULT}</div>`, ['image-alt #fault'], '1'],
    [
      'a field that opens by an arrow',
      `<input role="combobox" aria-label="City" aria-expanded="false" aria-controls="l" onkeydown="if (event.key === 'ArrowDown') l.hidden = false"><div id="l" role="listbox" hidden aria-label="Cities"><div role="option">Ulm${FAULT}</div></div>`,
      ['image-alt #fault'],
      '1',
    ],
    [
      'a list that scrolls, in which the focus is',
      `<button aria-haspopup="listbox" onclick="l.hidden = false; l.focus()">Open</button><ul id="l" role="listbox" aria-label="List" tabindex="-1" hidden>${'<li role="option">One</li>'.repeat(40)}</ul>`,
      [],
      '1',
    ],
    [
      'what may do more',
      [
        control('class="a" aria-expanded="false"', 'Delete account'),
        control('class="b" aria-expanded="false"', 'Abmelden'),
        `<form>${control('class="c" aria-expanded="false"')}</form>`,
        '<a href="/x" role="button" aria-expanded="false">Row</a>',
        `<div id="cookie-banner">${control('class="d" aria-expanded="false"')}</div>`,
        `<div data-curbcut-skip>${control('class="e" aria-expanded="false"')}</div>`,
      ].join(''),
      [],
      'acts 6',
    ],
    [
      'more of one look than are opened',
      control('aria-expanded="false"').repeat(5),
      [3, 5, 7].map((at) => `image-alt div:nth-child(${at}) > img`),
      '3, limit 2',
    ],
    ['what opens nothing', '<button aria-expanded="false">More</button>', [], 'nothing 1'],
    [
      'a dialog that does not close',
      `${control('aria-haspopup="dialog"', 'Open', 'b.hidden = false')}<div id="b" role="dialog" aria-modal="true" aria-label="B" hidden>Text</div>${control('class="x" aria-expanded="false"')}`,
      [],
      '1, stuck 1',
    ],
    ['nothing to open', '<p>Text</p>', [], ''],
    [
      'a worker',
      `<details><summary>More</summary>${FAULT}</details>${script('new Worker(URL.createObjectURL(new Blob([""])))')}`,
      [],
      'connected',
    ],
    [
      'a socket',
      `<details><summary>More</summary>${FAULT}</details>${script('new WebSocket(`ws://${location.host}/ws`)')}`,
      [],
      'connected',
    ],
  ];
  describe('by a control', () => {
    let all: TestedPage[];
    before(async () => {
      const links = OPENED.map((_, at) => `<a href="${pathOf(at)}">case</a>`).join(' ');
      const routes = Object.fromEntries(OPENED.map(([, body], at) => [pathOf(at), html(body)]));
      const local = await openSite({ '/': html(links), ...routes });
      all = testedOf((await scan(`${local.origin}/`, { states: ['opened'] }, { workers: 2 })).pages);
      await local.close();
    });
    for (const [at, [name, , found, result]] of OPENED.entries())
      it(`finds what is right about ${name}`, () => {
        const tested = all.find(({ url }) => url.endsWith(pathOf(at)))!;
        const said = tested.states!.map(({ reason, opened, unopened = [] }) =>
          [reason, opened, ...unopened.map((one) => `${one.reason} ${one.count}`)].filter((part) => part !== undefined).join(', '),
        );
        expect([inStates(tested), said]).to.deep.equal([found, [result]]);
      });

    it('says what was opened, and how', () => {
      const [found] = all.flatMap(({ violations }) => violations.flatMap(({ nodes }) => nodes));
      expect(found).to.deep.include({
        box: null,
        state: { kind: 'opened', label: '“More” opened (Enter)', steps: [{ click: 'summary' }] },
      });
    });
  });

  it('are tested on the first page of a template that has them, with any number of workers', async () => {
    const menu = `<details><summary>Menu</summary>${FAULT}</details>`;
    const routes = {
      '/': html(['a', 'b', 'c'].map((name) => `<a href="/news/${name}">${name}</a>`).join(' ')),
      '/news/a': html(`<p>First</p>${menu}`),
      '/news/b': html(`<p>Second</p>${menu}${menu}`),
      '/news/c': html(`<p>Third</p>${menu}<details><summary>More</summary>${FAULT}</details>`),
    };
    for (const workers of [1, 3]) {
      const site = await openSite(routes);
      const tested = testedOf((await scan(`${site.origin}/`, { states: ['opened'] }, { workers })).pages).slice(1);
      await site.close();
      expect(tested.map(({ states }) => [states![0]!.opened, states![0]!.unopened])).to.deep.equal([
        [1, undefined],
        [undefined, [{ reason: 'same', count: 2 }]],
        [1, [{ reason: 'same', count: 1 }]],
      ]);
      expect(tested.map((page) => inStates(page).length)).to.deep.equal([1, 0, 1]);
    }
  });

  it('let nothing that they activate reach a server, or stay for other pages', async () => {
    const acts = [
      'fetch("/hit", { method: "POST" })',
      'fetch("/hit")',
      'navigator.sendBeacon("/hit", "1")',
      'new WebSocket(`ws://${location.host}/hit`)',
      'new EventSource("/hit")',
      'location.href = "/hit"',
      'window.open("/hit")',
      'document.forms[0].submit()',
      'frame().src = "/hit"',
      'frame().srcdoc = "<script>new WebSocket(`ws://${parent.location.host}/hit`); fetch(`/hit`)</" + "script>"',
      'const f = frame(); new f.contentWindow.WebSocket(`ws://${location.host}/hit`)',
      'new Worker(URL.createObjectURL(new Blob([`fetch("${location.origin}/hit"); new WebSocket("ws://${location.host}/hit")`])))',
      'const a = document.createElement("a"); a.href = "/hit"; a.download = ""; document.body.append(a); a.click()',
      'document.body.insertAdjacentHTML("beforeend", `<link rel="prefetch" href="/hit"><object data="/hit"></object>`)',
      'new Image().src = "/hit?do=delete"',
      'inner.contentWindow.act()',
    ];
    const helpers = 'const frame = () => document.body.appendChild(document.createElement("iframe")); if (localStorage.at) fetch("/hit");';
    const pageOf = (some: readonly string[]): string =>
      html(
        `<form method="post" action="/hit"></form><iframe id="inner" title="Inner" src="/inner"></iframe>${script(helpers)}` +
          some
            .map((act, at) => `${control(`class="c${at}" aria-expanded="false"`, `A${at}`, `localStorage.at = 1; ${toggle}; ${act}`)}`)
            .join(''),
      );
    const inner = html(script('const act = () => { fetch("/hit", { method: "POST" }); new WebSocket(`ws://${location.host}/hit`) }'));
    const site = await openSite({
      '/': pageOf(acts.slice(0, 8)).replace('</main>', '<a href="/more">More</a></main>'),
      '/more': pageOf(acts.slice(8)),
      '/inner': inner,
    });
    const result = await scan(`${site.origin}/`, { states: [...STATE_KINDS] });
    await site.close();
    const tested = testedOf(result.pages).filter(({ url }) => !url.endsWith('/inner'));
    expect(tested.map(({ states }) => states!.at(-1))).to.deep.equal(
      Array(2).fill({ kind: 'opened', result: 'tested', reason: 'frames', opened: 8 }),
    );
    expect(site.requests.filter((url) => url.startsWith('/hit'))).to.deep.equal([]);
  });
});
