/** Steps that prepare a scan: what every page is tested with, and where they may go. */
import { expect } from 'chai';
import type { PrepareStep } from '../../core/scan/steps.ts';
import { openAgeGateSite, openFrameSite, openLayerSite, PATHS } from './fixtures/gated-sites.ts';
import { CREDENTIALS, MARKER, openMembersSite, STEPS } from './fixtures/members-site.ts';
import { failureOf, html, openSite, paths, redirect, scan, signInOf, testedOf, type Route, type Site } from './site.ts';

/** Enough for a page on a busy machine. */
const STEP_MS = 5000;

describe('a scan that is prepared by steps', () => {
  const open: Site[] = [];
  const opened = <S extends Site>(site: S): S => (open.push(site), site);
  afterEach(() => Promise.all(open.splice(0).map((site) => site.close())));

  const prepared = (site: Site, prepare: PrepareStep[], workers = 1) =>
    scan(`${site.origin}/`, { crawl: { prepare } }, { workers }, { stepMs: STEP_MS });
  const violationsOf = (pages: Parameters<typeof testedOf>[0]): [string, number][] =>
    testedOf(pages)
      .map(({ url, violations }): [string, number] => [new URL(url).pathname, violations.filter(({ rule }) => rule === 'image-alt').length])
      .sort();
  const ONE_EACH = PATHS.map((path) => [path, 1]);

  it('tests the content behind a layer for consent on every page', async () => {
    const site = opened(await openLayerSite());
    const { pages, consent } = await prepared(site, [{ click: '#no' }, { waitFor: 'main img' }], 2);
    expect(violationsOf(pages)).to.deep.equal(ONE_EACH);
    expect(consent, 'it answers no dialog by rules').to.equal(undefined);
  });

  it('tests the pages behind an age gate to which all of them redirect, and reads the sitemap there', async () => {
    const site = opened(await openAgeGateSite());
    const { pages } = await prepared(site, [
      { fill: { selector: '#year', value: '1980' } },
      { click: 'form button' },
      { assert: { selector: 'nav' } },
    ]);
    expect(violationsOf(pages)).to.deep.equal(ONE_EACH);
    expect(site.hits('/gate?to=/'), 'only the steps see the gate').to.equal(1);
    expect(site.hits('/gate?to=/sitemap.xml')).to.equal(0);
  });

  it('clicks in the frame of a dialog, also of another site', async () => {
    const site = opened(await openFrameSite());
    const { pages } = await prepared(site, [{ waitFor: 'button.deny' }, { click: 'button.deny' }, { waitFor: 'main' }]);
    expect(violationsOf(pages)).to.deep.equal(ONE_EACH);
  });

  it('begins every page with the state of the steps, whatever other pages do to it', async () => {
    const seen: string[] = [];
    const page =
      (body: string): Route =>
      ({ url, headers }, response) => {
        seen.push(`${url} ${headers.cookie ?? ''}`);
        const changes = { 'content-type': 'text/html', 'set-cookie': `answer=${url}; Path=/` };
        response.writeHead(200, changes).end(html(body));
      };
    const site = opened(
      await openSite({
        '/': page(
          '<p>Start</p><a href="/one">One</a> <a href="/two">Two</a><button onclick="document.cookie = \'answer=steps; path=/\'">Go</button>',
        ),
        '/one': page('<p>First</p>'),
        '/two': page('<p>Second</p>'),
      }),
    );
    await prepared(site, [{ click: 'button' }]);
    expect(seen).to.deep.equal(['/ ', '/ answer=steps', '/one answer=steps', '/two answer=steps']);
  });

  it('runs the steps as a member after the sign-in', async () => {
    const chosen: boolean[] = [];
    const site = opened(
      await openMembersSite({
        pages: ['/one'],
        routes: {
          '/choose': (request, response) => {
            chosen.push(/session=/.test(request.headers.cookie ?? ''));
            response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'choice=made; Path=/' }).end(html('Chosen'));
          },
        },
      }),
    );
    const { pages } = await scan(
      `${site.origin}/`,
      { crawl: { prepare: [{ goto: '/choose' }, { assert: { text: 'Chosen' } }] } },
      {},
      { stepMs: STEP_MS, signIn: signInOf(site.origin, CREDENTIALS, { steps: STEPS, marker: MARKER }) },
    );
    expect(chosen).to.deep.equal([true]);
    expect(paths(testedOf(pages))).to.include.members(['/', '/one']);
    expect(site.signIns).to.equal(1);
  });

  it('ends with a message that names the step, and tests no page', async () => {
    const site = opened(await openSite({ '/': html('<button>Go</button>') }));
    const failed = await failureOf(prepared(site, [{ click: 'button' }, { click: '.no-such-button' }]));
    expect(failed).to.include({ reason: 'prepare_failed' });
    expect(failed.message).to.match(/^Step 2 of 2 of crawl\.prepare \(click \.no-such-button\) failed: .* has no visible element/);
    expect(failed.pages).to.deep.equal({ scanned: 0, failed: 0, total: 0 });
  });

  it('ends when a step leaves the site, by a link or by an address', async () => {
    const other = opened(await openSite({ '/': html('Another site') }));
    const away = `http://localhost:${other.port}/`;
    const site = opened(await openSite({ '/': html(`<a href="${away}">Away</a> <a href="/moved">Moved</a>`), '/moved': redirect(away) }));
    for (const [prepare, message] of [
      [[{ click: 'a' }], 'Step 1 of 1 of crawl.prepare (click a) failed: it leads to another site'],
      [[{ goto: '/moved' }], 'Step 1 of 1 of crawl.prepare (goto /moved) failed: it leads to another site'],
      [[{ goto: away }], 'Step 1 of crawl.prepare cannot be run: goto'],
    ] satisfies [PrepareStep[], string][]) {
      const failed = await failureOf(prepared(site, prepare));
      expect(failed).to.include({ reason: 'prepare_failed' });
      expect(failed.message).to.include(message);
    }
    expect(other.requests).to.deep.equal([]);
  });

  it('runs no step where robots.txt forbids the site', async () => {
    const closed = opened(
      await openSite({
        '/': html('Closed'),
        '/robots.txt': (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('User-agent: *\nDisallow: /'),
      }),
    );
    expect(await failureOf(prepared(closed, [{ click: 'a' }]))).to.include({ reason: 'robots_disallowed' });
    expect(closed.hits('/')).to.equal(0);
  });
});
