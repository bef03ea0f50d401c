/** The answer to the dialog that asks for consent to cookies, by the rules of autoconsent. */
import { expect } from 'chai';
import type { ConsentChoice } from '../../core/scan/options.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import { openConsentSite, PATHS, PRODUCTS } from './fixtures/gated-sites.ts';
import { nightly } from '../support/nightly.ts';
import { html, openSite, scan, testedOf, type Site } from './site.ts';

const ACTIONS: readonly ('reject' | 'accept')[] = ['reject', 'accept'];
const NAMES = { onetrust: 'Onetrust', cookieyes: 'cookieyes', sourcepoint: 'Sourcepoint-frame' };

describe('a scan that answers a dialog for consent', () => {
  const open: Site[] = [];
  const opened = (site: Site): Site => (open.push(site), site);
  afterEach(() => Promise.all(open.splice(0).map((site) => site.close())));

  const answering = (site: Site, consent: ConsentChoice) =>
    scan(`${site.origin}/`, { crawl: { consent } }, { workers: 2 }, { stepMs: 5000 });
  /** The elements without an alternative: the one of the dialog has the class `logo`. */
  const picturesOf = (pages: readonly ReportPage[]): Record<string, string[]> =>
    Object.fromEntries(
      testedOf(pages).map(({ url, violations }) => [
        new URL(url).pathname,
        violations
          .filter(({ rule }) => rule === 'image-alt')
          .flatMap(({ nodes }) => nodes.map((node) => (node.html.includes('logo') ? 'logo' : 'picture')))
          .sort(),
      ]),
    );
  const ANSWERED = Object.fromEntries(PATHS.map((path) => [path, path === '/' ? ['logo', 'picture'] : ['picture']]));
  const OPEN = Object.fromEntries(PATHS.map((path) => [path, ['logo', 'picture']]));

  for (const [at, product] of PRODUCTS.entries())
    for (const action of nightly([ACTIONS[at % 2]!], ACTIONS))
      it(`tests the start page in both states, and the others after it: ${product}, ${action}`, async () => {
        const site = opened(await openConsentSite(product));
        const { pages, consent } = await answering(site, action);
        expect(consent).to.deep.equal({ action, outcome: 'answered', product: NAMES[product], url: `${site.origin}/` });
        expect(picturesOf(pages)).to.deep.equal(ANSWERED);
        expect(testedOf(pages)).to.have.length(PATHS.length);
        const [start] = testedOf(pages);
        expect(start!.caveats).to.deep.equal([]);
        expect(start!.rules.critical.failed).to.equal(1);
      });

  it('says that none was recognised, and tests the pages as a first visit', async () => {
    const cookies: string[] = [];
    const site = opened(
      await openSite({
        '/': ({ headers }, response) => {
          cookies.push(headers.cookie ?? '');
          response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'seen=yes' }).end(html('No dialog'));
        },
      }),
    );
    const { consent } = await answering(site, 'reject');
    expect(consent).to.deep.equal({ action: 'reject', outcome: 'not_found', product: null, url: `${site.origin}/` });
    expect(cookies).to.deep.equal(['', '']);
  });

  it('says that the dialog shows again if the site forgets the answer', async () => {
    const site = opened(await openConsentSite('cookieyes', { reacts: 'forgets' }));
    const { pages, consent } = await answering(site, 'accept');
    expect(consent).to.include({ outcome: 'shown_again', product: 'cookieyes' });
    expect(picturesOf(pages)).to.deep.equal(OPEN);
  });

  it('says that the dialog cannot be answered, and tests the pages with it', async () => {
    const site = opened(await openConsentSite('cookieyes', { reacts: 'partly' }));
    const { pages, consent } = await answering(site, 'accept');
    expect(consent).to.include({ outcome: 'failed', product: 'cookieyes' });
    expect(picturesOf(pages)).to.deep.equal(OPEN);
  });

  it('is followed by the steps, which see the answered dialog', async () => {
    const site = opened(await openConsentSite('onetrust'));
    const crawl = { consent: 'reject', prepare: [{ assert: { text: 'This is /' } }, { goto: '/one' }] } as const;
    const { consent, pages } = await scan(`${site.origin}/`, { crawl: { ...crawl, prepare: [...crawl.prepare] } }, {}, { stepMs: 5000 });
    expect(consent).to.include({ outcome: 'answered' });
    expect(picturesOf(pages)).to.deep.equal(ANSWERED);
  });
});
