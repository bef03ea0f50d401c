import { expect } from 'chai';
import { renderDoc } from './render.ts';
import { QUERY_MAX, searchDocs, wordsOf } from './search.ts';

const pages = new Map([
  ['one', renderDoc('# Credits\n\nAbout money.\n\n## Spend them\n\nA scan reserves. Each page costs one of them.\n\n## Other\n\nNothing.')],
  ['two', renderDoc('# Scans\n\nA scan costs credits.')],
]);
const found = (query: string): string[] => searchDocs(pages, query).map(({ name, section }) => `${name}#${section.id}`);

describe('searchDocs', () => {
  it('finds sections with every word, in the page title too, the headings first', () => {
    expect(found('credits')).to.deep.equal(['one#', 'two#']);
    expect(found('Credits page')).to.deep.equal(['one#spend-them']);
    expect(found('credits zebra')).to.deep.equal([]);
    expect(found('')).to.deep.equal([]);
  });

  it('shows the sentence with the most words, and cuts long ones around the first word', () => {
    expect(searchDocs(pages, 'page costs')[0]!.excerpt).to.equal('Each page costs one of them.');
    const long = new Map([['long', renderDoc(`# Long\n\n${'word '.repeat(200)}needle ${'word '.repeat(200)}`)]]);
    const [{ excerpt } = { excerpt: '' }] = searchDocs(long, 'needle');
    expect(excerpt)
      .to.match(/^….*needle.*…$/)
      .and.have.length.below(250);
  });

  it('reads a bounded number of words of a bounded query', () => {
    expect(wordsOf(`"Two" words, two`)).to.deep.equal(['two', 'words']);
    expect(wordsOf('a '.repeat(500)).join(' ').length).to.be.at.most(QUERY_MAX);
    expect(wordsOf('1 2 3 4 5 6 7 8 9 10 11 12')).to.have.length(10);
  });
});
