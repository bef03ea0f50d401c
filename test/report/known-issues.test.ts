/** Known issues in a report: its numbers, its verdict, and the formats made of it. */
import { expect } from 'chai';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import type { IMPACTS } from '../../core/scan/impacts.ts';
import { chooseKnownIssues, type ChosenKnownIssues, type KnownIssue } from '../../core/scan/known-issues.ts';
import { fromOutcomeStatus, toOutcomeStatus } from '../../core/scan/outcome.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import { readBaseline, type ChosenBaseline } from '../../report/diff/baseline.ts';
import { earlOf } from '../../report/formats/earl.ts';
import { junitOf } from '../../report/formats/junit.ts';
import { sarifOf } from '../../report/formats/sarif.ts';
import { decidePages, undecidedPage } from '../../report/causes/decisions.ts';
import { capPage } from '../../report/results/cap-nodes.ts';
import { countViolations, pageScore, roundScore } from '../../report/results/score.ts';
import { outcomeOf } from '../../report/results/results.ts';
import { type ReportNode, type ReportPage, type TestedPage, testedPages } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { commentOf } from '../../report/comment/comment.ts';
import { knownLine, knownMark } from '../../report/view/sentences.ts';
import { ReportView, viewOf } from '../../report/view/view.ts';
import { wordsIn } from '../../report/words/words.ts';
import { reportOf as reportOfInput } from '../support/scan-results.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from './samples.ts';

const SITE = 'https://www.example.org/';
const NOW = new Date('2026-03-02T09:14:00Z');
const inDays = (days: number): string => new Date(NOW.getTime() + days * 86_400_000).toISOString();
const REASON = { reason: 'The supplier fixes it.', owner: 'shop team' };
const issue = (target: Partial<KnownIssue>, days = 90): KnownIssue => ({
  id: `issue-${JSON.stringify(target)}`,
  ...target,
  ...REASON,
  expiresAt: inDays(days),
});

interface Options {
  thresholds?: Thresholds;
  known?: ChosenKnownIssues;
  baseline?: ChosenBaseline;
}
const reportOf = (pages: ReportPage[], { thresholds = {}, known, baseline }: Options = {}): Report =>
  reportOfInput({ ...sampleInput(thresholds), ...(known && { knownIssues: known }) }, pages, baseline);
const chosen = (issues: KnownIssue[], now = NOW): ChosenKnownIssues => chooseKnownIssues(issues, now);

interface Fault {
  rule: string;
  impact: (typeof IMPACTS)[number];
  node: ReportNode;
}
const pageOf = (path: string, faults: readonly Fault[]): TestedPage =>
  samplePage(
    `${SITE}${path}`,
    path,
    [...new Set(faults.map(({ rule }) => rule))].map((rule) => {
      const own = faults.filter((fault) => fault.rule === rule);
      return sampleViolation(
        rule,
        own[0]!.impact,
        `help for ${rule}`,
        own.map(({ node }) => node),
      );
    }),
  );
/** With the score that a scanner gives it. */
const scored = (page: TestedPage): TestedPage => ({
  ...page,
  score: roundScore(pageScore(page.rules), countViolations(page.violations).total),
});
const image = (name: string): Fault => ({
  rule: 'image-alt',
  impact: 'critical',
  node: sampleNode(`<img class="${name}" src="/${name}.png">`, `#${name}`),
});
const link = (name: string): Fault => ({
  rule: 'link-name',
  impact: 'serious',
  node: sampleNode(`<a href="/${name}" class="${name}-link"></a>`, `a.${name}`),
});
const fingerprintOf = (report: Report, selector: string): string =>
  report.groups.find(({ example }) => example.selector === selector)!.fingerprint;

