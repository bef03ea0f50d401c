/** The report as one HTML file: what it contains for hostile and for large reports. test/web/html-report.test.ts opens it in a browser. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { parseDocument } from 'htmlparser2';
import { LOCALES } from '../../core/scan/locales.ts';
import { htmlReport } from '../../report/html/report.ts';
import { PICTURE_MAX_BYTES, type Report } from '../../report/schema/report.ts';
import { WORDS } from '../../report/words/words.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { reportWith } from '../web/large-report.ts';
import { cleanReport, smallReport } from './samples.ts';

interface Element {
  name: string;
  attribs: Record<string, string>;
  children: (Element & { data?: string })[];
}

function elementsOf(file: string): Element[] {
  const all: Element[] = [];
  const walk = (children: Element[]): void => {
    for (const child of children)
      if (child.attribs) {
        all.push(child);
        walk(child.children);
      }
  };
  walk(parseDocument(file).children as unknown as Element[]);
  return all;
}

/** The bytes of a JPEG file with nothing but a frame header, of any length. */
function jpegOf(bytes: number): Buffer {
  const file = Buffer.alloc(bytes);
  file.set([0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 200, 1, 224]);
  file.set([0xff, 0xd9], bytes - 2);
  return file;
}

/** A picture of the largest size for each root cause and each page. */
function withPictures(report: Report): { report: Report; pictures: Buffer } {
  const files = [...report.groups, ...report.pages].map(() => jpegOf(PICTURE_MAX_BYTES));
  const place = (at: number) => ({ offset: at * PICTURE_MAX_BYTES, bytes: PICTURE_MAX_BYTES, width: 480, height: 200 });
  report.pictures = report.groups.map(({ fingerprint, page_urls: [url] }, at) => ({ fingerprint, ...place(at), page_url: url! }));
  report.page_pictures = report.pages.slice(0, 20).map(({ url }, at) => ({ ...place(report.groups.length + at), page_url: url }));
  return { report, pictures: Buffer.concat(files) };
}

/** A report in which every text that the site or the scanner wrote is one of the hostile texts. */
function hostileReport(): Report {
  const report = reportWith(4, 30, 'https://example.com/');
  let at = 0;
  const own = new Set(['rule', 'impact', 'fingerprint', 'reason', 'landmark', 'wcag', 'id', 'level', 'kind', 'locale', 'engine']);
  const change = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return own.has(key) ? value : HOSTILE_TEXTS[(at += 1) % HOSTILE_TEXTS.length];
    if (Array.isArray(value)) return key === 'wcag' ? value : value.map((one) => change(one, key));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one, name)]));
  };
  for (const list of ['pages', 'groups', 'review_groups', 'advice_groups', 'discovery', 'tools'] as const)
    Object.assign(report, { [list]: change(report[list]) });
  report.scan.url = 'javascript:pwned()';
  return report;
}

