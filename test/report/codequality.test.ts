/** Code Quality by the table of GitLab's documentation ("Code Quality report format"): every field is required. */
import { expect } from 'chai';
import { codeQualityOf, type CodeQualityIssue } from '../../report/formats/codequality.ts';
import { formatReport } from '../../report/formats/formats.ts';
import { elementPath, type TestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
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

  it('has the same fingerprints after the scan fell back to http', () => {
    const of = (report: Report): string[] => codeQualityOf(report).map(({ fingerprint }) => fingerprint);
    const plain = smallReport();
    for (const page of plain.pages) page.url = page.url.replace('https:', 'http:');
    expect(of(plain)).to.deep.equal(of(smallReport()));
  });

  it('leaves known issues out, and keeps the fingerprints of the others', () => {
    const report = smallReport();
    const [{ rule, nodes }] = (report.pages[0] as TestedPage).violations as [TestedPage['violations'][number]];
    const selector = elementPath(nodes[0]!);
    const dates = { expires_at: '2026-06-30T00:00:00Z', ending: false };
    const issue = { id: 'ki_1', rule, selector, reason: 'A new shop comes.', owner: 'Team Web', elements: 1, ...dates };
    const numbers = { score_without_known: 95, violations_new_or_open: report.counts, matched: 1, unmatched: 0, ending: 0, left_out: 0 };
    const all = codeQualityOf(report);
    const left = codeQualityOf({ ...report, known_issues: { ...numbers, issues: [issue] } });
    const isKnown = ({ check_name, description }: CodeQualityIssue): boolean =>
      check_name === rule && description.endsWith(`: ${selector}`);
    expect(left).to.deep.equal(all.filter((one) => !isKnown(one)));
    expect(left.length).to.be.greaterThan(0).and.lessThan(all.length);
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
