/** The root causes to fix so that a scan passes: the verdict without them, and which of them the places that people read name. */
import { expect } from 'chai';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import type { Impact } from '../../core/scan/impacts.ts';
import { chooseKnownIssues } from '../../core/scan/known-issues.ts';
import { type Locale, LOCALES } from '../../core/scan/locales.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import { rootCauseFingerprint } from '../../report/causes/root-causes.ts';
import { annotationsOf, commentOf } from '../../report/comment/comment.ts';
import { readBaseline } from '../../report/diff/baseline.ts';
import { fixToPassCard } from '../../report/html/result.ts';
import { capPage } from '../../report/results/cap-nodes.ts';
import type { Report } from '../../report/schema/report.ts';
import { causesToFix, fixToPass, FIXES_MAX } from '../../report/view/fix-to-pass.ts';
import { toPassSentence } from '../../report/view/verdict.ts';
import { ReportView, viewOf } from '../../report/view/view.ts';
import { reportOf as reportOfInput } from '../support/scan-results.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from './samples.ts';

const SITE = 'https://www.example.org/';
const RULES = { 'image-alt': 'critical', 'link-name': 'serious', 'button-name': 'moderate', region: 'minor' } as const;
type Rule = keyof typeof RULES;

interface Fault {
  rule: Rule;
  /** Names the component, and so the root cause of the rule. */
  name: string;
}
const faultsOf = (rule: Rule, ...names: string[]): Fault[] => names.map((name) => ({ rule, name }));
type Site = readonly (readonly Fault[])[];

interface Options {
  thresholds?: Thresholds;
  before?: Site;
  count?: 'causes';
  /** Known by their root cause. */
  accepted?: readonly Fault[];
  /** Rules that nothing fails pass, instead of applying to nothing. */
  passing?: Site;
  untested?: number;
  max?: number;
}

const nodeOf = ({ name }: Fault, at: number) => sampleNode(`<div class="${name}"></div>`, `.${name}:nth-child(${at})`);
const fingerprintOf = (fault: Fault): string => rootCauseFingerprint(fault.rule, nodeOf(fault, 0));

function reportOf(site: Site, options: Options = {}): Report {
  const { thresholds = {}, before, count, accepted = [], passing, untested = 0, max = 100 } = options;
  const pages = site.map((faults, at) => {
    const violations = (Object.keys(RULES) as Rule[]).flatMap((rule) => {
      const nodes = faults.flatMap((fault, index) => (fault.rule === rule ? [nodeOf(fault, index)] : []));
      return nodes.length === 0 ? [] : [sampleViolation(rule, RULES[rule], `help for ${rule}`, nodes)];
    });
    const page = samplePage(`${SITE}${at === 0 ? '' : at}`, 'Page', violations);
    const failed = new Set(violations.map(({ rule }) => rule));
    for (const rule of new Set(passing?.[at]?.map((fault) => fault.rule))) if (!failed.has(rule)) page.rules[RULES[rule]].passed += 1;
    return capPage(page, max);
  });
  const lost = Array.from({ length: untested }, (_, at) => sampleUntested(`${SITE}lost/${at}`, 'timeout', null));
  const baseline =
    before &&
    readBaseline(
      { scanId: 'main', optional: false, ...(count && { count }) },
      { ok: true, bytes: Buffer.from(JSON.stringify(reportOf(before))) },
    );
  const issues = accepted.map((fault, at) => ({
    ...{ id: String(at), fingerprint: fingerprintOf(fault), reason: 'later', owner: 'shop' },
    expiresAt: '2026-08-02T09:14:00Z',
  }));
  const known = chooseKnownIssues(issues, new Date('2026-03-02T09:14:00Z'));
  return reportOfInput({ ...sampleInput(thresholds), ...(issues.length > 0 && { knownIssues: known }) }, [...pages, ...lost], baseline);
}

/** The site with these root causes fixed. */
const without = (site: Site, fixed: ReadonlySet<string>): Site =>
  site.map((faults) => faults.filter((fault) => !fixed.has(fingerprintOf(fault))));

