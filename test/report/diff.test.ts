import { expect } from 'chai';
import fc from 'fast-check';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from './samples.ts';
import { reportOf } from '../support/scan-results.ts';
import { capPage } from '../../report/results/cap-nodes.ts';
import { EXAMPLES_MAX, diffReports, type ReportDiff } from '../../report/diff/diff.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';

const SITE = 'https://www.example.org/';

/** An element that fails a rule. */
interface Element {
  rule: string;
  selector: string;
  html: string;
}

function pageOf(path: string, elements: readonly Element[]): ReportPage {
  const rules = Map.groupBy(elements, ({ rule }) => rule);
  return samplePage(
    `${SITE}${path}`,
    path,
    [...rules].map(([rule, all]) =>
      sampleViolation(
        rule,
        rule === 'image-alt' ? 'critical' : 'serious',
        `help for ${rule}`,
        all.map(({ html, selector }) => sampleNode(html, selector)),
      ),
    ),
  );
}

const scanOf = (pages: ReportPage[], url = SITE): Report => reportOf(sampleInput({}, 'en', url), pages);
const onePage = (...elements: Element[]): Report => scanOf([pageOf('', elements)]);
const element = (html: string, selector: string, rule = 'link-name'): Element => ({ rule, html, selector });

/** The numbers of violations. */
const numbers = (diff: ReportDiff) => {
  const sum = (changes: { elements: number }[]): number => changes.reduce((all, { elements }) => all + elements, 0);
  return { new: sum(diff.new), fixed: sum(diff.fixed), unchanged: diff.unchanged, notTested: sum(diff.not_tested) };
};
const unchanged = (count: number) => ({ new: 0, fixed: 0, unchanged: count, notTested: 0 });

