import { expect } from 'chai';
import { movedWithin, sameSite, siteOf } from './site.ts';

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
