import { expect } from 'chai';
import fc from 'fast-check';
import { rootCauseFingerprint, groupViolations, normaliseHtml } from './fingerprints.ts';
import type { ReportNode, ReportPage, ReportViolation, TestedPage } from './schema.ts';
import { IMPACTS, type Impact } from '../scan/impacts.ts';

const node = (html: string, selector = 'x'): ReportNode => ({ selector, html, failure_summary: 'Fix it', frame_path: [], shadow_path: [] });
const violation = (rule: string, impact: Impact, nodes: ReportNode[]): ReportViolation => ({
  rule,
  impact,
  wcag: ['1.1.1'],
  help: `help for ${rule}`,
  description: '',
  help_url: `https://rules.example/${rule}`,
  nodes,
});
const none = { passed: 0, failed: 0 };
const tested = (url: string, violations: ReportViolation[]): TestedPage => ({
  url,
  final_url: url,
  http_status: 200,
  title: '',
  language: 'en',
  tested: true,
  score: 50,
  rules: { critical: none, serious: none, moderate: none, minor: none },
  duration_ms: 1,
  violations,
  needs_review: [],
});

describe('the normalised HTML of a component', () => {
  const same: [string, string, string][] = [
    ['white space', '<p  class="a">\n  <b>x</b> </p>', '<p class="a"><b>x</b></p>'],
    ['words', '<h3 class="title">First</h3>', '<h3 class="title">Second, and longer</h3>'],
    ['counters in ids', '<input id="field-1" type="text">', '<input id="field-27" type="text">'],
    ['ids of frameworks', '<div id=":r1a:" role="tab"></div>', '<div id=":r2b:" role="tab"></div>'],
    ['references to ids', '<b aria-labelledby="dialog-7-title"></b>', '<b aria-labelledby="dialog-12-title"></b>'],
    ['hashes of builds in classes', '<p class="Card_title__x7Yp2"></p>', '<p class="Card_title__k3Lq9"></p>'],
    ['hashes of builds in files', '<img src="/a/logo.3f9ab2c1.svg">', '<img src="../b/logo.77e01dd4.svg?v=2">'],
    ['numbers of files', '<img src="/covers/cover-7.svg">', '<img src="/covers/cover-12.svg">'],
    ['order of classes and attributes', '<a id="m" class="x y">z</a>', '<a class="y x" id="m">z</a>'],
    ['nonces, data and handlers', '<i nonce="a" data-x="1" onclick="f()"></i>', '<i></i>'],
    ['state of the current page', '<a class="nav active" aria-current="page" href="/a">A</a>', '<a class="nav" href="/b">B</a>'],
    ['computed lengths', '<p style="left: 12.5px; color: #777">a</p>', '<p style="color:#777;left:-3px">b</p>'],
    ['how many alike children', '<ul><li>1</li><li>2</li></ul>', '<ul><li>1</li><li>2</li><li>3</li></ul>'],
    ['comments', '<p><!-- <b> -->x</p>', '<p>x</p>'],
    ['the depth of the page', '<img src="../../img/team.jpg">', '<img src="img/team.jpg">'],
  ];
  for (const [what, left, right] of same) {
    it(`does not hold ${what}`, () => {
      expect(normaliseHtml(left)).to.equal(normaliseHtml(right));
    });
  }

  const different: [string, string, string][] = [
    ['the element', '<b class="a">x</b>', '<i class="a">x</i>'],
    ['its class', '<b class="price">x</b>', '<b class="date">x</b>'],
    ["its id's words", '<input id="name">', '<input id="street">'],
    ['its type', '<input type="text">', '<input type="email">'],
    ['whether there is text', '<button></button>', '<button>x</button>'],
    ['whether an alternative is there', '<img src="a.png">', '<img src="a.png" alt="">'],
    ['whether an alternative is empty', '<img src="a.png" alt="">', '<img src="a.png" alt="x">'],
    ['which picture', '<img src="/a/logo.png">', '<img src="/a/team.png">'],
    ['the target of a link without a name', '<a href="https://x.example/imprint"></a>', '<a href="https://x.example/contact"></a>'],
    ['colours', '<p style="color:#777">x</p>', '<p style="color:#000">x</p>'],
    ['nesting', '<p><b>x</b></p>', '<p></p><b>x</b>'],
    ['the language', '<html lang="xx">', '<html lang="yy">'],
  ];
  for (const [what, left, right] of different) {
    it(`holds ${what}`, () => {
      expect(normaliseHtml(left)).not.to.equal(normaliseHtml(right));
    });
  }

  it('is read from HTML that is cut off anywhere', () => {
    const whole = '<div class="a"><!-- c --><p title="x > y">text <img src=\'a.png\'/></p></div>';
    for (let end = 0; end <= whole.length; end += 1) normaliseHtml(whole.slice(0, end));
    expect(normaliseHtml(whole.slice(0, 20))).to.equal('<div class="a"></div>');
  });

  const word = fc.constantFrom('a', 'card', 'x7Yp2', '12', 'is-open', '"', "'", '>', '<', ' ', '#', '…', 'é', '&amp;', '=', '/');
  const attribute = fc.tuple(
    fc.constantFrom('class', 'id', 'href', 'src', 'style', 'alt', 'data-a', 'role'),
    fc.array(word, { maxLength: 4 }),
  );
  const element = fc
    .tuple(
      fc.constantFrom('p', 'div', 'img', 'a', 'li'),
      fc.array(attribute, { maxLength: 4 }),
      fc.constantFrom('', 'text', '<li>x</li><li>y</li>', '<br/>', '<b'),
    )
    .map(
      ([tag, attributes, content]) =>
        `<${tag}${attributes.map(([name, words]) => ` ${name}="${words.join('').replaceAll('"', '')}"`).join('')}>${content}</${tag}>`,
    );

  it('is its own normalised HTML', () => {
    fc.assert(
      fc.property(fc.array(element, { maxLength: 4 }), (elements) => {
        const once = normaliseHtml(elements.join(''));
        return normaliseHtml(once) === once;
      }),
      { examples: [[['<p src="/ a"></p>']], [['<p src="a /"></p>']]] },
    );
  });

  it('is made of any text without fail', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof normaliseHtml(text) === 'string'));
  });

  it('does not change with attribute order and white space', () => {
    fc.assert(
      fc.property(fc.uniqueArray(attribute, { selector: ([name]) => name }), fc.integer({ min: 1, max: 3 }), (attributes, gap) => {
        const write = (all: typeof attributes, space: string) =>
          `<p${all.map(([name, words]) => `${space}${name}="${words.join('').replaceAll('"', '')}"`).join('')}>x</p>`;
        return normaliseHtml(write(attributes, ' ')) === normaliseHtml(write(attributes.toReversed(), '\n'.repeat(gap)));
      }),
    );
  });
});

