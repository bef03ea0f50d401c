import { expect } from 'chai';
import { type AxeRule, mergeFindings, type PageFindings, rulesWithoutFinding, toPageFindings } from './results.ts';

const rule = (id: string, elements: Record<string, string>, impact: AxeRule['impact'] = 'serious'): AxeRule => ({
  id,
  impact,
  tags: [],
  help: id,
  description: id,
  helpUrl: '',
  nodes: Object.entries(elements).map(([selector, html]) => ({ target: [selector], html, landmark: null, box: null })),
});
const found = (violations: AxeRule[], incomplete: AxeRule[] = [], passes: string[] = [], inapplicable: string[] = []): PageFindings =>
  toPageFindings({ violations, incomplete, passes: passes.map((id) => ({ id, impact: 'serious' })), inapplicable, failed: [] });
const selectorsOf = (findings: PageFindings['violations']): Record<string, string[]> =>
  Object.fromEntries(findings.map(({ rule: name, nodes }) => [name, nodes.map(({ selector }) => selector)]));

describe('the findings of a page with and without a dialog', () => {
  it('count an element once, also if the dialog changes its selector', () => {
    const dialog = found([rule('image-alt', { '#dialog > img': '<img src="logo.png">', 'div:nth-child(2) > img': '<img src="a.png">' })]);
    const after = found([rule('image-alt', { 'div:nth-child(1) > img': '<img src="a.png">' })]);
    const { violations } = mergeFindings(dialog, after);
    expect(selectorsOf(violations)).to.deep.equal({ 'image-alt': ['div:nth-child(1) > img', '#dialog > img'] });
    expect(violations[0]?.nodes_total).to.equal(2);
  });

  it('keep what only one state has, with the worse severity, and in the usual order', () => {
    const dialog = found([rule('list', { ul: '<ul>' }), rule('label', { '#x': '<input id="x">' }, 'critical')]);
    const after = found([rule('label', { '#y': '<input id="y">' }, 'serious'), rule('image-alt', { img: '<img>' })]);
    const { violations } = mergeFindings(dialog, after);
    expect(violations.map(({ rule: name, impact }) => [name, impact])).to.deep.equal([
      ['label', 'critical'],
      ['image-alt', 'serious'],
      ['list', 'serious'],
    ]);
    expect(selectorsOf(violations)).to.deep.include({ label: ['#y', '#x'] });
  });

  it('have the advice of either state', () => {
    const dialog = found([rule('tabindex', { '#x': '<a id="x" tabindex="2">' })]);
    const after = found([rule('empty-heading', { h2: '<h2></h2>' })]);
    const { advice, violations } = mergeFindings(dialog, after);
    expect(selectorsOf(advice)).to.deep.equal({ 'empty-heading': ['h2'], tabindex: ['#x'] });
    expect(violations).to.deep.equal([]);
  });

  it('know which rules ran in either state', () => {
    const dialog = found([rule('list', { ul: '<ul>' })], [], ['label'], ['image-alt', 'video-caption']);
    const after = found([], [], ['image-alt'], ['list', 'label', 'video-caption']);
    expect(rulesWithoutFinding(mergeFindings(dialog, after))).to.deep.equal({
      passed: ['label', 'image-alt'],
      notApplicable: ['video-caption'],
    });
  });

  it('need no review for what one state decides, or what only the dialog covers', () => {
    const covered = rule('color-contrast', { p: '<p>Text</p>', 'p + p': '<p>More</p>' });
    const dialog = found([], [covered, rule('link-name', { a: '<a>Link</a>', '#dialog a': '<a>Policy</a>' })]);
    const after = found([rule('link-name', { a: '<a>Link</a>' })], [rule('color-contrast', { h1: '<h1>Title</h1>' })]);
    const { violations, needsReview } = mergeFindings(dialog, after);
    expect(selectorsOf(violations)).to.deep.equal({ 'link-name': ['a'] });
    expect(selectorsOf(needsReview)).to.deep.equal({ 'color-contrast': ['h1'], 'link-name': ['#dialog a'] });
  });

  it('count each rule once: as failed if it failed in a state, else as passed', () => {
    const dialog = found([rule('list', { ul: '<ul>' })], [], ['aria-dialog-name', 'image-alt']);
    const after = found([], [], ['list', 'image-alt']);
    expect(mergeFindings(dialog, after).rules.serious).to.deep.equal({ passed: 2, failed: 1 });
    expect(mergeFindings(after, after)).to.deep.equal(after);
  });
});
