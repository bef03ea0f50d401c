/** Scans that sign in do not request addresses that change something. The sites count the requests. */
import { expect } from 'chai';
import type { CrawlRules } from '../../core/scan/options.ts';
import { CREDENTIALS, MARKER, STEPS, openMembersSite, type MembersSite } from './fixtures/members-site.ts';
import { html, paths, redirect, scan, signInOf, testedOf, untested, type Site } from './site.ts';

const ADDRESSES = [
  ...['/users/7/delete', '/orders/9/cancel?confirm=1', '/cart/remove?id=5', '/admin/cache/clear', '/invoices/9/pay', '/checkout/confirm'],
  ...['/items?action=delete', '/mail?do=unsubscribe', '/deleteUser', '/doLogout', '/%64elete/7'],
  ...['/konto/l%C3%B6schen', '/compte/supprimer', '/bestellingen/9/annuleren', '/koszyk/usu%C5%84'],
];

describe('a scan that signs in', () => {
  const open: Site[] = [];
  async function opened(options: Parameters<typeof openMembersSite>[0] = {}): Promise<MembersSite> {
    const site = await openMembersSite(options);
    open.push(site);
    return site;
  }
  afterEach(() => Promise.all(open.splice(0).map((site) => site.close())));

  const scanMembers = (site: Site, { start = '/', ...crawl }: Partial<CrawlRules> & { start?: string } = {}) => {
    const rules = { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: '', settleMs: 0, ...crawl };
    const signIn = signInOf(site.origin, CREDENTIALS, { steps: STEPS, marker: MARKER });
    return scan(site.origin + start, { crawl: rules }, { workers: 2 }, { signIn, stepMs: 30_000 });
  };
  /** The requests that an address of the list, or the sign-out of the site, got. */
  const requestsOf = (site: Site, addresses = [...ADDRESSES, '/logout']): string[] =>
    site.requests.filter((url) => addresses.includes(url));

  it('requests no address that changes something, of a link, a sitemap or a form, and says which word it has', async () => {
    const site = await opened({
      pages: ['/form', ...ADDRESSES, '/#/account/close', '/deleted-scenes'],
      routes: {
        '/sitemap.xml': (request, response) => {
          const locations = ['/one', ...ADDRESSES].map((path) => `<url><loc>http://${request.headers.host}${path}</loc></url>`);
          response.writeHead(200, { 'content-type': 'application/xml' }).end(`<urlset>${locations.join('')}</urlset>`);
        },
        '/one': html('<p class="account">Member</p>'),
        '/form': html('<p class="account">Member</p><form action="/users/7/delete"><button>Delete</button></form>'),
      },
    });
    const { pages } = await scanMembers(site);
    expect(paths(testedOf(pages)).sort()).to.deep.equal(['/', '/deleted-scenes', '/form', '/one']);
    const left = pages.filter((page) => !page.tested && page.reason === 'excluded');
    expect(paths(left)).to.include.members([...ADDRESSES, '/#/account/close', '/logout']);
    expect(requestsOf(site)).to.deep.equal([]);
    expect(untested(pages, '/users/7/delete').message)
      .to.match(/^The address contains "delete"\./)
      .and.match(/add a glob that contains the word to crawl\.include\.$/);
    expect(untested(pages, '/konto/l%C3%B6schen').message).to.include('contains "löschen"');
  });

  it('follows no redirect to such an address', async () => {
    const away = (head: string) => html('<p class="account">Member</p>', { head });
    const site = await opened({
      pages: ['/server', '/hops', '/meta', '/script', '/route', '/one'],
      routes: {
        '/server': redirect('/users/7/delete'),
        '/hops': redirect('/server'),
        '/meta': away('<meta http-equiv="refresh" content="0; url=/cart/remove?id=5">'),
        '/script': away('<script>location.href = "/items?action=delete"</script>'),
        '/route': away('<script>location.hash = "#/account/close"</script>'),
      },
    });
    const { pages } = await scanMembers(site);
    expect(paths(testedOf(pages)).sort()).to.deep.equal(['/', '/one']);
    for (const [path, target, word] of [
      ['/server', '/users/7/delete', 'delete'],
      ['/hops', '/users/7/delete', 'delete'],
      ['/meta', '/cart/remove', 'remove'],
      ['/script', '/items', 'delete'],
      ['/route', '/route', 'close'],
    ] as const) {
      const { reason, message } = untested(pages, path);
      expect([path, reason]).to.deep.equal([path, 'excluded']);
      expect(message).to.include(`The page redirects to ${site.origin}${target}. The address contains "${word}".`);
    }
    expect(requestsOf(site)).to.deep.equal([]);
  });

  it('lists a page that always redirects to the sign-out as sign_in_lost', async () => {
    const site = await opened({ pages: ['/leave', '/two'], routes: { '/leave': redirect('/logout') } });
    const { pages } = await scanMembers(site);
    expect(paths(testedOf(pages)).sort()).to.deep.equal(['/', '/two']);
    expect(untested(pages, '/leave')).to.include({ reason: 'sign_in_lost' });
    expect(untested(pages, '/leave').message).to.include(
      `it redirects to ${site.origin}/logout, which signs out. Another sign-in did not help.`,
    );
    expect(requestsOf(site)).to.deep.equal([]);
  });

  it('requests such an address if a glob of crawl.include names its word', async () => {
    const site = await opened({ pages: ['/orders/9/cancel', '/users/7/delete', '/old'], routes: { '/old': redirect('/orders/9/cancel') } });
    const { pages } = await scanMembers(site, { include: ['/**', '/orders/*/cancel'] });
    expect(paths(testedOf(pages)).sort()).to.deep.equal(['/', '/orders/9/cancel']);
    expect(untested(pages, '/old')).to.include({ reason: 'same_as' });
    expect(requestsOf(site)).to.deep.equal([]);
  });

  it('requests the address that it was started with', async () => {
    const site = await opened({ pages: ['/konto/l%C3%B6schen', '/users/7/delete', '/users/7/delete#/now/cancel'] });
    const { pages } = await scanMembers(site, { start: '/users/7/delete#/now' });
    expect(paths(testedOf(pages))).to.deep.equal(['/users/7/delete#/now', '/']);
    expect(requestsOf(site, ['/konto/l%C3%B6schen', '/logout'])).to.deep.equal([]);
  });
});

describe('a scan without a sign-in', () => {
  it('follows all links, because it can change nothing that a crawler could not', async () => {
    const site = await openMembersSite({
      routes: { '/': html('<a href="/orders/9/cancel">x</a>'), '/orders/9/cancel': html('Cancelled') },
    });
    try {
      const { pages } = await scan(`${site.origin}/`);
      expect(paths(testedOf(pages))).to.deep.equal(['/', '/orders/9/cancel']);
    } finally {
      await site.close();
    }
  });
});
