import { expect } from 'chai';
import { pageList } from './page-list.ts';

describe('the list of pages', () => {
  const untested = { url: 'https://example.org/gone', tested: false, reason: 'http_error', message: 'Status 404.' } as const;
  const listOf = (...pages: Parameters<typeof pageList>[0]['pages']): string =>
    String(pageList({ pages, pages_total: pages.length, pages_with_gaps: 0, addresses_left: 0 }));

  it('has links to the pages that link to an untested one', () => {
    const list = listOf({ ...untested, linked_from: ['https://example.org/', 'https://example.org/news'] });
    expect(list).to.match(/Linked from.*href="https:\/\/example\.org\/".*href="https:\/\/example\.org\/news"/s);
  });

  it('has views of older scans, which do not say it', () => {
    expect(listOf(untested)).to.include('https://example.org/gone').and.not.include('Linked from');
  });
});
