/** Pages that are locked to an orientation: axe-core's rule, run where a style sheet turns something. */
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import type { GivenOptions } from '../../core/scan/options.ts';
import type { Finding } from './cases.ts';
import { file, html, openSite, scan, testedOf, type Route, type Site } from './site.ts';

const RULE = 'css-orientation-lock';
const portrait = (css: string): string => `@media (orientation: portrait) { ${css} }`;
const style = (css: string): string => `<style>${css}</style>`;
const SHELL = `<div id="shell"><p>Nearly all texts of the page are in this element.</p></div>`;
const SIDE = `<p id="side">Turned</p>`;
const LOCK = portrait('#shell { transform: rotate(90deg) }');

/** Documents, each in a frame of its own. `HEAD` is what their head contains. */
const CASES: { name: string; head: string; body?: string; finding: Finding }[] = [
  { name: 'the body is turned', head: style(portrait('body { transform: rotate(90deg) }')), finding: 'violation' },
  { name: 'the root element is turned', head: style(portrait('html { transform: rotateZ(-90deg) }')), finding: 'violation' },
  { name: 'most of the text is turned', head: style(LOCK), finding: 'violation' },
  {
    name: 'it is turned in landscape',
    head: style('@media screen and (orientation:landscape) { #shell { rotate: 90deg } }'),
    finding: 'violation',
  },
  { name: 'it is turned by a matrix', head: style(portrait('#shell { transform: matrix(0, 1, -1, 0, 0, 0) }')), finding: 'violation' },
  {
    name: 'it is turned by a quarter turn among others',
    head: style(portrait('#shell { transform: translate(10px) rotate(0.25turn) }')),
    finding: 'violation',
  },
  {
    name: 'the media query is in a feature query and a layer',
    head: style(`@layer a { @supports (display: grid) { ${LOCK} } }`),
    finding: 'violation',
  },
  { name: 'another media query is around it', head: style(`@media screen { ${LOCK} }`), finding: 'violation' },
  {
    name: 'the style sheet has the media query',
    head: '<style media="(orientation: portrait)">#shell { rotate: 90deg }</style>',
    finding: 'violation',
  },
  { name: 'an import has the media query', head: style('@import "/turned.css" (orientation: portrait);'), finding: 'violation' },
  { name: 'a linked style sheet has it', head: '<link rel="stylesheet" href="/lock.css">', finding: 'violation' },
  { name: 'a style sheet of another site has it', head: '<link rel="stylesheet" href="OTHER/lock.css">', finding: 'violation' },
  { name: 'one that another site imports has it', head: '<link rel="stylesheet" href="OTHER/importing.css">', finding: 'violation' },
  { name: 'one of another site that this site imports has it', head: style('@import "OTHER/lock.css";'), finding: 'violation' },
  {
    name: 'a link to another site has the media query',
    head: '<link rel="stylesheet" media="(orientation: portrait)" href="OTHER/turned.css">',
    finding: 'violation',
  },
  {
    name: 'a script adds it',
    head: '<script>const s = new CSSStyleSheet(); s.replaceSync(`' + LOCK + '`); document.adoptedStyleSheets = [s]</script>',
    finding: 'violation',
  },
  {
    name: 'it is in an open shadow root',
    head: '',
    body: `<div id="host"><template shadowrootmode="open">${style(LOCK)}${SHELL}</template></div>`,
    finding: 'violation',
  },
  {
    name: 'it is in a closed shadow root',
    head: '',
    body: `<div id="host"><template shadowrootmode="closed">${style(LOCK)}${SHELL}</template></div>`,
    finding: 'violation',
  },
  { name: 'a part of the text is turned', head: style(portrait('#side { transform: rotate(90deg) }')), finding: 'review' },
  { name: 'an arrow is turned', head: style(portrait('#arrow { transform: rotate(90deg) }')), finding: null },
  { name: 'what is turned does not exist', head: style(portrait('#none { transform: rotate(90deg) }')), finding: null },
  { name: 'it is turned upside down', head: style(portrait('#shell { transform: rotate(180deg) }')), finding: null },
  { name: 'it is tilted', head: style(portrait('#shell { transform: rotate(30deg) }')), finding: null },
  { name: 'it is moved', head: style(portrait('#shell { transform: translateX(9px) scale(1.1) }')), finding: null },
  { name: 'it is turned in every orientation', head: style('#shell { transform: rotate(90deg) }'), finding: null },
  {
    name: 'it is turned on a small screen',
    head: style('@media (max-width: 500px) { #shell { transform: rotate(90deg) } }'),
    finding: null,
  },
  {
    name: 'it is turned in print',
    head: style('@media print and (orientation: landscape) { #shell { transform: rotate(90deg) } }'),
    finding: null,
  },
  { name: 'the style sheet is for print', head: `<style media="print">${LOCK}</style>`, finding: null },
  { name: 'the orientation changes something else', head: style(portrait('#shell { color: #000 }')), finding: null },
  { name: 'no style sheet', head: '', finding: null },
];

