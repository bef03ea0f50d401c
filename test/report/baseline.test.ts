/** The comparison with a baseline in a report, its verdict, and the formats made of it. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import type { StateKind } from '../../core/scan/states.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import type { ChosenBaseline } from '../../report/diff/baseline.ts';
import { diffReports } from '../../report/diff/diff.ts';
import { readBaseline } from '../../report/diff/baseline.ts';
import { sarifOf } from '../../report/formats/sarif.ts';
import { buildReport } from '../../report/results/build.ts';
import { outcomeOf } from '../../report/results/results.ts';
import type { ReportNode, ReportPage, TestedPage } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { viewOf } from '../../report/view/view.ts';
import { baselineLine } from '../../report/view/sentences.ts';
import { wordsIn } from '../../report/words/words.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from './samples.ts';

const SITE = 'https://www.example.org/';
const MAIN = '11111111-2222-4333-8444-555555555555';
const tools = { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156' };

interface Options {
  thresholds?: Thresholds;
  baseline?: ChosenBaseline;
  axe?: string;
  max?: number;
  states?: StateKind[];
}

function reportOf(
  pages: ReportPage[],
  { thresholds = { maxNewViolations: 0 }, baseline, axe = tools.axe_core, states }: Options = {},
): Report {
  const times = { startedAt: new Date('2026-03-02T09:14:05Z'), finishedAt: new Date('2026-03-02T09:15:42Z') };
  const input = sampleInput(thresholds);
  return buildReport({
    input: { ...input, options: { ...input.options, ...(states && { states }) } },
    pages,
    tools: { ...tools, axe_core: axe },
    ...times,
    ...(baseline && { baseline }),
  });
}

/** The baseline that a stored report is. */
const stored = (report: Report, optional = false): ChosenBaseline =>
  readBaseline({ scanId: MAIN, optional }, { ok: true, bytes: Buffer.from(JSON.stringify(report)) });

const RULES = ['image-alt', 'link-name', 'button-name', 'color-contrast'] as const;
type Rule = (typeof RULES)[number];
interface Fault {
  rule: Rule;
  node: ReportNode;
}
const pageOf = (path: string, faults: readonly Fault[]): ReportPage =>
  samplePage(
    `${SITE}${path}`,
    path,
    RULES.flatMap((rule) => {
      const nodes = faults.filter((fault) => fault.rule === rule).map(({ node }) => node);
      return nodes.length === 0 ? [] : [sampleViolation(rule, 'serious', `help for ${rule}`, nodes)];
    }),
  );
const fault = (rule: Rule, html: string, selector: string): Fault => ({ rule, node: sampleNode(html, selector) });
const image = (name: string) => fault('image-alt', `<img class="${name}" src="/${name}.png">`, `#${name}`);
const link = (name: string) => fault('link-name', `<a href="/${name}" class="${name}-link"></a>`, `a.${name}`);

