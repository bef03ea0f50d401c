/** What a scan says about a site that keeps its content from it in many ways, and what it finds once it was prepared. */
import { expect } from 'chai';
import type { ReportPage } from '../../report/schema/page.ts';
import { strangerSite } from './fixtures/stranger-site.ts';
import { found, openSite, scan, type Site } from './site.ts';

describe('a site of a stranger', () => {
  let site: Site;
  beforeEach(async () => void (site = await openSite(strangerSite)));
  afterEach(() => site.close());

  const lineOf = (page: ReportPage): string =>
    page.tested ? [...found(page), ...page.caveats.map(({ kind }) => kind)].join(', ') : page.reason;
  const byPath = (pages: readonly ReportPage[]): Record<string, string> =>
    Object.fromEntries(pages.map((page) => [new URL(page.url).pathname, lineOf(page)]));

  it('is reported with everything that was not tested', async () => {
    const { pages } = await scan(site.origin, {}, { workers: 2 });
    expect(byPath(pages)).to.deep.equal({
      // The dialog keeps the rest of the page from being used, so axe-core does not test it.
      '/': 'content_blocked',
      '/app': 'image-alt #from-worker',
      '/frames': 'image-alt iframe | #in-frame',
      '/broken': 'not_rendered',
      '/age': 'image-alt #gate',
      '/wines/1': 'redirected_to_gate',
      '/wines/2': 'redirected_to_gate',
      '/plain': 'image-alt #plain',
    });
  });

  it('is tested behind its dialog and its gate after the steps of crawl.prepare', async () => {
    const prepare = [{ click: '#accept' }, { goto: '/wines/1' }, { click: '#yes' }, { waitFor: '#wine' }];
    const { pages } = await scan(site.origin, { crawl: { prepare } as never }, { workers: 2 });
    expect(byPath(pages)).to.include({ '/': 'image-alt #start', '/wines/1': 'image-alt #wine', '/wines/2': 'image-alt #wine' });
  });
});