describe('the report in one HTML file', () => {
  it('has no text of the site but as text, and links to http and https only', () => {
    const elements = elementsOf(htmlReport(hostileReport(), null));
    const names = new Set(elements.map(({ name }) => name));
    expect([...names].filter((name) => ['iframe', 'img', 'form', 'base', 'object', 'math', 'textarea'].includes(name))).to.deep.equal([
      'form',
    ]);
    expect(elements.filter(({ name }) => name === 'script' || name === 'style')).to.have.length(2);
    expect(elements.filter(({ name }) => name === 'form')).to.have.length(1);
    for (const { name, attribs } of elements) {
      for (const attribute of Object.keys(attribs)) expect(attribute).to.match(/^(?!on|style$|srcdoc$|formaction$)/);
      if (attribs['href'] !== undefined) expect(attribs['href'], name).to.match(/^(#|https?:\/\/|data:image\/jpeg;base64,)/);
      if (attribs['src'] !== undefined) expect(attribs['src']).to.match(/^data:image\/jpeg;base64,/);
    }
  });

  it('allows exactly its own script and style, and pictures that it contains', () => {
    const elements = elementsOf(htmlReport(smallReport(), null));
    const { content } = elements.find(({ attribs }) => attribs['http-equiv'] === 'Content-Security-Policy')!.attribs;
    const hash = (name: string): string => {
      const text = elements.find((element) => element.name === name)!.children[0]!.data!;
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    expect(content).to.equal(
      `default-src 'none'; img-src data:; font-src data:; style-src ${hash('style')}; script-src ${hash('script')}; base-uri 'none'; form-action 'none'`,
    );
  });

  for (const [pages, causes] of [
    [100, 2_000],
    [1_000, 6_000],
  ] as const)
    it(`is smaller than 5 MB for ${pages} pages with ${causes} causes, and says what it leaves out`, () => {
      const { report, pictures } = withPictures(reportWith(pages, causes, 'https://example.com/', { minScore: 90 }));
      const file = htmlReport(report, pictures);
      expect(Buffer.byteLength(file)).to.be.below(5_000_000);
      const embedded = file.split('data:image/jpeg;base64,').length - 1;
      const all = report.pictures.length + report.page_pictures!.length;
      expect(embedded).to.be.within(30, all - 1);
      expect(file).to.include(`Pictures that are left out, so that the file stays small: ${(all - embedded).toLocaleString('en')}.`);
      expect(file).to.match(/[1-9][\d,]* more root causes are not shown here/);
      expect(file).to.match(/Pages whose findings are not listed one by one, so that the file stays small: [1-9]/);
      // The order is fixed, so what is left out is too.
      expect(htmlReport(report, pictures)).to.equal(file);
    });

  it('lists documents apart from pages, the first 20 with the pages that link them', () => {
    const report = smallReport();
    const document = { url: 'https://www.example.org/a.pdf', type: 'pdf', linked_from: ['https://www.example.org/team'] };
    Object.assign(report.discovery, { documents: Array(30).fill(document), documents_total: 50 });
    const file = htmlReport(report, null);
    expect(file.split('href="https://www.example.org/a.pdf"')).to.have.length(21);
    expect(file).to.include('Documents (50)').and.include('30 more entries').and.include('which no rule tests: 50.');
  });

  it('shows no picture whose bytes are not those of a JPEG file', () => {
    const { report, pictures } = withPictures(reportWith(2, 4, 'https://example.com/'));
    pictures.fill(0x41);
    expect(htmlReport(report, pictures)).to.not.include('data:image');
  });

  for (const locale of LOCALES)
    it(`is in the language of the scan: ${locale}`, () => {
      const report = smallReport();
      report.scan.options.locale = locale;
      const file = htmlReport(report, null);
      const words = WORDS[locale];
      expect(file)
        .to.include(`<html lang="${locale}">`)
        .and.include(words.report.rootCauses)
        .and.include(words.findings.scoreExplained)
        .and.include(words.report.byCriterion.heading);
      if (locale !== 'en') expect(file).to.not.include('How to fix it').and.not.include('Each number leads');
    });

  it('leads only to what it contains, also where root causes are left out', () => {
    const elements = elementsOf(htmlReport(reportWith(100, 2_000, 'https://example.com/', { failOnSeverity: 'critical' }), null));
    const ids = new Set(elements.map(({ attribs }) => attribs['id']));
    const links = elements.flatMap(({ attribs: { href } }) => (href?.startsWith('#') ? [href.slice(1)] : []));
    expect(links.filter((id) => id.startsWith('cause-'))).to.not.be.empty;
    expect(links.filter((id) => !ids.has(id))).to.deep.equal([]);
  });

  it('calls nothing good that was tested in part, and says how much was', () => {
    const report = smallReport({ minScore: 50 });
    Object.assign(report.scan.options, { pages_reserved: 16, pages_requested: 40 });
    expect(report.scan.verdict.passed).to.equal(true);
    const file = htmlReport(report, null);
    expect(file)
      .to.include('Coverage 85.7%: 12 of 14 pages could be tested.')
      .and.include('class="notice notice-warn" id="outcome"')
      .and.include('covered only 16 of the 40 requested pages');
    expect(htmlReport(cleanReport(), null)).to.include('class="notice notice-good" id="outcome"');
  });

  it('has each picture once, also of a cause that needs review on another page', () => {
    const { report, pictures } = withPictures(reportWith(2, 4, 'https://example.com/'));
    report.review_groups = report.groups;
    report.page_pictures = [];
    const file = htmlReport(report, pictures);
    expect(file.split('data:image/jpeg;base64,')).to.have.length(1 + report.pictures.length);
    expect(file).to.not.include('so that the file stays small');
  });

  it('stays below 5 MB with long titles, much to review, and pages on which no finding is displayed', () => {
    const { report, pictures } = withPictures(reportWith(500, 3_000, 'https://example.com/', { minScore: 90 }));
    const [first] = report.groups;
    report.review_groups = Array.from({ length: 100 }, (_, at) => ({ ...first!, fingerprint: `review${at}`, help: '検査'.repeat(100) }));
    report.advice_groups = report.review_groups;
    for (const page of report.pages)
      if (page.tested) {
        page.title = '検査'.repeat(100);
        for (const { nodes } of page.violations) for (const node of nodes) [node.box, node.html] = [null, '検査'.repeat(400)];
      }
    expect(Buffer.byteLength(htmlReport(report, pictures))).to.be.below(5_000_000);
  });

  it('says that a clean site has no violations', () => {
    const file = htmlReport(cleanReport(), null);
    expect(file).to.include('No violations found').and.not.include('id="filters"');
    expect(htmlReport({ ...cleanReport(), partial: true }, null), 'of a canceled scan').to.not.include('notice-good"');
  });
});
