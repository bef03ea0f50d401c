/** Code Quality by the table of GitLab's documentation ("Code Quality report format"): every field is required. */
import { expect } from 'chai';
import { codeQualityOf, type CodeQualityIssue } from '../../report/formats/codequality.ts';
import { formatReport } from '../../report/formats/formats.ts';
import type { Report, TestedPage } from '../../report/schema/schema.ts';
import { cleanReport, hostileReport, largeReport, smallReport } from './samples.ts';

describe('Code Quality', () => {
  for (const [name, report] of Object.entries({
    small: smallReport(),
    clean: cleanReport(),
    hostile: hostileReport(),
    large: largeReport(20, 20, true),
  }))
    it(`of a ${name} report is as GitLab reads it`, () => {
      const text = formatReport('codequality', report);
      expect(text.startsWith('\ufeff')).to.equal(false);
      const issues = JSON.parse(text) as CodeQualityIssue[];
      const described = report.pages.flatMap((page) => (page.tested ? page.violations.flatMap(({ nodes }) => nodes) : []));
      expect(issues).to.have.length(described.length);
      for (const { description, check_name: check, fingerprint, severity, location } of issues) {
        for (const part of [description, check]) expect(part).to.be.a('string').and.not.equal('');
        expect(fingerprint).to.match(/^[0-9a-f]{64}$/);
        expect(severity).to.be.oneOf(['info', 'minor', 'major', 'critical', 'blocker']);
        expect(location.path).to.match(/^(?!\.?\/)\S+$/);
        expect(location.lines).to.deep.equal({ begin: 1 });
      }
      expect(new Set(issues.map(({ fingerprint }) => fingerprint)).size).to.equal(issues.length);
    });

  it('has the same fingerprints on another host, and after an element moved', () => {
    const moved = JSON.parse(
      JSON.stringify(smallReport()).replaceAll('https://www.example.org/', 'https://pr-12.preview.example/'),
    ) as Report;
    for (const page of moved.pages)
      if (page.tested) for (const { nodes } of page.violations) for (const node of nodes) node.selector = 'div > x';
    const of = (report: Report): string[] => codeQualityOf(report).map(({ fingerprint }) => fingerprint);
    expect(of(moved)).to.deep.equal(of(smallReport()));
    (moved.pages[0] as TestedPage).violations[0]!.nodes[0]!.html = '<img src="new.png" class="new">';
    const known = new Set(of(smallReport()));
    expect(of(moved).filter((fingerprint) => !known.has(fingerprint))).to.have.length(1);
  });

  it('has the impact of each violation as a severity of its own', () => {
    const [page] = smallReport().pages as TestedPage[];
    const report = smallReport();
    const violation = page!.violations[0]!;
    report.pages = (['critical', 'serious', 'moderate', 'minor'] as const).map((impact) => ({
      ...page!,
      violations: [{ ...violation, impact, nodes: violation.nodes.slice(0, 1) }],
    }));
    expect(codeQualityOf(report).map(({ severity }) => severity)).to.deep.equal(['critical', 'major', 'minor', 'info']);
  });
});
