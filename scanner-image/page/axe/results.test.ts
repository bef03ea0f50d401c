import { createRequire } from 'node:module';
import { expect } from 'chai';
import fc from 'fast-check';
import { ADVICE_RULES } from '../../../report/rules/rules.ts';
import { NODE_HTML_MAX } from '../../../report/schema/page.ts';
import { WCAG_LEVELS, WCAG_VERSIONS } from '../../../core/scan/options.ts';
import { cut, rulesWithoutFinding, splitTarget, toPageFindings, type AxeRule } from './results.ts';
import { axeOptions, axeSource } from '../scripts/source.ts';

const rule = (id: string, impact: AxeRule['impact'], nodes = 1): AxeRule => ({
  id,
  impact,
  tags: ['wcag2a', 'wcag111'],
  help: 'h',
  description: 'd',
  helpUrl: 'u',
  nodes: Array.from({ length: nodes }, (_, at) => ({
    target: [`#n${at}`],
    html: '<p>',
    landmark: null,
    box: null,
    failureSummary: 'Fix it',
  })),
});

describe('findings of a page', () => {
  it('are sorted by severity, then by rule', () => {
    const { violations } = toPageFindings({
      violations: [rule('b', 'minor'), rule('z', 'serious'), rule('a', 'serious')],
      incomplete: [],
      passes: [],
      inapplicable: [],
      failed: [],
    });
    expect(violations.map(({ rule: id }) => id)).to.deep.equal(['a', 'z', 'b']);
    expect(violations[0]).to.deep.include({ wcag: ['1.1.1'], help_url: 'u' });
  });

  it('count a rule as failed if any element failed, and ignore incomplete rules', () => {
    const { rules, needsReview } = toPageFindings({
      violations: [rule('both', 'serious', 3)],
      incomplete: [rule('unsure', 'critical'), rule('both', 'serious')],
      passes: [
        { id: 'both', impact: 'serious' },
        { id: 'fine', impact: 'critical' },
        { id: 'half', impact: 'minor' },
      ],
      inapplicable: [],
      failed: [],
    });
    expect(rules).to.deep.equal({
      critical: { passed: 1, failed: 0 },
      serious: { passed: 0, failed: 1 },
      moderate: { passed: 0, failed: 0 },
      minor: { passed: 1, failed: 0 },
    });
    expect(needsReview.map(({ rule: id }) => id)).to.deep.equal(['unsure', 'both']);
  });

  it('name each rule without a finding once, as passed if any element passed', () => {
    const findings = toPageFindings({
      violations: [rule('failed', 'serious')],
      incomplete: [rule('unsure', 'critical')],
      passes: ['failed', 'unsure', 'passed', 'broke'].map((id) => ({ id, impact: 'serious' })),
      inapplicable: ['failed', 'passed', 'absent', 'broken', 'absent'],
      failed: ['broke', 'broken'],
    });
    expect(rulesWithoutFinding(findings)).to.deep.equal({ passed: ['passed'], notApplicable: ['absent'] });
  });

  it('list advice apart: it is no violation, needs no review, and changes no number', () => {
    const without = { violations: [rule('a', 'serious')], incomplete: [], passes: [], inapplicable: [], failed: [] };
    const advised = toPageFindings({
      violations: [...without.violations, rule('tabindex', 'serious', 2), { ...rule('td-has-header', 'critical'), tags: ['wcag131'] }],
      incomplete: [rule('heading-order', 'moderate')],
      passes: [{ id: 'empty-heading', impact: 'minor' }],
      inapplicable: ['image-redundant-alt'],
      failed: [],
    });
    expect(advised).to.deep.equal({ ...toPageFindings(without), advice: advised.advice });
    expect(advised.advice.map((finding) => [finding.rule, finding.nodes_total, finding.wcag])).to.deep.equal([
      ['td-has-header', 1, []],
      ['tabindex', 2, []],
    ]);
    expect(rulesWithoutFinding(advised)).to.deep.equal({ passed: [], notApplicable: [] });
  });

  it('omit rules without elements', () => {
    expect(
      toPageFindings({ violations: [], incomplete: [{ ...rule('broke', null), nodes: [] }], passes: [], inapplicable: [], failed: [] })
        .needsReview,
    ).to.deep.equal([]);
  });

  const targets: [Parameters<typeof splitTarget>[0], ReturnType<typeof splitTarget>][] = [
    [['#a'], { selector: '#a', frame_path: [], shadow_path: [] }],
    [['iframe', '#a'], { selector: '#a', frame_path: ['iframe'], shadow_path: [] }],
    [[['#host', '#inner', 'p']], { selector: 'p', frame_path: [], shadow_path: ['#host', '#inner'] }],
    [[['#host', 'iframe'], 'frame', ['#x', 'p']], { selector: 'p', frame_path: ['#host >>> iframe', 'frame'], shadow_path: ['#x'] }],
    [[], { selector: ':root', frame_path: [], shadow_path: [] }],
  ];
  for (const [target, parts] of targets)
    it(`split the target ${JSON.stringify(target)}`, () => expect(splitTarget(target)).to.deep.equal(parts));

  it('truncate HTML without splitting characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, length) => {
        const short = cut(text, length);
        expect(short.length).to.be.at.most(length);
        expect(text.startsWith(short)).to.equal(true);
        expect(short.isWellFormed()).to.equal(text.isWellFormed());
      }),
    );
    const long = rule('long', 'minor');
    long.nodes[0] = { target: ['p'], html: 'x'.repeat(5000), landmark: null, box: null };
    expect(
      toPageFindings({ violations: [long], incomplete: [], passes: [], inapplicable: [], failed: [] }).violations[0]?.nodes[0]?.html,
    ).to.have.length(NODE_HTML_MAX);
  });
});

