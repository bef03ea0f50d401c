import { expect } from 'chai';
import { CATALOGUES } from '../../api/web/texts.ts';
import { problemsOf, textsInCode } from '../../tools/texts.ts';

describe('the texts of the dashboard', () => {
  const texts = textsInCode();

  for (const locale of Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[])
    it(`are complete in ${locale}, with the same values and the plural forms of the language`, () => {
      expect(texts.size).to.be.greaterThan(100);
      expect(problemsOf(locale, texts)).to.deep.equal([]);
    });
});
