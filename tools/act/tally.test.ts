/** Rows and tables from the results of cases, without a browser. */
import { expect } from 'chai';
import type { TestCase } from './cases.ts';
import { actPage } from './page.ts';
import type { CaseResult } from './run.ts';
import { countedCases, needsLevelAaa, rowOf, type OwnRule } from './tally.ts';

const RULE: OwnRule = { id: 'image-alt', tags: ['wcag2a', 'wcag111'], act_rules: ['aaaaaa'] };

let count = 0;
function caseOf(expected: TestCase['expected'], more: Partial<TestCase> = {}): TestCase {
  count += 1;
  return {
    ruleId: 'aaaaaa',
    ruleName: 'Image has a name',
    rulePage: 'https://example.org/rules/aaaaaa/',
    ruleAccessibilityRequirements: { 'wcag20:1.1.1': {}, 'wcag-technique:G94': {} },
    expected,
    testcaseId: String(count),
    testcaseTitle: `${expected} ${count}`,
    relativePath: `testcases/aaaaaa/${count}.html`,
    url: `https://example.org/testcases/aaaaaa/${count}.html`,
    ...more,
  };
}

function result(found: { violations?: string[]; needsReview?: string[]; passes?: string[] }): CaseResult {
  const { violations = [], needsReview = [], passes = [] } = found;
  const applied = new Set([...violations, ...needsReview, ...passes]);
  return { tested: true, violations: new Set(violations), needsReview: new Set(needsReview), applied };
}

const FLAGGED = result({ violations: ['image-alt'] });
const REVIEW = result({ needsReview: ['image-alt'] });
const CLEAR = result({ passes: ['image-alt'] });
const UNTESTED: CaseResult = { tested: false, reason: 'not_html' };

const row = (entries: [TestCase, CaseResult][], mapped: OwnRule[] = [RULE]) =>
  rowOf(entries.map(([testCase]) => testCase), mapped, new Map(entries)); // prettier-ignore

describe('rows of ACT rules', () => {
  it('count flagged, to review, missed, false and not tested', () => {
    const { failed, others, untested } = row([
      [caseOf('failed'), FLAGGED],
      [caseOf('failed'), REVIEW],
      [caseOf('failed'), CLEAR],
      [caseOf('failed'), UNTESTED],
      [caseOf('passed'), CLEAR],
      [caseOf('passed'), REVIEW],
      [caseOf('inapplicable'), FLAGGED],
    ]);
    expect(failed).to.deep.equal({ total: 4, flagged: 1, review: 1, missed: 1 });
    expect([others, untested]).to.deep.equal([{ total: 3, flagged: 1 }, 1]);
  });

  it('count only the rules that cover the ACT rule', () => {
    const other = result({ violations: ['document-title'], passes: ['image-alt'] });
    expect(row([[caseOf('failed'), other], [caseOf('passed'), other]])).to.deep.include({ failed: { total: 1, flagged: 0, review: 0, missed: 1 }, others: { total: 1, flagged: 0 } }); // prettier-ignore
  });

  it('separate the rules that never applied', () => {
    const off: OwnRule = { ...RULE, id: 'off' };
    expect(row([[caseOf('failed'), FLAGGED]], [RULE, off])).to.deep.include({ rules: ['image-alt'], idle: ['off'] });
  });

  const levels: [string, [TestCase['expected'], CaseResult][], string][] = [
    ['every failed case flagged or to review', [['failed', FLAGGED], ['failed', REVIEW], ['passed', CLEAR]], 'consistent'],
    ['needs-review on a passed case', [['failed', FLAGGED], ['passed', REVIEW]], 'consistent'],
    ['a missed case', [['failed', FLAGGED], ['failed', CLEAR]], 'partial'],
    ['a case without a result', [['failed', FLAGGED], ['passed', UNTESTED]], 'partial'],
    ['needs-review only', [['failed', REVIEW], ['inapplicable', CLEAR]], 'partial'],
    ['needs-review only, also on an inapplicable case', [['failed', REVIEW], ['inapplicable', REVIEW]], 'inconsistent'],
    ['nothing found', [['failed', CLEAR], ['passed', CLEAR]], 'inconsistent'],
    ['a false flag', [['failed', FLAGGED], ['inapplicable', FLAGGED]], 'inconsistent'],
  ]; // prettier-ignore
  for (const [what, entries, consistency] of levels)
    it(`are ${consistency} with ${what}`, () =>
      expect(row(entries.map(([expected, found]) => [caseOf(expected), found])).consistency).to.equal(consistency));

  it('are partial if the success criteria differ', () => {
    const required = { ruleAccessibilityRequirements: { 'wcag20:1.1.1': {}, 'wcag20:4.1.2': {} } };
    const missing = row([[caseOf('failed', required), FLAGGED]]);
    expect([missing.consistency, missing.criteria]).to.deep.equal(['partial', { missing: ['4.1.2'], additional: [] }]);
    const secondary = { ruleAccessibilityRequirements: { 'wcag20:1.1.1': { secondary: 'Stricter.' } } };
    expect(row([[caseOf('failed', secondary), FLAGGED]]).consistency).to.equal('consistent');
    const none = row([[caseOf('failed', { ruleAccessibilityRequirements: null }), FLAGGED]]);
    expect([none.consistency, none.criteria]).to.deep.equal(['partial', { missing: [], additional: ['1.1.1'] }]);
  });
});

