/** The texts about rules, against axe-core and our own rules. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  adviceOf,
  type AxeTexts,
  type EnglishMessages,
  foundBy,
  isEnglishMessage,
  type OwnTexts,
  reviewText,
  type ReviewTexts,
  ruleText,
} from '../../report/rule-texts/rule-texts.ts';
import { standardsOf, type RuleStandards } from '../../report/rules/rules.ts';
import { engineOf, OWN_RULES, STATE_RULES } from '../../report/schema/engines.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { axeEnglishMessages, axeReviewRules, axeRules, axeStandards, axeTexts } from '../../tools/rule-texts.ts';

const report = join(import.meta.dirname, '..', '..', 'report');
const read = (path: string): unknown => JSON.parse(readFileSync(join(report, path), 'utf8'));
const fromAxe = axeRules().map(({ ruleId }) => ruleId);
const ours = Object.keys({ ...OWN_RULES, ...STATE_RULES });
const rules = [...fromAxe, ...ours].sort();

describe('texts about rules', () => {
  it('state the standards of the installed axe-core (run node tools/rule-texts.ts)', () => {
    expect(read('rule-texts/standards.json') as RuleStandards).to.deep.equal(axeStandards());
    expect(standardsOf('area-alt')).to.deep.include({
      wcag: ['2.4.4', '4.1.2'],
      en_301_549: ['9.2.4.4', '9.4.1.2'],
      rgaa_4: ['1.1.2'],
      trusted_tester_5: ['6.A'],
      act_rules: ['c487ae'],
    });
    expect(standardsOf('never')).to.equal(null);
    expect(JSON.stringify(rules.map(standardsOf))).not.to.include('508');
  });

  it('name the rules that find more by our own checks, and docs/scanning.md explains them', () => {
    const section = readFileSync(join(report, '..', 'docs', 'scanning.md'), 'utf8')
      .split(/^## /m)
      .filter((text) => /^(Own checks|States)/.test(text))
      .join('\n');
    const explained = [...section.matchAll(/^\| `([a-z-]+)`/gm)].map(([, rule]) => rule!);
    expect(explained.filter((rule) => !rules.includes(rule))).to.deep.equal([]);
    expect(rules.filter((rule) => engineOf(rule) !== 'axe-core')).to.deep.equal(explained.toSorted());
    expect(standardsOf('avoid-inline-spacing')).to.deep.include({ engine: 'axe-core+curbcut' });
    expect(standardsOf('area-alt')).to.deep.include({ engine: 'axe-core' });
  });

  it('tell English messages from translated ones (run node tools/rule-texts.ts)', () => {
    expect(read('rule-texts/english-messages.json') as EnglishMessages).to.deep.equal(axeEnglishMessages());
    expect(isEnglishMessage('Element does not have an alt attribute')).to.equal(true);
    expect(isEnglishMessage('Invalid ARIA attribute name: aria-x')).to.equal(true);
    expect(isEnglishMessage('Das Element besitzt kein Alt-Attribut')).to.equal(false);
  });

  it('say what axe-core found without its leads, which read as if a fault were to be made', () => {
    const alternatives = 'Fix any of the following:\n  Element does not have an alt attribute\n  Element has no title attribute';
    const summary = `Fix all of the following:\n  Role must be one of the valid ARIA roles: x\n\n${alternatives}`;
    const textsOf = (withAlternatives: boolean) => foundBy(summary, 'en', withAlternatives).map(({ text }) => text);
    expect(textsOf(false)).to.deep.equal(['Role must be one of the valid ARIA roles: x']);
    expect(textsOf(true)).to.have.length(3).and.not.include('Fix any of the following:');
  });

  for (const locale of LOCALES)
    describe(`in ${locale}`, () => {
      const own = read(`words/${locale}/rules.json`) as OwnTexts;

      it('are those of the installed axe-core (run node tools/rule-texts.ts)', () => {
        expect(read(`words/${locale}/axe.json`) as AxeTexts).to.deep.equal(axeTexts(locale));
      });

      it('exist for every rule and field', () => {
        const missing = rules.flatMap((rule) => {
          const text = ruleText(rule, locale);
          return (['help', 'description', 'why', 'fix'] as const)
            .filter((field) => !text?.[field].trim())
            .map((field) => `${rule}: ${field}`);
        });
        expect(missing).to.deep.equal([]);
      });

      it('are our own only where axe-core has none, and all of them are used', () => {
        const { rules: known } = axeTexts(locale);
        expect(Object.keys(own.rules).filter((rule) => rule in known || !rules.includes(rule))).to.deep.equal([]);
        expect(Object.keys(own.advice).toSorted()).to.deep.equal([...new Set(rules.map(adviceOf))].toSorted());
      });

      it('say what a person should look at for each rule that can be incomplete, and for no other', () => {
        const review = read(`words/${locale}/review.json`) as ReviewTexts;
        expect(Object.keys(review.rules).toSorted()).to.deep.equal([...axeReviewRules(), ...ours].sort());
        const texts = [review.any, ...Object.values(review.rules)];
        expect(new Set(texts).size, 'a text that two rules share').to.equal(texts.length);
        for (const text of texts) expect(text).to.match(/^\p{Lu}.{20,200}\.$/u);
        for (const [rule, text] of Object.entries(review.rules)) expect(reviewText(rule, locale)).to.equal(text);
        for (const rule of ['unknown-rule', 'constructor']) expect(reviewText(rule, locale)).to.equal(review.any);
      });

      if (locale !== 'en')
        it('are not English', () => {
          const [review, english] = [locale, 'en'].map((one) => Object.values((read(`words/${one}/review.json`) as ReviewTexts).rules));
          expect(review!.filter((text) => english!.includes(text))).to.deep.equal([]);
          const same = rules.filter((rule) => {
            const [text, english] = [ruleText(rule, locale)!, ruleText(rule, 'en')!];
            return (['help', 'description', 'why', 'fix'] as const).some((field) => text[field] === english[field]);
          });
          expect(same).to.deep.equal([]);
        });
    });

  it('are null for a rule that does not exist', () => {
    for (const rule of ['never', '__proto__', 'constructor', '']) expect(ruleText(rule, 'en'), rule).to.equal(null);
  });
});
