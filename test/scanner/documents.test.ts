/** The findings equal those of axe-core itself, through frames, shadow roots and content security policies. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import { chromium, type Browser } from 'playwright-core';
import { axeTags } from '../../core/scan/options.ts';
import { Report } from '../../report/schema/report.ts';
import { Value } from 'typebox/value';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';
import { file, found, html, machine, openSite, scan, testedOf, type Route, type Site } from './site.ts';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.js'), 'utf8');
const TAGS = axeTags('AA', '2.1');

type Plain = {
  violations: { id: string; nodes: { target: (string | string[])[] }[] }[];
  incomplete: Plain['violations'];
  passes: Plain['violations'];
};

/** The results of axe-core in the page's own world, with its script in every frame. */
async function plainAxe(browser: Browser, url: string): Promise<Plain> {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  try {
    await page.goto(url, { waitUntil: 'load' });
    for (const frame of page.frames()) {
      // Frames of objects that fail to load disappear.
      await frame.evaluate(`${AXE}; axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })`).catch(() => undefined);
    }
    await page.evaluate('document.getAnimations().forEach((animation) => animation.cancel())');
    return await page.evaluate(`axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(TAGS)} } })`);
  } finally {
    await page.close();
  }
}

const lines = (rules: Plain['violations']): string[] =>
  rules
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target }) => `${id} ${target.map((step, at) => [step].flat().join(at < target.length - 1 ? ' >>> ' : ' > ')).join(' | ')}`,
      ),
    )
    .sort();

const rich = `
  <style>.pale { color: #999; background: #fff } .tiny { width: 9px; height: 9px } @keyframes fade { from { color: #eee } to { color: #000 } } .moving { animation: fade 60s infinite }</style>
  <p class="pale">Pale text <a href="/x">here</a></p><p class="moving">Moving text</p>
  <img src="/none.png"><img src="/none.png" alt=""><input type="text"><select><option>1</option></select><button></button>
  <div role="checkbox">no state</div><div role="nonsense" aria-labeledby="x">role</div><ul><div>not an item</div></ul>
  <table><tr><th>a</th></tr><tr><td headers="none">b</td></tr></table><a href="#"></a>
  <p lang="xyz">words</p><dl><p>x</p></dl><object data="/none"></object><svg role="img"></svg><marquee>old</marquee>
  <p style="background-image: linear-gradient(#fff, #000)">on a picture</p><div tabindex="0" aria-hidden="true"><button>hidden</button></div>`;

const shadow = `<div id="host"></div><script>
  const root = document.getElementById('host').attachShadow({ mode: 'open' });
  root.innerHTML = '<img src="/none.png" id="in-shadow"><div id="inner"></div><a href="/from-shadow">from a shadow root</a>';
  root.getElementById('inner').attachShadow({ mode: 'open' }).innerHTML = '<input id="deep"><iframe src="/leaf?in-shadow" title="leaf"></iframe>';
</script>`;