describe('diffReports', () => {
  const same: [string, Element, Element][] = [
    ['moved', element('<a class="x" href="/a"></a>', 'li:nth-child(2) > a'), element('<a class="x" href="/a"></a>', 'li:nth-child(3) > a')],
    [
      'has another ID of a framework',
      element('<div id=":r1a:" role="tab"></div>', '[id=":r1a:"]'),
      element('<div id=":r2b:" role="tab"></div>', '[id=":r2b:"]'),
    ],
    [
      'moved and has other classes, but the same ID',
      element('<a id="home" class="x"></a>', '.x'),
      element('<a class="y" id="home"></a>', '.y'),
    ],
    [
      'moved and has other classes, but the same address',
      element('<a class="x" href="/a">a</a>', '.x'),
      element('<a class="y" href="/a">b</a>', '.y'),
    ],
    [
      'moved and has other classes, but the same name',
      element('<b class="x">Prices from\n 3</b>', '.x'),
      element('<b class="y">Prices <i>from</i> 3</b>', '.y'),
    ],
    [
      'has other attributes at the same place',
      element('<p class="x">1</p>', 'main > p'),
      element('<p class="y" lang="de">2</p>', 'main > p'),
    ],
    ['has another text and place', element('<p class="x">one</p>', 'p:nth-child(1)'), element('<p class="x">two</p>', 'p:nth-child(4)')],
  ];
  for (const [what, before, after] of same)
    it(`does not report an element that ${what}`, () => {
      expect(numbers(diffReports(onePage(before), onePage(after)))).to.deep.equal(unchanged(1));
    });

  const different: [string, Element, Element][] = [
    ['of another rule', element('<a class="x"></a>', '.x'), element('<a class="x"></a>', '.x', 'target-size')],
    ['with another class at another place', element('<p class="x">1</p>', '.x'), element('<p class="y">2</p>', '.y')],
    ['of another kind at the same place', element('<p>1</p>', 'main > :first-child'), element('<b>2</b>', 'main > :first-child')],
  ];
  for (const [what, before, after] of different)
    it(`reports an element ${what} as new`, () => {
      expect(numbers(diffReports(onePage(before), onePage(after)))).to.deep.equal({ new: 1, fixed: 1, unchanged: 0, notTested: 0 });
    });

  it('counts elements that cannot be told apart', () => {
    const icon = element('<img src="/icon.png">', 'img', 'image-alt');
    const diff = diffReports(onePage(icon, icon, icon), onePage(icon, icon, icon, icon, icon));
    expect(numbers(diff)).to.deep.equal({ new: 2, fixed: 0, unchanged: 3, notTested: 0 });
  });

  it('attributes what is new to its root cause although another element has the same address or name', () => {
    const old = (at: number) => element(`<a class="icon" href="/x" title="t">${at}</a>`, `li:nth-child(${at})`);
    for (const added of ['<a class="other" href="/x"></a>', '<a class="other" title="t" href="/y"></a>']) {
      const diff = diffReports(onePage(old(1)), onePage(element(added, 'li:nth-child(5)'), old(2)));
      expect(diff.new.map(({ examples, in_both }) => [examples[0]!.selector, in_both])).to.deep.equal([['li:nth-child(5)', false]]);
    }
  });

  it('groups by root cause, worst first, with at most 5 examples', () => {
    const many = Array.from({ length: 8 }, (_, at) => element('<a class="icon"></a>', `li:nth-child(${at})`));
    const diff = diffReports(onePage(), onePage(...many, element('<img src="a.png">', 'img', 'image-alt')));
    expect(diff.new.map(({ rule, impact, elements, pages, in_both }) => ({ rule, impact, elements, pages, in_both }))).to.deep.equal([
      { rule: 'image-alt', impact: 'critical', elements: 1, pages: 1, in_both: false },
      { rule: 'link-name', impact: 'serious', elements: 8, pages: 1, in_both: false },
    ]);
    expect(diff.new[1]!.examples).to.have.length(EXAMPLES_MAX);
    expect(diff.new[1]!.examples[0]).to.deep.equal({ page: SITE, selector: 'li:nth-child(0)', frame_path: [], shadow_path: [] });
    expect(diff.new[1]).to.deep.include({ wcag: ['1.1.1'], help: 'help for link-name' });
  });

  it('reports violations on new pages as new, and says so', () => {
    const fault = element('<a class="x"></a>', '.x');
    const diff = diffReports(scanOf([pageOf('', [fault])]), scanOf([pageOf('', [fault]), pageOf('new', [fault])]));
    expect(diff.new).to.have.length(1);
    expect(diff.new[0]).to.include({ elements: 1, on_new_pages: 1, in_both: true });
    expect(diff.pages).to.deep.equal({ in_both: 1, only_before: 0, only_after: 1 });
  });

  it('does not report violations as fixed on pages that were not tested again', () => {
    const fault = element('<a class="x"></a>', '.x');
    const before = scanOf([pageOf('', []), pageOf('gone', [fault]), pageOf('lost', [fault])]);
    const after = scanOf([pageOf('', []), sampleUntested(`${SITE}lost`, 'timeout', null)]);
    const diff = diffReports(before, after);
    expect(numbers(diff)).to.deep.equal({ new: 0, fixed: 0, unchanged: 0, notTested: 2 });
    expect(diff.not_tested[0]!.examples.map(({ page }) => page)).to.deep.equal([`${SITE}gone`, `${SITE}lost`]);
    expect(diff.pages).to.deep.equal({ in_both: 1, only_before: 2, only_after: 0 });
  });

  it('knows the host that the start page redirected to after a fallback to http', () => {
    const pages = ['', 'shop'].map((path) => pageOf(path, [element('<a class="x"></a>', 'a')]));
    const moved = scanOf(
      pages.map((page) => ({
        ...page,
        url: page.url.replace('https:', 'http:'),
        final_url: page.url.replace(SITE, 'http://shop.example.org/'),
      })),
    );
    expect(numbers(diffReports(scanOf(pages), moved))).to.deep.equal(unchanged(2));
  });

  it('compares a preview with the production site by path, and says so', () => {
    const fault = element('<a class="x"></a>', '.x');
    const preview = JSON.parse(JSON.stringify(onePage(fault)).replaceAll(SITE, 'http://pr-7.preview.example:8080/')) as Report;
    const diff = diffReports(onePage(fault), preview);
    expect(numbers(diff)).to.deep.equal(unchanged(1));
    expect(diff.comparable.map(({ reason }) => reason)).to.deep.equal(['site']);
  });

  it('compares a page by its final address, regardless of trailing slashes and the order of parameters', () => {
    const fault = element('<a class="x"></a>', '.x');
    const diff = diffReports(
      scanOf([pageOf('', []), pageOf('a?x=1&y=2', [fault])]),
      scanOf([pageOf('', []), pageOf('a/?y=2&x=1', [fault])]),
    );
    expect(numbers(diff)).to.deep.equal(unchanged(1));
  });

  it('compares the routes of a single-page application with each other', () => {
    const fault = element('<a class="x"></a>', '.x');
    const routes = (...names: string[]) => scanOf([pageOf('', []), ...names.map((name) => pageOf(`#/${name}`, [fault]))]);
    expect(numbers(diffReports(routes('a'), routes('b')))).to.deep.equal({ new: 1, fixed: 0, unchanged: 0, notTested: 1 });
  });

  it('says what else differs between the scans', () => {
    const change = (edit: (report: Report) => void): string[] => {
      const after = structuredClone(onePage());
      edit(after);
      return diffReports(onePage(), after).comparable.map(({ reason }) => reason);
    };
    expect(change(() => undefined)).to.deep.equal([]);
    expect(change(({ scan }) => (scan.options.pictures = !scan.options.pictures))).to.deep.equal([]);
    expect(change(({ scan }) => (scan.options.wcag_level = 'AAA'))).to.deep.equal(['wcag']);
    expect(change(({ scan }) => (scan.options.pages_reserved = 5))).to.deep.equal(['pages']);
    expect(change(({ scan }) => (scan.options.exclude = ['/shop/*']))).to.deep.equal(['crawl']);
    expect(change(({ scan }) => (scan.options.urls = ['/a']))).to.deep.equal(['crawl']);
    // As in an export of a version that did not know it.
    expect(change(({ scan }) => Reflect.deleteProperty(scan.options, 'urls'))).to.deep.equal([]);
    expect(change(({ scan }) => (scan.options.locale = 'de'))).to.deep.equal(['locale']);
    expect(change(({ tools }) => (tools.axe_core = '5.0.0'))).to.deep.equal(['axe_core']);
    expect(change(({ score }) => (score.score_version -= 1))).to.deep.equal(['score_version']);
    expect(change((report) => (report.fingerprint_version = 1))).to.deep.equal(['fingerprint_version']);
    const [caveat] = diffReports(onePage(), { ...onePage(), tools: { ...onePage().tools, axe_core: '5.0.0' } }).comparable;
    expect(caveat).to.deep.include({ before: '4.14.1', after: '5.0.0' });
  });

  const arbitraryElement = fc.record({
    rule: fc.constantFrom('link-name', 'image-alt', 'color-contrast'),
    selector: fc.constantFrom('a', '.x', '#y', 'li:nth-child(1)', 'li:nth-child(2)', 'li:nth-child(3)'),
    html: fc.constantFrom(
      '<a class="x"></a>',
      '<a href="/1"></a>',
      '<b id="n-1"></b>',
      '<b id="n-2">t</b>',
      '<i>t</i>',
      '<p class="x">u</p>',
    ),
  });
  const arbitraryPages = fc.uniqueArray(fc.tuple(fc.constantFrom('', 'a', 'b', 'c', 'd'), fc.array(arbitraryElement, { maxLength: 6 })), {
    selector: ([path]) => path,
    minLength: 1,
  });
  const arbitraryScan = arbitraryPages.map((pages) => scanOf(pages.map(([path, elements]) => pageOf(path, elements))));

  it('finds as new what is fixed in the opposite direction, and as not tested what is on new pages', () => {
    fc.assert(
      fc.property(arbitraryScan, arbitraryScan, (a, b) => {
        const [there, back] = [diffReports(a, b), diffReports(b, a)];
        const onTested = (page: { page: string }, scan: Report) => scan.pages.some(({ url }) => url === page.page);
        const old = there.new.filter(({ on_new_pages }) => on_new_pages === 0);
        const mixed = new Set(there.new.filter(({ on_new_pages }) => on_new_pages > 0).map(({ fingerprint }) => fingerprint));
        expect(back.fixed.filter(({ fingerprint }) => !mixed.has(fingerprint))).to.deep.equal(old);
        expect(back.fixed.every(({ examples }) => examples.every((example) => onTested(example, a)))).to.equal(true);
        const sum = (changes: { elements: number }[]) => changes.reduce((all, { elements }) => all + elements, 0);
        expect(sum(there.new)).to.equal(sum(back.fixed) + sum(back.not_tested));
        expect(there.new.reduce((all, { on_new_pages }) => all + on_new_pages, 0)).to.equal(sum(back.not_tested));
        expect(there.unchanged).to.equal(back.unchanged);
      }),
    );
  });

  /** The same scan, with at most `max` described elements of each rule and page. */
  const capped = (scan: Report, max: number): Report =>
    reportOf(
      sampleInput({}, 'en', scan.scan.url),
      scan.pages.map((page) => (page.tested ? capPage(page, max) : page)),
    );

  it('finds no difference if only the number of described elements differs', () => {
    const [links, more] = [40, 45].map((count) =>
      onePage(
        ...Array.from({ length: count }, (_, at) => element(`<a class="icon" href="/${at}"></a>`, `li:nth-child(${at}) > a`)),
        element('<a class="logo" href="/"></a>', '.logo'),
      ),
    );
    expect(numbers(diffReports(links!, capped(links!, 7)))).to.deep.equal(unchanged(41));
    expect(numbers(diffReports(capped(links!, 7), links!))).to.deep.equal(unchanged(41));
    expect(numbers(diffReports(capped(links!, 7), capped(links!, 9)))).to.deep.equal(unchanged(41));
    const diff = diffReports(capped(links!, 7), capped(more!, 7));
    expect(numbers(diff)).to.deep.equal({ new: 5, fixed: 0, unchanged: 41, notTested: 0 });
    expect(diff.new[0]).to.include({ rule: 'link-name', impact: 'serious', elements: 5, pages: 1, in_both: true });
    expect(diff.comparable).to.deep.equal([]);
  });

  it('says that root causes were left out, and counts what is described', () => {
    const many = onePage(...Array.from({ length: 30 }, (_, at) => element(`<p class="${'abcdefghij'.repeat(at + 1)}"></p>`, `.p${at}`)));
    const diff = diffReports(capped(many, 10), capped(many, 10));
    expect(numbers(diff)).to.deep.equal(unchanged(10));
    expect(diff.comparable).to.deep.include({
      reason: 'elements_left_out',
      message: 'An export leaves out root causes of pages with very many violations. Their elements are missing from the difference.',
      before: '20',
      after: '20',
    });
  });

  it('accounts for every violation once, also of capped scans', () => {
    fc.assert(
      fc.property(arbitraryScan, arbitraryScan, fc.integer({ min: 1, max: 7 }), (a, b, max) => {
        const [one, other] = [capped(a, max), capped(b, max)];
        const { new: added, fixed, unchanged: both, notTested } = numbers(diffReports(one, other));
        const counted = (scan: Report) => scan.groups.reduce((sum, { elements }) => sum + elements, 0);
        expect([both + fixed + notTested, both + added]).to.deep.equal([counted(one), counted(other)]);
      }),
    );
  });

  it('compares a page that is the same as another one with that page', () => {
    const icon = element('<a class="icon" href="/x"></a>', '.icon');
    const old = element('<p class="old"></p>', '.old');
    const copy = (path: string): ReportPage => ({
      ...(sampleUntested(`${SITE}${path}`, 'same_as', 200) as Extract<ReportPage, { tested: false }>),
      same_as: SITE,
    });
    const both = scanOf([pageOf('', [icon, old]), pageOf('copy', [icon, old])]);
    const folded = scanOf([pageOf('', [icon]), copy('copy')]);
    const diff = diffReports(both, folded);
    expect(numbers(diff)).to.deep.equal({ new: 0, fixed: 2, unchanged: 2, notTested: 0 });
    expect(diff.pages).to.deep.equal({ in_both: 2, only_before: 0, only_after: 0 });
    const back = diffReports(folded, both);
    expect(numbers(back)).to.deep.equal({ new: 2, fixed: 0, unchanged: 2, notTested: 0 });
    expect(back.new[0]).to.include({ on_new_pages: 0 });
    expect(back.pages).to.deep.equal({ in_both: 2, only_before: 0, only_after: 0 });
  });

  it('does not depend on the order of the pages', () => {
    fc.assert(
      fc.property(arbitraryPages, arbitraryScan, (pages, other) => {
        const [forwards, backwards] = [pages, pages.toReversed()].map((all) =>
          scanOf(all.map(([path, elements]) => pageOf(path, elements))),
        );
        expect(diffReports(forwards!, other)).to.deep.equal(diffReports(backwards!, other));
        expect(diffReports(other, forwards!)).to.deep.equal(diffReports(other, backwards!));
      }),
      { numRuns: 30 },
    );
  });

  /** An element in two renderings: other place, white space, attribute order, generated ID, counter, text and state. */
  const arbitraryRendering = fc
    .record({
      tag: fc.constantFrom('a', 'p', 'button', 'div'),
      name: fc.constantFrom('icon', 'card', 'price'),
      role: fc.constantFrom('', 'role="link"'),
      numbers: fc.tuple(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 1, max: 999 })),
      places: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
      text: fc.tuple(fc.constantFrom('one', 'two'), fc.constantFrom('one', 'three')),
    })
    .map(({ tag, name, role, numbers, places, text }): [Element, Element] => [
      element(`<${tag} class="${name}" id="${name}-${numbers[0]}" ${role}>${text[0]}</${tag}>`, `main > :nth-child(${places[0]})`),
      element(
        `<${tag}  ${role} data-state="${numbers[1]}"\n id="${name}-${numbers[1]}" class="${name} active" >\n ${text[1]} </${tag}>`,
        `main > div:nth-child(${places[1]})`,
      ),
    ]);

  it('finds exactly one new violation if one is added while all others are rendered again', () => {
    fc.assert(
      fc.property(fc.array(arbitraryRendering, { maxLength: 8 }), fc.nat(), (all, where) => {
        const added = element('<i class="added">new</i>', '.added');
        const after = all.map(([, rendered]) => rendered).toSpliced(where % (all.length + 1), 0, added);
        const diff = diffReports(onePage(...all.map(([before]) => before)), onePage(...after));
        expect(numbers(diff)).to.deep.equal({ new: 1, fixed: 0, unchanged: all.length, notTested: 0 });
        expect(diff.new[0]!.examples[0]!.selector).to.equal('.added');
      }),
    );
  });
});
