/** Closed shadow roots are tested like open ones, and the page does not see that they were opened. */
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import { file, found, html, openSite, paths, scan, script, testedOf, type Route, type Site } from './site.ts';

const fault = (id: string): string => `<img src="/missing.png" id="${id}">`;
const declared = (id: string, content: string, mode = 'closed'): string =>
  `<div id="${id}"><template shadowrootmode="${mode}">${content}</template></div>`;
const attached = (id: string, content: string): string =>
  `<div id="${id}"></div>${script(`document.getElementById('${id}').attachShadow({ mode: 'closed' }).innerHTML = ${JSON.stringify(content)}`)}`;

describe('closed shadow roots', () => {
  let site: Site;
  afterEach(() => site.close());

  async function scanPage(body: string, routes: Record<string, Route> = {}): Promise<TestedPage> {
    site = await openSite({
      '/': (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(html(body.replaceAll('OTHER', `http://localhost:${site.port}`))),
      ...routes,
    });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1 }, { pageBudgetMs: 60_000 });
    return testedOf(pages)[0]!;
  }

  it('are tested, declared and attached, within each other and within open ones', async () => {
    const page = await scanPage(
      declared('declared', `${fault('a')}${declared('inner', fault('b'))}${declared('open', declared('deep', fault('c')), 'open')}`) +
        attached('attached', `${fault('d')}<div id="host"></div>`) +
        `<open-element></open-element>${script(`
          const inner = (host, mode, content) => { const root = host.attachShadow({ mode }); root.innerHTML = content; return root; };
          const root = inner(document.querySelector('open-element'), 'open', '<section id="section"></section>');
          inner(inner(root.firstChild, 'closed', '<p></p>').firstChild, 'closed', ${JSON.stringify(fault('e'))});
          document.body.append(Object.assign(document.createElement('div'), { id: 'set' }));
          document.getElementById('set').setHTMLUnsafe(${JSON.stringify(declared('unsafe', fault('f')))});`)}`,
    );
    expect(found(page)).to.deep.equal([
      'image-alt #attached > #d',
      'image-alt #declared > #a',
      'image-alt #declared > #inner > #b',
      'image-alt #declared > #open > #deep > #c',
      'image-alt #unsafe > #f',
      'image-alt open-element > #section > p > #e',
    ]);
    expect(page.caveats).to.deep.equal([]);
  });

  it('display their slotted content as it is displayed', async () => {
    const page = await scanPage(
      `<div id="host" style="background:#000"><p id="pale" style="color:#111">pale on the dark of the root</p><template shadowrootmode="closed"><div style="background:#fff"><slot></slot></div></template></div>` +
        `<div id="other"><p id="light" style="color:#ddd">light</p><template shadowrootmode="closed"><div style="background:#fff"><slot></slot></div></template></div>`,
    );
    expect(found(page)).to.deep.equal(['color-contrast #light']);
  });

  it('are tested in frames, and so are frames in them', async () => {
    const page = await scanPage(
      `<iframe id="same" title="s" src="/framed"></iframe><iframe id="across" title="a" src="OTHER/framed"></iframe>` +
        `<iframe id="inline" title="i" srcdoc='<html lang=en><title>x</title><main><h1>x</h1>${declared('declared', fault('a'))}</main>'></iframe>` +
        declared('closed', `<iframe id="within" title="w" src="/plain"></iframe>`) +
        attached('closed-across', `<iframe id="within" title="w" src="${'OTHER'}/plain"></iframe>`),
      {
        '/framed': html(
          `${declared('declared', fault('a'))}${attached('attached', fault('b'))}<x-element></x-element>${script(`customElements.define('x-element', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = ${JSON.stringify(fault('c'))}; } })`)}`,
        ),
        '/plain': html(fault('d')),
      },
    );
    const inFrame = ['#attached > #b', '#declared > #a', 'x-element > #c'];
    expect(found(page)).to.deep.equal(
      [
        ...['#same', '#across'].flatMap((frame) => inFrame.map((element) => `image-alt ${frame} | ${element}`)),
        'image-alt #inline | #declared > #a',
        'image-alt #closed >>> #within | #d',
        'image-alt #closed-across >>> #within | #d',
      ].sort(),
    );
    expect([page.frames_untested, page.caveats]).to.deep.equal([[], []]);
  });

  it('are part of what the page displays, and their links are followed', async () => {
    site = await openSite({
      '/': html(`${attached('nav', '<a href="/a">a</a><a href="/b">b</a>')}`),
      '/a': file('text/html', `<!doctype html><html lang="en"><title>x</title><main>${declared('main', '<p>One</p>')}</main></html>`),
      '/b': file('text/html', `<!doctype html><html lang="en"><title>x</title><main>${declared('main', '<p>Two</p>')}</main></html>`),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/a', '/b']);
  });

  it('are closed for the page', async () => {
    const page = await scanPage(
      `${declared('declared', fault('a'))}${attached('attached', fault('b'))}${script(`
        const look = () => {
          const seen = [...document.querySelectorAll('#declared, #attached')].filter((host) => host.shadowRoot !== null || host.textContent !== '');
          if (seen.length > 0 || /proxy|native code/.test(String(Element.prototype.attachShadow)) === false) document.title = 'seen';
        };
        look();
        document.body.animate([{ opacity: 1 }, { opacity: 1 }], 1e6).finished.then(look);`)}`,
    );
    expect(page.title).to.equal('A page');
    expect(found(page)).to.deep.equal(['image-alt #attached > #b', 'image-alt #declared > #a']);
  });

  it('are counted if there are too many to open them', async () => {
    const page = await scanPage(
      `${script(`for (let at = 0; at < 503; at++) document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'closed' }).innerHTML = '<p>x</p>'`)}`,
    );
    expect(page.caveats.map(({ kind, message }) => [kind, message])).to.deep.equal([
      ['closed_shadow_root', "The content of 3 closed shadow roots could not be tested. Open them (mode: 'open') to have it tested."],
    ]);
  });
});
