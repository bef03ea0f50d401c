import { expect } from 'chai';
import { LIVE_PHASES } from '../../../core/scan/phases.ts';
import { ALL_SCANS, isFiltered, listBefore, listHref, readListQuery, toSearch } from './list-query.ts';

const AFTER = { at: new Date(1_700_000_000_000), id: 'b7d0' };

describe('the query of the list of scans', () => {
  it('is kept in the address', () => {
    const query = {
      search: 'a&b',
      site: 'example.com',
      metadata: 'branch=fix/a=b',
      state: 'live',
      verdict: 'missed',
      origin: 'manifest',
      after: AFTER,
    } as const;
    const { searchParams } = new URL(listHref(query), 'https://curbcut.example');
    expect(readListQuery(Object.fromEntries(searchParams))).to.deep.equal(query);
    expect(toSearch(query, 25)).to.deep.equal({
      text: 'a&b',
      site: 'example.com',
      metadata: { branch: 'fix/a=b' },
      phases: LIVE_PHASES,
      verdict: 'missed',
      origin: 'manifest',
      after: AFTER,
      limit: 25,
    });
  });

  it('finds nothing by metadata that is no pair', () => {
    expect(toSearch({ ...ALL_SCANS, metadata: 'main' }, 25).metadata).to.deep.equal({ '': 'main' });
  });

  it('ignores values that no form sends', () => {
    const given = { q: ['a'], state: 'sleeping', verdict: '$ne', origin: {}, after: 'not a cursor' };
    expect(readListQuery(given)).to.deep.equal(ALL_SCANS);
    expect([listHref(ALL_SCANS), isFiltered(ALL_SCANS), isFiltered({ ...ALL_SCANS, after: AFTER })]).to.deep.equal([
      '/dashboard/scans',
      false,
      false,
    ]);
  });

  it('is that of the list before, if a person comes from it', () => {
    const host = 'curbcut.example';
    const list = listHref({ ...ALL_SCANS, search: 'a&b', state: 'done', after: AFTER });
    for (const [referer, address] of [
      [`https://${host}${list}`, list],
      [`https://${host}${list}&other=1`, list],
      [`https://${host}:8443${list}`, listHref(ALL_SCANS)],
      [`https://other.example${list}`, listHref(ALL_SCANS)],
      [`https://${host}/dashboard/credits?state=done`, listHref(ALL_SCANS)],
      ['no address', listHref(ALL_SCANS)],
      [undefined, listHref(ALL_SCANS)],
    ] as const)
      expect(listBefore(referer, host), referer).to.equal(address);
  });
});
