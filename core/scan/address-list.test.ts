import { expect } from 'chai';
import { addressListMistake, listedUrls, readAddressList } from './address-list.ts';
import { withDefaults } from './options.ts';

describe('a list of addresses', () => {
  for (const [what, text, read] of [
    ['lines', '\uFEFFhttps://a.test/,b\r\n\n# later\n /c \n', ['https://a.test/,b', '/c']],
    ['CSV as the table of pages', 'Seite;Titel\r\n"https://a.test/x;y";"Say ""a;b"""\r\n/b;B\r\n', ['https://a.test/x;y', '/b']],
    ['CSV with another first column', 'id,url\n7,/a\n8,/b\n', ['/a', '/b']],
    ['an address without a scheme, which is no heading', 'a.test/x\n/b', ['a.test/x', '/b']],
    ['nothing', '\n', []],
  ] as const)
    it(`is read from ${what}`, () => expect(readAddressList(text)).to.deep.equal(read));

  it('has each address once, in its order, and needs as many credits', () => {
    const urls = ['/b', 'https://www.a.test/a#top', 'http://a.test/b/', '/a', '/a#/route'];
    const options = withDefaults({ url: 'https://a.test/', maxPages: 9, crawl: { urls } });
    const listed = listedUrls(options.crawl, options.url).map(({ href }) => href);
    expect(listed).to.deep.equal(['https://a.test/b', 'https://www.a.test/a#top', 'https://a.test/a#/route']);
    expect(options.maxPages).to.equal(3);
  });

  const rules = { hosts: ['*.shop.test'], rewriteHost: 'live.test', hashRoutes: 'paths' };
  const mistakeOf = (urls: string[], maxPages = 500) => addressListMistake({ url: 'https://a.test/', maxPages, crawl: { ...rules, urls } });
  it('may name pages of the host, of further hosts and of the production host', () =>
    expect(mistakeOf(['https://www.a.test/a', 'https://x.shop.test/', 'https://live.test/a'])).to.equal(null));
  for (const [type, urls, message] of [
    [
      'urls.other_host',
      ['/a', '//b.test/x'],
      '//b.test/x is not on the host of the scan, a.test. Leave it out, or name b.test in crawl.hosts.',
    ],
    ['urls.other_host', ['https://a.test:8443/'], 'name a.test:8443'],
    ['urls.invalid', ['a.test/x'], '"a.test/x" is not an http or https address'],
    ['urls.invalid', ['https://me:secret@a.test/'], 'is not an http'],
    ['urls.too_many', ['/a', '/b', '/c', '/d', '/e', '/f'], 'The list has 6 addresses, more than the maximum number of pages, 5.'],
    ['urls.too_many', Array.from({ length: 501 }, () => '/a'), 'more than 500 addresses'],
    ['urls.too_many', [`/${'a'.repeat(50_000)}`], '50000 characters'],
  ] as [string, string[], string][])
    it(`is refused as ${type}: ${urls.at(-1)!.slice(0, 30)}`, () => {
      const mistake = mistakeOf(urls, 5);
      expect(mistake).to.have.property('type', type);
      expect(mistake!.message).to.include(message);
    });
});
