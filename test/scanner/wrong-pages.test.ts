/** Responses that are not the requested page are listed with a reason, but not tested or scored. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { answer, failureOf, file, html, openSite, redirect, scan, signInOf, testedOf, untested, type Route, type Site } from './site.ts';

describe('responses that are not the page', () => {
  let site: Site;
  let first = 0;
  before(async () => {
    const pages: Record<string, Route> = {
      '/401': answer(401, { 'www-authenticate': 'Basic realm="x"' }),
      '/403': answer(403),
      '/404': answer(404),
      '/429': answer(429, { 'retry-after': '3600' }),
      '/500': answer(500),
      '/wall': answer(403, { 'cf-mitigated': 'challenge', server: 'cloudflare' }),
      '/wall200': html('', { title: 'Just a moment...' }),
      '/soft-wall': answer(202, { 'x-amzn-waf-action': 'challenge' }),
      // Not a rate limit: waiting does not help.
      '/wall429': answer(429, { 'retry-after': '1' }, '<script>window.KPSDK={}</script>'),
      '/wall-script': html('<script>document.title = "Just a moment..."; window._cf_chl_opt = {}</script>'),
      '/members': redirect('/account/login?return=%2Fmembers'),
      '/account/login': html('<form><label>Password <input type="password"></label></form>', { title: 'Sign in' }),
      '/login': html('<form><label>Password <input type="password"></label></form>', { title: 'Sign in here' }),
      '/image': file('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
      '/type-lies': file('application/json', '{}'),
      '/attachment': file('text/html', html('x'), { 'content-disposition': 'attachment; filename=x.html' }),
      '/sniffed': (_request, response) => response.end('%PDF-1.4\n%%EOF'),
      '/empty': answer(204),
      '/later': (_request, response) => {
        first += 1;
        if (first === 1) response.writeHead(503, { 'retry-after': '1' }).end();
        else response.writeHead(200, { 'content-type': 'text/html' }).end(html('here I am', { title: 'Later' }));
      },
      '/never': () => undefined,
      '/dead': (request) => request.socket.destroy(),
    };
    const linked = Object.keys(pages).filter((path) => path !== '/account/login');
    site = await openSite({ '/': html(linked.map((path) => `<p><a href="${path}">${path}</a></p>`).join('')), ...pages });
  });
  after(() => site.close());

  it('are listed with the reason', async () => {
    const { pages } = await scan(`${site.origin}/`, { maxPages: 20 }, { workers: 2, pageBudgetMs: 5000 });
    const reasons = Object.fromEntries(pages.flatMap((page) => (page.tested ? [] : [[new URL(page.url).pathname, page.reason]])));
    expect(reasons).to.deep.equal({
      '/401': 'http_error',
      '/403': 'http_error',
      '/404': 'http_error',
      '/429': 'rate_limited',
      '/500': 'http_error',
      '/wall': 'bot_wall',
      '/wall200': 'bot_wall',
      '/soft-wall': 'bot_wall',
      '/wall429': 'bot_wall',
      '/wall-script': 'bot_wall',
      '/members': 'sign_in_page',
      '/image': 'document',
      '/type-lies': 'document',
      '/attachment': 'document',
      '/sniffed': 'document',
      '/empty': 'not_html',
      '/never': 'timeout',
      '/dead': 'navigation_failed',
    });
    expect(untested(pages, '/404')).to.include({
      http_status: 404,
      message: 'The server responded with status 404: the page does not exist.',
    });
    expect(untested(pages, '/wall').message).to.include('Cloudflare');
    expect(untested(pages, '/members').message).to.include('/account/login');
    expect(untested(pages, '/never').message).to.equal('The page did not answer within 5 s.');
    // A sign-in page that is requested by its own URL is tested, and a 503 is retried once.
    expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.deep.equal(['/', '/login', '/later']);
    expect(site.hits('/later')).to.equal(2);
    expect(site.hits('/429')).to.equal(1);
    expect(site.hits('/wall429')).to.equal(1);
  });

  const ends: [path: string, reason: string, words: string][] = [
    ['/404', 'target_unreachable', '404'],
    ['/401', 'sign_in_required', 'give the scan a sign-in'],
    ['/wall', 'bot_wall', 'Cloudflare'],
    ['/image', 'target_not_html', 'image/svg+xml'],
    ['/dead', 'target_unreachable', 'could not'],
  ];
  for (const [path, reason, words] of ends) {
    it(`fail the scan with ${reason} if the first page is ${path}`, async () => {
      const error = await failureOf(scan(`${site.origin}${path}`));
      expect(error.reason).to.equal(reason);
      expect(error.message).to.include(`${site.origin}${path}`).and.to.include(words);
    });
  }

  it('fail the scan with sign_in_failed if the site rejects the sign-in', async () => {
    const signIn = signInOf(site.origin, { username: 'a', password: 'b' });
    const error = await failureOf(scan(`${site.origin}/401`, {}, {}, { signIn }));
    expect(error.reason).to.equal('sign_in_failed');
  });

  it('fail the scan if the address is private, or the name does not resolve', async () => {
    const refused = await failureOf(scan(`${site.origin}/`, {}, { allowTargets: [] }));
    expect(refused.reason).to.equal('target_refused');
    const unresolved: unknown = await scan(
      'http://nowhere.example/',
      {},
      {},
      { resolver: { resolve: () => Promise.resolve({ ok: false, reason: 'not_found' }) } },
    ).catch((thrown: unknown) => thrown);
    expect(unresolved).to.include({ reason: 'target_unreachable', message: 'nowhere.example cannot be resolved.' });
  });

  it('include pages that were not tested before the deadline', async () => {
    const slow = await openSite({
      '/': html('<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a>'),
      '/a': () => undefined,
      // Takes the spare worker.
      '/b': () => undefined,
      '/c': html('', { title: 'c' }),
    });
    try {
      const { pages } = await scan(`${slow.origin}/`, {}, { deadline: new Date(Date.now() + 9000).toISOString(), pageBudgetMs: 30_000 });
      expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.deep.equal(['/']);
      expect(untested(pages, '/a').reason).to.equal('timeout');
      expect(untested(pages, '/c').message).to.include('reached its deadline');
    } finally {
      await slow.close();
    }
  });
});

describe('sign-in of a scan', () => {
  let site: Site;
  let other: Site;
  const received: string[] = [];
  before(async () => {
    other = await openSite({
      '/pixel.png': (request, response) => {
        received.push(`other ${request.headers.authorization ?? '-'} ${request.headers.cookie ?? '-'}`);
        response.writeHead(401, { 'www-authenticate': 'Basic realm="other"' }).end();
      },
    });
    const guard =
      (body: string) =>
      (request: IncomingMessage, response: ServerResponse): void => {
        const basic = request.headers.authorization === `Basic ${Buffer.from('ann:s:cret').toString('base64')}`;
        if (!basic && !/session=abc/.test(request.headers.cookie ?? ''))
          return void response.writeHead(401, { 'www-authenticate': 'Basic realm="site"' }).end();
        response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'seen=1' }).end(body);
      };
    const pixel = `<img alt="" src="${other.origin.replace('127.0.0.1', 'localhost')}/pixel.png">`;
    site = await openSite({
      '/': guard(html(`${pixel}<a href="/in">in</a><a href="/logout">out</a>`)),
      '/in': guard(html(pixel, { title: 'in' })),
      '/logout': guard(html('bye')),
    });
  });
  after(() => Promise.all([site.close(), other.close()]));

  for (const [name, secret] of [
    ['HTTP basic', { username: 'ann', password: 's:cret' }],
    ['a cookie', { cookie: 'session=abc; theme=dark' }],
  ] as const) {
    it(`sends ${name} to the origin of the site only, and never signs out`, async () => {
      received.length = 0;
      const { pages } = await scan(`${site.origin}/`, {}, {}, { signIn: signInOf(site.origin, secret) });
      expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.deep.equal(['/', '/in']);
      expect(received.length).to.be.greaterThan(0);
      expect(new Set(received)).to.deep.equal(new Set(['other - -']));
      expect(site.hits('/logout')).to.equal(0);
    });
  }
});
