/** The root causes that a page of the dashboard lists, from a view and its findings. */
import { expect } from 'chai';
import type { FastifyRequest } from 'fastify';
import { causeList } from '../../api/dashboard/findings/list.ts';
import { pageBody } from '../../api/dashboard/findings/page.ts';
import {
  ALL_CAUSES,
  CAUSE_SIZES,
  type CauseQuery,
  findingsReader,
  type ReadFindings,
  readPageFindings,
  selectCauses,
} from '../../api/dashboard/findings/select.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import { READ_LIMITS } from '../../api/scans/scan-views.ts';
import { ruleChoices } from '../../report/html/filters.ts';
import type { ReportNode, ReportPage } from '../../report/schema/page.ts';
import { type ReportView, VIEW_LIMITS, type ViewObjects, viewObjectsOf } from '../../report/view/view.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { reportOf } from '../support/scan-results.ts';
import { reportWith } from '../web/large-report.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from './samples.ts';

const SITE = 'https://www.example.org/';
const letters = (n: number): string => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
const image = (n: number): ReportNode => sampleNode(`<img class="${letters(n)}">`, `#${letters(n)}`);
const images = (count: number, from = 0) =>
  sampleViolation(
    'image-alt',
    'critical',
    'Images must have alternative text',
    Array.from({ length: count }, (_, n) => image(from + n)),
  );
const headings = sampleViolation('heading-order', 'moderate', 'Heading levels', [sampleNode('<h4></h4>', 'h4')], []);

const objectsOf = (pages: ReportPage[]): ViewObjects => viewObjectsOf(reportOf(sampleInput(), pages));

function readerOf({ findings }: ViewObjects): { read: ReadFindings; counts: { reads: number; most: number } } {
  const counts = { reads: 0, most: 0 };
  let open = 0;
  const read: ReadFindings = async ({ offset, bytes }) => {
    counts.reads += 1;
    counts.most = Math.max(counts.most, (open += 1));
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
    return JSON.parse(Buffer.from(findings.subarray(offset, offset + bytes)).toString()) as unknown;
  };
  return { read, counts };
}

const unreadable: ReadFindings = async () => null;

async function listed(view: ReportView, query: Partial<CauseQuery>, read: ReadFindings): Promise<string> {
  const selected = await selectCauses(view, { ...ALL_CAUSES, ...query }, read);
  return String(causeList({ ...selected, scanId: 'a', view, mayAccept: false, issues: new Map(), checks: new Map(), mayCheck: false }));
}
const rangeOf = (markup: string): string => /<span id="causes-shown">([^<]*)</.exec(markup)?.[1] ?? '';

