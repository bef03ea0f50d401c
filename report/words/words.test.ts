import { expect } from 'chai';
import { LOCALES, type Locale } from '../../core/scan/locales.ts';
import { WORDS } from './words.ts';

const SECTIONS = Object.keys(WORDS.en) as (keyof typeof WORDS.en)[];

const isPlural = (value: object): boolean => 'other' in value;

/** Each text by its path, with its placeholders. Plural forms count as one text, with those of `other`. */
function texts(value: unknown, path = ''): [path: string, text: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (isPlural(value as object)) return [[path, (value as { other: string }).other]];
  return Object.entries(value as object).flatMap(([key, inner]) => texts(inner, `${path}.${key}`));
}
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

function plurals(value: unknown): Record<string, string>[] {
  if (typeof value !== 'object' || value === null) return [];
  return isPlural(value) ? [value as Record<string, string>] : Object.values(value).flatMap(plurals);
}

for (const name of SECTIONS) {
  const of = (locale: Locale): object => WORDS[locale][name];
  describe(`words of the section ${name}`, () => {
    for (const locale of LOCALES) {
      it(`have the same placeholders in ${locale} as in English`, () => {
        const wanted = texts(of('en')).map(([path, text]) => [path, placeholders(text)]);
        expect(texts(of(locale)).map(([path, text]) => [path, placeholders(text)])).to.deep.equal(wanted);
      });

      it(`have the plural forms of ${locale}, each with its number`, () => {
        const categories = new Intl.PluralRules(locale).resolvedOptions().pluralCategories.toSorted();
        const all = plurals(of(locale));
        expect(all.length).to.be.greaterThan(1);
        for (const forms of all) {
          expect(Object.keys(forms).sort()).to.deep.equal(categories);
          // "the only element" is the one form that may leave out its number.
          for (const [form, text] of Object.entries(forms)) if (form !== 'one') expect(text).to.include('{n}');
        }
      });

      it(`are plain sentences in ${locale}: no HTML, no double spaces, no spaces at the ends`, () => {
        expect(texts(of(locale)).filter(([, text]) => /[<&]|\s\s|^\s|\s$/.test(text) || text === '')).to.deep.equal([]);
      });

      if (locale !== 'en')
        it(`are translated to ${locale}`, () => {
          const english = new Map(texts(of('en')));
          // Words that are the same in several languages.
          const shared = [
            ...[
              'Browser',
              'Dashboard',
              'Documentation',
              'Documents',
              'Element',
              'Enter',
              'Frame',
              'In the frame',
              'Page',
              'Pages',
              'Privacy',
              'Scan {id}.',
              'Score',
              'Selector',
              'Status',
              'Type',
            ],
            ...['Contrast', 'HTML', 'Message', 'Problem', 'Total', 'Violations', 'navigation', 'optional', '{size} px'],
          ];
          const same = texts(of(locale)).filter(
            ([path, text]) => english.get(path) === text && !shared.includes(text) && !/^\{n\} elements?$/.test(text),
          );
          expect(same).to.deep.equal([]);
        });
    }
  });
}
