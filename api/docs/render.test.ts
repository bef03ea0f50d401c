import { expect } from 'chai';
import { renderDoc } from './render.ts';

const bodyOf = (markdown: string): string => renderDoc(`# Title\n\n${markdown}`).body.toString();

describe('renderDoc', () => {
  it('names headings as GitHub does, also those of the same text', () => {
    const { sections } = renderDoc('# Title\n\nFirst. More.\n\n## `a_b` and C (d)\n\nText\nof two lines.\n\n## Für\n\n## Für\n');
    expect(sections.map(({ id }) => id)).to.deep.equal(['', 'a_b-and-c-d', 'für', 'für-1']);
    expect(sections.map(({ text }) => text.trim())).to.deep.equal(['First. More.', 'Text of two lines.', '', '']);
  });

  it('has the first sentence of the page as its summary', () => {
    expect(renderDoc('# Title\n\nUse version 1.2 or\nlater. More.').summary).to.equal('Use version 1.2 or later.');
  });

  it('shows HTML as text, and leaves out comments', () => {
    expect(bodyOf('<script>1</script>\n\na <b>c</b>\n\n<!-- hidden -->'))
      .to.include('&lt;script&gt;')
      .and.include('&lt;b&gt;')
      .and.not.match(/<script|<b>|hidden/);
  });

  it('leads links to pages to /docs, and names other files of the repository', () => {
    expect(bodyOf('[reference.md](reference.md#not_found)')).to.include('<a href="/docs/reference#not_found">reference</a>');
    expect(bodyOf('[here](#a)')).to.include('href="#a"');
    expect(bodyOf('[out](https://example.com/)')).to.include('href="https://example.com/" rel="noreferrer noopener external"');
    expect(bodyOf('[tests](contributing/development.md)')).to.equal(
      '<p>tests (<code translate="no">docs/contributing/development.md</code>)</p>',
    );
    expect(bodyOf('[examples/a.yaml](../examples/a.yaml)')).to.equal('<p><code translate="no">examples/a.yaml</code></p>');
    expect(bodyOf('[x](javascript:1)')).to.include('href="#"');
  });

  it('gives every row of a table a header, and every column a heading', () => {
    const body = bodyOf('| | right |\n|---|--:|\n| `a` | 1 |\n| | 2 |');
    expect(body.match(/<th scope="row" role="rowheader"><code translate="no">a<\/code><\/th>/g)).to.have.length(2);
    expect(body).to.include('<span class="visually-hidden">Name</span>').and.include('class="numeric"');
  });

  it('keeps code as it is', () => {
    expect(bodyOf('```sh\na  <b>\n```')).to.include('>a  &lt;b&gt;</code></pre>');
  });

  it('requires a title', () => {
    expect(() => renderDoc('Text')).to.throw('starts with a heading');
  });
});
