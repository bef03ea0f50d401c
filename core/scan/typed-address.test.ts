import { expect } from 'chai';
import { addressToType, readAddress } from './site.ts';

describe('a typed address', () => {
  for (const typed of [
    'example.com',
    'www.example.com/path',
    'example.com:8443/x',
    'localhost:4000',
    '[::1]:4000',
    '192.0.2.1',
    'user:pass@example.com/',
  ])
    it(`gets https:// and may fall back to http:// if it is ${typed}`, () => {
      expect(readAddress(typed)).to.deep.equal({ url: `https://${typed}`, httpFallback: true });
    });

  for (const url of ['https://example.com/a?b', 'https://example.com:8443/', 'https://[::1]/', 'http://example.com/'])
    for (const httpFallback of [true, false])
      it(`is read as ${url} again${httpFallback ? ', with the fallback that it had' : ''}`, () => {
        const kept = httpFallback && url.startsWith('https:');
        expect(readAddress(addressToType({ url, httpFallback }))).to.deep.equal({ url, ...(kept && { httpFallback }) });
      });

  for (const typed of [
    'https://example.com/',
    'http://example.com',
    'HTTPS://example.com',
    'ftp://example.com/',
    'javascript:alert(1)',
    'mailto:me@example.org',
    '',
  ])
    it(`stays as it is if it is ${JSON.stringify(typed)}`, () => {
      expect(readAddress(typed)).to.deep.equal({ url: typed });
    });
});
