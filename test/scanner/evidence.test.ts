/** The HTML of findings is the element's own, and root causes that follow from it are true. */
import { createRequire } from 'node:module';
import { expect } from 'chai';
import { OWN_RULES, STATE_RULES } from '../../report/schema/engines.ts';
import { outcomesOn } from '../../report/results/rule-outcomes.ts';
import { knownStandards } from '../../report/rules/rules.ts';
import { axeTags } from '../../core/scan/options.ts';
import { rootCausesOf } from '../../report/causes/root-causes.ts';
import { NODE_HTML_MAX, type ReportNode, type TestedPage } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { Value } from 'typebox/value';
import { html, openSite, scan, script, testedOf, type Route, type Site } from './site.ts';

describe('evidence of findings', () => {
  let site: Site;
  afterEach(() => site.close());

  async function test(body: string, more: Record<string, Route> = {}, options = {}): Promise<TestedPage> {
    site = await openSite({ '/': html(body), ...more });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1, ...options });
    expect([...Value.Errors(Report.properties.pages, pages)]).to.deep.equal([]);
    return testedOf(pages)[0]!;
  }
  const nodesOf = (page: TestedPage, rule: string): ReportNode[] =>
    page.violations.find((violation) => violation.rule === rule)?.nodes ?? [];
  const htmlOf = (page: TestedPage, rule: string): string[] => nodesOf(page, rule).map((node) => node.html);
  const causesOf = (page: TestedPage, rule: string) => rootCausesOf([page], 'violations').filter((group) => group.rule === rule);

  const utility = Array.from({ length: 40 }, (_, at) => `utility-class-${'abcdefghij'[at % 10]}-${at}`).join(' ');
  const button = (path: string): string =>
    `<button class="${utility}" type="button"><svg aria-hidden="true"><path d="${path}"></path></svg></button>`;

  it('is the whole HTML, also if it is long, so that buttons that differ at their end have root causes of their own', async () => {
    const all = ['M1 1h2', 'M2 2h4', 'M3 3h6', 'M1 1h2'].map(button);
    const page = await test(all.join(''));
    expect(all[0]!.length).to.be.within(800, NODE_HTML_MAX);
    expect(htmlOf(page, 'button-name')).to.deep.equal(all);
    expect(causesOf(page, 'button-name').map(({ elements }) => elements)).to.deep.equal([2, 1, 1]);
  });

  it('knows of each rule of the target what it found, in frames too', async () => {
    const frame = `<iframe title="Form" srcdoc="${'<label>Name <input></label>'.replaceAll('<', '&lt;')}"></iframe>`;
    const page = await test(`<img src="x.png"><p style="background: url(x.png)">Text</p>${frame}`, {}, { wcagVersion: '2.2' });
    const rules = outcomesOn(page, knownStandards());
    for (const [rule, outcome] of Object.entries({
      'image-alt': 'failed',
      'color-contrast': 'needs_review',
      label: 'passed',
      'video-caption': 'not_applicable',
    }))
      expect(rules.get(rule), rule).to.equal(outcome);
    const axe = createRequire(import.meta.url)('axe-core') as { getRules(tags: string[]): { ruleId: string; tags: string[] }[] };
    const run = axe
      .getRules(axeTags('AA', '2.2'))
      .filter(({ tags }) => !tags.some((tag) => tag === 'experimental' || tag === 'deprecated'));
    // Two rules of the keyboard say only what is wrong.
    const { 'focus-not-reached': _reached, 'skip-link-target': _skip, ...inStates } = STATE_RULES;
    const own = [...Object.keys({ ...OWN_RULES, ...inStates }), 'css-orientation-lock'];
    expect([...rules.keys()].sort()).to.deep.equal([...run.map(({ ruleId }) => ruleId), ...own].sort());
  });

  it('has advice apart, which changes neither score nor counts', async () => {
    const body =
      '<h1>Page</h1><h4>Skips levels</h4><h2></h2><a href="/x" tabindex="3">Link</a><div tabindex="0" role="group" aria-label="A table" style="overflow: auto">Scrolls</div>';
    const advised = await test(body);
    expect(advised.advice!.map(({ rule, wcag }) => [rule, wcag])).to.deep.equal([
      ['tabindex', []],
      ['heading-order', []],
      ['empty-heading', []],
    ]);
    await site.close();
    const { advice, ...plain } = await test(body, {}, { advice: false });
    expect(advice).to.deep.equal([]);
    const { duration_ms: _duration, url: _url, final_url: _final, ...rest } = plain;
    expect(advised).to.deep.include(rest);
  });

  it('equals outerHTML for all kinds of nodes', async () => {
    const inside = `text &amp; &lt;b&gt; &nbsp; <br><img src="/x.png" alt=""><svg viewBox="0 0 1 1"><use xlink:href="#a"></use><foreignObject><p>x</p></foreignObject></svg><style>a > b { color: red }</style>`;
    const whole = `<a class="x" title="" data-long-attribute="a &quot;quoted&quot; value &amp; more than twenty characters" href="/a">${inside.replaceAll('text &amp; &lt;b&gt; &nbsp; ', '')}</a>`;
    const page = await test(`${whole}<p style="color:#ddd;background:#fff">${inside}</p>`);
    expect(htmlOf(page, 'link-name')).to.deep.equal([whole]);
    expect(htmlOf(page, 'color-contrast')).to.deep.equal([`<p style="color:#ddd;background:#fff">${inside}</p>`]);
  });

  it('shortens huge attributes and texts, also inside a control, keeps them different, and leaves out what is larger', async () => {
    const long = (end: string): string =>
      `<img src="data:image/svg+xml,${'a'.repeat(100_000)}${end}"><button style="--x: ${'b'.repeat(3000)}${end}"></button>`;
    const option = (at: number): string => `<option value="${'v'.repeat(200)}${at}">${'An option with a long text. '.repeat(10)}</option>`;
    const select = (name: string, count: number): string =>
      `<select class="${name}">${Array.from({ length: count }, (_, at) => option(at)).join('')}</select>`;
    const page = await test(long('1') + long('2') + select('few', 5) + select('many', 300));
    for (const rule of ['image-alt', 'button-name']) {
      const [one, other] = htmlOf(page, rule);
      expect(one, rule)
        .to.match(/…#[0-9a-f]{8}"/)
        .and.not.equal(other);
      expect(one!.length).to.be.within(500, 600);
    }
    const [few, many] = htmlOf(page, 'select-name');
    expect(few).to.match(/^<select class="few"><option value="v{80}…#[0-9a-f]{8}">An option with .*<\/option><\/select>$/);
    expect(few!.match(/<option/g)).to.have.length(5);
    expect(many).to.equal('<select class="many">…</select>');
  });

  it('has no content of the page for the document itself', async () => {
    site = await openSite({ '/': '<!doctype html><html class="no-js"><head><title>t</title></head><body><p>Text</p></body></html>' });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    expect(htmlOf(page!, 'html-has-lang')).to.deep.equal(['<html class="no-js">…</html>']);
  });

  it('is the same in shadow roots and frames, also of other sites', async () => {
    const fault = button('M9 9');
    const host = `<div id="host"></div>${script(`document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = ${JSON.stringify(fault)}`)}`;
    site = await openSite({
      '/': (request, response) => {
        const other = `http://${request.headers.host!.replace('127.0.0.1', 'localhost')}/frame`;
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(html(`${host}<footer><iframe title="same" src="/frame"></iframe><iframe title="other" src="${other}"></iframe></footer>`));
      },
      '/frame': html(`<nav>${fault}</nav>`),
    });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    expect(
      nodesOf(page!, 'button-name').map(({ html, landmark, frame_path, shadow_path }) => ({
        html,
        landmark,
        frames: frame_path.length,
        shadow_path,
      })),
    ).to.deep.equal([
      { html: fault, landmark: 'main', frames: 0, shadow_path: ['#host'] },
      { html: fault, landmark: 'navigation', frames: 1, shadow_path: [] },
      { html: fault, landmark: 'navigation', frames: 1, shadow_path: [] },
    ]);
  });

  it('describes elements whose failure is known only when all frames are', async () => {
    const page = await test('<iframe title="same title" src="/a"></iframe><iframe title="same title" src="/b"></iframe>', {
      '/a': html('<iframe title="same title" src="/b"></iframe>'),
      '/b': html(''),
    });
    const nodes = [...page.violations, ...page.needs_review].flatMap((rule) => (rule.rule === 'frame-title-unique' ? rule.nodes : []));
    expect(nodes.map((node) => node.html).sort()).to.deep.equal([
      '<iframe title="same title" src="/a"></iframe>',
      '<iframe title="same title" src="/b"></iframe>',
      '<iframe title="same title" src="/b"></iframe>',
    ]);
  });

  it('names the landmark: by element and role, through shadow roots, not of the header of an article', async () => {
    const fault = '<button></button>';
    site = await openSite({
      '/': `<!doctype html><html lang="en"><head><title>t</title></head><body>
        <header>${fault}<nav>${fault}</nav></header><div role="search">${fault}</div><div role="banner none">${fault}</div>
        <main><article><header>${fault}</header></article><aside>${fault}</aside></main><main role="presentation">${fault}</main>
        <footer><div id="host"></div></footer>
        ${script(`document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '${fault}'`)}</body></html>`,
    });
    const [page] = testedOf((await scan(`${site.origin}/`, { maxPages: 1 })).pages);
    expect(nodesOf(page!, 'button-name').map(({ landmark }) => landmark)).to.deep.equal([
      'banner',
      'navigation',
      'search',
      'banner',
      'main',
      'complementary',
      null,
      'contentinfo',
    ]);
    expect(
      causesOf(page!, 'button-name')
        .map(({ elements }) => elements)
        .sort(),
    ).to.deep.equal([1, 1, 1, 1, 1, 1, 2]);
  });

  it('has the colours of contrast violations, which separate root causes', async () => {
    const text = (colour: string): string => `<p style="color:${colour};background:#fff">Prices</p>`;
    const page = await test(`<div class="a">${text('#999')}${text('rgb(153, 153, 153)')}${text('#aaa')}</div>`);
    expect(nodesOf(page, 'color-contrast')[0]!.contrast).to.deep.equal({
      foreground: '#999999',
      background: '#ffffff',
      ratio: 2.84,
      required: 4.5,
      font_size_px: 16,
      bold: false,
    });
    for (const violation of page.violations.filter(({ rule }) => rule !== 'color-contrast'))
      for (const node of violation.nodes) expect(node).not.to.have.property('contrast');
  });

  it('names the checks that failed and the elements that explain them, also in frames and shadow roots', async () => {
    const fault = `<section id="paper" style="background:#fff"><p style="color:#999">Prices</p></section>`;
    const page = await test(
      `${fault}<div id="host"></div>${script(`document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = ${JSON.stringify(fault)}`)}<iframe title="inside" src="/frame"></iframe>`,
      { '/frame': html(fault) },
    );
    const start = '<section id="paper" style="background:#fff">…</section>';
    expect(nodesOf(page, 'color-contrast').map(({ checks, related }) => ({ checks, related }))).to.deep.equal([
      { checks: ['color-contrast'], related: [{ selector: '#paper', html: start }] },
      { checks: ['color-contrast'], related: [{ selector: '#host >>> #paper', html: start }] },
      { checks: ['color-contrast'], related: [{ selector: 'iframe >>> #paper', html: start }] },
    ]);
    const without = nodesOf(page, 'color-contrast')[0]!;
    expect(without.contrast).to.include({ font_size_px: 16, bold: false });
  });

  it('has at most five related elements', async () => {
    const page = await test(`<p id="twice">a</p>${'<p id="twice">b</p>'.repeat(9)}<input aria-labelledby="twice"><button></button>`);
    const twice = [...page.violations, ...page.needs_review].find(({ rule }) => rule === 'duplicate-id-aria')!;
    expect(twice.nodes[0]!.related).to.have.length(5);
    expect(twice.nodes[0]!.related![0]).to.deep.equal({ selector: 'p:nth-child(3)', html: '<p id="twice">…</p>' });
    expect(nodesOf(page, 'button-name')[0]).not.to.have.property('related');
  });

  it('has selectors and summaries of limited length that still match the element', async () => {
    const long = 'x'.repeat(100_000);
    const page = await test(`<div><button id="${long}"></button></div><p><button aria-${long}="true">Named</button></p>`);
    const { selector } = nodesOf(page, 'button-name')[0]!;
    expect(selector).to.equal('html > body > main > div:nth-child(2) > button');
    const [attribute] = nodesOf(page, 'aria-valid-attr');
    expect(attribute!.failure_summary.length).to.be.at.most(4000);
    expect(attribute!.selector.length).to.be.at.most(2000);
  });

  it('cannot be changed by the page', async () => {
    // Names that axe-core reads itself would keep it from testing the form.
    const clobbering = ['attributes', 'tagName', 'namespaceURI', 'firstChild', 'nextSibling']
      .map((name) => `<input type="hidden" name="${name}">`)
      .join('');
    const form = `<form lang="nonsense">${clobbering}Text</form>`;
    const page = await test(
      `${form}<button class="true"></button>${script(`
        for (const [prototype, name] of [[Element.prototype, 'outerHTML'], [Element.prototype, 'attributes'], [Node.prototype, 'firstChild'], [Attr.prototype, 'value']])
          Object.defineProperty(prototype, name, { get: () => { throw new Error('not yours') } });
        Element.prototype.getAttribute = () => 'banner';
        String.prototype.replace = () => 'forged';
        Map.prototype.get = WeakMap.prototype.get = () => ({ html: 'forged', landmark: 'banner' });
        window.curbcutLimits = { html: 1 }; window.curbcutDescribe = { describe: () => ({ html: 'forged' }) };`)}`,
    );
    expect(nodesOf(page, 'button-name').map(({ html, landmark }) => ({ html, landmark }))).to.deep.equal([
      { html: '<button class="true"></button>', landmark: 'main' },
    ]);
    expect(htmlOf(page, 'valid-lang')).to.deep.equal([form]);
  });

  it('does not escape a huge text for each element that contains it', async () => {
    const nested = `for (let at = 0, outer = document.body; at < 150; at++) {
      const element = document.createElement('div');
      element.setAttribute('role', 'img');
      outer.append(element);
      outer = element;
      if (at === 149) element.innerHTML = \`<p hidden>\${'&amp;'.repeat(4_000_000)}</p>\`;
    }`;
    const page = await test(script(nested));
    expect(nodesOf(page, 'role-img-alt')).to.have.length(150);
  });

  it('is limited for thousands of attributes and of empty nodes, and for deep nesting', async () => {
    const page = await test(
      script(`
        const main = document.querySelector('main');
        const add = (parent, name) => parent.appendChild(document.createElement(name));
        const nest = (at, name) => { for (let depth = 0; depth < 400; depth++) at = add(at, name); return at; };
        const attributes = add(main, 'button');
        for (let at = 0; at < 5000; at++) attributes.setAttribute('data-' + at, 'value ' + at);
        const comments = add(main, 'button');
        for (let at = 0; at < 5000; at++) comments.append(document.createComment(''), '');
        nest(main, 'div').innerHTML = '<button></button>';
        nest(add(main, 'button'), 'i');`),
    );
    const [whole, ...others] = nodesOf(page, 'button-name');
    expect(whole!.html.length).to.be.within(1900, NODE_HTML_MAX);
    expect(whole!.html).to.match(/^<button data-0="value 0" .* …>…<\/button>$/);
    expect(others.map(({ html, landmark }) => `${landmark} ${html}`)).to.deep.equal([
      'main <button>…</button>',
      'main <button></button>',
      'main <button>…</button>',
    ]);
  });
});
