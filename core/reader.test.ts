import { expect } from 'chai';
import { preferredLocale, readerOf } from './reader.ts';

describe('a reader', () => {
  it('has the first of our languages that the browser asks for', () => {
    for (const [header, locale] of [
      ['de-AT,de;q=0.9,en;q=0.8', 'de'],
      ['ja, en;q=0.5, PL;q=0.7', 'pl'],
      ['fr;q=0, nl', 'nl'],
      ['*;q=x, , ja', 'en'],
      [undefined, 'en'],
    ] as const)
      expect(preferredLocale(header), header).to.equal(locale);
  });

  it('who chose no time zone has one of the language', () => {
    expect(readerOf({ locale: 'pl', timeZone: null })).to.deep.equal({ locale: 'pl', timeZone: 'Europe/Warsaw' });
    expect(readerOf({ locale: null, timeZone: 'Asia/Tokyo' })).to.deep.equal({ locale: 'en', timeZone: 'Asia/Tokyo' });
  });
});