const fixed = (report: Report) => {
  const fix = fixToPass(report)!;
  return { ...fix, named: fix.causes.map(({ rule, examples, elements }) => `${rule} ${examples[0]!.selector.split(':')[0]} ${elements}`) };
};
const commented = (report: Report): string => commentOf(report, { causes: 10, maxCharacters: 60_000 });

const WORDS = ['logo', 'cart', 'sale', 'menu', 'hero', 'foot'];
const fault = fc.record({ rule: fc.constantFrom(...(Object.keys(RULES) as Rule[])), name: fc.constantFrom(...WORDS) });
const site = fc.array(fc.array(fault, { maxLength: 9 }), { minLength: 1, maxLength: 4 });
const severity = fc.constantFrom<Impact[]>('critical', 'serious', 'moderate', 'minor');
const thresholds = fc.record(
  {
    minScore: fc.integer({ min: 80, max: 99 }),
    maxViolations: fc.integer({ min: 0, max: 12 }),
    maxNewViolations: fc.integer({ min: 0, max: 4 }),
    failOnSeverity: severity,
  },
  { requiredKeys: [] },
);

describe('what to fix to pass', () => {
  it('makes the scan pass, and nothing of it is superfluous', () => {
    const cases = fc.record({
      site,
      before: site,
      thresholds,
      accepted: fc.array(fault, { maxLength: 3 }),
      count: fc.constantFrom(undefined, 'causes' as const),
      max: fc.constantFrom(1, 3, 100),
      pass: fc.boolean(),
    });
    fc.assert(
      fc.property(cases, ({ site, pass, count, ...rest }) => {
        const options = { ...rest, ...(count && { count }) };
        const report = reportOf(site, options);
        const fix = fixToPass(report);
        expect(fix === null).to.equal(report.scan.verdict.passed !== false);
        // Elements that no root cause counts cannot be fixed by root cause.
        if (fix === null || report.pages.some((page) => page.tested && page.caveats.length > 0)) return;
        expect(fix.needed).to.be.a('number');
        if (fix.needed! > FIXES_MAX) return;
        expect(fix).to.deep.include({ left: [], needed: fix.causes.length });
        const all = fix.causes.map(({ fingerprint }) => fingerprint);
        const verdict = (some: readonly string[], passing: boolean): boolean | null =>
          reportOf(without(site, new Set(some)), { ...options, ...(passing && { passing: site }) }).scan.verdict.passed;
        expect(verdict(all, pass)).to.equal(true);
        for (const one of all)
          expect(
            verdict(
              all.filter((other) => other !== one),
              false,
            ),
            one,
          ).to.equal(false);
      }),
      { numRuns: 120 },
    );
  });

  const main = [faultsOf('image-alt', 'logo', 'logo', 'hero'), faultsOf('link-name', 'cart')];

  it('is chosen by the thresholds that were missed, with a baseline too', () => {
    const severe = { failOnSeverity: 'critical', maxNewViolations: 0 } as const;
    const nothingNew = fixed(reportOf(main, { thresholds: severe, before: main }));
    expect(nothingNew.named).to.deep.equal(['image-alt .logo 2', 'image-alt .hero 1']);
    const added = [faultsOf('image-alt', 'logo', 'logo', 'logo', 'hero'), faultsOf('link-name', 'cart', 'menu')];
    const news = fixed(reportOf(added, { thresholds: { maxNewViolations: 0 }, before: main }));
    expect(news.named, 'the new elements only').to.deep.equal(['image-alt .logo 1', 'link-name .menu 1']);
    const byCauses = fixed(reportOf(added, { thresholds: { maxNewViolations: 0 }, before: main, count: 'causes' }));
    expect(byCauses.named).to.deep.equal(['link-name .menu 1']);
    expect(fixed(reportOf(added, { thresholds: { maxViolations: 3 } })).named).to.deep.equal(['image-alt .logo 3']);
    const accepted = faultsOf('image-alt', 'logo');
    expect(fixed(reportOf(main, { thresholds: severe, before: main, accepted })).named, 'no known issues').to.deep.equal([
      'image-alt .hero 1',
    ]);
  });

  it('says how far the first ones lead where few do not suffice, and what fixing cannot meet', () => {
    const letters = 'abcdefghijklmn'.split('').map((letter) => letter.repeat(3));
    const many = reportOf([faultsOf('image-alt', ...letters)], { thresholds: { failOnSeverity: 'critical' } });
    const { causes, needed, left } = fixToPass(many)!;
    expect([causes.length, needed, left.map(({ measured }) => measured)]).to.deep.equal([FIXES_MAX, 14, [{ critical: 4 }]]);
    expect(toPassSentence({ causes, needed, left }, 'en')).to.equal(
      'The scan passes when 14 root causes are fixed. Fixing these 10 root causes is not enough to pass. Still missed then: 4 critical violations, none allowed.',
    );
    const short = reportOf(main, { thresholds: { failOnSeverity: 'critical', minCoverage: 90 }, untested: 2 });
    expect(fixed(short)).to.deep.include({ needed: null, named: ['image-alt .logo 2', 'image-alt .hero 1'] });
    expect(toPassSentence(fixToPass(short)!, 'en')).to.include('Still missed then: only 50% of the pages could be tested');
    const only = reportOf(main, { thresholds: { maxNewViolations: 0 } });
    expect(causesToFix(only).causes, 'the others are still worth fixing').to.have.length(3);
    expect(toPassSentence(fixToPass(only)!, 'en')).to.include(
      'Fixing violations is not enough to pass: the scan could not be compared with a baseline',
    );
    expect(fixToPass({ ...many, partial: true })).to.equal(null);
    for (const locale of LOCALES)
      for (const report of [many, short, only]) expect(toPassSentence(fixToPass(report)!, locale)).to.not.match(/[{}]/);
  });

  it('is the same in the comment, the annotations and the view', () => {
    const report = reportOf(main, { thresholds: { failOnSeverity: 'serious' }, before: main });
    const comment = commented(report);
    expect(comment).to.include('#### What to fix to pass\n\nFix these 3 root causes and the scan passes.');
    expect(
      [...comment.matchAll(/^- .*`([a-z-]+)`/gm)].map(([, rule]) => rule),
      'all of them',
    ).to.deep.equal(['image-alt', 'image-alt', 'link-name']);
    expect(annotationsOf(report).match(/^::error title=[a-z-]+/gm)).to.have.length(3);
    const view = viewOf(report);
    expect([...Value.Errors(ReportView, view)]).to.deep.equal([]);
    const { needed, left, causes } = fixToPass(report)!;
    expect(view.to_pass).to.deep.equal({
      needed,
      left,
      causes: causes.map(({ fingerprint, rule, impact, elements, pages }) => ({ fingerprint, rule, impact, elements, pages })),
    });
    expect(viewOf(reportOf(main))).to.not.have.property('to_pass');
  });

  it('is a card with links, folded where it does not suffice, and absent if it has no words', () => {
    const cardOf = (view: ReportView, locale: Locale = 'en'): string => String(fixToPassCard(view, (cause) => `#${cause}`, locale));
    const few = viewOf(reportOf([faultsOf('image-alt', 'aaa', 'bbb', 'ccc', 'ddd', 'eee', 'fff')], { thresholds: { maxViolations: 0 } }));
    expect(cardOf(few).match(/<a href="#[0-9a-f]{16}"/g)).to.have.length(6);
    expect(cardOf(few)).to.include('<ol start="6">').and.include('Show 1 more root cause');
    expect(cardOf(few, 'de')).to.include('Beheben Sie diese 6 Ursachen').and.include('1 weitere Ursache anzeigen');
    const short = viewOf(reportOf(main, { thresholds: { failOnSeverity: 'critical', minCoverage: 90 }, untested: 2 }));
    expect(cardOf(short)).to.match(/<\/p>\s*<details>\s*<summary>2 root causes</);
    const { to_pass: _, ...earlier } = few;
    const later = { ...few, to_pass: { ...few.to_pass!, left: [{ name: 'maxFuture' }] } } as unknown as ReportView;
    expect([cardOf(earlier), cardOf(later)]).to.deep.equal(['', '']);
  });
});
