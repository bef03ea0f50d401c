import { expect } from 'chai';
import type { ReportPage } from '../../report/schema/page.ts';
import { testedPage } from '../../test/support/tested-page.ts';
import { arrivalOf, listRedirectTargets } from './listing.ts';

const at = (path: string): string => new URL(path, 'https://example.org/').href;

function pageOf(path: string, final: string, sameAs?: string): ReportPage {
  const common = { url: at(path), final_url: at(final), http_status: 200, duration_ms: 1 };
  if (sameAs === undefined) return testedPage(common.url, common);
  return { ...common, tested: false, reason: 'same_as', same_as: at(sameAs), message: '' };
}

/** The pages after redirect targets were listed: `path state`. */
const listed = (pages: ReportPage[], named: string[] = []): string[] =>
  listRedirectTargets(pages, (key) => named.includes(key.replace('example.org', ''))).pages.map((page) => {
    const { pathname, search } = new URL(page.url);
    return `${pathname}${search} ${page.tested ? 'tested' : page.reason}`;
  });

describe('redirect targets', () => {
  it('are tested once under their own address, and the addresses that lead there are not', () => {
    const pages = [
      pageOf('/', '/'),
      pageOf('/a', '/age'),
      pageOf('/b', '/age', '/a'),
      pageOf('/copy', '/copy', '/a'),
      pageOf('/c', '/age', '/a'),
    ];
    expect(listed(pages)).to.deep.equal([
      '/ tested',
      '/age tested',
      '/a redirected_to_gate',
      '/b redirected_to_gate',
      '/copy same_as',
      '/c redirected_to_gate',
    ]);
    const { pages: all, redirectTargets } = listRedirectTargets(pages, () => false);
    expect(all[4]).to.include({ same_as: at('/age') });
    expect(all[2]).to.not.have.property('same_as');
    expect(all[2]).to.have.property('message').that.includes(at('/age')).and.includes('crawl.prepare');
    expect([...redirectTargets]).to.deep.equal([[at('/a'), at('/age')]]);
  });

  it('are recognised if the address carries the requested one', () => {
    const gate = (path: string): string => `/gate?return=${encodeURIComponent(path)}&v=1`;
    expect(listed([pageOf('/a', gate('/a')), pageOf('/b', gate('/b'), '/a')])).to.deep.equal([
      '/gate?v=1 tested',
      '/a redirected_to_gate',
      '/b redirected_to_gate',
    ]);
  });

  const ordinary: Record<string, [pages: ReportPage[], named?: string[]]> = {
    'one address that moved': [[pageOf('/', '/en/')]],
    'the start pages of a site': [[pageOf('/', '/en/'), pageOf('/index.php', '/en/', '/')]],
    'a start page and one address that moved there': [[pageOf('/', '/en/'), pageOf('/old', '/en/', '/')]],
    'a page that a link names': [[pageOf('/old', '/new'), pageOf('/older', '/new', '/old')], ['/new']],
    'a trailing slash, a scheme and www.': [[pageOf('/a', '/a/'), pageOf('http://www.example.org/b', '/b')]],
    'another query': [[pageOf('/list?a=1', '/list'), pageOf('/list?a=2', '/list', '/list?a=1')]],
    'another spelling': [[pageOf('/About.html', '/about'), pageOf('/ABOUT/index.html', '/about', '/About.html')]],
    'another name of the same thing': [[pageOf('/p/12/red', '/p/12/blue'), pageOf('/p/12', '/p/12/blue', '/p/12/red')]],
    'a page that displays the same as another': [[pageOf('/x', '/x'), pageOf('/a', '/y', '/x'), pageOf('/b', '/y', '/x')]],
  };
  for (const [name, [pages, named]] of Object.entries(ordinary))
    it(`are not ${name}`, () =>
      expect(listRedirectTargets(pages, (key) => (named ?? []).some((path) => key === `example.org${path}`)).pages).to.deep.equal(pages));

  it('have addresses without the parameters that carry the requested address', () => {
    const arrivals: [final: string, arrival: string][] = [
      ['/gate?next=/a%3Fx%3D1', '/gate'],
      ['/gate?returnUrl=https%3A%2F%2Fexample.org%2Fa%3Fx%3D1&lang=de', '/gate?lang=de'],
      ['/gate?redirect_to=%252Fa%253Fx%253D1', '/gate'],
      ['/gate?next=/b', '/gate?next=/b'],
      ['/gate?next=%E0', '/gate?next=%E0'],
      ['/view?path=/a%3Fx%3D1', '/view?path=/a%3Fx%3D1'],
      ['/search?to=a', '/search?to=a'],
    ];
    for (const [final, arrival] of arrivals) expect(arrivalOf(new URL(at('/a?x=1')), new URL(at(final))).href, final).to.equal(at(arrival));
  });
});
