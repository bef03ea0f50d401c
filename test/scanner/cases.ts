/** Many small cases of markup on one page, each with what a rule says about it. Scanned on the page, in frames and in shadow roots. */
import { expect } from 'chai';
import type { ReportViolation, TestedPage } from '../../report/schema/page.ts';
import type { GivenOptions } from '../../core/scan/options.ts';
import { html, openSite, scan, testedOf } from './site.ts';

export type Finding = 'violation' | 'review' | null;

export interface Case {
  name: string;
  /** `ID` stands for the ID of the element that the finding is about. */
  html: string;
  finding: Finding;
}

/** Where the cases are, each on the page of all of them. */
const PLACES = {
  'on the page': (content: string) => content,
  'in a frame': (content: string) =>
    `<iframe id="frame" title="frame" width="1200" height="4000" srcdoc="${attribute(html(content))}"></iframe>`,
  'in a frame of another site': () => `<iframe id="other" title="other" width="1200" height="4000" src="OTHER/cases"></iframe>`,
  'in an open shadow root': (content: string) => `<div id="open"><template shadowrootmode="open">${content}</template></div>`,
  'in a closed shadow root': (content: string) => `<div id="closed"><template shadowrootmode="closed">${content}</template></div>`,
} as const;
type Place = keyof typeof PLACES;
const PLACE_OF: Readonly<Record<string, Place>> = {
  '#frame': 'in a frame',
  '#other': 'in a frame of another site',
  '#open': 'in an open shadow root',
  '#closed': 'in a closed shadow root',
};

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

const ALL_PLACES = Object.keys(PLACES) as Place[];

/** Scans one page with all cases, one below the other, in each of the places. */
async function scanPlaces(cases: readonly Case[], places: readonly Place[], options: Partial<GivenOptions> = {}): Promise<TestedPage> {
  const content = cases.map((one, at) => `<div class="case">${one.html.replaceAll('ID', `case-${at}`)}</div>`).join('\n');
  const site = await openSite({
    '/': (request, response) => {
      const body = html(places.map((place) => PLACES[place](content)).join('\n'));
      const other = `http://localhost:${request.headers.host?.split(':')[1]}`;
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(body.replaceAll('OTHER', other));
    },
    '/cases': html(content),
  });
  try {
    const { pages } = await scan(`${site.origin}/`, { maxPages: 1, ...options });
    const [page] = testedOf(pages);
    if (page === undefined) throw new Error(`not tested: ${JSON.stringify(pages)}`);
    return page;
  } finally {
    await site.close();
  }
}

/** The page with the findings in one place. */
function partOf(page: TestedPage, place: Place): TestedPage {
  const only = (found: readonly ReportViolation[]): ReportViolation[] =>
    found.flatMap((finding) => {
      const nodes = finding.nodes.filter(
        ({ frame_path: [frame], shadow_path: [shadow] }) => (PLACE_OF[frame ?? shadow ?? ''] ?? 'on the page') === place,
      );
      return nodes.length === 0 ? [] : [{ ...finding, nodes, nodes_total: nodes.length }];
    });
  return { ...page, violations: only(page.violations), needs_review: only(page.needs_review) };
}

/** Scans one page with all cases. */
export const scanCases = (cases: readonly Case[], options: Partial<GivenOptions> = {}): Promise<TestedPage> =>
  scanPlaces(cases, ['on the page'], options);

/** Tests what the page has in every place. */
export function itInEveryPlace(title: string, cases: readonly Case[], check: (page: TestedPage) => void): void {
  let page: TestedPage;
  before(async () => void (page = await scanPlaces(cases, ALL_PLACES)));
  for (const place of ALL_PLACES) it(`${title} ${place}`, () => check(partOf(page, place)));
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
