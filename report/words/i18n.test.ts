import { expect } from 'chai';
import { i18nOver } from './translated.ts';

const FORMS = { one: '{n} strona w {where}', few: '{n} strony', many: '{n} stron', other: '{n} strony' };

describe('texts in a language', () => {
  const pl = i18nOver('pl', {});
  it('have the plural form of their number', () => {
    expect([1, 2, 5, 22, 0.5].map((n) => pl.count(FORMS, n, { where: 'X' }))).to.deep.equal([
      '1 strona w X',
      '2 strony',
      '5 stron',
      '22 strony',
      '0,5 strony',
    ]);
  });
  it('keep unknown placeholders, and format numbers', () => {
    expect(i18nOver('de', {}).format('{a} {b} {c}', { a: 1234.56, b: '<b>' })).to.equal('1.234,6 <b> {c}');
  });
  it('have ratios with two decimals', () => {
    expect([4.48, 4.5, 21].map((n) => pl.ratio(n))).to.deep.equal(['4,48', '4,5', '21']);
  });
  it('show dates in UTC', () => {
    expect(i18nOver('en', {}).date('2026-01-31T23:05:00Z')).to.equal('January 31, 2026 at 11:05 PM UTC');
    expect(i18nOver('fr', {}).date(new Date('2026-01-31T23:05:00Z')))
      .to.include('31 janvier 2026')
      .and.include('23:05');
  });
});
