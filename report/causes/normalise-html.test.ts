import { expect } from 'chai';
import fc from 'fast-check';
import { normaliseHtml as normalise } from './normalise-html.ts';

const normaliseHtml = (text: string): string => normalise(text).html;

describe('normaliseHtml', () => {
  const same: [string, string, string][] = [
    ['white space', '<p  class="a">\n  <b>x</b> </p>', '<p class="a"><b>x</b></p>'],
    ['words', '<h3 class="title">First</h3>', '<h3 class="title">Second, and longer</h3>'],
    ['counters in IDs', '<input id="field-1" type="text">', '<input id="field-27" type="text">'],
    ['IDs of frameworks', '<div id=":r1a:" role="tab"></div>', '<div id=":r2b:" role="tab"></div>'],
    ['references to IDs', '<b aria-labelledby="dialog-7-title"></b>', '<b aria-labelledby="dialog-12-title"></b>'],
    ['hashes of builds in classes', '<p class="Card_title__x7Yp2"></p>', '<p class="Card_title__k3Lq9"></p>'],
    ['hashes of builds in files', '<img src="/a/logo.3f9ab2c1.svg">', '<img src="../b/logo.77e01dd4.svg?v=2">'],
    ['numbers of files', '<img src="/covers/cover-7.svg">', '<img src="/covers/cover-12.svg">'],
    ['order of classes and attributes', '<a id="m" class="x y">z</a>', '<a class="y x" id="m">z</a>'],
    ['nonces, data and handlers', '<i nonce="a" data-x="1" onclick="f()"></i>', '<i></i>'],
    ['state of the current page', '<a class="nav active" aria-current="page" href="/a">A</a>', '<a class="nav" href="/b">B</a>'],
    ['computed lengths', '<p style="left: 12.5px; color: #777">a</p>', '<p style="color:#777;left:-3px">b</p>'],
    ['the number of equal children', '<ul><li>1</li><li>2</li></ul>', '<ul><li>1</li><li>2</li><li>3</li></ul>'],
    ['comments', '<p><!-- <b> -->x</p>', '<p>x</p>'],
    ['the depth of the page', '<img src="../../img/team.jpg">', '<img src="img/team.jpg">'],
  ];
  for (const [what, left, right] of same) {
    it(`ignores ${what}`, () => {
      expect(normaliseHtml(left)).to.equal(normaliseHtml(right));
    });
  }

  const different: [string, string, string][] = [
    ['the element', '<b class="a">x</b>', '<i class="a">x</i>'],
    ['its class', '<b class="price">x</b>', '<b class="date">x</b>'],
    ['the words of its ID', '<input id="name">', '<input id="street">'],
    ['its type', '<input type="text">', '<input type="email">'],
    ['whether there is text', '<button></button>', '<button>x</button>'],
    ['whether there is an alternative text', '<img src="a.png">', '<img src="a.png" alt="">'],
    ['whether the alternative text is empty', '<img src="a.png" alt="">', '<img src="a.png" alt="x">'],
    ['the file of an image', '<img src="/a/logo.png">', '<img src="/a/team.png">'],
    ['the target of a link without a name', '<a href="https://x.example/imprint"></a>', '<a href="https://x.example/contact"></a>'],
    ['colours', '<p style="color:#777">x</p>', '<p style="color:#000">x</p>'],
    ['nesting', '<p><b>x</b></p>', '<p></p><b>x</b>'],
    ['the language', '<html lang="xx">', '<html lang="yy">'],
  ];
  for (const [what, left, right] of different) {
    it(`keeps ${what}`, () => {
      expect(normaliseHtml(left)).not.to.equal(normaliseHtml(right));
    });
  }

  it('accepts HTML that is cut off anywhere', () => {
    const whole = '<div class="a"><!-- c --><p title="x > y">text <img src=\'a.png\'/></p></div>';
    for (let end = 0; end <= whole.length; end += 1) normaliseHtml(whole.slice(0, end));
    expect(normaliseHtml(whole.slice(0, 20))).to.equal('<div class="a"></div>');
  });

  it('reads the content of scripts, titles and text areas as text', () => {
    for (const tag of ['script', 'style', 'title', 'textarea'])
      expect(normaliseHtml(`<${tag}>a<b && c</${tag}>`)).to.equal(`<${tag}>…</${tag}>`);
  });

  it('keeps nesting that only scripts can create', () => {
    expect(normaliseHtml('<p><div>x</div></p>')).to.equal('<p><div>…</div></p>');
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

  it('is idempotent', () => {
    fc.assert(
      fc.property(fc.array(element, { maxLength: 4 }), (elements) => {
        const once = normaliseHtml(elements.join(''));
        return normaliseHtml(once) === once;
      }),
      { examples: [[['<p src="/ a"></p>']], [['<p src="a /"></p>']]] },
    );
  });

  it('does not depend on attribute order and white space', () => {
    fc.assert(
      fc.property(fc.uniqueArray(attribute, { selector: ([name]) => name }), fc.integer({ min: 1, max: 3 }), (attributes, gap) => {
        const write = (all: typeof attributes, space: string) =>
          `<p${all.map(([name, words]) => `${space}${name}="${words.join('').replaceAll('"', '')}"`).join('')}>x</p>`;
        return normaliseHtml(write(attributes, ' ')) === normaliseHtml(write(attributes.toReversed(), '\n'.repeat(gap)));
      }),
    );
  });
});
