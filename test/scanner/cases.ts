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

/** Where the cases are. */
export const PLACES = {
  'on the page': (content: string) => content,
  'in a frame': (content: string) => `<iframe title="frame" width="1200" height="4000" srcdoc="${attribute(html(content))}"></iframe>`,
  'in a frame of another site': () => `<iframe title="frame" width="1200" height="4000" src="OTHER/cases"></iframe>`,
  'in an open shadow root': (content: string) => `<div><template shadowrootmode="open">${content}</template></div>`,
  'in a closed shadow root': (content: string) => `<div><template shadowrootmode="closed">${content}</template></div>`,
} as const;
export type Place = keyof typeof PLACES;

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** Scans one page with all cases, one below the other. @param style a style sheet beside the cases */
export async function scanCases(
  cases: readonly Case[],
  { place = 'on the page', style = '', options = {} }: { place?: Place; style?: string; options?: Partial<GivenOptions> } = {},
): Promise<TestedPage> {
  const bodies = cases.map((one, at) => `<div class="case">${one.html.replaceAll('ID', `case-${at}`)}</div>`);
  const content = `<style>${style}</style>${bodies.join('\n')}`;
  const site = await openSite({
    '/': (request, response) => {
      const port = request.headers.host?.split(':')[1] ?? '';
      const body = PLACES[place](content).replaceAll('OTHER', `http://localhost:${port}`);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html(body));
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
  expect([page.frames_untested, page.caveats]).to.deep.equal([[], []]);
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
  for (const place of Object.keys(PLACES) as Place[])
    it(`${title} ${place}`, async () => {
      const page = await scanCases(cases, { place });
      expectFindings(page, rule, cases);
      expect(countOf(page, rule)).to.equal(cases.filter(({ finding }) => finding === 'review').length);
      expect(page.violations.filter((found) => found.rule === rule)).to.deep.equal([]);
    });
}
