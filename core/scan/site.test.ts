import { expect } from 'chai';
import { siteOf } from './site.ts';

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