describe('root causes', () => {
  it('fold the same component on every page, and name each page once', () => {
    const pages = ['a', 'b', 'c'].map((name) =>
      tested(`https://x.example/${name}`, [
        violation('link-name', 'serious', [node('<a class="logo" href="/"></a>'), node('<a class="logo" href="../"></a>')]),
      ]),
    );
    const groups = groupViolations(pages);
    expect(groups).to.have.length(1);
    expect(groups[0]).to.include({ rule: 'link-name', impact: 'serious', pages: 3, elements: 6 });
    expect(groups[0]!.page_urls).to.deep.equal(pages.map((page) => page.url));
    expect(groups[0]!.fingerprint).to.equal(rootCauseFingerprint('link-name', '<a class="logo"></a>'));
  });

  it('keep two rules on one element apart', () => {
    const html = '<a class="logo"></a>';
    const groups = groupViolations([
      tested('u', [violation('link-name', 'serious', [node(html)]), violation('target-size', 'serious', [node(html)])]),
    ]);
    expect(groups).to.have.length(2);
  });

  it('name at most 100 pages, and count them all', () => {
    const pages = Array.from({ length: 130 }, (_, index) => tested(`u${index}`, [violation('r', 'minor', [node('<b></b>')])]));
    expect(groupViolations(pages)[0]).to.include({ pages: 130, elements: 130 });
    expect(groupViolations(pages)[0]!.page_urls).to.have.length(100);
  });

  it('take nothing from a page that was not tested', () => {
    const page: ReportPage = {
      url: 'u',
      final_url: null,
      http_status: null,
      tested: false,
      reason: 'timeout',
      message: '',
      duration_ms: 1,
    };
    expect(groupViolations([page])).to.deep.equal([]);
  });

  const arbitraryPages = fc
    .array(
      fc.array(
        fc.record({
          rule: fc.constantFrom('r1', 'r2', 'r3'),
          impact: fc.constantFrom(...IMPACTS),
          html: fc.array(fc.constantFrom('<a class="x"></a>', '<b id="n-1"></b>', '<b id="n-2"></b>', '<i>t</i>'), {
            minLength: 1,
            maxLength: 4,
          }),
        }),
        { maxLength: 4 },
      ),
      { maxLength: 6 },
    )
    .map((pages) =>
      pages.map((violations, index) =>
        tested(
          `https://x.example/${index}`,
          violations.map(({ rule, impact, html }) =>
            violation(
              rule,
              impact,
              html.map((piece) => node(piece)),
            ),
          ),
        ),
      ),
    );

  it('hold each element once, and are ordered worst first', () => {
    fc.assert(
      fc.property(arbitraryPages, (pages) => {
        const groups = groupViolations(pages);
        const elements = pages.flatMap((page) => page.violations).reduce((sum, { nodes }) => sum + nodes.length, 0);
        expect(groups.reduce((sum, group) => sum + group.elements, 0)).to.equal(elements);
        expect(new Set(groups.map((group) => group.fingerprint)).size).to.equal(groups.length);
        for (const [index, group] of groups.entries()) {
          expect(group.pages).to.equal(group.page_urls.length);
          expect(group.elements).to.be.at.least(group.pages);
          const next = groups[index + 1];
          if (next === undefined) continue;
          const rank = (one: typeof group) => [IMPACTS.indexOf(one.impact), -one.pages, -one.elements] as const;
          const [a, b] = [rank(group), rank(next)];
          const at = a.findIndex((value, position) => value !== b[position]);
          expect(at === -1 || a[at]! < b[at]!).to.equal(true);
        }
      }),
    );
  });

  it('are the same groups whatever the order of the pages', () => {
    fc.assert(
      fc.property(arbitraryPages, (pages) => {
        const gist = (all: ReportPage[]) =>
          groupViolations(all).map(({ fingerprint, pages: touched, elements, impact }) => [fingerprint, touched, elements, impact]);
        expect(gist(pages.toReversed())).to.deep.equal(gist(pages));
      }),
    );
  });
});
