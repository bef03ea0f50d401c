import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { consentSentence } from '../../report/view/sentences.ts';
import { explainScore, scoreFactsOf } from '../../report/view/verdict.ts';
import { reviewText } from '../../report/rule-texts/rule-texts.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import type { Report } from '../../report/schema/report.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { CAUSES_IN_FULL } from '../../report/pdf/causes.ts';
import { wordsIn } from '../../report/words/words.ts';
import type { Name } from './pdf-reader.ts';
import { allOf, readPdf, type Dict, type PdfFile, type Tagged } from './pdf-reader.ts';
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

const SAMPLES: Record<string, () => Report> = {
  'failed thresholds': () => smallReport(),
  'passed thresholds': () => smallReport({ minScore: 10 }),
  'no thresholds': () => smallReport({}),
  'no violations': () => cleanReport(),
  'a hostile site': hostileReport,
  'a large site': () => largeReport(120, 8, true),
};

describe('PDF report', () => {
  for (const [name, make] of Object.entries(SAMPLES))
    describe(`of ${name}`, () => {
      let bytes: Uint8Array;
      let file: PdfFile;
      let elements: Tagged[];
      before(async () => {
        ({ bytes, file, elements } = await rendered(make()));
      });

      it('declares PDF/UA, its language and its title', () => {
        expect(file.metadata).to.match(/<pdfuaid:part>1<\/pdfuaid:part>/);
        expect(file.metadata).to.include('Accessibility report: www.example.org');
        expect(file.catalog['Lang']).to.equal('en');
        expect(file.dict(file.catalog['MarkInfo'])['Marked']).to.equal(true);
        expect(file.dict(file.catalog['ViewerPreferences'])['DisplayDocTitle']).to.equal(true);
      });

      it('has no untagged text, and no missing glyphs', () => {
        expect(file.untagged).to.equal('');
        expect(file.undefinedGlyphs).to.equal(0);
      });

      it('embeds every font', () => {
        const descriptors = [...file.objects.values()].filter(
          (value): value is Dict => (value as Dict | null)?.['FontFile2'] !== undefined,
        );
        const fonts = [...file.objects.values()].filter(
          (value) => ((value as Dict | null)?.['Type'] as Name | undefined)?.name === 'FontDescriptor',
        );
        expect(fonts.length).to.be.at.least(3);
        expect(descriptors.length).to.equal(fonts.length);
      });

      it('has one title, and skips no heading level', () => {
        const levels = of(elements, 'H1', 'H2', 'H3').map(({ type }) => Number(type.slice(1)));
        expect(levels.filter((level) => level === 1)).to.have.length(1);
        expect(levels[0]).to.equal(1);
        levels.forEach((level, index) => expect(level - (levels[index - 1] ?? 0)).to.be.at.most(1));
        for (const heading of of(elements, 'H1', 'H2', 'H3')) expect(heading.text.trim()).not.to.equal('');
      });

      it('has alternative text for each figure', () => {
        const figures = of(elements, 'Figure');
        expect(figures).to.have.length(2);
        for (const figure of figures) expect(figure.dict['Alt']).to.be.a('string').and.not.equal('');
      });

      it('has the same number of cells in each row of a table, and a scope for each heading', () => {
        const tables = of(elements, 'Table');
        expect(tables.length).to.be.at.least(2);
        for (const table of tables) {
          expect(new Set(table.children.map(({ type }) => type))).to.deep.equal(new Set(['TR']));
          expect(new Set(table.children.map(({ children }) => children.length)).size).to.equal(1);
          for (const heading of of(allOf([table]), 'TH'))
            expect((file.dict(heading.dict['A'])['Scope'] as Name).name).to.be.oneOf(['Row', 'Column']);
        }
      });

      it('has items in each list, and a body in each item', () => {
        for (const list of of(elements, 'L')) {
          expect(list.children.length).to.be.at.least(1);
          for (const item of list.children) {
            expect(item.type).to.equal('LI');
            expect(item.children.at(-1)!.type).to.equal('LBody');
          }
        }
      });

      it('tags and describes each link', () => {
        const links = of(elements, 'Link');
        const annotations = file.pages.flatMap((page) => ((file.get(page['Annots']) ?? []) as []).map((one) => file.dict(one)));
        expect(links.flatMap((link) => link.annotations)).to.have.length(annotations.length);
        for (const link of links) {
          expect(link.annotations.length).to.be.at.least(1);
          for (const annotation of link.annotations) expect(annotation['Contents']).to.be.a('string').and.not.equal('');
        }
        for (const page of file.pages) expect((page['Tabs'] as Name).name).to.equal('S');
      });

      it('is the same file for the same report', async () => {
        expect(Buffer.from(await renderPdf(make())).equals(bytes)).to.equal(true);
      });
    });

  for (const locale of LOCALES)
    it(`renders ${locale} with all its letters`, async () => {
      const { file, elements } = await rendered(smallReport(undefined, locale));
      const { texts } = wordsIn(locale, 'report');
      expect(file.catalog['Lang']).to.equal(locale);
      const said = of(elements, 'H1', 'H2', 'P').map(({ text }) => text);
      const explained = explainScore(scoreFactsOf(smallReport()), locale);
      for (const text of [
        texts.title,
        texts.notPassed,
        texts.severityHeading,
        texts.thresholdsHeading,
        texts.aboutAutomated,
        texts.aboutScore,
        explained.score,
        explained.reasons,
      ])
        expect(said).to.include(text);
      expect(file.undefinedGlyphs).to.equal(0);
    });

  it('shows verdict, score, coverage, severities and thresholds on the first page', async () => {
    const report = smallReport();
    const { elements } = await rendered(report);
    expect(of(elements, 'H2')[0]!.text).to.equal('Did not pass');
    expect(of(elements, 'Figure')[1]!.dict['Alt']).to.equal(`Gauge: score ${report.score.value} of 100; the minimum is 90.`);
    expect(of(elements, 'LBody').map(({ children }) => children.map(({ text }) => text))).to.deep.include(['12 of 14', 'Pages tested']);
    const rows = of(elements, 'TR').map(({ children }) => children.map(({ text }) => text));
    expect(rows).to.deep.include(['Critical', '7', '2']);
    expect(rows).to.deep.include(['Violations', 'at most 10', '22', 'Missed']);
    expect(rows).to.deep.include(['Score', 'at least 90', '90.4', 'Met']);
    const said = of(elements, 'P').map(({ text }) => text);
    expect(said).to.include(
      '22 violations, at most 10 allowed; 7 critical violations, none allowed; the score of 90.4 meets the minimum of 90.',
    );
    expect(said.some((text) => text.startsWith('The score of 90.4 is the average of 12 tested pages: 7 critical violations on '))).to.equal(
      true,
    );
  });

  it('shows the metadata on the first page, with a short commit', async () => {
    const report = smallReport();
    report.scan.metadata = { commit: '0123456789abcdef0123456789abcdef01234567', branch: 'feature/a', team: 'ü 日本' };
    const { elements } = await rendered(report);
    const [line] = of(elements, 'P').filter(({ text }) => text.includes('branch'));
    expect(line!.text.replace(/\s+/g, ' ')).to.equal('commit: 01234567 · branch: feature/a · team: ü 日本');
  });

  it('shows each root cause with example, advice and pages, worst first', async () => {
    const report = smallReport();
    const { elements } = await rendered(report);
    const titles = of(elements, 'H3').map(({ text }) => text);
    expect(titles.slice(0, 4)).to.deep.equal(report.groups.map(({ help }, index) => `${index + 1}. ${help}`));
    const shown = [...report.groups, ...report.review_groups].map(({ example }) => example.html);
    expect(of(elements, 'Code').map(({ text }) => text)).to.deep.equal(shown);
    const items = of(elements, 'LBody').map(({ text }) => text);
    expect(items).to.include('Element does not have an alt attribute');
    expect(items).to.include('/about');
  });

  it('names the area, the standards and the colours of each root cause', async () => {
    const { elements } = await rendered(smallReport());
    const said = of(elements, 'P').map(({ text }) => text);
    expect(said).to.include('Serious · color-contrast · 12 elements on 12 pages · Area of the page: main content');
    expect(said).to.include(
      'Standards: WCAG 1.4.3 Contrast (Minimum) (AA) · EN 301 549 9.1.4.3 · RGAA 4 3.2.1 · Trusted Tester 5 13.C · ACT afw4f7, 09o5cg',
    );
    expect(said).to.include('Contrast 2.84:1, required 4.5:1 · text #999999 · background #ffffff · 14 px');
    expect(said).to.include('Why it matters');
  });

  it('names the first related elements of a root cause, and how many more there are', async () => {
    const report = smallReport();
    const { example } = report.groups[0]!;
    const names = [example.selector, '#menu', '#banner', '#third', '#fourth'];
    example.related = names.map((selector) => ({ selector, html: '<div>' }));
    const { elements } = await rendered(report);
    const said = of(elements, 'P').map(({ text }) => text);
    expect(said).to.include.members(['Related element: #menu', 'Related element: #banner', 'and 2 more in the JSON export']);
    expect(said.join(' ')).to.not.include('#third');
  });

  it('shows the picture of each root cause with an alternative text', async () => {
    const report = smallReport();
    const pictures = addPictures(report);
    const { elements, file } = await rendered(report, pictures);
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
    const report = smallReport();
    const [first, second] = [...addPictures(report).keys()];
    const broken = new Map([
      [first!, Buffer.from('<svg/>')],
      [second!, SAMPLE_JPEG.slice(0, 40)],
    ]);
    expect(of((await rendered(report, broken)).elements, 'Figure')).to.have.length(2);
  });

  it('marks English advice in a document of another language', async () => {
    const { elements } = await rendered(smallReport(undefined, 'nl'));
    const items = of(elements, 'LBody').filter(({ text }) => text === 'Element has no title attribute');
    expect(items).to.have.length.at.least(1);
    for (const { dict } of items) expect(dict['Lang']).to.equal('en');
    for (const { dict, text } of of(elements, 'P')) if (text.startsWith('Fix any of')) expect(dict['Lang']).to.equal('en');
    expect(of(elements, 'H3').map(({ text }) => text)[0]).to.equal('1. Afbeeldingen moeten een alternatieve tekst hebben');
  });

  const cellsOf = (elements: readonly Tagged[]): string[][] => of(elements, 'TR').map(({ children }) => children.map(({ text }) => text));

  it('lists untested pages with reason and message, those that were tried first', async () => {
    const rows = cellsOf((await rendered(smallReport())).elements);
    const untested = rows.filter(([, , reason]) => reason?.endsWith('The page could not be tested.'));
    expect(untested).to.deep.equal([
      ['/members', '200', 'Shows a sign-in pageThe page could not be tested.'],
      ['/oldLinked from /, /news', '404', 'Returned an errorThe page could not be tested.'],
      ['/private', '–', 'Excluded by the rules of the scanThe page could not be tested.'],
    ]);
  });

  it('lists pages that are the same as another, untested frames, caveats and addresses that are left', async () => {
    const { elements } = await rendered(smallReport());
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
    const said = of(elements, 'P').map(({ text }) => text);
    expect(said).to.include(
      'Coverage 85.7% · 3 pages not tested · 1 frame not tested · 1 page possibly incomplete · 40 more addresses found',
    );
    expect(said.find((text) => text.startsWith('40 more addresses found.'))).to.include('Allow more pages');
  });

  it('marks the scanner’s messages as English in other languages', async () => {
    const { elements } = await rendered(smallReport(undefined, 'fr'));
    const messages = of(elements, 'Span').filter(({ text }) => text === 'The page could not be tested.');
    expect(messages).to.have.length(3);
    for (const { dict } of messages) expect(dict['Lang']).to.equal('en');
  });

  it('leads with the causes whose fix removes the most violations', async () => {
    const { elements } = await rendered(smallReport());
    expect(of(elements, 'P').map(({ text }) => text)).to.include('Fixing these 4 root causes removes 100% of the violations (22 of 22).');
    const first = of(elements, 'Table')[0]!.children.map(({ children }) => children.map(({ text }) => text));
    expect(first.slice(0, 3)).to.deep.equal([
      ['Root causes', 'Violations', 'Pages'],
      ['Elements must meet minimum color contrast ratio thresholds', '12', '12'],
      ['Images must have alternative text', '6', '6'],
    ]);
    const many = of((await rendered(largeReport(20, 40, true))).elements, 'P').map(({ text }) => text);
    expect(many.find((text) => text.startsWith('Fixing these'))).to.match(
      /^Fixing these 5 root causes removes 0\.6% of the violations \(5 of 800\)\.$/,
    );
  });

  it('shows needs-review findings apart, with what a person should look at', async () => {
    const report = smallReport();
    const { elements } = await rendered(report);
    const headings = of(elements, 'H2', 'H3').map(({ text }) => text);
    expect(headings.slice(headings.indexOf('Needs manual review'))).to.deep.include.members([
      'Links must be distinguishable without relying on color',
      'Tested pages',
    ]);
    expect(of(elements, 'P').map(({ text }) => text)).to.include(reviewText('link-in-text-block', 'en'));
    const without = await rendered({ ...report, review_groups: [] });
    expect(of(without.elements, 'H2').map(({ text }) => text)).not.to.include('Needs manual review');
  });

  it('lists advice in a table after what needs review', async () => {
    for (const locale of LOCALES) {
      const { advice, adviceIntro, needsReview } = wordsIn(locale, 'report').texts;
      const { elements } = await rendered(smallReport(undefined, locale));
      const headings = of(elements, 'H2').map(({ text }) => text);
      expect(headings.indexOf(advice)).to.equal(headings.indexOf(needsReview) + 1);
      expect(of(elements, 'P').map(({ text }) => text)).to.include(adviceIntro);
      const rows = of(elements, 'TH').map(({ children }) => children.map(({ text }) => text).join(' '));
      expect(rows.some((text) => text.includes('<h4>News</h4>'))).to.equal(true);
    }
    const without = of((await rendered(cleanReport())).elements, 'H2').map(({ text }) => text);
    expect(without).not.to.include(wordsIn('en', 'report').texts.advice);
  });

  it('has a first page that is an overview in every language', async () => {
    for (const locale of LOCALES) {
      const { file, elements } = await rendered(smallReport(undefined, locale));
      const { texts } = wordsIn(locale, 'report');
      const pageOf = (text: string): unknown => {
        const { dict, children } = elements.find((element) => element.text === text)!;
        return file.dict(dict['Pg'] ?? children[0]?.dict['Pg']);
      };
      for (const text of [texts.fixFirst, texts.severityHeading, texts.thresholdsHeading, texts.coverNote])
        expect(pageOf(text), `${locale}: ${text}`).to.equal(file.pages[0]);
      expect(pageOf(texts.rootCausesIntro)).to.equal(file.pages[1]);
    }
  });

  it('says on the first page which dialog for consent was answered, in every language', async () => {
    for (const locale of LOCALES) {
      const consent = { action: 'reject', outcome: 'answered', product: 'Onetrust', url: 'https://www.example.org/' } as const;
      const { file, elements } = await rendered({ ...smallReport(undefined, locale), consent });
      const { dict, children } = elements.find(({ text }) => text === consentSentence(consent, locale).replaceAll('\u00a0', ' '))!;
      expect(file.dict(dict['Pg'] ?? children[0]?.dict['Pg']), locale).to.equal(file.pages[0]);
    }
  });

  it('keeps each root cause on one page', async () => {
    const report = smallReport();
    const { file, elements } = await rendered(report, addPictures(report));
    for (const section of of(elements, 'Sect').filter(({ children }) => children[0]?.type === 'H3')) {
      const pages = new Set(allOf([section]).flatMap(({ dict }) => (dict['Pg'] === undefined ? [] : [file.dict(dict['Pg'])])));
      expect(pages.size, section.text).to.equal(1);
    }
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
    const report = smallReport();
    const pages = report.pages.filter(({ tested }) => tested).slice(0, Object.keys(SCRIPTS).length);
    pages.forEach((page, index) => Object.assign(page, { title: Object.values(SCRIPTS)[index], language: null }));
    return report;
  };

  it('shows Hebrew, Arabic, Han, kana, Korean, symbols and emoji, and keeps their text', async () => {
    const { elements, file } = await rendered(scriptsReport());
    const titles = of(elements, 'Span').map(({ text }) => text);
    expect(titles).to.include.members(Object.values(SCRIPTS));
    expect(file.undefinedGlyphs).to.equal(0);
    expect(of(elements, 'P').map(({ text }) => text)).not.to.include(wordsIn('en', 'report').texts.aboutGlyphs);
  });

  it('shows characters that no font has as □, and keeps their text', async () => {
    const { elements } = await rendered(hostileReport());
    const titles = of(elements, 'Span').map(({ text }) => text);
    expect(titles).to.include('日本語のページ');
    expect(titles).to.include('ᚠᛇᚻ 𐎠𐎡');
    expect(of(elements, 'P').map(({ text }) => text)).to.include(wordsIn('en', 'report').texts.aboutGlyphs);
    expect(of(elements, 'Span').find(({ text }) => text === '日本語のページ')!.dict['Lang']).to.equal('ja');
  });

  it('lets the process go on with its other work between two cards', async () => {
    const report = largeReport(20, 40, true);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await renderPdf(report);
    clearImmediate(next);
    expect(turns).to.be.at.least(Math.min(report.groups.length, CAUSES_IN_FULL));
  });

  it('does not grow with the number of violations, and shows how many are omitted', async () => {
    const few = await rendered(largeReport(500, 2, true));
    const many = await rendered(largeReport(500, 10, true));
    expect(many.file.pages.length).to.equal(few.file.pages.length);
    expect(many.bytes.length).to.be.at.most(few.bytes.length * 1.1);
    expect(many.bytes.length).to.be.at.most(4 * 1024 * 1024);
    expect(of(many.elements, 'H3')).to.have.length(50);
    const said = of(many.elements, 'P').map(({ text }) => text);
    expect(said).to.include('4,750 more root causes are not shown here. The JSON export contains all of them.');
  });

  it('complies with PDF/UA-1 according to veraPDF', async function () {
    const classpath = process.env['VERAPDF'];
    // Requires Java: set VERAPDF to the class path of org.verapdf.apps:greenfield-apps.
    if (classpath === undefined || classpath === '') return this.skip();
    this.timeout(300_000);
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-pdf-'));
    try {
      const files: string[] = [];
      const scripts = { 'many scripts': scriptsReport };
      const reports = {
        ...SAMPLES,
        ...scripts,
        ...Object.fromEntries(LOCALES.map((locale) => [locale, () => smallReport(undefined, locale)])),
      };
      for (const [name, make] of Object.entries(reports)) {
        const path = join(folder, `${name.replaceAll(' ', '-')}.pdf`);
        const report = make();
        await writeFile(path, await renderPdf(report, { pictures: addPictures(report) }));
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
