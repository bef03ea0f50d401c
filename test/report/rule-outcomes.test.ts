import { expect } from 'chai';
import fc from 'fast-check';
import {
  criterionOutcome,
  criterionState,
  numberRules,
  OUTCOMES,
  outcomesOn,
  positionsOf,
  ruleResults,
  type RuleLists,
} from '../../report/results/rule-outcomes.ts';
import { knownStandards } from '../../report/rules/rules.ts';
import type { ReportPage, TestedPage } from '../../report/schema/page.ts';
import { samplePage, sampleViolation } from './samples.ts';

const TARGET = { wcag_level: 'AA', wcag_version: '2.2', locale: 'en' } as const;

function pageWith(lists: RuleLists, failed: string[] = [], review: string[] = []): TestedPage {
  const findings = [failed, review].map((rules) => rules.map((rule) => sampleViolation(rule, 'serious', rule, [])));
  return { ...samplePage('https://example.org/', 'Page', findings[0]!, findings[1]), ...positionsOf(lists) };
}

function resultsOf(...found: ReportPage[]) {
  const { pages, ids } = numberRules(found);
  return { pages: pages as TestedPage[], ids, ...ruleResults(pages, ids, TARGET) };
}

describe('the rules that ran', () => {
  it('keep their outcomes when they are numbered', () => {
    const assigned = fc.dictionary(fc.constantFrom(...knownStandards()), fc.constantFrom(...OUTCOMES));
    fc.assert(
      fc.property(fc.array(assigned, { maxLength: 5 }), (on) => {
        const named = (page: Record<string, string>, outcome: string): string[] => Object.keys(page).filter((id) => page[id] === outcome);
        const { pages, ids, rules } = resultsOf(
          ...on.map((page) =>
            pageWith(
              { passed: named(page, 'passed'), notApplicable: named(page, 'not_applicable') },
              named(page, 'failed'),
              named(page, 'needs_review'),
            ),
          ),
        );
        expect(pages.map((page) => Object.fromEntries(outcomesOn(page, ids)))).to.deep.equal(on.map((page) => ({ ...page })));
        for (const { id, pages: counts } of rules)
          for (const outcome of OUTCOMES) expect(counts![outcome]).to.equal(on.filter((page) => page[id] === outcome).length);
      }),
    );
  });

  it('decide about the criteria of the target: the worst outcome counts', () => {
    const { criteria, rules } = resultsOf(
      pageWith({ passed: ['object-alt', 'label'], notApplicable: ['video-caption'] }, ['image-alt']),
      pageWith({ passed: ['image-alt'], notApplicable: ['video-caption'] }, [], ['object-alt']),
    );
    const of = (id: string) => criteria.find((criterion) => criterion.id === id)!;
    expect(of('1.1.1')).to.deep.include({ level: 'A', name: 'Non-text Content' });
    expect(of('1.1.1').rules.map((at) => rules[at]!.id)).to.deep.equal(['image-alt', 'object-alt']);
    expect(of('1.1.1').pages).to.deep.equal({ failed: 1, needs_review: 1, passed: 0, not_applicable: 0 });
    expect(of('1.2.2').pages).to.deep.equal({ failed: 0, needs_review: 0, passed: 0, not_applicable: 2 });
    expect(of('2.4.3')).to.deep.include({ rules: [], pages: { failed: 0, needs_review: 0, passed: 0, not_applicable: 0 } });
  });

  it('say nothing about a criterion if none of its rules ran', () => {
    expect(criterionOutcome(new Map([['label', 'passed']]), ['image-alt'])).to.equal(undefined);
    expect(criterionOutcome(new Map([['label', 'passed']]), [])).to.equal(undefined);
  });
});

describe('the state of a success criterion', () => {
  const none = { failed: 0, needs_review: 0, passed: 0, not_applicable: 0 };
  for (const [pages, state] of [
    [{ ...none, failed: 1, needs_review: 2, passed: 9 }, 'failed'],
    [{ ...none, needs_review: 1, passed: 9 }, 'needs_review'],
    [{ ...none, passed: 1, not_applicable: 9 }, 'passed'],
    [{ ...none, not_applicable: 9 }, 'untested'],
    [none, 'untested'],
  ] as const)
    it(`is ${state} for ${JSON.stringify(pages)}`, () => expect(criterionState({ pages })).to.equal(state));
});
