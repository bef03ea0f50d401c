/** Sites with certificates of a private authority. */
import { expect } from 'chai';
import { trustAuthorities } from '../../platform/authorities.ts';
import { createAuthority, restoreAuthorities, startTlsFront, type TlsFront } from '../support/private-authority.ts';
import { failureOf, html, openSite, scan, testedOf, type Site } from './site.ts';

describe('sites of a private authority', () => {
  const authority = createAuthority('Acme');
  let site: Site;
  const fronts: TlsFront[] = [];
  restoreAuthorities();
  before(async () => {
    site = await openSite({
      '/': html('<a href="/listed">listed</a><img src="/x.png" id="x">'),
      '/listed': html('listed'),
      '/in-sitemap': html('in the sitemap'),
      '/robots.txt': (request, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain' }).end(`Sitemap: https://${request.headers.host}/sitemap.xml`),
      '/sitemap.xml': (request, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/xml' })
          .end(
            `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://${request.headers.host}/in-sitemap</loc></url></urlset>`,
          ),
    });
  });
  after(() => site.close());
  afterEach(async () => {
    for (const front of fronts.splice(0)) await front.close();
  });
  const origin = async (...issued: Parameters<typeof authority.issue>) => {
    const front = await startTlsFront(site.port, authority.issue(...issued));
    fronts.push(front);
    return `https://127.0.0.1:${front.port}/`;
  };
  const messageOf = async (url: string, siteCa?: string) => (await failureOf(scan(url, {}, { siteCa }))).message;

  it('are tested, with their robots.txt and sitemap, if the installation trusts the authority for sites', async () => {
    const url = await origin();
    const { pages } = await scan(url, {}, { siteCa: authority.bundle + createAuthority('Another').bundle });
    expect(testedOf(pages).map((page) => new URL(page.url).pathname)).to.have.members(['/', '/listed', '/in-sitemap']);
  });

  it('are not trusted because the authority is trusted for the services of the installation', async () => {
    trustAuthorities(authority.bundle);
    expect(await messageOf(await origin())).to.include('not signed by a known authority');
    expect(await messageOf(await origin(), createAuthority('Another').bundle)).to.include('not signed by a known authority');
  });

  it('must have a certificate that is valid in all other ways', async () => {
    expect(await messageOf(await origin(['other.example']), authority.bundle)).to.include('is for another host name');
    expect(await messageOf(await origin(undefined, new Date('2001-01-01')), authority.bundle)).to.include('expired');
  });

  it('are not trusted by the browser either if only robots.txt could be read', async () => {
    const url = await origin(['other.example']);
    const crawl = { include: [], exclude: [], sitemap: false, respectRobots: false, waitFor: '', settleMs: 0 };
    const error = await failureOf(scan(url, { crawl }, { siteCa: authority.bundle }));
    expect(error.message).to.include('is for another host name');
  });
});
