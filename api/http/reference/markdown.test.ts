import { expect } from 'chai';
import fc from 'fast-check';
import { parseDocument, DomUtils } from 'htmlparser2';
import { headingsOf, inline, markdown } from './markdown.ts';

describe('descriptions of the reference', () => {
  for (const [text, expected] of [
    ['a `b` c', 'a <code translate="no">b</code> c'],
    ['**bold `x`** a', '<strong>bold <code translate="no">x</code></strong> a'],
    ['see [this](https://a.example/b)', 'see <a href="https://a.example/b">this</a>'],
    ['[x](javascript:alert(1))', '<a href="#">x</a>)'],
    ['a * b ** c ` d', 'a * b ** c ` d'],
    ['<b> & "', '&lt;b&gt; &amp; &quot;'],
  ] as const)
    it(text, () => expect(inline(text).toString()).to.equal(expected));

  it('have paragraphs, headings with anchors, and lists', () => {
    const text = 'One\nline.\n\n## Two words\n\n- a\n- `b`\n\nLast.';
    const [first, heading, list, last] = DomUtils.getElementsByTagName(
      (name) => ['p', 'h3', 'ul'].includes(name),
      parseDocument(markdown(text).toString()),
    );
    expect([first, last].map((one) => DomUtils.textContent(one!))).to.deep.equal(['One\nline.', 'Last.']);
    expect([heading!.attribs.id, DomUtils.textContent(heading!)]).to.deep.equal(['about-two-words', 'Two words']);
    expect(DomUtils.getElementsByTagName('li', list!).map((one) => DomUtils.textContent(one))).to.deep.equal(['a', 'b']);
    expect(headingsOf(text)).to.deep.equal([{ id: 'about-two-words', text: 'Two words' }]);
  });

  it('contain no HTML of their own', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '"', '`', '*', '[', ']', '(', ')', '#', '-', ' ', '\n', 'a') }), (text) => {
        const elements = DomUtils.getElementsByTagName('*', parseDocument(markdown(text).toString()));
        for (const { name, attribs } of elements) {
          expect(['p', 'ul', 'li', 'h3', 'a', 'code', 'strong']).to.include(name);
          expect(['class', 'href', 'id', 'translate']).to.include.members(Object.keys(attribs));
        }
      }),
    );
  });
});
