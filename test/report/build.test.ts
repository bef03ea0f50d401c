import { expect } from 'chai';
import { Value } from 'typebox/value';
import type { ReportPage } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { buildReport } from '../../report/results/build.ts';
import {
  cleanReport,
  hostileReport,
  largeReport,
  sampleInput,
  sampleNode,
  samplePage,
  sampleUntested,
  sampleViolation,
  smallReport,
} from './samples.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { commentOf } from '../../report/comment/comment.ts';
import { earlOf } from '../../report/formats/earl.ts';
import { junitOf } from '../../report/formats/junit.ts';
import { sarifOf } from '../../report/formats/sarif.ts';
import { partialSentence } from '../../report/view/sentences.ts';
import { thresholdRows, verdictTexts } from '../../report/view/verdict.ts';
import { viewOf } from '../../report/view/view.ts';
import { wordsIn } from '../../report/words/words.ts';

const tools = { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156' };
const [startedAt, finishedAt] = [new Date('2026-03-02T09:14:05Z'), new Date('2026-03-02T09:15:42Z')];
const build = (pages: ReportPage[], thresholds = {}) =>
  buildReport({ input: sampleInput(thresholds), pages, tools, startedAt, finishedAt });

describe('JSON export', () => {
  for (const [name, make] of Object.entries({
    small: smallReport,
    clean: cleanReport,
    hostile: hostileReport,
    large: () => largeReport(20, 5, true),
  }))
    it(`of a ${name} scan matches its schema, before and after serialisation`, () => {
      const report = make();
      expect([...Value.Errors(Report, report)].slice(0, 3)).to.deep.equal([]);
      expect(Value.Check(Report, JSON.parse(JSON.stringify(report)))).to.equal(true);
    });

  const image = sampleViolation('image-alt', 'critical', 'Images', [
    sampleNode('<img class="a">', 'a'),
    sampleNode('<img class="b">', 'b'),
  ]);
  const nav = sampleViolation('landmark-unique', 'minor', 'Landmarks', [sampleNode('<nav></nav>', 'nav')]);

  it('counts each failing element of each rule on each page once, and needs-review separately', () => {
    const report = build([
      samplePage('https://x.example/1', '1', [image, nav]),
      samplePage('https://x.example/2', '2', [image], [nav, image]),
    ]);
    expect(report.counts).to.deep.equal({ total: 5, critical: 4, serious: 0, moderate: 0, minor: 1 });
    expect(report.score.needs_review).to.equal(3);
    expect(report.groups.map(({ rule, pages, elements }) => [rule, pages, elements])).to.deep.equal([
      ['image-alt', 2, 2],
      ['image-alt', 2, 2],
      ['landmark-unique', 1, 1],
    ]);
  });

  it('says in its message when the scan may have missed the site, and passes as before', () => {
    const pages = [samplePage('https://x.example/', 'Home', [])];
    const discovery = { links: 3, files: 0, hash_links: 0, other_hosts: [], other_hosts_left: 0, sitemaps_cut: 0 };
    const { scan } = buildReport({ input: sampleInput({ minScore: 1 }), pages, tools, startedAt, finishedAt, discovery });
    expect(scan.verdict).to.deep.equal({ passed: true, message: 'Found: only one page was tested although 3 links were found.' });
    const without = buildReport({ input: sampleInput({ minScore: 1 }), pages, tools, startedAt, finishedAt });
    expect(without.scan.verdict).to.deep.equal({ passed: true, message: null });
  });

  it('of a canceled scan is partial, and never passes, whatever its pages are', () => {
    const pages = [samplePage('https://x.example/1', '1', [])];
    const partial = (thresholds = {}) =>
      buildReport({ input: sampleInput(thresholds), pages, partial: true, tools, startedAt, finishedAt, addressesLeft: 4 });
    const report = partial({ minScore: 1 });
    expect([...Value.Errors(Report, report)]).to.deep.equal([]);
    expect(report.partial).to.equal(true);
    expect(report.score).to.deep.include({ value: 100, pages_tested: 1, pages_attempted: 1 });
    expect(report.scan.verdict).to.deep.equal({ passed: false, message: partialSentence('en') });
    expect(partial().scan.verdict.passed).to.equal(null);
    expect(build(pages, { minScore: 1 })).not.to.have.property('partial');
    for (const locale of LOCALES) {
      const said = verdictTexts(report, wordsIn(locale, 'report'), []);
      expect([said.word, said.detail]).to.deep.equal([wordsIn(locale, 'report').texts.partialReport, partialSentence(locale)]);
    }
    expect(new Set(LOCALES.map(partialSentence)).size).to.equal(LOCALES.length);
    expect(viewOf(report).partial).to.equal(true);
    expect(commentOf(report, { causes: 5, maxCharacters: 60_000 }))
      .to.include('Accessibility report: Partial report')
      .and.include(partialSentence('en'));
  });

  it('says that it is partial in SARIF, JUnit and EARL', () => {
    const report = { ...smallReport(), partial: true as const };
    const [run] = sarifOf(report).runs;
    const note = run!.invocations![0]!.toolExecutionNotifications!.find(({ descriptor }) => descriptor?.id === 'partial_report');
    expect(note).to.deep.include({ level: 'warning', message: { text: partialSentence('en') } });
    const gate = { ...report, scan: { ...report.scan, thresholds: { ...report.scan.thresholds, min_score: 0, max_violations: null } } };
    const isMet = /classname="thresholds"\s*\/>/;
    expect(junitOf({ ...gate, partial: undefined })).to.match(isMet);
    expect(junitOf(gate), 'no threshold is met').not.to.match(isMet);
    expect(thresholdRows(gate, wordsIn('en', 'report'))).to.deep.equal([]);
    for (const made of [junitOf(report), JSON.stringify(earlOf(report))]) expect(made).to.include(partialSentence('en'));
  });

  it('contains the verdict with each missed threshold, and null for thresholds that are not set', () => {
    const report = build([samplePage('https://x.example/1', '1', [image])], { maxViolations: 1 });
    expect(report.scan.verdict).to.deep.equal({ passed: false, message: 'There are 2 violations, more than the 1 allowed.' });
    expect(report.scan.thresholds).to.deep.equal({
      min_score: null,
      max_violations: 1,
      max_new_violations: null,
      fail_on_severity: null,
      min_coverage: null,
    });
    expect(build([samplePage('https://x.example/1', '1', [image])]).scan.verdict).to.deep.equal({ passed: null, message: null });
  });

  it('cannot be built without a tested page', () => {
    expect(() => build([sampleUntested('https://x.example/', 'http_error', 500)])).to.throw(RangeError);
  });
});
