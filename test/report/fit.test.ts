import { expect } from 'chai';
import { isParseable } from '../../report/schema/export-size.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { exportOf, fitReport } from '../../report/results/build.ts';
import { reportOf } from '../support/scan-results.ts';
import { cleanReport, hostileReport, sampleInput, sampleNode, samplePage, sampleViolation, smallReport } from './samples.ts';

describe('a report that must fit', () => {
  const pages = Array.from({ length: 10 }, (_, page) =>
    samplePage(`https://x.example/${page}`, 'x', [
      sampleViolation(
        'image-alt',
        'critical',
        'Images',
        Array.from({ length: 200 }, (_, at) => sampleNode(`<img src="${at}.png">`, `#n${at}`)),
      ),
    ]),
  );
  const build = (kept: ReportPage[]): Report => reportOf(sampleInput(), kept);
  const described = ({ pages: kept }: Report): number[] =>
    kept.map((page) => (page.tested ? page.violations.reduce((sum, { nodes }) => sum + nodes.length, 0) : 0));

  it('is whole if there is room', () => {
    const fitted = fitReport(build, { pages, pictures: new Map() }, 10_000_000)!;
    expect(fitted.report).to.deep.equal(build(pages));
    expect(JSON.parse(new TextDecoder().decode(fitted.text))).to.deep.equal(JSON.parse(JSON.stringify(fitted.report)));
  });

  it('describes fewer elements if not, with the same totals', () => {
    const whole = build(pages);
    const most = JSON.stringify(whole).length;
    for (const share of [0.6, 0.2, 0.1]) {
      const { report, text } = fitReport(build, { pages, pictures: new Map() }, most * share)!;
      expect(text.byteLength).to.be.at.most(most * share);
      expect(isParseable(text)).to.equal(true);
      expect(report.counts).to.deep.equal(whole.counts);
      expect(report.score).to.deep.equal(whole.score);
      expect(Math.max(...described(report))).to.be.lessThan(200);
      expect(Math.min(...described(report))).to.be.greaterThan(0);
    }
  });

  it('is the same JSON as that of the whole report', () => {
    for (const report of [build(pages), smallReport(), hostileReport(), cleanReport()])
      expect(new TextDecoder().decode(exportOf(report))).to.equal(JSON.stringify(report));
  });

  it('is none if one element of each rule is too much', () => {
    expect(fitReport(build, { pages, pictures: new Map() }, 1000)).to.equal(null);
  });
});
