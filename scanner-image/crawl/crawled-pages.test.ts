import { expect } from 'chai';
import type { PageCaveat, PageCaveatKind, ReportPage } from '../../report/schema/page.ts';
import { loadedVisit } from '../../test/support/loaded-visit.ts';
import type { Visit } from '../page/visit/visit.ts';
import { TIMER_PENDING } from '../page/visit/caveats.ts';
import { addressOf } from './address.ts';
import { createFrontier } from './frontier.ts';
import { createCrawledPages } from './crawled-pages.ts';

const SITE = new URL('https://example.org/');

interface Shown {
  content?: string;
  own?: boolean;
  caveats?: (PageCaveatKind | PageCaveat)[];
}

const visitOf = (path: string, { content = path, own = true, caveats = [] }: Shown): Visit =>
  loadedVisit(
    new URL(path, SITE),
    { content: { whole: content, main: content }, visible: { rendered: true, own, blocked: null } },
    { caveats: caveats.map((one) => (typeof one === 'string' ? { kind: one, message: '' } : one)) },
  );

/** Processes visits of addresses, and returns the outcomes of the pages. */
function take(visits: Record<string, Shown>): string[] {
  const frontier = createFrontier({ maxPages: 100, maxFailed: 100, maxLeftOut: 100 });
  const pages: ReportPage[] = [];
  const crawled = createCrawledPages(frontier, { start: SITE, origin: () => SITE, hasRoutes: false, exclusionOf: () => null });
  for (const [path, shown] of Object.entries(visits)) {
    frontier.add(addressOf(new URL(path, SITE)), 0);
    const candidate = frontier.take()!;
    const { outcome, page } = crawled.take(candidate, visitOf(path, shown));
    frontier.settle(candidate, outcome);
    if (page !== null) pages.push(page);
  }
  return pages.map((page) => `${new URL(page.url).pathname} ${page.tested ? 'tested' : page.reason}`);
}

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
});
