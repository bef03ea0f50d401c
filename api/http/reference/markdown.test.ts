import { expect } from 'chai';
import { headingsOf, inline, markdown } from './markdown.ts';

describe('descriptions of the reference', () => {
  it('are lines without a paragraph, or texts with headings of level 3 and lists', () => {
    const text = 'One\nline.\n\n## Two `words`\n\n- a\n- b';
    expect(inline('a `b` **c**').toString()).to.equal('a <code translate="no">b</code> <strong>c</strong>');
    expect(markdown(text).toString()).to.match(/^<p>One\nline\.<\/p><h3 [^>]*id="about-two-words"[^]*<ul><li>a<\/li><li>b<\/li><\/ul>$/);
    expect(headingsOf(text)).to.deep.equal([{ id: 'about-two-words', text: 'Two words' }]);
  });

  it('show HTML as text', () => {
    expect(inline('<b> & "').toString()).to.equal('&lt;b&gt; &amp; &quot;');
  });
});
