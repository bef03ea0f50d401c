/** CSV as spreadsheets read it: the csv module of Python, which follows their dialect, reads the files back. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { causesCsv, csvField, elementsCsv, pagesCsv } from '../../report/formats/csv.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { findingsOf, testedPages } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { WORDS } from '../../report/words/words.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { smallReport } from './samples.ts';

const PROGRAM = 'import csv,io,json,sys;t=sys.stdin.buffer.read().decode("utf-8-sig");print(json.dumps(list(csv.reader(io.StringIO(t,newline=""),delimiter=sys.argv[1],strict=True))))'; // prettier-ignore

async function rowsOf(text: string, separator = ','): Promise<Record<string, string>[]> {
  const reading = promisify(execFile)('python3', ['-c', PROGRAM, separator], { maxBuffer: 100_000_000 });
  reading.child.stdin!.end(text);
  const [headings, ...rows] = JSON.parse((await reading).stdout) as string[][];
  for (const row of rows) expect(row).to.have.length(headings!.length);
  return rows.map((row) => Object.fromEntries(row.map((value, at) => [headings![at]!, value])));
}

describe('CSV', () => {
  for (const [value, field] of [
    ['grant:a', 'grant:a'],
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\t=1', `"'\t=1"`],
    ['\r=1', `"'\r=1"`],
    ['\uFF1D1', `"'\uFF1D1"`],
    ['a "b", c', '"a ""b"", c"'],
    ['a;b', '"a;b"'],
    [-5, '-5'],
    [true, 'yes'],
    [undefined, ''],
  ] as const)
    it(`writes ${JSON.stringify(value)} so that no spreadsheet runs it`, () => expect(csvField(value)).to.equal(field));

  it('writes decimals as the spreadsheets do that expect the separator', () => {
    expect([',', ';'].map((separator) => csvField(4.5, separator))).to.deep.equal(['4.5', '"4,5"']);
  });

  it('has a line for each element, and their numbers add up, also of those that are only counted', async () => {
    const report = smallReport();
    const [violation] = testedPages(report.pages)[0]!.violations;
    const known = '0123456789abcdef';
    violation!.nodes_beyond = [{ fingerprint: known, elements: 40 }];
    violation!.nodes_total = violation!.nodes.length + 40 + 5;
    const rows = await rowsOf(elementsCsv(report));
    const all = testedPages(report.pages).flatMap(findingsOf);
    const total = all.reduce((sum, { nodes_total: elements }) => sum + elements, 0);
    expect(rows.reduce((sum, row) => sum + Number(row['Elements']), 0)).to.equal(total);
    expect(rows.filter((row) => row['Element'] !== '')).to.have.length(all.flatMap(({ nodes }) => nodes).length);
    const first = testedPages(report.pages)[0]!;
    const [node] = violation!.nodes;
    expect(rows[0]).to.deep.include({
      Page: first.url,
      Kind: 'violation',
      Severity: violation!.impact,
      Rule: violation!.rule,
      'WCAG criteria': `SC ${violation!.wcag.join(' SC ')}`,
      HTML: node!.html,
      'Known issue': 'no',
      Elements: '1',
    });
    expect(rows.find((row) => row['Root cause'] === `cause-${known}`)).to.include({ Element: '', Elements: '40' });
  });

  it('has a line for each root cause, and for each page, tested or not', async () => {
    const report = smallReport();
    const causes = await rowsOf(causesCsv(report));
    const { groups, review_groups, advice_groups } = report;
    expect(causes.map((row) => row['Root cause'])).to.deep.equal(
      [...groups, ...review_groups, ...advice_groups].map(({ fingerprint }) => `cause-${fingerprint}`),
    );
    const pages = await rowsOf(pagesCsv(report));
    expect(pages.map((row) => row['Page'])).to.deep.equal(report.pages.map(({ url }) => url));
    expect(new Set(pages.map((row) => row['Tested']))).to.deep.equal(new Set(['yes', 'no']));
    for (const [at, row] of pages.entries()) {
      const page = report.pages[at]!;
      expect(row).to.include(page.tested ? { Score: String(page.score) } : { Reason: page.reason, Score: '' });
    }
  });

  it('is read back as it was, in each language with its separator, whatever the texts of the site', async () => {
    for (const locale of LOCALES) {
      const report = hostile(smallReport());
      report.scan.options.locale = locale;
      const separator = locale === 'en' ? ',' : ';';
      const text = elementsCsv(report);
      expect(text.startsWith(`\uFEFF${WORDS[locale].report.csv.page}${separator}`), locale).to.equal(true);
      if (locale !== 'en' && locale !== 'de') continue;
      const rows = await rowsOf(text, separator);
      const read = rows.map((row) => row[WORDS[locale].report.csv.html]!.replace(/^'(?=[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])/, ''));
      expect(read.slice(0, HOSTILE_TEXTS.length)).to.deep.equal(HOSTILE_TEXTS.map((one) => one.toWellFormed()));
      for (const cell of rows.flatMap((row) => Object.values(row))) expect(cell).to.match(/^(?![=+@\t\r\n]|-\D)/);
    }
  });
});

/** The report, with each hostile text as the HTML and the selector of an element. */
function hostile(report: Report): Report {
  const [violation] = testedPages(report.pages)[0]!.violations;
  violation!.nodes = HOSTILE_TEXTS.map((text) => ({ ...violation!.nodes[0]!, html: text, selector: text }));
  violation!.nodes_total = violation!.nodes.length;
  return report;
}
