import { expect } from 'chai';
import fc from 'fast-check';
import { samplePage, sampleNode, sampleViolation } from './samples.ts';
import { NODES_MAX, capNodes, capPage, createFindingsBudget, findingsBytes, uncounted } from '../../report/results/cap-nodes.ts';
import { rootCausesOf, rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import type { ReportViolation } from '../../report/schema/page.ts';

/** A finding with one node for each letter; equal letters are one root cause. */
const finding = (letters: string): ReportViolation =>
  sampleViolation(
    'button-name',
    'critical',
    'Buttons',
    [...letters].map((letter, at) => sampleNode(`<button><svg><path d="${letter}"></path></svg></button>`, `#n${at}`)),
  );
const causeOf = (letter: string): string => rootCauseFingerprint('button-name', finding(letter).nodes[0]!);
const selectors = ({ nodes }: ReportViolation): string[] => nodes.map(({ selector }) => selector);

describe('capped nodes', () => {
  it('are the first of each root cause, then the first of the others, in the order of the page', () => {
    const capped = capNodes(finding('aaaabac'), 4);
    expect(selectors(capped)).to.deep.equal(['#n0', '#n1', '#n4', '#n6']);
    expect(capped).to.deep.include({ nodes_total: 7, nodes_beyond: [{ fingerprint: causeOf('a'), elements: 3 }] });
    expect(uncounted(capped)).to.equal(0);
  });

  it('are all nodes if they are few', () => {
    const few = finding('aab');
    expect(capNodes(few, 3)).to.equal(few);
  });

  it('do not count root causes that have no example', () => {
    const capped = capNodes(finding('abacb'), 1);
    expect(selectors(capped)).to.deep.equal(['#n0']);
    expect(capped.nodes_beyond).to.deep.equal([{ fingerprint: causeOf('a'), elements: 1 }]);
    expect(uncounted(capped)).to.equal(3);
  });

  const cases = fc.tuple(fc.array(fc.constantFrom(...'abcdef'), { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 20 }));

  it('keep the totals of every root cause that they show, for any cap', () => {
    fc.assert(
      fc.property(cases, ([letters, max]) => {
        const whole = finding(letters.join(''));
        const capped = capNodes(whole, max);
        expect(capped.nodes.length).to.equal(Math.min(max, letters.length));
        expect(capped.nodes_total).to.equal(letters.length);
        const groups = rootCausesOf([samplePage('https://x.example/', 'x', [capped])], 'violations');
        for (const { fingerprint, elements } of groups) expect(elements).to.equal(letters.filter((l) => causeOf(l) === fingerprint).length);
        expect(groups.length).to.equal(Math.min(max, new Set(letters).size));
        const counted = groups.reduce((sum, { elements }) => sum + elements, 0);
        expect(uncounted(capped)).to.equal(letters.length - counted);
      }),
    );
  });

  it('are the same, whether they are capped at once or step by step', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 0, max: 30 }), ([letters, max], more) => {
        const whole = finding(letters.join(''));
        expect(capNodes(capNodes(whole, max + more), max)).to.deep.equal(capNodes(whole, max));
      }),
    );
  });
});

describe('a page with capped nodes', () => {
  it('says which root causes it does not describe, once', () => {
    const page = samplePage('https://x.example/', 'x', [finding('aab')], [finding('abcd')]);
    expect(capPage(page, 2).caveats.map(({ message }) => message)).to.deep.equal([
      'The page has more different findings than the report can describe. All of them are counted, but these are not described: button-name (2 of 4 elements). Fix the others, then scan again.',
    ]);
    expect(capPage(capPage(page, 2), 1).caveats).to.have.length(1);
    expect(capPage(page, 4)).to.equal(page);
    expect(capPage(samplePage('https://x.example/', 'x', [finding('aaa')]), 1).caveats).to.deep.equal([]);
  });
});

describe('budget of findings', () => {
  const large = (count: number) => samplePage('https://x.example/', 'x', [finding('a'.repeat(count))]);

  it('describes all elements of usual pages', () => {
    const budget = createFindingsBudget(32 * 1024 * 1024, 500);
    const page = large(100);
    for (let at = 0; at < 500; at++) expect(budget.take(page)).to.equal(page);
  });

  it('caps the elements of a rule', () => {
    expect(createFindingsBudget(1e9, 1).take(large(NODES_MAX + 1)).violations[0]!.nodes).to.have.length(NODES_MAX);
  });

  it('keeps all pages of a scan within the budget, with at least one element of each rule', () => {
    const budget = createFindingsBudget(100_000, 20);
    const pages = Array.from({ length: 20 }, () => budget.take(large(2000)));
    expect(pages.reduce((sum, page) => sum + findingsBytes(page), 0)).to.be.at.most(100_000);
    for (const page of pages) {
      expect(page.violations[0]!.nodes).not.to.have.length(0);
      expect(page.violations[0]!.nodes_total).to.equal(2000);
    }
    expect(pages[0]!.violations[0]!.nodes.length).to.be.greaterThan(pages.at(-1)!.violations[0]!.nodes.length);
  });
});