describe('cases that count', () => {
  it('are the approved ones of a rule that has some', () => {
    const [approved, proposed] = [caseOf('failed', { approved: true }), caseOf('failed')];
    const other = caseOf('passed', { ruleId: 'bbbbbb', ruleName: 'Form field has a name' });
    expect([...countedCases([approved, proposed, other])]).to.deep.equal([
      ['bbbbbb', [other]],
      ['aaaaaa', [approved]],
    ]);
  });

  it('need level AAA if one of our rules belongs to it', () => {
    expect(needsLevelAaa([RULE])).to.equal(false);
    expect(needsLevelAaa([RULE, { ...RULE, tags: ['wcag2aaa'] }])).to.equal(true);
  });
});

describe('the page about ACT rules', () => {
  const provenance = {
    date: '2026-01-02',
    source: 'commit 1',
    sha256: 'abc',
    curbcut: '1',
    axeCore: '2',
    browser: 'Chromium 3',
    target: 'WCAG 2.1 AA',
  };
  const off: OwnRule = { ...RULE, id: 'off' };
  const page = actPage({
    provenance,
    standard: [
      row([[caseOf('failed', { approved: true }), FLAGGED], [caseOf('failed', { approved: true }), CLEAR], [caseOf('passed', { approved: true }), FLAGGED]]),
      row([[caseOf('failed', { ruleId: 'bbbbbb' }), CLEAR]], [off]),
    ],
    aaa: [],
    uncovered: [row([[caseOf('failed', { ruleId: 'cccccc', approved: true }), CLEAR]], [])],
    missing: ['test-assets/none.png'],
  }); // prettier-ignore

  for (const text of [
    '| test cases | commit 1; SHA-256 of `testcases.json`: `abc` |',
    'ACT rules: 1 (0 consistent, 0 partial, 1 inconsistent). Failed cases: 2 (1 flagged, 0 to review, 1 missed). Passed and inapplicable cases: 1 (1 falsely flagged). Not tested: 0.',
    '| [Image has a name](https://example.org/rules/aaaaaa/) (aaaaaa) | `image-alt` | 2 | 1 | 0 | 1 | 1 | 1 | 0 | inconsistent |',
    '(bbbbbb): `off` (failed cases: 1)\n',
    '- `test-assets/none.png`',
  ])
    it(`has ${JSON.stringify(text)}`, () => expect(page).to.include(text));
});
