import { expect } from 'chai';
import { LOCALES } from '../../../core/scan/locales.ts';
import { THRESHOLD_NAMES } from '../../../core/scan/thresholds.ts';
import { i18nOf } from './i18n.ts';
import { en } from './texts/en.ts';
import { THRESHOLD_TEXTS } from './texts/thresholds.ts';

const places = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort();

describe('the words of the report', () => {
  for (const locale of LOCALES)
    describe(locale, () => {
      const { texts, count, format, number } = i18nOf(locale);

      it('have the places of the English words, and none is empty', () => {
        for (const key of Object.keys(en) as (keyof typeof en)[]) {
          const [one, other] = [en[key], texts[key]];
          if (typeof one === 'string' && typeof other === 'string') {
            expect(other, key).not.to.equal('');
            expect(places(other), key).to.deep.equal(places(one));
          } else expect(Object.values(other as object), key).to.not.include('');
        }
      });

      it('name every threshold with the places of the English words', () => {
        for (const name of THRESHOLD_NAMES)
          for (const key of ['name', 'allowed'] as const) {
            expect(THRESHOLD_TEXTS[locale][name]?.[key], name).to.be.a('string').and.not.equal('');
            expect(places(THRESHOLD_TEXTS[locale][name][key]), name).to.deep.equal(places(THRESHOLD_TEXTS.en[name][key]));
          }
      });

      it('have a form for each of their plurals', () => {
        const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;
        for (const n of [0, 1, 2, 3, 4, 5, 11, 12, 21, 22, 25, 101, 1000])
          expect(count(texts.elements, n)).to.include(number(n)).and.not.include('{');
        expect(categories).to.include('other');
        if (locale === 'pl') for (const category of categories) expect(texts.elements, category).to.have.property(category);
      });

      it('write numbers in their own way', () => {
        expect(format('{n}', { n: 1234.5 })).to.equal(new Intl.NumberFormat(locale).format(1234.5));
      });
    });

  it('decline in Polish', () => {
    const { count, texts } = i18nOf('pl');
    expect([1, 2, 5, 22, 112].map((n) => count(texts.elements, n))).to.deep.equal([
      '1 element',
      '2 elementy',
      '5 elementów',
      '22 elementy',
      '112 elementów',
    ]);
  });
});
