import { expect } from 'chai';
import { LOCALES } from '../../../core/scan/locales.ts';
import { THRESHOLD_NAMES } from '../../../core/scan/thresholds.ts';
import { i18nOf } from './i18n.ts';
import { en } from './texts/en.ts';
import { THRESHOLD_TEXTS } from './texts/thresholds.ts';

const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([placeholder]) => placeholder).sort();

describe('report texts', () => {
  for (const locale of LOCALES)
    describe(locale, () => {
      const { texts, count, format, number } = i18nOf(locale);

      it('have the placeholders of the English texts, and are not empty', () => {
        for (const key of Object.keys(en) as (keyof typeof en)[]) {
          const [one, other] = [en[key], texts[key]];
          if (typeof one === 'string' && typeof other === 'string') {
            expect(other, key).not.to.equal('');
            expect(placeholders(other), key).to.deep.equal(placeholders(one));
          } else expect(Object.values(other as object), key).to.not.include('');
        }
      });

      it('name every threshold with the places of the English words', () => {
        for (const name of THRESHOLD_NAMES)
          for (const key of ['name', 'allowed'] as const) {
            expect(THRESHOLD_TEXTS[locale][name]?.[key], name).to.be.a('string').and.not.equal('');
            expect(placeholders(THRESHOLD_TEXTS[locale][name][key]), name).to.deep.equal(placeholders(THRESHOLD_TEXTS.en[name][key]));
          }
      });

      it('have a form for each plural category', () => {
        const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories;
        for (const n of [0, 1, 2, 3, 4, 5, 11, 12, 21, 22, 25, 101, 1000])
          expect(count(texts.elements, n)).to.include(number(n)).and.not.include('{');
        expect(categories).to.include('other');
        for (const [key, forms] of Object.entries(texts))
          if (typeof forms === 'object' && 'other' in forms) expect(Object.keys(forms), key).to.include.members(categories);
      });

      it('format numbers for their language', () => {
        expect(format('{n}', { n: 1234.5 })).to.equal(new Intl.NumberFormat(locale).format(1234.5));
      });
    });

  it('use the Polish plural forms', () => {
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
