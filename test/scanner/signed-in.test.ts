/** Scans that sign in by typed steps: the session of every page, and where the credentials go. */
import { expect } from 'chai';
import type { SignInPlan } from '../../core/scan/sign-in.ts';
import type { Logger } from '../../platform/logger.ts';
import { CREDENTIALS, MARKER, PASSWORD, STEPS, USERNAME, openMembersSite, type MembersSite } from './fixtures/members-site.ts';
import { failureOf, html, openSite, redirect, scan, signInOf, testedOf, untested, type Site } from './site.ts';

const PLAN: SignInPlan = { steps: STEPS, marker: MARKER };
/** Enough for a page on a busy machine. */
const STEP_MS = 5000;
const ALL = ['/', '/one', '/two', '/three'];

describe('a scan that signs in with steps', () => {
  const open: Site[] = [];
  async function opened(options: Parameters<typeof openMembersSite>[0] = {}): Promise<MembersSite> {
    const site = await openMembersSite(options);
    open.push(site);
    return site;
  }
  afterEach(() => Promise.all(open.splice(0).map((site) => site.close())));

  const scanMembers = (site: Site, { plan = PLAN, values = CREDENTIALS, workers = 1, log }: Setup = {}) =>
    scan(`${site.origin}/`, {}, { workers }, { signIn: signInOf(site.origin, values, plan), stepMs: STEP_MS, ...(log && { log }) });
  const testedPaths = (pages: Parameters<typeof testedOf>[0]): string[] =>
    testedOf(pages).map(({ final_url }) => new URL(final_url).pathname);

  it('tests every page as a member after one sign-in, and follows no link that signs out', async () => {
    const site = await opened();
    const { pages } = await scanMembers(site, { workers: 2 });
    expect(testedPaths(pages).sort()).to.deep.equal([...ALL].sort());
    expect([site.signIns, site.refusals, site.hits('/logout'), site.hits('/?action=logout')]).to.deep.equal([1, 0, 0, 0]);
  });

  it('shows no secret in findings, addresses, titles or log lines', async () => {
    const site = await opened();
    const lines: string[] = [];
    const write = (fields: object, message: string): void => void lines.push(JSON.stringify(fields) + message);
    const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
    const { pages } = await scanMembers(site, { log });
    const everything = JSON.stringify(pages) + lines.join('\n');
    expect(pages[0]).to.have.property('title', 'Members / of ***');
    for (const name of ['session', 'user', 'password']) expect(everything).to.include(`data-${name}=\\"***\\"`);
    for (const secret of [USERNAME, PASSWORD, 'battery', encodeURIComponent(USERNAME), ...site.sessions])
      expect(everything).to.not.include(secret);
  });

  it('names the pages of pictures as the report does, also with tokens that a later page sets', async () => {
    const later = 'token-of-a-later-page';
    const page =
      (headers: Record<string, string> = {}): Parameters<typeof openSite>[0][string] =>
      (_, response) => {
        const body = `<img src="/x.png"><a href="/p/${later}">one</a> <a href="/sets">two</a>`;
        response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(html(body, { title: 'Page' }));
      };
    const site = await openSite({
      '/': html(`<a href="/p/${later}">one</a> <a href="/sets">two</a>`),
      [`/p/${later}`]: page(),
      '/sets': page({ 'set-cookie': `session=${later}; Path=/` }),
    });
    open.push(site);
    const plan: SignInPlan = { cookies: [{ name: 'session', secretKey: 'cookie' }] };
    const signIn = signInOf(site.origin, { cookie: 'first-token-of-the-secret' }, plan);
    const { pages, pictures } = await scan(`${site.origin}/`, { pictures: true }, {}, { signIn });
    expect(testedPaths(pages)).to.include('/p/***');
    expect([...pictures.values()].map(({ pageUrl }) => pageUrl)).to.deep.equal([`${site.origin}/p/***`]);
  });

  it('keeps a session whose ID every page replaces, with two workers', async () => {
    const site = await opened({ rotates: true, pages: ['/one', '/two', '/three', '/four'] });
    const { pages } = await scanMembers(site, { workers: 2 });
    expect(testedOf(pages)).to.have.length(5);
    expect(site.signIns).to.be.at.most(3);
  });

  it('loads no page in the same session while the page of its only worker waits for its site', async () => {
    const site = await opened({ rotates: true, delayMs: 150, pages: ['/one', '/two', '/three'] });
    const { pages } = await scanMembers(site);
    expect(testedOf(pages)).to.have.length(4);
    expect(site.signIns).to.equal(1);
  });

  it('stays signed in after a page that deletes the cookie', async () => {
    const site = await opened({
      pages: ['/drops', '/two', '/three'],
      onPage: (path, response) => void (path === '/drops' && response.appendHeader('set-cookie', 'session=; Path=/; Max-Age=0')),
    });
    const { pages } = await scanMembers(site);
    expect(testedPaths(pages)).to.deep.equal(['/', '/drops', '/two', '/three']);
    expect(site.signIns).to.equal(1);
  });

  it('stays signed in with a cookie of the Secret after a page that deletes it', async () => {
    const site = await openSite(
      Object.fromEntries(
        ['/', '/drops', '/after'].map((path) => [
          path,
          (request, response) => {
            if (!/session=from-the-secret/.test(request.headers.cookie ?? '')) return response.writeHead(401).end();
            const headers = path === '/drops' ? { 'set-cookie': 'session=; Path=/; Max-Age=0' } : {};
            response.writeHead(200, { 'content-type': 'text/html', ...headers });
            response.end(html('<a href="/drops">drops</a> <a href="/after">after</a>', { title: path }));
          },
        ]),
      ),
    );
    open.push(site);
    const plan: SignInPlan = { cookies: [{ name: 'session', secretKey: 'session-id' }] };
    const { pages } = await scanMembers(site, { plan, values: { 'session-id': 'from-the-secret', origins: site.origin } });
    expect(testedPaths(pages)).to.deep.equal(['/', '/drops', '/after']);
  });

  it('signs in again after the site ended the session', async () => {
    const site = await opened({
      pages: ['/ends', '/two', '/three'],
      onPage: (path, _, endSession) => void (path === '/ends' && endSession()),
    });
    const { pages } = await scanMembers(site);
    expect(testedPaths(pages)).to.deep.equal(['/', '/ends', '/two', '/three']);
    expect(site.signIns).to.equal(2);
  });

  it('lists a page that stays signed out as sign_in_lost, and goes on', async () => {
    const site = await opened({
      pages: ['/forbidden', '/quiet', '/three'],
      routes: { '/forbidden': redirect('/login?next=/forbidden'), '/quiet': html('No word of an account.', { title: 'Quiet' }) },
    });
    const { pages } = await scanMembers(site);
    expect(testedPaths(pages)).to.deep.equal(['/', '/three']);
    for (const path of ['/forbidden', '/quiet']) {
      expect(untested(pages, path)).to.include({ reason: 'sign_in_lost' });
      expect(untested(pages, path).message).to.match(/^The page is not signed in: .*Another sign-in did not help\./);
    }
    expect(untested(pages, '/quiet').message)
      .to.include('does not show the element .account')
      .and.include('choose another marker, or leave the page out with crawl.exclude.');
    expect(untested(pages, '/forbidden').message).to.match(/did not help\.$/);
  });

  it('tests a page that redirects to one that a step opens', async () => {
    const site = await opened({ pages: ['/home', '/old'], routes: { '/old': redirect('/home') } });
    const { pages } = await scanMembers(site, { plan: { steps: [...STEPS, { goto: '/home' }], marker: MARKER } });
    expect(pages.filter((page) => !page.tested && page.reason === 'sign_in_lost')).to.deep.equal([]);
    expect(site.signIns).to.equal(1);
  });

  it('gives every page the storage of the session, in every tab', async () => {
    const links = '<a href="/a">a</a> <a href="/b">b</a>';
    const member = (title: string, more = ''): string =>
      html(
        `<p id="shown">Nobody</p>${links}<script>if (localStorage.token === "abc" && sessionStorage.tab === "def") { shown.textContent = "Member"; } ${more}</script>`,
        { title },
      );
    const site = await openSite({
      '/': member('start'),
      '/a': member('a', 'localStorage.token = "other"; sessionStorage.clear();'),
      '/b': member('b'),
      '/in': html(
        '<button>Sign in</button><script>document.querySelector("button").onclick = () => { localStorage.token = "abc"; sessionStorage.tab = "def"; }</script>',
      ),
    });
    open.push(site);
    const { pages } = await scanMembers(site, {
      plan: { steps: [{ goto: '/in' }, { click: 'button' }, { goto: '/' }, { assert: { text: 'Member' } }], marker: { text: 'Member' } },
      values: {},
      workers: 2,
    });
    expect(testedPaths(pages).sort()).to.deep.equal(['/', '/a', '/b']);
  });

  it('sends a header to its origin only, also through redirects', async () => {
    const received: string[] = [];
    const listen = (name: string): Site['requests'] => received.filter((line) => line.startsWith(name));
    const note =
      (name: string, then?: string): Parameters<typeof openSite>[0][string] =>
      (request, response) => {
        received.push(`${name} ${String(request.headers['x-token'])}`);
        const head = { 'content-type': name.includes('script') ? 'text/javascript' : 'text/html', 'access-control-allow-origin': '*' };
        if (then === undefined) response.writeHead(200, head).end(name.includes('script') ? '' : html(name, { title: name }));
        else response.writeHead(302, { ...head, location: then }).end();
      };
    const other = await openSite({ '/script.js': note('other script'), '/frame': note('other frame') });
    open.push(other);
    const site = await openSite({
      '/': html(
        `<script src="/own.js"></script><script src="/away.js"></script><script src="${other.origin}/script.js"></script>
         <iframe title="Frame" src="/frame-away"></iframe><a href="/page">page</a>`,
      ),
      '/own.js': note('own script'),
      '/away.js': note('leaving script', `${other.origin}/script.js`),
      '/frame-away': note('leaving frame', `${other.origin}/frame`),
      '/page': note('own page'),
    });
    open.push(site);
    const plan: SignInPlan = { headers: [{ name: 'X-Token', secretKey: 'token', prefix: 'Bearer ' }] };
    await scanMembers(site, { plan, values: { token: 't0ken-value', origins: site.origin } });
    for (const name of ['own script', 'own page', 'leaving script', 'leaving frame'])
      expect(new Set(listen(name)), name).to.deep.equal(new Set([`${name} Bearer t0ken-value`]));
    for (const name of ['other script', 'other frame']) expect(new Set(listen(name)), name).to.deep.equal(new Set([`${name} undefined`]));
  });

  describe('fails', () => {
    const cases: readonly [string, SignInPlan, string][] = [
      [
        'at a field that does not exist',
        { steps: [STEPS[0]!, { fill: { selector: '#user', secretKey: 'username' } }] },
        'Step 2 of 2 of the sign-in (fill #user from the key username) failed: ORIGIN/login has no visible element',
      ],
      [
        'at a selector that is not valid',
        { steps: [STEPS[0]!, { click: 'button[' }] },
        'Step 2 of 2 of the sign-in (click button[) failed: the selector is not valid CSS.',
      ],
      [
        'at a page that does not exist',
        { steps: [{ goto: '/gone' }] },
        'Step 1 of 1 of the sign-in (goto /gone) failed: The server responded with status 404',
      ],
      [
        'at an assertion',
        { steps: [...STEPS, { assert: { text: 'Welcome back' } }] },
        'Step 5 of 5 of the sign-in (assert the text "Welcome back") failed: ORIGIN/ does not show it.',
      ],
      [
        'without its marker',
        { steps: STEPS, marker: { selector: '.administrator' } },
        'does not show its marker, the element .administrator.',
      ],
    ];
    it('with a sentence that names the step', async () => {
      // Most of them wait for their time limit, and none needs another's end.
      await Promise.all(
        cases.map(async ([where, plan, sentence]) => {
          const site = await opened();
          const error = await failureOf(scanMembers(site, { plan }));
          expect(error, where).to.include({ reason: 'sign_in_failed' });
          expect(error.message, where)
            .to.include(sentence.replace('ORIGIN', site.origin))
            .and.not.include(USERNAME)
            .and.not.include(PASSWORD);
          expect(site.hits('/one'), 'pages that were opened').to.equal(0);
        }),
      );
    });

    it('if the site does not accept the password', async () => {
      const site = await opened();
      const error = await failureOf(scanMembers(site, { values: { ...CREDENTIALS, password: 'wrong-password' } }));
      expect(error).to.include({ reason: 'sign_in_failed' });
      expect(error.message).to.include(`${site.origin}/login does not show its marker`).and.not.include('wrong-password');
      expect(site.refusals, 'attempts, of which many would lock an account').to.equal(1);
    });

    it('before it types a value in a page of another origin', async () => {
      const received: string[] = [];
      const elsewhere = await openSite({
        '/login': html(
          '<input id="name"><script>document.querySelector("input").oninput = (event) => fetch("/typed?" + event.target.value)</script>',
        ),
        '/typed': (request, response) => {
          received.push(request.url ?? '');
          response.end();
        },
      });
      open.push(elsewhere);
      const site = await opened({ routes: { '/login': redirect(`${elsewhere.origin}/login`) } });
      const error = await failureOf(scanMembers(site));
      expect(error).to.include({ reason: 'sign_in_failed' });
      expect(error.message).to.include(`the page is at ${elsewhere.origin}, and the value may be typed only at ${site.origin}.`);
      expect(received).to.deep.equal([]);
    });
  });
});

interface Setup {
  plan?: SignInPlan;
  values?: Record<string, string>;
  workers?: number;
  log?: Logger;
}
