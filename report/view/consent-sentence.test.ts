import { expect } from 'chai';
import { LOCALES } from '../../core/scan/locales.ts';
import { consentSentence } from './sentences.ts';
import { ReportConsent } from '../schema/report.ts';

describe('the sentence about a dialog for consent', () => {
  const { action, outcome } = ReportConsent.properties as unknown as Record<'action' | 'outcome', { enum: never[] }>;
  for (const locale of LOCALES)
    it(`names the product and the page for each outcome, in ${locale}`, () => {
      const said = outcome.enum.flatMap((one) => action.enum.map((choice) => [one, choice] as const));
      for (const [one, choice] of said) {
        const product = one === 'not_found' ? null : '$& {url}';
        const sentence = consentSentence({ action: choice, outcome: one, product, url: 'https://example.org/' }, locale);
        expect(sentence).to.include('https://example.org/').and.match(/\.$/);
        if (product !== null) expect(sentence).to.include(product);
      }
    });
});