describe('a report with a baseline', () => {
  const main = reportOf([pageOf('', [image('logo'), link('cart')]), pageOf('shop', [image('logo'), image('sale')])]);

  it('has what is new, fixed and unchanged, and judges what is new', () => {
    const branch = reportOf([pageOf('', [image('logo'), link('cart'), link('help')]), pageOf('shop', [image('logo')])], {
      baseline: stored(main),
    });
    expect([...Value.Errors(Report, branch)]).to.deep.equal([]);
    expect(branch.baseline).to.deep.include({
      scan_id: MAIN,
      problem: null,
      optional: false,
      new: 1,
      on_new_pages: 0,
      fixed: 1,
      unchanged: 3,
      not_tested: 0,
    });
    expect(branch.baseline!.new_causes.map(({ rule, examples }) => [rule, examples[0]!.selector])).to.deep.equal([['link-name', 'a.help']]);
    expect(branch.baseline!.fixed_causes.map(({ examples }) => examples[0]!.selector)).to.deep.equal(['#sale']);
    expect(branch.scan.verdict).to.deep.equal({
      passed: false,
      message: `There is 1 violation not in the baseline ${MAIN}, more than the 0 allowed.`,
    });
    expect(branch.groups.map(({ example, new_elements: added }) => [example.selector, added])).to.have.deep.members([
      ['#logo', 0],
      ['a.cart', 0],
      ['a.help', 1],
    ]);
    expect(baselineLine(branch, wordsIn('en', 'report'))).to.match(/1 new.*1 fixed.*3 unchanged/);
    expect(baselineLine(main, wordsIn('en', 'report'))).to.equal('');
    expect(outcomeOf(branch).baseline).to.deep.equal({
      scanId: MAIN,
      optional: false,
      difference: { new: 1, onNewPages: 0, fixed: 1, unchanged: 3, notTested: 0 },
    });
  });

  it('does not count known root causes on new pages as new, nor violations of untested pages as fixed', () => {
    const branch = reportOf([pageOf('', [image('logo'), link('cart')]), pageOf('about', [image('logo')])], { baseline: stored(main) });
    expect(branch.baseline).to.deep.include({ new: 0, on_new_pages: 1, fixed: 0, unchanged: 2, not_tested: 2 });
    expect(branch.scan.verdict.passed).to.equal(true);
    expect(
      branch.groups.map(({ new_elements: added }) => added),
      'as the number of new ones',
    ).to.deep.equal([0, 0]);
    const unknown = reportOf([pageOf('', [image('logo'), link('cart')]), pageOf('about', [image('map')])], { baseline: stored(main) });
    expect(unknown.baseline).to.deep.include({ new: 1, on_new_pages: 0 });
  });

  it('does not count what is in a state that the baseline did not count, until both did', () => {
    const inState = ({ rule, node }: Fault): Fault => ({ rule, node: { ...node, state: { kind: 'dark', label: 'Dark', steps: [] } } });
    const tested = (page: ReportPage, result: 'tested' | 'skipped'): ReportPage =>
      ({ ...page, states: [{ kind: 'dark', result }] }) as ReportPage;
    const states = ['dark' as const];
    const [logo, dim] = [pageOf('', [image('logo')]), pageOf('', [image('logo'), inState(image('sale'))])];
    const news = pageOf('news', [inState(image('map'))]);
    const counted = reportOf([tested(dim, 'tested')], { states });
    const difference = (before: Report, pages: ReportPage[]) => reportOf(pages, { states, baseline: stored(before) }).baseline;
    for (const before of [reportOf([logo]), reportOf([tested(logo, 'tested')]), reportOf([tested(logo, 'skipped')], { states })])
      expect(difference(before, [tested(dim, 'tested'), tested(news, 'tested')])).to.deep.include({
        new: 0,
        on_new_states: 2,
        unchanged: 1,
      });
    expect(difference(counted, [tested(dim, 'tested')]))
      .to.deep.include({ new: 0, unchanged: 2 })
      .and.not.have.property('on_new_states');
    expect(difference(counted, [tested(logo, 'tested')])).to.deep.include({ fixed: 1, not_tested: 0 });
    expect(difference(counted, [tested(logo, 'skipped')])).to.deep.include({ fixed: 0, not_tested: 1 });
    expect(difference(counted, [tested(dim, 'tested'), tested(news, 'tested')])).to.deep.include({ new: 1 });
  });

  it('counts what is added to a known root cause, unless it counts root causes', () => {
    const news = (...names: string[]) => names.map((name) => fault('image-alt', '<img class="news">', `#${name}`));
    const before = stored(reportOf([pageOf('', news('a', 'b', 'c'))]));
    const added = [pageOf('', news('b', 'c', 'd', 'e')), pageOf('about', news('f'))];
    const counted = (count: ChosenBaseline['count'], pages = added) =>
      reportOf(pages, { baseline: { ...before, ...(count && { count }) } });
    expect(counted(undefined).baseline).to.deep.include({ new: 1, on_new_pages: 1, fixed: 0, unchanged: 3 });
    const byCauses = counted('causes');
    expect([...Value.Errors(Report, byCauses)]).to.deep.equal([]);
    expect(byCauses.baseline).to.deep.include({ count: 'causes', new: 0, on_new_pages: 1, fixed: 0, unchanged: 4 });
    expect(byCauses.groups.map(({ new_elements: amount }) => amount)).to.deep.equal([0]);
    expect([counted(undefined).scan.verdict.passed, byCauses.scan.verdict.passed]).to.deep.equal([false, true]);
    expect(outcomeOf(byCauses).baseline).to.include({ count: 'causes' });
    const again = (report: Report) => diffReports(reportOf([pageOf('', news('a', 'b', 'c'))]), report).unchanged;
    expect([again(counted(undefined)), again(byCauses)], 'also later').to.deep.equal([3, 4]);
    const another = counted('causes', [pageOf('', [...news('a', 'b', 'c'), link('help')])]);
    expect(another.baseline).to.deep.include({ new: 1, unchanged: 3 });
    expect(another.scan.verdict.passed).to.equal(false);
  });

  it('has nothing new after another build by real tools', async () => {
    const builds = JSON.parse(await readFile(new URL('builds/builds.json', import.meta.url), 'utf8')) as Record<
      string,
      Record<string, string>[]
    >;
    const ruleOf = (part: string): Rule => (part === 'photo' ? 'image-alt' : part === 'teaser' ? 'color-contrast' : 'button-name');
    const pagesOf = (at: number) =>
      Object.entries(builds).map(([tool, build]) =>
        pageOf(
          encodeURIComponent(tool),
          Object.entries(build[at]!).map(([part, html], index) => fault(ruleOf(part), html, `main > :nth-child(${index + 1 + 3 * at})`)),
        ),
      );
    const [before, after] = [pagesOf(0), pagesOf(1)];
    const { baseline } = reportOf(after, { baseline: stored(reportOf(before)) });
    expect(baseline).to.deep.include({ new: 0, fixed: 0, unchanged: 5 * Object.keys(builds).length });
  });

  it('does not judge violations that another version of the checks may have found', () => {
    const axe = '4.15.0';
    const same = reportOf([pageOf('', [image('logo')])], { baseline: stored(main), axe });
    expect([same.baseline!.problem, same.scan.verdict.passed]).to.deep.equal([null, true]);
    const more = [pageOf('', [image('logo'), link('help')])];
    const differing = reportOf(more, { baseline: stored(main), axe });
    expect(differing.baseline).to.deep.include({ problem: 'scans_differ', new: 1 });
    expect(differing.baseline!.caveats.map(({ reason }) => reason)).to.include('axe_core');
    expect(differing.scan.verdict.passed).to.equal(false);
    expect(reportOf(more, { baseline: stored(main, true), axe }).scan.verdict.passed, 'there is a scan to compare with').to.equal(false);
    expect(reportOf(more, { baseline: stored(main), axe, thresholds: { maxNewViolations: 1 } }).scan.verdict.passed).to.equal(true);
  });

  it('says why there is nothing to compare with', () => {
    const read = (bytes: Parameters<typeof readBaseline>[1]) => readBaseline({ scanId: MAIN, optional: false }, bytes);
    const problemOf = (baseline: ChosenBaseline) => reportOf([pageOf('', [])], { baseline }).baseline!.problem;
    expect(problemOf(readBaseline({ optional: false, problem: 'not_found' }, null))).to.equal('not_found');
    expect(problemOf(read({ ok: false, reason: 'missing' }))).to.equal('not_stored');
    expect(problemOf(read({ ok: false, reason: 'too_large' }))).to.equal('not_comparable');
    expect(problemOf(read({ ok: true, bytes: Buffer.from('{"pages": 1}') }))).to.equal('not_comparable');
  });

  it('marks new root causes in views, where they come first, and in SARIF', () => {
    const branch = reportOf([pageOf('', [image('logo'), link('help')])], { baseline: stored(main) });
    expect(viewOf(branch).groups.map(({ rule, new_elements: added }) => [rule, added])).to.deep.equal([
      ['link-name', 1],
      ['image-alt', 0],
    ]);
    const states = sarifOf(branch).runs[0]!.results!.map(({ ruleId, baselineState }) => [ruleId, baselineState]);
    expect(states).to.deep.equal([
      ['image-alt', 'unchanged'],
      ['link-name', 'new'],
    ]);
    expect(sarifOf(main).runs[0]!.results!.every(({ baselineState }) => baselineState === undefined)).to.equal(true);
  });
});

