import { expect } from 'chai';
import { testedPage } from '../../../test/support/tested-page.ts';
import type { ReportView, ViewPage } from '../../../report/view/schema.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import { pageList, pagesOf, PAGES_PER_PART, readPageListQuery, type PageSort } from './pages.ts';

const untested = {
  ...{ url: 'https://example.org/gone', final_url: null, http_status: 404, duration_ms: 1 },
  ...({ tested: false, reason: 'http_error', message: 'Status 404.' } as const),
};
const tested = (name: string, score: number, total: number): ViewPage => ({
  ...testedPage(`https://example.org/${name}`, { title: name, score }),
  frames_total: 0,
  counts: { total, critical: total, serious: 0, moderate: 0, minor: 0 },
});
const listOf = (pages: ViewPage[], params: Record<string, unknown> = {}): string =>
  String(
    pageList(
      'a',
      {
        pages,
        pages_total: pages.length,
        pages_with_gaps: 0,
        addresses_left: 0,
        review_groups: [],
        discovery: { links: 0, files: 0, hash_links: 0, other_hosts: [], other_hosts_left: 0, sitemaps_cut: 0 },
      },
      readPageListQuery(params),
    ),
  );

describe('the list of pages', () => {
  it('does not count addresses that a check did not test', () => {
    const view = { addresses_left: 3 } as ReportView;
    expect(pagesOf({ baseline: null } as unknown as ScanRow, view).addresses_left).to.equal(3);
    expect(pagesOf({ baseline: { optional: false, check: {} } } as unknown as ScanRow, view).addresses_left).to.equal(0);
  });

  it('has links to the pages that link to an untested one, if it knows any', () => {
    const list = listOf([{ ...untested, linked_from: ['https://example.org/', 'https://example.org/news'] }]);
    expect(list).to.match(/Linked from.*href="https:\/\/example\.org\/".*href="https:\/\/example\.org\/news"/s);
    expect(listOf([untested]))
      .to.include('https://example.org/gone')
      .and.not.include('Linked from');
  });

  const pages = [tested('b', 90, 3), untested, tested('c', 20, 1), tested('a', 50, 9)];
  const orders: Record<PageSort, string[]> = {
    order: ['b', 'gone', 'c', 'a'],
    score: ['c', 'a', 'b', 'gone'],
    violations: ['a', 'b', 'c', 'gone'],
    address: ['a', 'b', 'c', 'gone'],
    untested: ['gone', 'b', 'c', 'a'],
  };
  for (const [sort, order] of Object.entries(orders))
    it(`is sorted by ${sort}`, () => {
      const rows = [...listOf(pages, { sort }).matchAll(/href="https:\/\/example\.org\/(\w+)"/g)].map(([, name]) => name);
      expect(rows).to.deep.equal(order);
    });

  it('has parts, and the last one for a number beyond it', () => {
    const many = Array.from({ length: PAGES_PER_PART + 1 }, (_, n) => tested(`page-${n}.`, 50, 1));
    expect(listOf(many)).to.include('/page-0.').and.not.include(`/page-${PAGES_PER_PART}.`);
    for (const part of ['2', '99']) expect(listOf(many, { part })).to.include(`/page-${PAGES_PER_PART}.`).and.not.include('/page-0.');
  });

  for (const [params, query] of [
    [{}, { sort: 'order', part: 1 }],
    [
      { sort: 'score', part: '3' },
      { sort: 'score', part: 3 },
    ],
    [
      { sort: 'toString', part: '0' },
      { sort: 'order', part: 1 },
    ],
    [
      { sort: ['score'], part: ['2'] },
      { sort: 'order', part: 1 },
    ],
    [{ part: '12345' }, { sort: 'order', part: 1 }],
    [{ part: '-1' }, { sort: 'order', part: 1 }],
  ] as const)
    it(`reads ${JSON.stringify(params)}`, () => expect(readPageListQuery(params)).to.deep.equal(query));
});