describe('the selection of root causes', () => {
  it('says that a page has more causes than its findings list', async () => {
    const objects = objectsOf([samplePage(SITE, 'Home', [images(1_600)], [images(400, 2_000)])]);
    const { read } = readerOf(objects);
    const { matching, onPage } = await selectCauses(objects.view, { ...ALL_CAUSES, page: 1 }, read);
    expect(onPage).to.deep.equal({ read: true, listed: matching, total: 1_600 });
    expect(matching).to.be.greaterThan(5).and.lessThan(1_600);
    const first = matching.toLocaleString('en');
    expect(rangeOf(await listed(objects.view, { page: 1 }, read))).to.equal(
      `1 to 5 of ${first} root causes, among the first ${first} of 1,600 on this page.`,
    );
    const none = await listed(objects.view, { page: 1, rule: 'nothing' }, read);
    expect(rangeOf(none)).to.equal(`No root cause matches, among the first ${first} of 1,600 on this page.`);
    expect(rangeOf(await listed(objects.view, { page: 1, list: 'review' }, read))).to.match(/among the first \d+ of 400 on this page\.$/);
  });

  it('leads with the causes that remove the most violations, unless the page says what to fix to pass', async () => {
    const leads = async (thresholds: Thresholds) => {
      const objects = viewObjectsOf(reportOf(sampleInput(thresholds), [samplePage(SITE, 'Home', [images(8)])]));
      return (await listed(objects.view, {}, readerOf(objects).read)).includes('id="leading-causes"');
    };
    // Without a baseline, no fix meets the threshold for new violations.
    expect(await Promise.all([leads({}), leads({ maxViolations: 0 }), leads({ maxNewViolations: 0 })])).to.deep.equal([true, false, true]);
  });

  describe('by page', () => {
    const advised = { ...samplePage(`${SITE}advice`, 'Advice', []), advice: [headings] };
    const objects = objectsOf([
      samplePage(SITE, 'Home', [images(3)]),
      samplePage(`${SITE}other`, 'Other', [images(2, 10)], [images(1, 20)]),
      sampleUntested(`${SITE}gone`, 'http_error', 404),
      advised,
    ]);
    const { read } = readerOf(objects);

    for (const [what, query, shown, isFiltered] of [
      ['has the causes of the page', { page: 1 }, '1 to 3 of 3 root causes.', true],
      ['has none for a page without findings', { page: 4 }, 'No root cause matches.', true],
      ['has none for a page without findings of the list', { page: 1, list: 'review' }, 'No root cause matches.', true],
      ['ignores a number that no page has', { page: 999 }, '1 to 5 of 5 root causes.', false],
      ['ignores a page that was not tested', { page: 3 }, '1 to 5 of 5 root causes.', false],
      ['ignores the page for advice, which has no pages', { page: 1, list: 'advice' }, '1 to 1 of 1 root cause.', false],
    ] as const)
      it(what, async () => {
        const markup = await listed(objects.view, query, read);
        expect(rangeOf(markup)).to.equal(shown);
        expect(markup.includes('Only on ')).to.equal(isFiltered);
      });

    it('says that the findings of a page could not be read', async () => {
      const markup = await listed(objects.view, { page: 1 }, unreadable);
      expect(rangeOf(markup)).to.equal('The findings of this page could not be read. Reload the page in a moment.');
    });
  });

  describe('in groups', () => {
    const links = sampleViolation('link-name', 'serious', 'Links must have discernible text', [sampleNode('<a></a>', 'a')]);
    const objects = objectsOf([
      samplePage(SITE, 'Home', [images(1), links]),
      samplePage(`${SITE}products/1`, 'One', [images(2)]),
      samplePage(`${SITE}products/2`, 'Two', [images(2, 1)], [headings]),
      samplePage(`${SITE}clean`, 'Clean', []),
    ]);
    const { read, counts } = readerOf(objects);

    for (const [what, query, groups] of [
      ['has the worst rule first', { group: 'rule' }, { 'image-alt': 3, 'link-name': 1 }],
      ['has a cause on each of its pages', { group: 'page' }, { 1: 2, 2: 2, 3: 2 }],
      ['has templates by the form of addresses', { group: 'template' }, { '/products/*': 3, '/': 2 }],
      ['has what the filters let through', { group: 'template', severity: 'serious' }, { '/': 1 }],
      ['has only the pages of the template that filters', { group: 'page', template: '/products/*' }, { 2: 2, 3: 2 }],
      ['has rules of what needs review', { group: 'rule', list: 'review' }, { 'heading-order': 1 }],
    ] as const)
      it(what, async () => {
        const selected = await selectCauses(objects.view, { ...ALL_CAUSES, ...query }, read);
        expect(Object.fromEntries(selected.groups!.map(({ key, lines }) => [key, lines.length]))).to.deep.equal(groups);
        expect(selected.matching).to.equal(Object.keys(groups).length);
        expect(counts.reads).to.equal(0);
      });

    it('is not there by page if the list has no pages', async () => {
      const { groups, causes } = await selectCauses(objects.view, { ...ALL_CAUSES, list: 'review', group: 'page' }, read);
      expect([groups, causes.length]).to.deep.equal([null, 1]);
    });

    it('leads to the causes of a group', async () => {
      const markup = await listed(objects.view, { group: 'template', severity: 'critical' }, read);
      expect(rangeOf(markup)).to.equal('1 to 2 of 2 templates.');
      expect(markup).to.include('href="/dashboard/scans/a?severity=critical&amp;template=%2Fproducts%2F*#causes"');
      expect(rangeOf(await listed(objects.view, { template: '/products/*' }, read))).to.equal('1 to 3 of 3 root causes.');
    });
  });

  it('has short names of rules to choose from, and none twice', () => {
    const help = 'Elements must have an attribute with a value that is valid for it';
    const rules = Object.fromEntries(['one', 'other'].map((rule) => [rule, { help, description: '', wcag: [] }]));
    const lines = ['image-alt', 'other', 'one'].map((rule) => ({ rule }));
    expect(ruleChoices({ cause_rules: rules }, lines)).to.deep.equal([
      ['one', 'Elements must have an attribute with a… (one)'],
      ['other', 'Elements must have an attribute with a… (other)'],
      ['image-alt', 'Images must have alternative text'],
    ]);
  });

  it('says what a list has none of', async () => {
    const { view } = objectsOf([samplePage(SITE, 'Home', [images(1)])]);
    expect(await listed(view, { list: 'review' }, unreadable))
      .to.include('Nothing needs review.')
      .and.not.include('No violation');
    expect(await listed(view, { list: 'advice' }, unreadable))
      .to.include('There is no advice.')
      .and.not.include('No violation');
    expect(await listed(objectsOf([samplePage(SITE, 'Home', [])]).view, {}, unreadable)).to.include('No violation was found.');
  });

  it('reads only details that the view does not have, a few at a time', async () => {
    const objects = viewObjectsOf(reportWith(40, VIEW_LIMITS.groups + 50, SITE));
    const { read, counts } = readerOf(objects);
    const size = CAUSE_SIZES[1];
    const first = await selectCauses(objects.view, { ...ALL_CAUSES, size }, read);
    expect(first.causes.filter(({ cause }) => cause !== null)).to.have.length(size);
    expect(counts.reads).to.equal(0);
    const kept = objects.view.groups.length;
    const beyond = await selectCauses(objects.view, { ...ALL_CAUSES, size, part: Math.floor(kept / size) + 2 }, read);
    expect(beyond.causes.map(({ cause, line }) => cause?.fingerprint === line.fingerprint)).to.deep.equal(Array(size).fill(true));
    expect(counts).to.deep.equal({ reads: size, most: READ_LIMITS.held.perKey });
  });

  it('is sorted, and finds a text in titles and names of elements', async () => {
    const { view } = viewObjectsOf(reportWith(40, 75, SITE));
    const linesOf = async (query: Partial<CauseQuery>) => {
      const { causes } = await selectCauses(view, { ...ALL_CAUSES, size: 1_000, ...query }, unreadable);
      return causes.map(({ line }) => line);
    };
    const all = await linesOf({});
    for (const [sort, by] of [
      ['elements', 'elements'],
      ['pages', 'pages'],
    ] as const) {
      const sorted = await linesOf({ sort });
      expect(sorted).to.deep.equal(all.toSorted((a, b) => b[by] - a[by]));
      expect(sorted, sort).to.not.deep.equal(all);
    }
    const severities = (await linesOf({ sort: 'severity' })).map(({ impact }) => impact);
    expect([...new Set(severities)]).to.deep.equal(IMPACTS.filter((impact) => severities.includes(impact)));
    const rules = (await linesOf({ sort: 'rule' })).map(({ rule }) => rule);
    expect(rules.filter((rule, at) => rule !== rules[at - 1])).to.have.length(new Set(rules).size);
    const { element } = all.at(-1)!;
    expect(await linesOf({ q: element.toUpperCase() }))
      .to.include(all.at(-1))
      .and.not.include(all[0]);
    expect((await linesOf({ q: 'Discernible' })).map(({ rule }) => rule)).to.include('link-name');
  });

  it('logs an outage once for each request', async () => {
    const logger = createFakeLogger();
    const down = () => Promise.reject(new Error('down'));
    const request = { server: { scanViews: { readFindings: down }, logger } } as unknown as FastifyRequest;
    const read = findingsReader(request, { id: 'a', organisation: 'acme' } as ScanRow);
    expect(await Promise.all([1, 2, 3].map((offset) => read({ offset, bytes: 1 })))).to.deep.equal([null, null, null]);
    expect(logger.lines.map(({ level, fields }) => [level, fields['scan']])).to.deep.equal([['warn', 'a']]);
  });
});