const STYLES: Record<string, Route> = {
  '/lock.css': file('text/css', LOCK),
  '/turned.css': file('text/css', '#shell { transform: rotate(90deg) }'),
  '/importing.css': file('text/css', '@import url(lock.css);\n#shell { color: #000 }'),
};

describe('pages that are locked to an orientation', () => {
  let site: Site;
  afterEach(() => site.close());

  /** Scans the page `/`. `OTHER` stands for another site. */
  async function scanPage(routes: Record<string, string>, options: Partial<GivenOptions> = {}): Promise<TestedPage> {
    const documents = Object.entries(routes).map(([path, content]): [string, Route] => [
      path,
      (request, response) => {
        const other = `http://localhost:${request.headers.host?.split(':')[1]}`;
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(content.replaceAll('OTHER', other));
      },
    ]);
    site = await openSite({ ...STYLES, ...Object.fromEntries(documents) });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1, ...options }, { pageBudgetMs: 60_000 });
    return testedOf(pages)[0]!;
  }

  const documentOf = ({ name, head, body = `${SHELL}${SIDE}<i id="arrow"></i>` }: (typeof CASES)[number]): string =>
    html(body, { title: name, head });
  const findingsOf = ({ violations, needs_review }: TestedPage): [Finding, string][] =>
    (
      [
        ['violation', violations],
        ['review', needs_review],
      ] as const
    ).flatMap(([finding, found]) =>
      found.flatMap(({ rule, nodes }) => (rule === RULE ? nodes.map((node): [Finding, string] => [finding, node.frame_path.join()]) : [])),
    );

  // Each frame of another site has a process, so these are the cases with sheets that only some sites may read.
  const ACROSS = CASES.filter(({ name, finding }) => finding === 'violation' && /link|import|another site|closed shadow/.test(name));
  for (const [origin, cases] of [['', CASES] as const, ['OTHER', ACROSS] as const])
    it(`are found in frames${origin === '' ? '' : ' of another site'}`, async () => {
      const frames = cases.map(
        (_, at) => `<iframe id="case-${at}" title="${at}" width="600" height="300" src="${origin}/case-${at}"></iframe>`,
      );
      const page = await scanPage({
        '/': html(frames.join('')),
        ...Object.fromEntries(cases.map((one, at) => [`/case-${at}`, documentOf(one)])),
      });
      const caveats = page.caveats.filter(({ kind }) => kind !== 'still_loading');
      expect([page.frames_untested, caveats]).to.deep.equal([[], []]);
      const found = new Map(findingsOf(page).map(([finding, path]) => [path, finding]));
      expect(cases.map(({ name }, at) => `${name}: ${found.get(`#case-${at}`) ?? null}`)).to.deep.equal(
        cases.map(({ name, finding }) => `${name}: ${finding}`),
      );
    });

  it('are found on the page itself, and described with the elements that are turned', async () => {
    const page = await scanPage({ '/': documentOf(CASES.find(({ name }) => name === 'one that another site imports has it')!) });
    expect(findingsOf(page)).to.deep.equal([['violation', '']]);
    const violation = page.violations.find(({ rule }) => rule === RULE)!;
    expect(violation).to.deep.include({ impact: 'serious', wcag: ['1.3.4'] });
    expect(violation.nodes[0]!.related?.map(({ selector }) => selector)).to.deep.equal(['#shell']);
  });

  it('may be missed with more style sheets of other sites than are read, and the page says so', async () => {
    const links = Array.from({ length: 22 }, (_, at) => `<link rel="stylesheet" href="OTHER/turned.css?${at}">`).join('');
    const page = await scanPage({
      '/': html('<iframe title="f" src="/frame"></iframe><p>Text</p>', { head: links }),
      '/frame': html('<p>Text</p>', { head: links }),
    });
    expect(page.caveats.map(({ kind }) => kind)).to.deep.equal(['rules_failed']);
    expect(page.caveats[0]!.message).to.match(/^4 style sheets of other origins could not be read/);
  });

  it('are no finding at level A, where the criterion does not apply', async () => {
    expect(findingsOf(await scanPage({ '/': documentOf(CASES[2]!) }, { wcagLevel: 'A' }))).to.deep.equal([]);
  });

  it('do not count the rule on other pages', async () => {
    const page = await scanPage({ '/': documentOf(CASES.at(-1)!) });
    await site.close();
    const turned = await scanPage({ '/': documentOf(CASES.find(({ name }) => name === 'an arrow is turned')!) });
    expect(turned.rules.serious.passed - page.rules.serious.passed).to.equal(1);
  });
});
