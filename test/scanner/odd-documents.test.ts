/** Documents that scanners stumble over: each is tested, or has the right reason. */
import { expect } from 'chai';
import { nightly } from '../support/nightly.ts';
import { FAULT, file, found, html, openSite, scan, script, testedOf, untested, type Route, type Site } from './site.ts';

const pageOf = (body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><title>t</title>${head}</head><body>${body}</body></html>`;

const { paragraphs: PARAGRAPHS, depth: DEPTH } = nightly({ paragraphs: 3000, depth: 1000 }, { paragraphs: 25_000, depth: 5000 });

describe('unusual documents', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<void> => {
    const linked = Object.keys(routes).filter((path) => !path.startsWith('/_'));
    site = await openSite({ '/': html(linked.map((path) => `<p><a href="${path}">${path}</a></p>`).join('')), ...routes });
  };
  afterEach(() => site.close());

  it('are tested whatever their syntax, character set, direction and base address', async () => {
    const xhtml = `<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"><head><title>x</title></head><body><p>x</p>${FAULT.replace('>', '/>')}</body></html>`;
    await open({
      '/xhtml': file('application/xhtml+xml', xhtml),
      '/quirks': file('text/html', `<title>q</title>${FAULT}`),
      '/utf-16': file('text/html; charset=utf-16le', Buffer.from(html(FAULT, { title: 'Ünïcode' }), 'utf16le')),
      '/latin': file('text/html; charset=iso-8859-1', Buffer.from(html(`${FAULT}<p>Latin</p>`, { title: 'Größe in Latin-1' }), 'latin1')),
      '/contradicts': file('text/html; charset=utf-8', html(FAULT, { title: 'Größe in UTF-8', head: '<meta charset="shift_jis">' })),
      '/not-utf-8': file('text/html; charset=utf-8', Buffer.concat([Buffer.from('<title>\xff\xfe</title>', 'latin1'), Buffer.from(FAULT)])),
      '/no-type': (_request, response) => response.end(html(FAULT, { title: 'no type' })),
      '/base': html(`${FAULT}<a href="linked">relative</a>`, { title: 'base', head: '<base href="/_folder/">' }),
      '/_folder/linked': html('', { title: 'below the base' }),
      '/hebrew': file(
        'text/html; charset=utf-8',
        `<!doctype html><html lang="he" dir="rtl"><title>שלום</title><main><h1>שלום עולם</h1><p style="color:#999;background:#fff" id="pale">טקסט חיוור</p></main></html>`,
      ),
      '/frames': pageOf('').replace(/<body>.*<\/body>/, '<frameset cols="*"><frame src="/_framed" title="f"></frameset>'),
      '/_framed': html(FAULT),
    });
    const { pages } = await scan(`${site.origin}/`);
    const results = Object.fromEntries(
      testedOf(pages)
        .slice(1)
        .map((page) => [new URL(page.url).pathname, `${page.title}: ${found(page).join()}`]),
    );
    expect(results).to.deep.equal({
      '/xhtml': 'x: image-alt #fault',
      '/quirks': 'q: html-has-lang html,image-alt #fault',
      '/utf-16': 'Ünïcode: image-alt #fault',
      '/latin': 'Größe in Latin-1: image-alt #fault',
      '/contradicts': 'Größe in UTF-8: image-alt #fault',
      '/not-utf-8': '\ufffd\ufffd: html-has-lang html,image-alt #fault',
      '/no-type': 'no type: image-alt #fault',
      '/base': 'base: image-alt #fault',
      '/hebrew': 'שלום: color-contrast #pale',
      '/frames': 't: image-alt frame | #fault',
      '/_folder/linked': 'below the base: ',
    });
  });

  const form = (...names: string[]): string =>
    html(
      `${FAULT}<form action="/x">${names.map((name) => `<input name="${name}" aria-label="x">`).join('')}<img src="/missing.png" id="inside"></form>`,
      {
        title: names.join(),
      },
    );

  it('are tested if elements have the names of properties', async () => {
    const common = [
      'id',
      'name',
      'action',
      'method',
      'children',
      'attributes',
      'tagName',
      'matches',
      'querySelectorAll',
      'ownerDocument',
      'style',
    ];
    const onDocument = [...common, 'body', 'title', 'documentElement', 'fonts', 'querySelector', 'forms', 'getAnimations'];
    const onWindow = ['axe', 'curbcut', 'curbcutDescribe', 'document', 'JSON', 'Set', 'performance', 'setTimeout'];
    await open({
      '/form': form(...common),
      '/document': html(`${FAULT}${onDocument.map((name) => `<img alt="" src="/missing.png" name="${name}" id="${name}">`).join('')}`, {
        title: 'document',
      }),
      '/window': html(
        `${FAULT}${onWindow.map((name) => `<a id="${name}"></a><iframe name="${name}" title="${name}" srcdoc="<html lang=en><title>x</title>"></iframe>`).join('')}`,
        { title: 'window' },
      ),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(
      testedOf(pages)
        .slice(1)
        .map((page) => [page.title, found(page).join(), page.caveats, page.frames_untested]),
    ).to.deep.equal([
      [common.join(), 'image-alt #fault,image-alt #inside', [], []],
      ['document', 'image-alt #fault', [], []],
      ['window', 'image-alt #fault', [], []],
    ]);
  });

  it('have a caveat or a reason if axe-core fails on them', async () => {
    const framed = (path: string): string =>
      html(`${FAULT}<iframe id="frame" title="f" src="${path}"></iframe>`, { title: `with ${path}` });
    await open({
      '/rule': form('getClientRects'),
      '/silent': form('nodeType'),
      '/error': form('nodeName'),
      '/endless': form('parentNode'),
      '/frame-silent': framed('/_silent'),
      '/frame-error': framed('/_error'),
      '/_silent': form('childNodes'),
      '/_error': form('nodeName'),
    });
    const { pages } = await scan(`${site.origin}/`);
    const caveats = (path: string): [string, unknown][] =>
      testedOf(pages)
        .find(({ url }) => new URL(url).pathname === path)
        ?.caveats.map(({ kind, message }) => [kind, message]) ?? [];
    expect(caveats('/rule')).to.deep.equal([
      ['rules_failed', 'axe-core could not finish the rule color-contrast. Check the page for it by hand.'],
    ]);
    const passedOver = (name: string): [string, string] => [
      'rules_failed',
      `A form has a field with the name ${name}, so axe-core did not test the content of the form. Rename the field.`,
    ];
    expect(caveats('/silent')).to.deep.equal([passedOver('nodeType')]);
    expect(caveats('/frame-silent')).to.deep.equal([passedOver('childNodes')]);
    for (const [path, name] of [
      ['/error', 'nodeName'],
      ['/endless', 'parentNode'],
    ] as const) {
      expect(untested(pages, path).reason).to.equal('test_failed');
      expect(untested(pages, path).message).to.include(`A form has a field with the name ${name}, which axe-core cannot handle.`);
    }
    const framedError = testedOf(pages).find(({ url }) => url.endsWith('/frame-error'));
    expect(found(framedError)).to.deep.equal(['image-alt #fault']);
    expect(framedError?.frames_untested.map(({ path, reason }) => [path, reason])).to.deep.equal([[['#frame'], 'test_failed']]);
  });

  it('are tested with the roles, names and labels that custom elements give themselves, in frames too', async () => {
    const element = (name: string, code: string): string =>
      `customElements.define('${name}', class extends HTMLElement { static formAssociated = true; #own = this.attachInternals(); connectedCallback() { ${code} } });`;
    const elements =
      element('x-tab', 'this.#own.role = "tab"') +
      element('x-item', 'this.#own.role = "listitem"') +
      element('x-named', 'this.#own.ariaLabel = "Street"') +
      element('x-referred', 'this.#own.ariaLabelledByElements = [this.getRootNode().getElementById("caption")]') +
      element('x-labelled', '') +
      element(
        'x-root',
        `this.attachShadow({ mode: 'closed' }).innerHTML = '<p id="caption">Town</p><x-referred role="textbox"></x-referred>'`,
      );
    const body = `<div role="tablist" aria-label="Views"><x-tab>One</x-tab></div><x-item aria-checked="true" id="fails">One</x-item>
      <x-named role="textbox"></x-named><label>Name <x-labelled role="textbox"></x-labelled></label><x-root></x-root>${script(elements)}`;
    site = await openSite({
      '/': (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(html(`${body}<iframe title="f" src="http://localhost:${site.port}/_framed"></iframe>`)),
      '/_framed': html(body),
    });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    expect(found(page)).to.deep.equal(['aria-allowed-attr #fails', 'aria-allowed-attr iframe | #fails']);
  });

  it('are tested beside a link that is never displayed', async () => {
    const link = '<p>Words <a href="/" style="color: #00f; text-decoration: none" id="link">a link</a> and more of them</p>';
    site = await openSite({ '/': html(`<p>Words before <video controls><a href="/film">Film</a></video> and after</p>${link}`) });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    expect([found(page), page!.caveats]).to.deep.equal([['link-in-text-block #link'], []]);
  });

  it('are not tested if they are XHTML that is not well formed, as pages and in frames', async () => {
    const xhtml = (body: string): string =>
      `<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>x</title></head><body>${body}</body></html>`;
    await open({
      '/late': file('application/xhtml+xml', xhtml('<h1>x</h1><p>before</p><br><p>after</p>')),
      '/early': file('application/xhtml+xml', `<br>${xhtml('')}`),
      '/entity': file('application/xhtml+xml', xhtml('<p>&unknown;</p>')),
      '/fine': file('application/xhtml+xml', xhtml(FAULT.replace('>', '/>'))),
      '/html': pageOf(`<main><parsererror><div>${FAULT}</div></parsererror></main>`),
      '/frame': pageOf('<iframe id="frame" title="f" src="/_broken"></iframe>'),
      '/_broken': file('application/xhtml+xml', xhtml('<br>')),
    });
    const { pages } = await scan(`${site.origin}/`);
    for (const path of ['/late', '/early', '/entity']) {
      expect(untested(pages, path).reason).to.equal('test_failed');
      expect(untested(pages, path).message).to.match(
        /^The document is no well-formed XML, .* before it: error on line 1 at column \d+: .+\. Correct it, or serve it as text\/html\.$/,
      );
    }
    const tested = Object.fromEntries(testedOf(pages).map((page) => [new URL(page.url).pathname, page]));
    expect(found(tested['/fine'])).to.deep.equal(['image-alt #fault']);
    expect(found(tested['/html'])).to.deep.equal(['image-alt #fault']);
    expect(tested['/frame']?.frames_untested.map(({ path, reason }) => [path, reason])).to.deep.equal([[['#frame'], 'test_failed']]);
    expect(tested['/frame']?.frames_untested[0]?.message).to.include('no well-formed XML');
  });

  it(`are tested if they have ${2 * PARAGRAPHS} elements, or the nesting of ${DEPTH}`, async () => {
    await open({
      '/large': html(`${FAULT}${'<p><b>x</b></p>'.repeat(PARAGRAPHS)}<img src="/missing.png" id="last">`, { title: 'large' }),
      '/deep': html(`${FAULT}${'<div>'.repeat(DEPTH)}<img src="/missing.png" id="deep">`, { title: 'deep' }),
      '/last': html(FAULT, { title: 'last' }),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { pageBudgetMs: 120_000, deadline: new Date(Date.now() + 280_000).toISOString() });
    expect(
      testedOf(pages)
        .slice(1)
        .map((page) => [page.title, found(page).join()]),
    ).to.deep.equal([
      ['large', 'image-alt #fault,image-alt #last'],
      ['deep', 'image-alt #deep,image-alt #fault'],
      ['last', 'image-alt #fault'],
    ]);
  }).timeout(300_000);
});