describe('axe-core options', () => {
  const axe = createRequire(import.meta.url)('axe-core') as { getRules(tags: string[]): { ruleId: string; tags: string[] }[] };

  it('never run best-practice rules, for any level and version', () => {
    for (const level of WCAG_LEVELS)
      for (const version of WCAG_VERSIONS) {
        const rules = axe.getRules(axeOptions({ wcagLevel: level, wcagVersion: version, advice: false }).runOnly.values);
        expect(rules.length).to.be.greaterThan(20);
        expect(rules.filter(({ tags }) => tags.includes('best-practice')).map(({ ruleId }) => ruleId)).to.deep.equal([]);
      }
  });

  it('run the rules of the advice unless it is off', () => {
    const target = { wcagLevel: 'AA', wcagVersion: '2.2' } as const;
    const known = axe.getRules(['best-practice', 'wcag2a']).map(({ ruleId }) => ruleId);
    const { rules } = axeOptions({ ...target, advice: true });
    expect(known).to.include.members(Object.keys(rules));
    expect(rules).to.have.keys([...ADVICE_RULES]);
    expect(axeOptions({ ...target, advice: false }).rules).to.deep.equal({});
  });

  it('follow the level and the version', () => {
    const runs = (wcagLevel: (typeof WCAG_LEVELS)[number], wcagVersion: (typeof WCAG_VERSIONS)[number], rule: string): boolean =>
      axe.getRules(axeOptions({ wcagLevel, wcagVersion, advice: false }).runOnly.values).some(({ ruleId }) => ruleId === rule);
    expect([runs('A', '2.1', 'color-contrast'), runs('AA', '2.1', 'color-contrast')]).to.deep.equal([false, true]);
    expect([runs('AA', '2.1', 'target-size'), runs('AA', '2.2', 'target-size')]).to.deep.equal([false, true]);
    expect([runs('AA', '2.1', 'color-contrast-enhanced'), runs('AAA', '2.1', 'color-contrast-enhanced')]).to.deep.equal([false, true]);
  });

  it('include the messages of the language', async () => {
    // The Dutch translation of axe-core has one rule only.
    const sources = await Promise.all((['en', 'de', 'fr', 'nl', 'pl'] as const).map((locale) => axeSource(locale)));
    expect(new Set(sources)).to.have.property('size', 5);
    expect(sources.map((source) => source.includes('Alternativtext'))).to.deep.equal([false, true, false, false, false]);
  });
});