describe('a check of one page', () => {
  const shop = [image('logo'), image('sale'), link('cart')];
  const main = reportOf([pageOf('', [image('logo')]), pageOf('shop', shop)]);
  const causeOf = (selector: string) => main.groups.find(({ example }) => example.selector === selector)!.fingerprint;
  const checked = (page: ReportPage, cause?: string, { axe, from = main }: { axe?: string; from?: Report } = {}) => {
    const baseline = { ...stored(from), check: cause === undefined ? {} : { cause } };
    const report = reportOf([page], { baseline, thresholds: {}, ...(axe !== undefined && { axe }) });
    expect([...Value.Errors(Report, report)]).to.deep.equal([]);
    expect(outcomeOf(report).baseline!.checked).to.deep.equal(report.baseline!.checked);
    return report.baseline!.checked;
  };
  const cause = causeOf('#sale');

  it('says whether a root cause is fixed, whatever else is on the page', () => {
    expect(checked(pageOf('shop', [image('logo'), link('cart')]), cause)).to.deep.equal({ answer: 'fixed', before: 1, left: 0, new: 0 });
    expect(checked(pageOf('shop', shop), cause)).to.deep.equal({ answer: 'still_there', before: 1, left: 1, new: 0 });
    const moved = { ...image('sale'), node: sampleNode('<img class="sale" src="/other.png" id="x">', '#x') };
    expect(checked(pageOf('shop', [image('logo'), link('cart'), moved]), cause)).to.include({ answer: 'still_there' });
    expect(checked(pageOf('shop', [link('help')]), cause)).to.deep.equal({ answer: 'fixed', before: 1, left: 0, new: 1 });
  });

  it('says whether the violations of a page are fixed, without those of other pages', () => {
    expect(checked(pageOf('shop', [image('logo')]))).to.deep.equal({ answer: 'still_there', before: 3, left: 1, new: 0 });
    const home = (faults: Fault[]) => checked(pageOf('', faults));
    expect(home([])).to.deep.equal({ answer: 'fixed', before: 1, left: 0, new: 0 });
    expect(home([link('help')])).to.deep.equal({ answer: 'new', before: 1, left: 0, new: 1 });
  });

  it('never calls fixed what it cannot tell', () => {
    const gone = pageOf('shop', [image('logo'), link('cart')]) as TestedPage;
    const unknown = (page: ReportPage, options?: Parameters<typeof checked>[2], of = cause) => {
      const { answer, reason } = checked(page, of, options)!;
      return [answer, reason];
    };
    expect(unknown(pageOf('other', []))).to.deep.equal(['unknown', 'other_page']);
    expect(unknown({ ...gone, final_url: `${SITE}login` })).to.deep.equal(['unknown', 'other_page']);
    expect(unknown(gone, {}, 'ffffffffffffffff')).to.deep.equal(['unknown', 'not_on_page']);
    expect(unknown(gone, { axe: '4.15.0' })).to.deep.equal(['unknown', 'other_rules']);
    expect(unknown(pageOf('shop', [image('logo')]), {}, causeOf('a.cart')), 'no result of link-name').to.deep.equal([
      'unknown',
      'rule_not_run',
    ]);
    const undecided = [sampleViolation('image-alt', 'serious', 'help', [sampleNode('<img>', '#x')])];
    expect(unknown({ ...gone, needs_review: undecided })).to.deep.equal(['unknown', 'needs_review']);
    const { node } = image('sale');
    const confirmed = reportOf([pageOf('shop', [{ ...image('sale'), node: { ...node, confirmed: true } }])]);
    const fine = { ...gone, reviewed: [sampleViolation('image-alt', 'serious', 'help', [node])] };
    expect(unknown(fine, { from: confirmed })).to.deep.equal(['unknown', 'decided_fine']);
    const caveats = [{ kind: 'script_failed' as const, message: 'A script failed.' }];
    expect(unknown({ ...gone, caveats })).to.deep.equal(['unknown', 'partly_tested']);
    const from = reportOf([{ ...(pageOf('shop', shop) as TestedPage), caveats }]);
    expect(unknown({ ...gone, caveats }, { from }), 'as before').to.deep.equal(['fixed', undefined]);
    const inDark = (page: ReportPage, result: 'tested' | 'nothing' | 'skipped') =>
      reportOf([{ ...(page as TestedPage), states: [{ kind: 'dark', result }] }], {
        states: ['dark'],
        baseline: { ...stored(dark), check: { cause } },
      }).baseline!.checked;
    const dark: Report = reportOf([{ ...(pageOf('shop', shop) as TestedPage), states: [{ kind: 'dark', result: 'tested' }] }], {
      states: ['dark'],
    });
    expect(inDark(gone, 'skipped'), 'the dark state was not tested').to.include({ answer: 'unknown', reason: 'partly_tested' });
    expect(inDark(gone, 'nothing')).to.include({ answer: 'fixed' });
    const dim: Fault = { ...image('map'), node: { ...image('map').node, state: { kind: 'dark', label: 'Dark', steps: [] } } };
    const states = [{ kind: 'dark' as const, result: 'tested' as const }];
    const more = { ...(pageOf('shop', [image('logo'), link('cart'), dim]) as TestedPage), states };
    const now = reportOf([more], { states: ['dark'], baseline: { ...stored(main), check: { cause } } });
    expect(now.baseline!.checked, 'the earlier scan did not test the dark state').to.include({ answer: 'fixed', new: 0 });
    const nothing = reportOf([gone], { thresholds: {}, baseline: { optional: false, problem: 'not_found', check: {} } });
    expect(nothing.baseline!.checked).to.include({ answer: 'unknown', reason: 'no_report' });
  });
});
