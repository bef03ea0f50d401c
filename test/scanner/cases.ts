/** Many small cases of markup on one page, each with what a rule says about it. Scanned on the page, in frames and in shadow roots. */
import { expect } from 'chai';
import type { ReportViolation, TestedPage } from '../../report/schema/page.ts';
import type { GivenOptions } from '../../core/scan/options.ts';
import { html, openSite, scan, testedOf, type Route } from './site.ts';

export type Finding = 'violation' | 'review' | null;

export interface Case {
  name: string;
  /** `ID` stands for the ID of the element that the finding is about. */
  html: string;
  finding: Finding;
}

/** Where the cases are. */
const PLACES = {
  'on the page': (content: string) => content,
  'in a frame': (content: string) => `<iframe title="frame" width="1200" height="4000" srcdoc="${attribute(html(content))}"></iframe>`,
  'in a frame of another site': () => `<iframe title="frame" width="1200" height="4000" src="OTHER/cases"></iframe>`,
  'in an open shadow root': (content: string) => `<div><template shadowrootmode="open">${content}</template></div>`,
  'in a closed shadow root': (content: string) => `<div><template shadowrootmode="closed">${content}</template></div>`,
} as const;
type Place = keyof typeof PLACES;

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const ALL_PLACES = Object.keys(PLACES) as Place[];
/** Each place has a template of its own, so that no page learns from another what it need not wait for. */
const pathOf = (place: Place): string => `/${place.replaceAll(' ', '')}`;

/** Scans a page for each place, with all cases, one below the other. */
async function scanPlaces(cases: readonly Case[], places: readonly Place[], options: Partial<GivenOptions> = {}) {
  const content = cases.map((one, at) => `<div class="case">${one.html.replaceAll('ID', `case-${at}`)}</div>`).join('\n');
  const pages = places.map((place): [string, Route] => [
    pathOf(place),
    (request, response) => {
      const other = `http://localhost:${request.headers.host?.split(':')[1]}`;
      const body = html(PLACES[place](content).replaceAll('OTHER', other)).replace('Heading', place);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(body);
    },
  ]);
  const links = places.map((place) => `<a href="${pathOf(place)}">${place}</a>`);
  const site = await openSite({ '/': html(links.join('')), ...Object.fromEntries(pages), '/cases': html(content) });
  try {
    const start = places.length === 1 ? pathOf(places[0]!) : '/';
    const { pages } = await scan(site.origin + start, { maxPages: places.length === 1 ? 1 : 20, ...options }, { workers: 2 });
    const tested = new Map(testedOf(pages).map((page) => [new URL(page.url).pathname, page]));
    return (place: Place): TestedPage => {
      const page = tested.get(pathOf(place));
      if (page === undefined) throw new Error(`not tested: ${JSON.stringify(pages)}`);
      return page;
    };
  } finally {
    await site.close();
  }
}

/** Scans one page with all cases. */
export const scanCases = async (cases: readonly Case[], options: Partial<GivenOptions> = {}): Promise<TestedPage> =>
  (await scanPlaces(cases, ['on the page'], options))('on the page');

/** Tests the page of every place, which are those of one scan. */
export function itInEveryPlace(title: string, cases: readonly Case[], check: (page: TestedPage) => void): void {
  let pageIn: (place: Place) => TestedPage;
  before(async () => void (pageIn = await scanPlaces(cases, ALL_PLACES)));
  for (const place of ALL_PLACES) it(`${title} ${place}`, () => check(pageIn(place)));
}

/** Expects what the rule says about each case, and that nothing was left untested. */
export function expectFindings(page: TestedPage, rule: string, cases: readonly Case[]): void {
  const about = (found: readonly ReportViolation[]): Set<string> =>
    new Set(found.flatMap((finding) => (finding.rule === rule ? finding.nodes.map(({ selector }) => selector) : [])));
  const [violations, review] = [about(page.violations), about(page.needs_review)];
  const lines = cases.map(({ name }, at) => {
    const selector = `#case-${at}`;
    return `${name}: ${violations.has(selector) ? 'violation' : review.has(selector) ? 'review' : null}`;
  });
  expect(lines).to.deep.equal(cases.map(({ name, finding }) => `${name}: ${finding}`));
  // A frame of another site may take more than five seconds on a loaded machine.
  const caveats = page.caveats.filter(({ kind }) => kind !== 'still_loading');
  expect([page.frames_untested, caveats]).to.deep.equal([[], []]);
}

/** The number of elements with a finding of a rule, to see that no case has findings on other elements. */
export const countOf = (page: TestedPage, rule: string): number =>
  [...page.violations, ...page.needs_review].reduce((sum, one) => sum + (one.rule === rule ? one.nodes_total : 0), 0);

/** An element with a shadow root. */
export const host = (mode: 'open' | 'closed', shadow: string, light = ''): string =>
  `<div><template shadowrootmode="${mode}">${shadow}</template>${light}</div>`;

/** The cases of a rule that never fails an element: those for review, and those that it accepts. */
export const reviewCases = (wrong: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): Case[] => [
  ...Object.entries(wrong).map(([name, html]): Case => ({ name, html, finding: 'review' })),
  ...Object.entries(right).map(([name, html]): Case => ({ name, html, finding: null })),
];

/** Tests in every place that such a rule asks for a review of these cases, once each, and fails nothing. */
export function itNeedsReview(title: string, rule: string, cases: readonly Case[]): void {
  itInEveryPlace(title, cases, (page) => {
    expectFindings(page, rule, cases);
    expect(countOf(page, rule)).to.equal(cases.filter(({ finding }) => finding === 'review').length);
    expect(page.violations.filter((found) => found.rule === rule)).to.deep.equal([]);
  });
}