/** The rules and numbers that the comment on a pull request names. */
const commented = (report: Report) => {
  const text = commentOf(report, { causes: 20, maxCharacters: 60_000 });
  return { heading: /^#### (.*)$/m.exec(text)?.[1], rules: [...text.matchAll(/^- .*`([a-z-]+)`/gm)].map(([, rule]) => rule), text };
};

describe('a report with known issues', () => {
  const pages = [pageOf('', [image('logo'), link('cart')]), pageOf('shop', [image('logo'), image('sale')])];
  const plain = reportOf(pages);
  const logo = issue({ fingerprint: fingerprintOf(plain, '#logo') });
  const cart = issue({ rule: 'link-name', selector: 'a.cart' }, 30);
  const stale = issue({ fingerprint: '0123456789abcdef' });

  it('states both numbers, marks root causes, and lists what matched nothing and what ends', () => {
    const report = reportOf(pages, { known: chosen([logo, cart, stale]) });
    expect([...Value.Errors(Report, report)]).to.deep.equal([]);
    expect(report.score).to.deep.equal(plain.score);
    expect(report.counts).to.deep.equal(plain.counts);
    expect(report.known_issues).to.deep.include({ matched: 2, unmatched: 1, ending: 1, left_out: 0 });
    expect(commented(report)).to.deep.include({ heading: 'Violations: 1', rules: ['image-alt'] });
    expect(report.known_issues!.violations_new_or_open).to.deep.equal({ total: 1, critical: 1, serious: 0, moderate: 0, minor: 0 });
    expect(report.known_issues!.score_without_known).to.be.greaterThan(plain.score.value).and.lessThan(100);
    const { expiresAt, ...rest } = logo;
    expect(report.known_issues!.issues.map(({ elements, ending }) => [elements, ending])).to.deep.equal([
      [2, false],
      [1, true],
      [0, false],
    ]);
    expect(report.known_issues!.issues[0]).to.deep.equal({ ...rest, expires_at: expiresAt, elements: 2, ending: false });
    const marks = Object.fromEntries(
      report.groups.map(({ example, known }) => [example.selector, known?.map(({ id, elements }) => [id, elements])]),
    );
    expect(marks).to.deep.equal({ '#logo': [[logo.id, 2]], 'a.cart': [[cart.id, 1]], '#sale': undefined });
    expect(outcomeOf(report).known).to.deep.equal({
      score: report.known_issues!.score_without_known,
      violations: report.known_issues!.violations_new_or_open,
      matched: 2,
      unmatched: 1,
      ending: 1,
    });
    const words = wordsIn('en', 'report');
    expect(knownLine(report, words)).to.include('3 violations are known issues.').and.include('1 known issue matched nothing.');
    expect(knownLine(plain, words)).to.equal('');
    expect(knownMark(report.groups[0]!.known![0]!, words)).to.include('shop team').and.include('The supplier fixes it.');
    const outcome = outcomeOf(report);
    expect(fromOutcomeStatus(toOutcomeStatus(outcome))).to.deep.equal(outcome);
  });

  it('judges the thresholds without them, and says both numbers', () => {
    const thresholds = { minScore: 99, maxViolations: 0, failOnSeverity: 'serious' } as const;
    const one = reportOf(pages, { thresholds, known: chosen([logo, cart]) });
    const score = one.known_issues!.score_without_known;
    expect(one.scan.verdict).to.deep.equal({
      passed: false,
      message:
        `The score without known issues is ${score} (${plain.score.value} with them), below the minimum of 99. ` +
        'There are 1 violations without known issues (4 with them), more than the 0 allowed. ' +
        'There are violations of severity serious or worse that are not known issues, of which none is allowed: 1 critical.',
    });
    const sale = issue({ rule: 'image-alt', selector: '#sale' });
    expect(reportOf(pages, { thresholds, known: chosen([logo, cart, sale]) }).scan.verdict).to.deep.equal({ passed: true, message: null });
  });

  it('matches a rule and selector exactly, in frames and shadow roots too, and no other rule', () => {
    const inside = image('inside');
    const node = { ...inside.node, frame_path: ['iframe'], shadow_path: ['x-card'] };
    const framed = [pageOf('', [{ ...inside, node }])];
    const open = (target: Partial<KnownIssue>): number =>
      reportOf(framed, { known: chosen([issue(target)]) }).known_issues!.violations_new_or_open.total;
    expect(open({ rule: 'image-alt', selector: 'iframe >>> x-card >>> #inside' })).to.equal(0);
    expect(open({ rule: 'image-alt', selector: '#inside' })).to.equal(1);
    expect(open({ rule: 'link-name', selector: 'iframe >>> x-card >>> #inside' })).to.equal(1);
  });

  it('knows elements that the report only counts by their root cause', () => {
    const many = [
      pageOf(
        '',
        Array.from({ length: 30 }, () => image('logo')),
      ),
    ];
    const capped = many.map((page) => capPage(page, 2));
    const known = chosen([issue({ fingerprint: fingerprintOf(reportOf(many), '#logo') })]);
    expect(reportOf(capped, { known }).known_issues).to.deep.include({ score_without_known: 100, matched: 1 });
    expect(reportOf(capped, { known }).groups[0]!.known_elements).to.equal(30);
    const bySelector = reportOf(capped, { known: chosen([issue({ rule: 'image-alt', selector: '#logo' })]) });
    expect(bySelector.known_issues!.violations_new_or_open.total, 'it is unknown where the others are').to.equal(28);
  });

  it('does not count known issues as new', () => {
    const before = reportOf([pageOf('', [image('logo')])]);
    const baseline = readBaseline({ scanId: 'main', optional: false }, { ok: true, bytes: Buffer.from(JSON.stringify(before)) });
    const thresholds = { maxNewViolations: 0 };
    const now = [pageOf('', [image('logo'), link('cart'), link('help')])];
    const one = reportOf(now, { thresholds, baseline, known: chosen([cart]) });
    expect([...Value.Errors(Report, one)]).to.deep.equal([]);
    expect(one.baseline).to.deep.include({ new: 2, new_known: 1, unchanged: 1, fixed: 0 });
    expect(one.scan.verdict.message).to.equal('There is 1 violation not in the baseline main and not known, more than the 0 allowed.');
    const help = issue({ rule: 'link-name', selector: 'a.help' });
    expect(commented(one)).to.deep.include({ heading: 'What to fix to pass', rules: ['link-name'] });
    const all = reportOf(now, { thresholds, baseline, known: chosen([cart, help]) });
    expect(commented(all)).to.deep.include({ heading: undefined, rules: [] });
    expect(commented(all).text).to.include('No new violations.');
    expect(all.scan.verdict).to.deep.equal({ passed: true, message: null });
    expect(outcomeOf(all).baseline!.difference).to.deep.include({ new: 2, newKnown: 2 });
    const oldOne = issue({ rule: 'image-alt', selector: '#logo' });
    expect(reportOf(now, { thresholds, baseline, known: chosen([oldOne]) }).baseline).to.deep.include({ new: 2, new_known: 0 });
  });

  it('is the same as before if there are none, or only ones that have ended', () => {
    expect(reportOf(pages, { known: chosen([]) })).to.deep.equal(plain);
    expect(reportOf(pages, { known: chosen([{ ...logo, expiresAt: NOW.toISOString() }]) })).to.deep.equal(plain);
  });

  it('leaves out what there is no room for, and says how many', () => {
    const long = Array.from({ length: 500 }, (_, at) => ({
      ...issue({ rule: 'r', selector: `#${at}${'x'.repeat(990)}` }),
      id: String(at),
    }));
    const known = chosen(long);
    expect(known.issues.length).to.be.within(100, 499);
    expect(known.issues.length + known.leftOut).to.equal(500);
    expect(Buffer.byteLength(JSON.stringify(known))).to.be.lessThan(300_000);
    expect(chosen(Array.from({ length: 501 }, (_, at) => issue({ fingerprint: at.toString(16).padStart(16, '0') }))).leftOut).to.equal(1);
    expect(reportOf(pages, { known }).known_issues!.left_out).to.equal(known.leftOut);
  });

  it('marks them in the view and in each format', () => {
    const report = reportOf(pages, { known: chosen([logo, cart]) });
    const view = viewOf(report);
    expect([...Value.Errors(ReportView, view)]).to.deep.equal([]);
    expect(view.groups.map(({ known_elements: elements }) => elements)).to.have.members([2, 1, undefined]);

    const results = sarifOf(report).runs[0]!.results!;
    const justification = `The supplier fixes it. (owner: shop team, until ${logo.expiresAt})`;
    const suppressed = results.map(({ suppressions }) => suppressions);
    expect(suppressed.filter((list) => list!.length === 0)).to.have.length(1);
    expect(suppressed).to.deep.include([{ kind: 'external', status: 'accepted', justification }]);
    expect(sarifOf(plain).runs[0]!.results!.some((result) => 'suppressions' in result)).to.equal(false);

    const junit = junitOf(report);
    expect(junit).to.match(/<testcase name="link-name"[^>]*>\s*<skipped>Known issue: help for link-name/);
    expect(junit.match(/<failure /g), 'a rule that fails on other elements too').to.have.length(1);
    expect(junit).to.include(`Known issue: The supplier fixes it. (owner: shop team, until ${cart.expiresAt})`);
    expect(JSON.stringify(earlOf(report)).match(/Known issue: The supplier/g)).to.have.length(3);
    expect(JSON.stringify(earlOf(plain))).not.to.include('Known issue');
  });

  it('meets every threshold if all root causes are accepted, and fails again after their end', () => {
    const faults = fc.array(
      fc.record({
        rule: fc.constantFrom('image-alt', 'link-name', 'button-name', 'color-contrast'),
        tag: fc.constantFrom('img', 'a', 'button', 'p'),
        name: fc.integer({ min: 0, max: 8 }),
      }),
      { maxLength: 12 },
    );
    const thresholds = { minScore: 100, maxViolations: 0, failOnSeverity: 'minor', maxNewViolations: 0 } as const;
    const impacts = { 'image-alt': 'critical', 'link-name': 'serious', 'button-name': 'moderate', 'color-contrast': 'minor' } as const;
    const empty = reportOf([pageOf('', [])]);
    const baseline = readBaseline({ scanId: 'main', optional: false }, { ok: true, bytes: Buffer.from(JSON.stringify(empty)) });
    fc.assert(
      fc.property(fc.array(faults, { minLength: 1, maxLength: 4 }), fc.boolean(), fc.integer({ min: 1, max: 5 }), (site, byPlace, cap) => {
        const found = site.map((own, at) =>
          capPage(
            pageOf(
              at === 0 ? '' : `page-${at}`,
              own.map(({ rule, tag, name }, index) => ({
                rule,
                impact: impacts[rule],
                node: sampleNode(`<${tag} class="c${name}">`, `${tag}:nth-child(${index})`),
              })),
            ),
            byPlace ? 100 : cap,
          ),
        );
        const { groups } = reportOf(found);
        const places = found.flatMap(({ violations }) =>
          violations.flatMap(({ rule, nodes }) => nodes.map(({ selector }) => ({ rule, selector }))),
        );
        // A root cause beyond the cap has no fingerprint to accept.
        fc.pre(found.every(({ caveats }) => caveats.length === 0));
        const issues = byPlace ? places.map((place) => issue(place)) : groups.map(({ fingerprint }) => issue({ fingerprint }));
        const options = { thresholds, baseline };
        expect(reportOf(found, { ...options, known: chosen(issues) }).scan.verdict).to.deep.equal({ passed: true, message: null });
        const later = chosen(issues, new Date(inDays(90)));
        expect(reportOf(found, { ...options, known: later }).scan.verdict.passed).to.equal(groups.length === 0);
        const others = reportOf(found, { ...options, known: chosen(issues.slice(1).filter(({ id }) => id !== issues[0]!.id)) });
        expect(others.scan.verdict.passed).to.equal(groups.length === 0);
      }),
      { numRuns: 60 },
    );
  });

  describe('with decisions about elements that need review', () => {
    const NEEDS_REVIEW = 'link-in-text-block';
    const undecided = (names: readonly string[], passed = false) => ({
      ...sampleViolation(
        NEEDS_REVIEW,
        'serious',
        'help',
        names.map((name) => sampleNode(`<a class="${name}">more</a>`, `a.${name}`)),
      ),
      ...(passed && { passed: true as const }),
    });
    const found = (path: string, ...review: ReturnType<typeof undecided>[]): TestedPage => ({
      ...pageOf(path, [image('logo')]),
      needs_review: review,
    });
    const reviewed = [found('', undecided(['soft', 'bold', 'other'], true)), found('shop', undecided(['soft']))];
    const before = reportOf(reviewed);
    const causeOf = (selector: string): string => before.review_groups.find(({ example }) => example.selector === selector)!.fingerprint;
    const fault = issue({ kind: 'fault', fingerprint: causeOf('a.soft') });
    const fine = issue({ kind: 'fine', rule: NEEDS_REVIEW, selector: 'a.bold' });
    const missing = issue({ kind: 'fine', fingerprint: '0123456789abcdef' });
    const all = chosen([fault, fine, missing, logo]);

    it('counts a confirmed fault as a violation, and leaves out what is fine', () => {
      const report = reportOf(reviewed, { known: all });
      expect([...Value.Errors(Report, report)]).to.deep.equal([]);
      expect(report.counts).to.deep.include({ total: 4, critical: 2, serious: 2 });
      expect(report.score.needs_review).to.equal(1);
      expect(report.score.value).to.be.lessThan(before.score.value);
      expect(report.known_issues).to.deep.include({ score_without_decisions: before.score.value, matched: 3, unmatched: 1 });
      expect(report.known_issues!.issues.map(({ elements }) => elements)).to.deep.equal([2, 1, 0, 2]);
      expect(viewOf(report).decided).to.deep.equal({ faults: 2, fine: 1 });
      expect(report.known_issues!.violations_new_or_open.total, 'a fault is not accepted').to.equal(2);
      const [, cause] = report.groups;
      expect(cause).to.deep.include({ fingerprint: fault.fingerprint, elements: 2, impact: 'serious' });
      expect(cause!.known!.map(({ kind, elements }) => [kind, elements])).to.deep.equal([['fault', 2]]);
      const [first] = testedPages(report.pages);
      expect(first!.rules.serious, 'other elements passed').to.deep.equal({ passed: 5, failed: 1 });
      expect(testedPages(report.pages)[1]!.rules.serious).to.deep.equal({ passed: 6, failed: 1 });
      expect(first!.reviewed!.flatMap(({ nodes }) => nodes.map(({ selector }) => selector))).to.deep.equal(['a.bold']);
      expect(outcomeOf(report).known).to.deep.include({ scoreWithoutDecisions: before.score.value });
      expect(fromOutcomeStatus(toOutcomeStatus(outcomeOf(report)))).to.deep.equal(outcomeOf(report));
      expect(knownLine(report, wordsIn('en', 'report'))).to.include('faults 2, fine 1.');
    });

    it('can be undone, whatever is decided and however the pages are capped', () => {
      const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 });
      const answers = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('fine', 'fault'));
      fc.assert(
        fc.property(names, names, answers, fc.boolean(), fc.integer({ min: 1, max: 6 }), (own, others, decided, byPlace, cap) => {
          const rules = [NEEDS_REVIEW, 'label', 'image-alt'].map((rule, at) => ({ ...undecided(at === 1 ? others : own), rule }));
          const pages = [capPage(found('', ...rules), cap)].map(scored);
          const causes = reportOf(pages).review_groups;
          const decisions = causes.flatMap(({ fingerprint, rule, example: { selector } }) => {
            const kind = decided[selector.slice(2)];
            return kind === undefined ? [] : [issue({ kind, ...(byPlace ? { rule, selector } : { fingerprint }) })];
          });
          const applied = testedPages(decidePages(pages, decisions));
          expect(decidePages(applied.map(undecidedPage), decisions)).to.deep.equal(applied);
          const total = ({ violations, needs_review, reviewed: fineOnes = [] }: TestedPage): number =>
            [...violations, ...needs_review, ...fineOnes].reduce((sum, { nodes_total }) => sum + nodes_total, 0);
          expect(applied.map(total)).to.deep.equal(pages.map(total));
          expect(applied.map(undecidedPage).map(({ rules: tally, score }) => [tally, score])).to.deep.equal(
            pages.map(({ rules: tally, score }) => [tally, score]),
          );
        }),
        { numRuns: 60 },
      );
    });

    it('is neither new nor fixed where only the decision differs, and says so', () => {
      const stored = (report: Report) =>
        readBaseline({ scanId: 'main', optional: false }, { ok: true, bytes: Buffer.from(JSON.stringify(report)) });
      const decided = reportOf(reviewed, { thresholds: { maxNewViolations: 0 }, known: chosen([fault]), baseline: stored(before) });
      expect(decided.baseline).to.deep.include({ new: 0, fixed: 0, unchanged: 2 });
      expect(decided.baseline!.caveats.map(({ reason }) => reason)).to.include('decisions');
      expect(decided.scan.verdict.passed).to.equal(true);
      expect(reportOf(reviewed, { baseline: stored(decided) }).baseline).to.deep.include({ new: 0, fixed: 0, unchanged: 2 });
      const check = { ...stored(reportOf([reviewed[1]!])), check: {} };
      expect(reportOf([reviewed[1]!], { known: chosen([fault]), baseline: check }).baseline!.checked).to.include({ new: 0 });
      const more = [...reviewed, found('help', undecided(['soft']))];
      expect(reportOf(more, { known: chosen([fault]), baseline: stored(decided) }).baseline).to.deep.include({ new: 0, on_new_pages: 2 });
      expect(reportOf([pages[0]!], { known: chosen([fault]), baseline: stored(decided) }).baseline).to.deep.include({ fixed: 1 });
    });
  });
});
