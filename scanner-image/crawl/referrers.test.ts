import { expect } from 'chai';
import type { ReportPage, TestedPage, UntestedPage } from '../../report/schema/page.ts';
import { pageKey } from './address.ts';
import { createReferrers, type Referrers } from './listing.ts';

const at = (path: string): string => `https://example.org${path}`;
const keyOf = (path: string): string => pageKey(new URL(at(path)));
const untested = (path: string): UntestedPage => ({
  url: at(path),
  final_url: null,
  http_status: 404,
  tested: false,
  reason: 'http_error',
  message: '',
  duration_ms: 1,
});
const link = (referrers: Referrers, from: string, to: string): void => referrers.link(keyOf(to), { url: at(from), key: keyOf(from) });
const linkedFrom = (referrers: Referrers, path: string): string[] | undefined => {
  const [page] = referrers.addTo([untested(path)]);
  return (page as UntestedPage).linked_from;
};

describe('referrers', () => {
  it('names the first three pages that link to an untested one, each once, and not the page itself', () => {
    const referrers = createReferrers();
    referrers.follow(keyOf('/gone'), at('/sitemap.xml'));
    for (const from of ['/gone', '/a', '/b', '/a', '/c', '/d']) link(referrers, from, '/gone');
    expect(linkedFrom(referrers, '/gone')).to.deep.equal(['/a', '/b', '/c'].map(at));
  });

  it('names the first sitemap if no page links to it, and nothing if its origin is unknown', () => {
    const referrers = createReferrers();
    referrers.follow(keyOf('/listed'));
    referrers.follow(keyOf('/listed'), at('/first.xml'));
    referrers.follow(keyOf('/listed'), at('/second.xml'));
    referrers.follow(keyOf('/start'));
    link(referrers, '/a', '/not-followed');
    expect(linkedFrom(referrers, '/listed')).to.deep.equal([at('/first.xml')]);
    for (const path of ['/start', '/not-followed']) expect(referrers.addTo([untested(path)])[0]).to.not.have.property('linked_from');
  });

  it('leaves tested pages as they are', () => {
    const referrers = createReferrers();
    referrers.follow(keyOf('/a'));
    link(referrers, '/b', '/a');
    const page = { url: at('/a'), tested: true } as TestedPage;
    const pages: ReportPage[] = [page];
    expect(referrers.addTo(pages)).to.deep.equal([{ url: at('/a'), tested: true }]);
  });
});
