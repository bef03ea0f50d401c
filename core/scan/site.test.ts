import { expect } from 'chai';
import { movedWithin, pathOnSite, sameSite, siteOf } from './site.ts';

describe('siteOf', () => {
  const table: [string, string][] = [
    ['https://Example.COM/path', 'example.com'],
    ['https://www.example.com/', 'www.example.com'],
    ['https://example.com:443/', 'example.com'],
    ['http://example.com:8080/', 'example.com:8080'],
    ['https://[2001:DB8::1]/', '[2001:db8::1]'],
    ['https://müller.example/', 'xn--mller-kva.example'],
    ['not a URL', ''],
  ];
  for (const [url, site] of table) it(`${url} → ${site === '' ? 'nothing' : site}`, () => expect(siteOf(url)).to.equal(site));
});

describe('pathOnSite', () => {
  const table: [page: string, site: string, path: string | null][] = [
    ['https://example.com/a?b#/c', 'https://example.com/start', '/a?b#/c'],
    ['http://example.com/a', 'https://example.com', '/a'],
    ['http://example.com:8443/a', 'https://example.com:8443/', '/a'],
    ['http://example.com/a', 'https://example.com:80/', '/a'],
    ['http://example.com:8080/a', 'https://example.com/', null],
    ['https://www.example.com/a', 'https://example.com/', null],
    ['javascript://example.com/%0aalert(1)', 'https://example.com/', null],
    ['not a URL', 'https://example.com/', null],
    ['https://example.com/', 'not a URL', null],
  ];
  for (const [page, site, path] of table)
    it(`of ${page} at ${site} is ${String(path)}`, () => expect(pathOnSite(page, site)).to.equal(path));
});

describe('a site', () => {
  it('allows the first page to redirect to a parent or child domain only', () => {
    expect(sameSite(new URL('http://www.example.org/'), new URL('https://example.org/x'))).to.equal(true);
    expect(movedWithin(new URL('http://example.org/'), new URL('https://shop.example.org/'))).to.equal(true);
    expect(movedWithin(new URL('http://shop.example.org/'), new URL('https://www.example.org/'))).to.equal(true);
    expect(movedWithin(new URL('http://example.org/'), new URL('https://example.com/'))).to.equal(false);
    expect(movedWithin(new URL('http://example.org/'), new URL('https://notexample.org/'))).to.equal(false);
    expect(movedWithin(new URL('http://127.0.0.1:1/'), new URL('http://127.0.0.1:2/'))).to.equal(true);
  });
});
