import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { consentSentence } from '../../report/view/sentences.ts';
import { explainScore, scoreFactsOf } from '../../report/view/verdict.ts';
import { reviewText } from '../../report/rule-texts/rule-texts.ts';
import type { Report } from '../../report/schema/report.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { CAUSES_IN_FULL, CAUSES_IN_TABLE } from '../../report/pdf/causes.ts';
import { wordsIn } from '../../report/words/words.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { allOf, readPdf, type Dict, type Name, type PdfFile, type Tagged } from './pdf-reader.ts';
import { SAMPLE_JPEG, addPictures, cleanReport, hostileReport, largeReport, smallReport } from './samples.ts';

const rendered = async (
  report: Report,
  pictures?: ReadonlyMap<string, Uint8Array>,
): Promise<{ bytes: Uint8Array; file: PdfFile; elements: Tagged[] }> => {
  const bytes = await renderPdf(report, { pictures });
  const file = readPdf(bytes);
  return { bytes, file, elements: allOf(file.tree) };
};
const of = (elements: readonly Tagged[], ...types: string[]): Tagged[] => elements.filter(({ type }) => types.includes(type));

const cellsOf = (elements: readonly Tagged[]): string[][] => of(elements, 'TR').map(({ children }) => children.map(({ text }) => text));

