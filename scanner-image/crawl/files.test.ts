import { expect } from 'chai';
import { parseRobots } from './robots.ts';
import { parseSitemap } from './sitemaps.ts';

describe('robots.txt', () => {
  const location = new URL('https://example.org/robots.txt');
  it('prefers the group of our own user agent', () => {
    const robots = parseRobots(
      location,
      'User-agent: *\nDisallow: /\nUser-agent: curbcut\nDisallow: /private\nAllow: /private/open$\nCrawl-delay: 2\nSitemap: /map.xml',
    );
    expect(robots.refusal(new URL('https://example.org/a'))).to.equal(null);
    expect(robots.refusal(new URL('https://example.org/private/x'))).to.equal(
      'https://example.org/robots.txt disallows /private/x (line 4).',
    );
    expect(robots.refusal(new URL('https://example.org/private/open'))).to.equal(null);
    expect(robots.crawlDelay).to.equal(2);
    expect(robots.sitemaps.map(({ href }) => href)).to.deep.equal(['https://example.org/map.xml']);
  });
  it('limits the crawl delay to 5 s', () => {
    expect(parseRobots(location, 'User-agent: *\nCrawl-delay: 86400').crawlDelay).to.equal(5);
    expect(parseRobots(location, 'User-agent: *\nCrawl-delay: no').crawlDelay).to.equal(0);
  });
  it('allows all pages if the file is HTML', () =>
    expect(parseRobots(location, '<!doctype html><p>hello').refusal(location)).to.equal(null));
});

describe('sitemap parser', () => {
  const cases: [string, string, string[], string[]][] = [
    [
      'one page',
      '<urlset><url><loc> https://a.test/?x=1&amp;y=2 </loc><lastmod>2026</lastmod></url></urlset>',
      ['https://a.test/?x=1&y=2'],
      [],
    ],
    [
      'prefixes and CDATA',
      '<s:urlset xmlns:s="x"><s:url><s:loc><![CDATA[https://a.test/]]></s:loc></s:url></s:urlset>',
      ['https://a.test/'],
      [],
    ],
    [
      'an index',
      '<?xml version="1.0"?><sitemapindex><sitemap><loc>a.xml</loc></sitemap><sitemap><loc>b.xml</loc></sitemap></sitemapindex>',
      [],
      ['a.xml', 'b.xml'],
    ],
    ['text', 'https://a.test/1\r\nnonsense\nhttps://a.test/2\n', ['https://a.test/1', 'https://a.test/2'], []],
    ['a number as a URL', '<urlset><url><loc>42</loc></url><url/></urlset>', ['42'], []],
    ['numeric references', '<urlset><url><loc>https://a.test/&#228;&#x26;</loc></url></urlset>', ['https://a.test/ä&'], []],
    ['an HTML page', '<!doctype html><p>x', [], []],
    ['no entities', '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>', [], []],
    ['broken XML', '<urlset><url><loc>https://a.test/', [], []],
    ['an empty file', '', [], []],
  ];
  for (const [name, text, pages, sitemaps] of cases)
    it(`reads ${name}`, () => {
      const read = parseSitemap(text);
      if (name !== 'broken XML') expect(read).to.deep.equal({ pages, sitemaps });
      else expect(read.sitemaps).to.deep.equal([]);
    });
});