describe('the page of a page', () => {
  async function bodyOf(objects: ViewObjects, edit: (view: ReportView) => void = () => {}): Promise<string> {
    const view = structuredClone(objects.view);
    edit(view);
    const page = view.pages[0] as Parameters<typeof pageBody>[0]['page'];
    const findings = await readPageFindings(page.findings, readerOf(objects).read);
    return String(pageBody({ scanId: 'a', view, at: 1, page, findings, write: null, checked: undefined }));
  }

  it('does not say that a page with advice has nothing', async () => {
    const text = await bodyOf(objectsOf([{ ...samplePage(SITE, 'Home', []), advice: [headings] }]));
    expect(text).to.include('found no violation on this page, and nothing that needs review').and.include('Advice is listed');
  });

  it('marks a cause only if the mark holds for each element of the scan', async () => {
    const objects = objectsOf([samplePage(SITE, 'Home', [images(1)]), samplePage(`${SITE}other`, 'Other', [images(1)])]);
    const marked = (fields: object) => bodyOf(objects, ({ causes }) => Object.assign(causes[0]!, fields));
    expect(await marked({ new_elements: 1, known_elements: 1 })).to.not.match(/1 new|1 known|badge[^>]*>New/);
    expect(await marked({ new_elements: 2 })).to.match(/1 element on this page[^]*>New</);
    expect(await marked({ known_elements: 2 })).to.match(/1 element on this page[^]*>Known issue</);
  });

  it('does not take an element to review for the violation of the same cause on another page', async () => {
    const objects = objectsOf([samplePage(SITE, 'Home', [], [images(1)]), samplePage(`${SITE}other`, 'Other', [images(1)])]);
    const text = await bodyOf(objects, ({ causes }) => Object.assign(causes[0]!, { new_elements: causes[0]!.elements }));
    expect(text).to.include('Needs manual review (1 root cause)').and.not.include('About this cause');
    expect(text).to.not.match(/>New</);
  });
});
