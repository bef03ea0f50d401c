import { expect } from 'chai';
import type { PageCaveat, PageCaveatKind, ReportPage } from '../../report/schema/page.ts';
import { loadedVisit } from '../../test/support/loaded-visit.ts';
import type { Visit } from '../page/visit/visit.ts';
import { TIMER_PENDING } from '../page/visit/caveats.ts';
import { addressOf, targetOf } from './address.ts';
import { createFrontier } from './frontier.ts';
import { createCrawledPages, isMissing } from './crawled-pages.ts';

const SITE = new URL('https://example.org/');

interface Shown {
  /** The status of an error with which the site answers. */
  status?: number;
  redirectsTo?: string;
  content?: string;
  /** Its main content, if that is not all of it. */
  main?: string;
  canonical?: string;
  own?: boolean;
  caveats?: (PageCaveatKind | PageCaveat)[];
}

const failedVisit = (path: string, status: number): Visit => ({
  loaded: false,
  finalUrl: new URL(path, SITE).href,
  status,
  retryAfterMs: null,
  durationMs: 1,
  broken: false,
  reason: 'http_error',
  message: `Status ${status}.`,
});

const visitOf = (path: string, { content = path, main = content, canonical, own = true, caveats = [], redirectsTo = path }: Shown): Visit =>
  loadedVisit(
    new URL(redirectsTo, SITE),
    { content: { whole: content, main }, canonical: canonical ?? null, visible: { rendered: true, own, blocked: null } },
    { caveats: caveats.map((one) => (typeof one === 'string' ? { kind: one, message: '' } : one)) },
  );

/** Processes visits of addresses, and returns the outcomes of the pages, and what is listed. */
function process(visits: Record<string, Shown>): { taken: string[]; listed: string[] } {
  const frontier = createFrontier({ maxPages: 100, maxFailed: 100, maxLeftOut: 100 });
  const pages: ReportPage[] = [];
  const crawled = createCrawledPages(
    frontier,
    {
      start: SITE,
      targetOf: (link) => targetOf(link, SITE),
      hosts: [],
      hasRoutes: false,
      listed: () => null,
      exclusionOf: () => null,
    },
    { kinds: [], counted: false },
  );
  for (const [path, shown] of Object.entries(visits)) {
    frontier.add(addressOf(new URL(path, SITE)), 0);
    const candidate = frontier.take()!;
    const { outcome, page } = crawled.take(candidate, shown.status === undefined ? visitOf(path, shown) : failedVisit(path, shown.status));
    frontier.settle(candidate, outcome, page !== null && isMissing(page));
    if (page !== null) pages.push(page);
  }
  const outcomeOf = (page: ReportPage): string => `${new URL(page.url).pathname} ${page.tested ? 'tested' : page.reason}`;
  return { taken: pages.map(outcomeOf), listed: crawled.list(pages).pages.map(outcomeOf) };
}

const take = (visits: Record<string, Shown>): string[] => process(visits).taken;

describe('crawled pages', () => {
  it('takes a page for a duplicate that displays the same as another, unless one of them was not at rest or shows nothing of its own', () => {
    expect(take({ '/a': { content: 'x' }, '/b': { content: 'x' } })).to.deep.equal(['/a tested', '/b same_as']);
    const unsettled: Shown[] = [
      { own: false },
      ...(['not_quiet', 'still_busy', 'still_loading'] as const).map((kind) => ({ caveats: [kind] })),
    ];
    for (const shown of unsettled) {
      expect(take({ '/a': { content: 'x', ...shown }, '/b': { content: 'x' } })).to.deep.equal(['/a tested', '/b tested']);
      expect(take({ '/a': { content: 'x' }, '/b': { content: 'x', ...shown } })).to.deep.equal(['/a tested', '/b tested']);
    }
    for (const caveat of ['view_only', TIMER_PENDING] as const)
      expect(take({ '/a': { content: 'x', caveats: [caveat] }, '/b': { content: 'x' } })).to.deep.equal(['/a tested', '/b same_as']);
  });

  it('trusts a canonical link only between pages with the same main content, because sites name one address on every page', () => {
    const canonical = 'https://example.org/';
    expect(take({ '/': { canonical }, '/a': { canonical }, '/b': { canonical } })).to.deep.equal(['/ tested', '/a tested', '/b tested']);
    expect(take({ '/a': { canonical, main: 'x' }, '/b': { canonical, main: 'x' } })).to.deep.equal(['/a tested', '/b same_as']);
  });

  const spellings: [string, Record<string, Shown>, string[]][] = [
    ['is tested', { '/a': { status: 404 }, '/a/': {} }, ['/a same_as', '/a/ tested']],
    ['is tested at the end of a redirect', { '/a': { status: 404 }, '/old': { redirectsTo: '/a/' } }, ['/a same_as', '/old tested']],
    ['fails in another way', { '/a': { status: 404 }, '/a/': { status: 500 } }, ['/a/ http_error']],
    ['leads nowhere too', { '/a': { status: 404 }, '/a/': { status: 410 } }, ['/a http_error']],
    ['is the same as another page', { '/b': {}, '/a': { status: 404 }, '/old': { redirectsTo: '/a/', content: '/b' } }, ['/b tested', '/a http_error', '/old same_as']], // prettier-ignore
    ['is the same address', { '/a': { status: 404 }, '/old': { redirectsTo: '/a' } }, ['/a http_error', '/old tested']],
  ];
  for (const [what, visits, listed] of spellings)
    it(`lists a missing address whose other spelling ${what}`, () => expect(process(visits).listed).to.deep.equal(listed));
});
