import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { LOCALES } from '../../core/scan/locales.ts';
import { criteriaOf, criterionTitle, criterionUrl } from './success-criteria.ts';

const names = (locale: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`../words/${locale}/criteria.json`, import.meta.url), 'utf8')) as Record<string, string>;

describe('criteriaOf', () => {
  // By the specifications: https://www.w3.org/TR/WCAG21/ and https://www.w3.org/TR/WCAG22/.
  for (const [level, version, count] of [
    ['A', '2.1', 30],
    ['AA', '2.1', 50],
    ['AAA', '2.1', 78],
    ['A', '2.2', 31],
    ['AA', '2.2', 55],
    ['AAA', '2.2', 86],
  ] as const)
    it(`has the ${count} criteria of WCAG ${version} ${level}`, () => {
      const criteria = criteriaOf(level, version);
      expect(criteria).to.have.length(count);
      expect(criteria.map(({ id }) => id).includes('4.1.1')).to.equal(version === '2.1');
    });
});

describe('criterionTitle', () => {
  it('has number, name and level', () => {
    expect(criterionTitle('1.1.1', 'en')).to.equal('1.1.1 Non-text Content (A)');
    expect(criterionTitle('1.4.3', 'de')).to.equal('1.4.3 Kontrast (Minimum) (AA)');
    expect(criterionTitle('2.4.4', 'fr')).to.equal('2.4.4 Fonction du lien (selon le contexte) (A)');
    expect(criterionTitle('2.5.8', 'nl')).to.equal('2.5.8 Grootte van het aanwijsgebied (minimum) (AA)');
    expect(criterionTitle('1.4.6', 'pl')).to.equal('1.4.6 Kontrast (wzmocniony) (AAA)');
  });

  it('is the number if the criterion is unknown', () => {
    for (const unknown of ['9.9.9', 'constructor', '']) expect(criterionTitle(unknown, 'en')).to.equal(unknown);
  });

  for (const locale of LOCALES)
    it(`has a name of its own for each of the 87 criteria of WCAG 2.0 to 2.2 in ${locale}`, () => {
      const known = names(locale);
      expect(Object.keys(known)).to.deep.equal(Object.keys(names('en')));
      expect(Object.keys(known)).to.have.length(87);
      expect(Object.keys(known).filter((criterion) => criterionUrl(criterion) === null)).to.deep.equal([]);
      for (const name of Object.values(known)) expect(name).to.match(/^\p{Lu}.*[\p{L})]$/u);
      expect(new Set(Object.values(known)).size).to.equal(87);
    });
});