describe('PDF report', () => {
  let report: Report;
  let small: Awaited<ReturnType<typeof rendered>>;
  let hostile: Awaited<ReturnType<typeof rendered>>;
  before(async () => {
    report = smallReport();
    small = await rendered(report, addPictures(report));
    hostile = await rendered(hostileReport());
  });
  const textsOf = (elements: readonly Tagged[], ...types: string[]): string[] => of(elements, ...types).map(({ text }) => text);

  it('is the same file for the same report, also of a hostile site', async () => {
    expect(Buffer.from(await renderPdf(report, { pictures: addPictures(report) })).equals(small.bytes)).to.equal(true);
    expect(Buffer.from(await renderPdf(hostileReport())).equals(hostile.bytes)).to.equal(true);
  });

  it('is tagged: text, headings without a gap, figures and links with descriptions, even tables', async () => {
    for (const { file, elements } of [small, hostile]) {
      expect([file.untagged, file.undefinedGlyphs]).to.deep.equal(['', 0]);
      expect(file.metadata).to.match(/<pdfuaid:part>1<\/pdfuaid:part>/);
      const levels = of(elements, 'H1', 'H2', 'H3').map(({ type }) => Number(type.slice(1)));
      expect(levels.filter((level) => level === 1)).to.have.length(1);
      levels.forEach((level, index) => expect(level - (levels[index - 1] ?? 0)).to.be.at.most(1));
      for (const { dict } of of(elements, 'Figure')) expect(dict['Alt']).to.be.a('string').and.not.equal('');
      for (const { annotations } of of(elements, 'Link'))
        for (const annotation of annotations) expect(annotation['Contents']).to.be.a('string').and.not.equal('');
      for (const { children } of of(elements, 'Table')) expect(new Set(children.map((row) => row.children.length)).size).to.equal(1);
    }
  });

  for (const locale of SOME_LOCALES)
    it(`has a first page that is an overview in ${locale}, and the words of the language`, async () => {
      const consent = { action: 'reject', outcome: 'answered', product: 'Onetrust', url: 'https://www.example.org/' } as const;
      const { file, elements } = await rendered({ ...smallReport(undefined, locale), consent });
      const { texts } = wordsIn(locale, 'report');
      const pageOf = (text: string): unknown => {
        const { dict, children } = elements.find((element) => element.text === text)!;
        return file.dict(dict['Pg'] ?? children[0]?.dict['Pg']);
      };
      const answered = consentSentence(consent, locale).replaceAll('\u00a0', ' ');
      for (const text of [texts.title, texts.notPassed, texts.fixToPass, texts.severityHeading, texts.thresholdsHeading, answered])
        expect(pageOf(text), text).to.equal(file.pages[0]);
      expect(pageOf(textsOf(elements, 'H3')[0]!)).not.to.equal(file.pages[0]);
      const explained = explainScore(scoreFactsOf(smallReport()), locale);
      expect(textsOf(elements, 'P')).to.include.members([
        texts.aboutAutomated,
        texts.aboutScore,
        texts.adviceIntro,
        `${explained.score} ${explained.surprise}`,
      ]);
      const headings = textsOf(elements, 'H2');
      expect(headings.indexOf(texts.advice)).to.equal(headings.indexOf(texts.needsReview) + 1);
      expect(file.undefinedGlyphs).to.equal(0);
    });

  it('shows verdict, score, coverage, severities and thresholds on the first page', () => {
    const { elements } = small;
    expect(textsOf(elements, 'H2')[0]).to.equal('Did not pass');
    expect(of(elements, 'Figure')[1]!.dict['Alt']).to.equal(`Gauge: score ${report.score.value} of 100; the minimum is 90.`);
    expect(of(elements, 'LBody').map(({ children }) => children.map(({ text }) => text))).to.deep.include(['12 of 14', 'Pages tested']);
    const rows = cellsOf(elements);
    expect(rows).to.deep.include(['Critical', '7', '2']);
    expect(rows).to.deep.include(['Violations', 'at most 10', '22', 'Missed']);
    expect(rows).to.deep.include(['Score', 'at least 90', '90.4', 'Met']);
  });

  it('shows the metadata on the first page, with a short commit', async () => {
    const named = smallReport();
    named.scan.metadata = { commit: '0123456789abcdef0123456789abcdef01234567', branch: 'feature/a', team: 'ü 日本' };
    const { elements } = await rendered(named);
    const [line] = of(elements, 'P').filter(({ text }) => text.includes('branch'));
    expect(line!.text.replace(/\s+/g, ' ')).to.equal('commit: 01234567 · branch: feature/a · team: ü 日本');
  });

  it('shows each root cause with example, advice and pages, worst first', async () => {
    const { elements } = small;
    const titles = of(elements, 'H3').map(({ text }) => text);
    expect(titles.slice(0, 4)).to.deep.equal(report.groups.map(({ help }, index) => `${index + 1}. ${help}`));
    const shown = [...report.groups, ...report.review_groups].map(({ example }) => example.html);
    expect(of(elements, 'Code').map(({ text }) => text)).to.deep.equal(shown);
    expect(textsOf(elements, 'LBody')).to.include('/about');
  });

  it('names the area, the standards and the colours of each root cause', async () => {
    const { elements } = small;
    const said = textsOf(elements, 'P');
    expect(said).to.include('Serious · color-contrast · 12 elements on 12 pages · Area of the page: main content');
    expect(said).to.include(
      'Standards: WCAG 1.4.3 Contrast (Minimum) (AA) · EN 301 549 9.1.4.3 · RGAA 4 3.2.1 · Trusted Tester 5 13.C · ACT afw4f7, 09o5cg',
    );
    expect(said).to.include('Contrast 2.84:1, required 4.5:1 · text #999999 · background #ffffff · 14 px');
    expect(said).to.include('Why it matters');
  });

  it('names the first related elements of a root cause, and how many more there are', async () => {
    const related = smallReport();
    const { example } = related.groups[0]!;
    const names = [example.selector, '#menu', '#banner', '#third', '#fourth'];
    example.related = names.map((selector) => ({ selector, html: '<div>' }));
    const { elements } = await rendered(related);
    const said = textsOf(elements, 'P');
    expect(said).to.include.members(['Related element: #menu', 'Related element: #banner', 'and 2 more in the JSON export']);
    expect(said.join(' ')).to.not.include('#third');
  });

  it('shows the picture of each root cause with an alternative text', async () => {
    const { elements, file } = small;
    const figures = of(elements, 'Figure').slice(2);
    expect(figures.map(({ dict }) => dict['Alt'])).to.deep.equal(
      report.groups.map(({ page_urls: [url] }) => `Screenshot of the element, outlined, on the page ${url}.`),
    );
    for (const { dict } of figures) expect((file.dict(dict['A'])['BBox'] as number[]).length).to.equal(4);
    const images = [...file.objects.values()].filter(
      (value) => ((value as Dict | null)?.['Subtype'] as Name | undefined)?.name === 'Image',
    );
    expect(images).to.have.length.at.least(1);
  });

  it('leaves out what is not a JPEG', async () => {
    const [first, second] = [...addPictures(report).keys()];
    const broken = new Map([
      [first!, Buffer.from('<svg/>')],
      [second!, SAMPLE_JPEG.slice(0, 40)],
    ]);
    expect(of((await rendered(report, broken)).elements, 'Figure')).to.have.length(2);
  });

  it('marks English advice and messages in a document of another language', async () => {
    const { elements } = await rendered(smallReport(undefined, 'nl'));
    for (const [type, wanted] of [
      ['LBody', 'Element has no title attribute'],
      ['Span', 'The page could not be tested.'],
    ] as const) {
      const found = of(elements, type).filter(({ text }) => text === wanted);
      expect(found).to.have.length.at.least(1);
      for (const { dict } of found) expect(dict['Lang']).to.equal('en');
    }
    expect(textsOf(elements, 'H3')[0]).to.equal('1. Afbeeldingen moeten een alternatieve tekst hebben');
  });

  it('lists untested pages with reason and message, those that were tried first', async () => {
    const rows = cellsOf(small.elements);
    const untested = rows.filter(([, , reason]) => reason?.endsWith('The page could not be tested.'));
    expect(untested).to.deep.equal([
      ['/members', '200', 'Shows a sign-in pageThe page could not be tested.'],
      ['/oldLinked from /, /news', '404', 'Returned an errorThe page could not be tested.'],
      ['/private', '–', 'Excluded by the rules of the scanThe page could not be tested.'],
    ]);
  });

  it('lists pages that are the same as another, untested frames, caveats and addresses that are left', async () => {
    const { elements } = small;
    const rows = cellsOf(elements);
    expect(rows).to.deep.include(['/print/about', '/aboutThe main content is the same.']);
    expect(rows).to.deep.include([
      '/',
      'https://maps.example/embed#map › iframe',
      'The frame did not respond in time.The frame did not answer within 5 s.',
    ]);
    expect(rows).to.deep.include([
      '/',
      'The page kept changing until the time was up. It was tested in the state that it had then.The page still changed after 10 s.',
    ]);
    const said = textsOf(elements, 'P');
    expect(said).to.include(
      'Coverage 85.7% · 3 pages not tested · 1 frame not tested · 1 page possibly incomplete · 40 more addresses found',
    );
    expect(said.find((text) => text.startsWith('40 more addresses found.'))).to.include('Allow more pages');
  });

  it('leads with what to fix to pass, or else with the causes whose fix removes the most violations', async () => {
    const firstOf = (elements: readonly Tagged[]) =>
      of(elements, 'Table')[0]!.children.map(({ children }) => children.map(({ text }) => text));
    expect(textsOf(small.elements, 'P')).to.include('Fix these 3 root causes and the scan passes.');
    expect(firstOf(small.elements).slice(0, 2)).to.deep.equal([
      ['Root causes', 'Violations', 'Pages'],
      ['Images must have alternative text', '6', '6'],
    ]);
    const { elements } = await rendered(smallReport({}));
    expect(textsOf(elements, 'P')).to.include('Fixing these 4 root causes removes 100% of the violations (22 of 22).');
    expect(firstOf(elements)[1]).to.deep.equal(['Elements must meet minimum color contrast ratio thresholds', '12', '12']);
  });

  it('shows the result without thresholds, and all of what to fix to pass before tables that need another page', async () => {
    const { elements } = await rendered(smallReport({}));
    expect(textsOf(elements, 'H2')[0]).to.equal('22 violations found');
    expect(textsOf(elements, 'P')).to.include('7 critical violations, 12 serious violations, 3 moderate violations.');
    expect(of(elements, 'Figure')[0]!.dict['Alt']).to.equal('Severity: Critical');
    expect(textsOf((await rendered(cleanReport({}))).elements, 'H2')[0]).to.equal('No violations found');
    const uncompared = textsOf((await rendered(smallReport({ maxNewViolations: 0 }))).elements, 'P').join('\n');
    expect(uncompared).to.match(/Fixing violations is not enough to pass: [^]*Fixing these 4 root causes removes 100%/);
    const many = await rendered(largeReport(1, 40, true));
    const pages = of(many.elements, 'Table').map(
      ({ children }) =>
        new Set(
          children.flatMap((row) => allOf([row])).flatMap(({ dict }) => (dict['Pg'] === undefined ? [] : [many.file.dict(dict['Pg'])])),
        ),
    );
    expect(pages.slice(0, 3).map((on) => [...on].map((page) => many.file.pages.indexOf(page) + 1))).to.deep.equal([[1], [1], [2]]);
  });

  it('shows needs-review findings and advice apart, and neither without any', async () => {
    const { needsReview, advice } = wordsIn('en', 'report').texts;
    const headings = textsOf(small.elements, 'H2', 'H3');
    expect(headings.slice(headings.indexOf(needsReview))).to.include('Links must be distinguishable without relying on color');
    expect(textsOf(small.elements, 'P')).to.include(reviewText('link-in-text-block', 'en'));
    const rows = of(small.elements, 'TH').map(({ children }) => children.map(({ text }) => text).join(' '));
    expect(rows.some((text) => text.includes('<h4>News</h4>'))).to.equal(true);
    const without = await rendered(cleanReport());
    expect(textsOf(without.elements, 'H2')).not.to.include.members([needsReview]).and.not.include.members([advice]);
  });

  it('keeps each root cause on one page, with as much as one can have', async () => {
    const full = hostileReport();
    for (const cause of [...full.groups, ...full.review_groups]) {
      const { example } = cause;
      const color = `#${'f'.repeat(200)}`;
      example.contrast = { foreground: color, background: color, ratio: 1, required: 4.5, font_size_px: 14, bold: true };
      example.related = Array.from({ length: 9 }, () => ({ selector: 'div > '.repeat(100), html: '<div>' }));
      example.shadow_path = [...example.frame_path];
      example.failure_summary = `Fix any of the following:\n${'  unbroken'.repeat(20)}\n`.repeat(9);
      cause.known = Array.from({ length: 5 }, (_, id) => ({
        id: String(id),
        elements: 1,
        reason: 'reason '.repeat(90),
        owner: 'x'.repeat(90),
        expires_at: '2027-01-01',
      }));
      cause.page_urls = Array.from({ length: 9 }, (_, index) => `https://www.example.org/${'page/'.repeat(60)}${index}`);
    }
    for (const { file, elements } of [small, await rendered(full, addPictures(full))])
      for (const section of of(elements, 'Sect').filter(({ children }) => children[0]?.type === 'H3')) {
        const pages = new Set(allOf([section]).flatMap(({ dict }) => (dict['Pg'] === undefined ? [] : [file.dict(dict['Pg'])])));
        expect(pages.size, section.text).to.equal(1);
      }
  });

  it('has contents with the pages of its sections and root causes, behind the cover, if it has more than 8 pages', async () => {
    const { file, elements } = await rendered(largeReport(2, 30, true));
    const pageOf = (element: Tagged): number =>
      file.pages.indexOf(file.dict(allOf([element]).find(({ dict }) => dict['Pg'] !== undefined)!.dict['Pg'])) + 1;
    const [contents] = of(elements, 'TOC');
    const entries = of(allOf([contents!]), 'Reference').map(({ children: [link, page] }) => `${link!.text} ${page!.text}`);
    const { texts } = wordsIn('en', 'report');
    const headings = of(elements, 'H2', 'H3').filter(
      ({ text }) => [texts.rootCauses, texts.byCriterion.heading].includes(text) || /^\d+\. /.test(text),
    );
    expect(headings).to.have.length(CAUSES_IN_FULL + 2);
    expect(entries).to.include.members(headings.map((heading) => `${heading.text} ${pageOf(heading)}`));
    const first = pageOf(headings[0]!);
    expect([pageOf(contents!), elements.indexOf(contents!) < elements.indexOf(headings[0]!)]).to.deep.equal([first - 2, true]);
    expect(of(small.elements, 'TOC')).to.have.length(0);
  });

  it('shows the organisation and the change since the baseline on the first page', async () => {
    const compared = smallReport();
    const numbers = { new: 3, on_new_pages: 2, fixed: 0, unchanged: 19, not_tested: 1 };
    compared.baseline = { scan_id: 'x', problem: null, optional: false, ...numbers, caveats: [], new_causes: [], fixed_causes: [] };
    const elements = allOf(readPdf(await renderPdf(compared, { organisation: 'Town Library' })).tree);
    expect(textsOf(elements, 'P')[0]).to.equal('Town Library');
    const figures = of(elements, 'LBody').map(({ children }) => children.map(({ text }) => text).join(' '));
    expect(figures).to.include.members(['3 New violations', '0 Fixed violations', '19 Unchanged violations']);
    expect(textsOf(elements, 'P').join(' '))
      .to.match(/1 of the baseline’s violations/)
      .and.not.match(/Compared with the baseline/);
  });

  const SCRIPTS: Record<string, string> = {
    Hebrew: 'שלום עולם (2024) – בדיקה',
    'Hebrew with points': 'שָׁלוֹם',
    Arabic: 'مرحبا بالعالم، صفحة 12 (تجربة)',
    Persian: 'می\u200cخواهم فارسی',
    Japanese: '日本語のページ：アクセシビリティの検証',
    'simplified Chinese': '简体中文网页',
    'traditional Chinese': '繁體中文網頁',
    Korean: '한국어 페이지 접근성',
    Greek: 'Ελληνικά',
    Cyrillic: 'Русский',
    'symbols and arrows': '→ ← ↗ ★ ☆ ✓ ✗ ▶ ✉ ☎ ∑ ≤ ⌘ ⚠ ½ ① €',
    emoji: '🎉 😀 🚀 👍',
  };

  const scriptsReport = (): Report => {
    const made = smallReport();
    const pages = made.pages.filter(({ tested }) => tested).slice(0, Object.keys(SCRIPTS).length);
    pages.forEach((page, index) => Object.assign(page, { title: Object.values(SCRIPTS)[index], language: null }));
    return made;
  };

  it('shows Hebrew, Arabic, Han, kana, Korean, symbols and emoji, and keeps their text', async () => {
    const { elements, file } = await rendered(scriptsReport());
    const titles = of(elements, 'Span').map(({ text }) => text);
    expect(titles).to.include.members(Object.values(SCRIPTS));
    expect(file.undefinedGlyphs).to.equal(0);
    expect(textsOf(elements, 'P')).not.to.include(wordsIn('en', 'report').texts.aboutGlyphs);
  });

  it('shows characters that no font has as □, and keeps their text', async () => {
    const { elements } = hostile;
    const titles = of(elements, 'Span').map(({ text }) => text);
    expect(titles).to.include('日本語のページ');
    expect(titles).to.include('ᚠᛇᚻ 𐎠𐎡');
    expect(textsOf(elements, 'P')).to.include(wordsIn('en', 'report').texts.aboutGlyphs);
    expect(of(elements, 'Span').find(({ text }) => text === '日本語のページ')!.dict['Lang']).to.equal('ja');
  });

  it('shows a limited number of root causes, says how many are omitted, and lets the process go on meanwhile', async () => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const large = largeReport(60, 10, true);
    const many = await rendered(large);
    clearImmediate(next);
    expect(turns).to.be.at.least(CAUSES_IN_FULL);
    expect(of(many.elements, 'H3')).to.have.length(CAUSES_IN_FULL);
    expect(textsOf(many.elements, 'P')).to.include(
      `${large.groups.length - CAUSES_IN_FULL - CAUSES_IN_TABLE} more root causes are not shown here. The JSON export contains all of them.`,
    );
  });

  it('complies with PDF/UA-1 according to veraPDF', async function () {
    const classpath = process.env['VERAPDF'];
    // Requires Java: set VERAPDF to the class path of org.verapdf.apps:greenfield-apps.
    if (classpath === undefined || classpath === '') return this.skip();
    this.timeout(300_000);
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-pdf-'));
    try {
      const files: string[] = [];
      const samples = [
        smallReport(),
        cleanReport(),
        hostileReport(),
        scriptsReport(),
        smallReport(undefined, 'pl'),
        largeReport(2, 30, true),
      ];
      for (const [at, sample] of samples.entries()) {
        const path = join(folder, `${at}.pdf`);
        await writeFile(path, await renderPdf(sample, { pictures: addPictures(sample) }));
        files.push(path);
      }
      // Exits with 1 if a file does not comply.
      const { stdout } = await promisify(execFile)('java', [
        // A run of seconds: optimizing compilation and parallel collection would double its processor time.
        ...['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'],
        ...['-cp', classpath, 'org.verapdf.apps.GreenfieldCliWrapper', '--flavour', 'ua1', '--format', 'text'],
        ...files,
      ]).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
      expect(stdout.match(/^PASS /gm) ?? [], stdout).to.have.length(files.length);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