describe('findings', () => {
  let site: Site;
  let browser: Browser;
  before(async () => (browser = await chromium.launch({ executablePath: findChromium(machine) })));
  after(() => browser.close());
  afterEach(() => site.close());
  const open = async (routes: Record<string, Route>): Promise<Site> => (site = await openSite(routes));

  const frames: Record<string, string> = {
    '/framed': html(
      `<iframe id="same" title="same" src="/middle"></iframe><iframe id="cross" title="cross" src="OTHER/middle"></iframe><iframe id="src" title="srcdoc" srcdoc="<!doctype html><html><title>x</title><img src='/none.png' id='in-srcdoc'></html>"></iframe>${rich}`,
    ),
    '/middle': html(
      `<img src="/none.png" id="middle"><iframe title="leaf" src="/leaf"></iframe><iframe title="leaf across" src="OTHER/leaf"></iframe>`,
    ),
    '/leaf': html('<input id="leaf">'),
  };

  it('equal those of axe-core: violations, needs review and passed rules', async () => {
    await open({ '/rich': html(rich), '/shadow': html(shadow), '/leaf': html('<input id="leaf">') });
    for (const path of ['/rich', '/shadow']) {
      const { pages } = await scan(site.origin + path, { maxPages: 1, states: [] });
      const plain = await plainAxe(browser, site.origin + path);
      const page = testedOf(pages)[0];
      if (page === undefined) throw new Error('not tested');
      expect(found(page), path).to.deep.equal(lines(plain.violations));
      expect(found({ ...page, violations: page.needs_review }), path).to.deep.equal(lines(plain.incomplete));
      const failed = new Set(plain.violations.map(({ id }) => id));
      const passed = plain.passes.filter(({ id }) => !failed.has(id));
      const sum = (key: 'passed' | 'failed'): number => Object.values(page.rules).reduce((all, tally) => all + tally[key], 0);
      expect([sum('passed'), sum('failed')], path).to.deep.equal([passed.length, failed.size]);
      if (path === '/rich') continue;
      const where = page.violations.flatMap(({ nodes }) => nodes.map((node) => [node.frame_path, node.shadow_path, node.selector]));
      expect(where).to.deep.include([[], ['#host', '#inner'], '#deep']);
      expect(where).to.deep.include([['#host >>> #inner >>> iframe'], [], '#leaf']);
    }
  });

  it('include frames of the same and of other sites, and their shadow roots', async () => {
    await open(
      Object.fromEntries(
        Object.entries(frames).map(([path, body]) => [
          path,
          (request, response) => {
            const host = request.headers.host ?? '';
            const across = host.startsWith('127') ? host.replace('127.0.0.1', 'localhost') : host.replace('localhost', '127.0.0.1');
            response.writeHead(200, { 'content-type': 'text/html' }).end(body.replaceAll('OTHER', `http://${across}`));
          },
        ]),
      ),
    );
    const { pages } = await scan(`${site.origin}/framed`, { maxPages: 1 });
    const plain = await plainAxe(browser, `${site.origin}/framed`);
    expect(found(pages[0])).to.deep.equal(lines(plain.violations));
    expect(found(pages[0]))
      .to.include('image-alt #cross | #middle')
      .and.to.include('label #same | iframe[title="leaf across"] | #leaf')
      .and.to.include('image-alt #src | #in-srcdoc');
  });

  it('are complete even if frames are lazy, sandboxed or hang', async () => {
    await open({
      '/': html(`<img src="/none.png" id="fault"><iframe title="sandboxed" sandbox srcdoc="<title>s</title><img src='/none.png' id='boxed'>"></iframe>
        <iframe title="hangs" id="hangs"></iframe><script>document.getElementById('hangs').srcdoc = '<title>h</title><script>setTimeout(() => { for (let end = Date.now() + 300; Date.now() < end;); }, 50)<\\/script>'</script>
        <div style="height: 9000px"></div><iframe title="lazy" loading="lazy" src="/never"></iframe><iframe title="blank"></iframe>`),
      '/never': () => undefined,
    });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1 }, { pageBudgetMs: 60_000 });
    expect(found(pages[0])).to.include('image-alt #fault').and.to.include('image-alt iframe[title="sandboxed"] | #boxed');
    expect(pages[0]?.duration_ms).to.be.lessThan(55_000);
  });

  it('are in the language of the scan, and match the schema of the export', async () => {
    await open({ '/': html(rich) });
    const helps: string[] = [];
    for (const locale of ['en', 'de'] as const) {
      const { pages } = await scan(`${site.origin}/`, { maxPages: 1, locale });
      const rule = testedOf(pages)[0]?.violations.find((violation) => violation.rule === 'image-alt');
      helps.push(rule?.help ?? '');
      expect(rule?.nodes[0]?.failure_summary).to.be.a('string').and.not.equal('');
      expect(rule?.wcag).to.deep.equal(['1.1.1']);
      expect([...Value.Errors(Report.properties.pages, pages)]).to.deep.equal([]);
    }
    expect(helps[0]).to.not.equal(helps[1]);
  });

  it('of level AA do not change when AAA is asked for, in frames neither', async () => {
    const shadows = `<p style="color: #999; background: #555; text-shadow: 0 0 3px #000" id="fails">Some words</p>
      <p style="color: #555; background: #999; text-shadow: 0 0 1px #000, 0 0 1px #000, 0 0 2px #000" id="passes">Some words</p><p style="color: #666" id="grey">Some words</p>`;
    const framed = `${shadows}<iframe src="/framed" title="f"></iframe>`;
    await open({ '/': html(`${shadows}<a href="/frames">f</a>`), '/frames': html(framed, { title: 'frames' }), '/framed': html(shadows) });
    const results = async (wcagLevel: 'AA' | 'AAA'): Promise<[string[], string[]][]> => {
      const { pages } = await scan(`${site.origin}/`, { wcagLevel });
      const enhanced = (line: string): boolean => line.startsWith('color-contrast-enhanced');
      return testedOf(pages).map((page) => [found(page).filter((line) => !enhanced(line)), found(page).filter(enhanced)]);
    };
    const [aa, aaa] = [await results('AA'), await results('AAA')];
    expect(aa.map(([fails]) => fails)).to.deep.equal([
      ['color-contrast #fails'],
      ['color-contrast #fails', 'color-contrast iframe | #fails'],
    ]);
    expect(aaa.map(([fails]) => fails)).to.deep.equal(aa.map(([fails]) => fails));
    expect(aaa[1]![1]).to.include('color-contrast-enhanced #grey').and.to.include('color-contrast-enhanced iframe | #grey');
  });

  it('include autoplaying sound without playing it', async () => {
    const wav = Buffer.alloc(44 + 8000 * 5);
    wav.write('RIFF', 0);
    wav.writeUInt32LE(36 + 8000 * 5, 4);
    wav.write('WAVEfmt ', 8);
    wav.writeUInt32LE(16, 16);
    wav.writeUInt16LE(1, 20);
    wav.writeUInt16LE(1, 22);
    wav.writeUInt32LE(8000, 24);
    wav.writeUInt32LE(8000, 28);
    wav.writeUInt16LE(1, 32);
    wav.writeUInt16LE(8, 34);
    wav.write('data', 36);
    wav.writeUInt32LE(8000 * 5, 40);
    await open({ '/': html('<audio autoplay src="/sound.wav" id="sound"></audio>'), '/sound.wav': file('audio/wav', wav) });
    // axe-core reports it as needs review, and only if it could read the duration.
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1 });
    expect(testedOf(pages)[0]?.needs_review.map(({ rule, nodes }) => `${rule} ${nodes[0]?.selector}`)).to.deep.equal([
      'no-autoplay-audio #sound',
    ]);
  });
});
