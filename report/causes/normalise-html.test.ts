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
    ['hashes of builds in files', '<img src="/a/logo.3f9ab2c1.svg">', '<img src="../a/logo.77e01dd4.svg?v=2">'],
    ['order of classes and attributes', '<a id="m" class="x y">z</a>', '<a class="y x" id="m">z</a>'],
    ['nonces, data and handlers', '<i nonce="a" data-x="1" onclick="f()"></i>', '<i></i>'],
    ['state of the current page', '<a class="nav active" aria-current="page" href="/a">A</a>', '<a class="nav" href="/b">B</a>'],
    ['computed lengths', '<p style="left: 12.5px">a</p>', '<p style="left:-3px">b</p>'],
    ['the number of equal children', '<ul><li>1</li><li>2</li></ul>', '<ul><li>1</li><li>2</li><li>3</li></ul>'],
    ['comments', '<p><!-- <b> -->x</p>', '<p>x</p>'],
    ['the depth of the page, and the name of a picture', '<img src="../../img/team.jpg">', '<img src="img/office.jpg">'],
    ['pictures of named elements', '<a class="card"><img src="/a/x.png"></a>', '<a class="card"><img src="/b/y.png"></a>'],
    ['targets of links', '<a href="https://x.example/imprint"></a>', '<a href="https://x.example/contact"></a>'],
    ['inline styles', '<p style="color:#777">x</p>', '<p>x</p>'],
    ['IDs made from the text of headings', '<h2 id="install">x</h2>', '<h2 id="use">x</h2>'],
    ['the classes of the page', '<html lang="en" class="page-12 js"></html>', '<html lang="en"></html>'],
    ['how links and pictures load', '<a class="x" rel="nofollow" target="_blank"></a>', '<a class="x"></a>'],
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
    ['the folder of a picture without a name', '<img src="/icons/mail.png">', '<img src="/photos/team.png">'],
    ['the host of a frame', '<iframe src="https://a.example/embed/1"></iframe>', '<iframe src="https://b.example/embed/1"></iframe>'],
    ['the kind of a target', '<a href="mailto:a@x.example"></a>', '<a href="/a"></a>'],
    ['the icon of a sprite', '<use href="/s.svg#cart"></use>', '<use href="/s.svg#menu"></use>'],
    ['the model of a field', '<input x-model="name">', '<input x-model="street">'],
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
