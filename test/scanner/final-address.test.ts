/** A page is judged and recognised by the address that it ends at, also after redirects by scripts. */
import { expect } from 'chai';
import {
  failureOf,
  file,
  found,
  html,
  openSite,
  paths,
  redirect,
  scan,
  script,
  signInOf,
  testedOf,
  untested,
  type Route,
  type Site,
} from './site.ts';

const LOGIN_FORM =
  '<form><label>User <input autocomplete="username"></label><label>Password <input type="password"></label><button>Sign in</button></form>';

describe('an address without a scheme', () => {
  it('starts at http where https does not answer, and the pages say so', async () => {
    const site = await openSite({ '/': html('<a href="/next">Next</a>'), '/next': html('Next') });
    try {
      const { pages } = await scan(site.origin.replace('http:', 'https:'), { httpFallback: true });
      expect(testedOf(pages).map(({ url }) => url)).to.deep.equal([`${site.origin}/`, `${site.origin}/next`]);
    } finally {
      await site.close();
    }
  });

  it('stays at https if the scan signs in, because it would be signed out at http', async () => {
    const site = await openSite({ '/': html('') });
    const asked = site.origin.replace('http:', 'https:');
    const signIn = signInOf(asked, { cookie: 'session=members' });
    try {
      const error = await failureOf(scan(asked, { httpFallback: true }, {}, { signIn }));
      expect(error).to.include({ reason: 'target_unreachable' });
      expect(site.requests).to.deep.equal([]);
    } finally {
      await site.close();
    }
  });
});

describe('a page that displays another one', () => {
  let site: Site;
  const open = async (bodies: Record<string, Route>, head = ''): Promise<void> => {
    const links = Object.keys(bodies).filter((path) => path !== '/' && !path.startsWith('/_') && path !== '/robots.txt');
    site = await openSite({ '/': html(links.map((path) => `<p><a href="${path}">${path}</a></p>`).join(''), { head }), ...bodies });
  };
  afterEach(() => site.close());

  const shell = (code: string, title: string): string => html(`<div id="app"></div>${script(code)}`, { title });
  const show = `document.getElementById("app").innerHTML = ${JSON.stringify(LOGIN_FORM)};`;

  it('is a sign-in page if a script changes the address to one, before or after load, or during the test', async () => {
    await open({
      '/before-load': shell(`history.replaceState(null, "", "/login?next=/before-load"); ${show}`, 'before'),
      '/after-load': shell(`addEventListener("load", () => { history.pushState(null, "", "/login?next=/after-load"); ${show} })`, 'after'),
      '/after-data': shell(`fetch("/_session").then(() => { history.pushState(null, "", "/login?next=/after-data"); ${show} })`, 'data'),
      '/_session': (_request, response) => void setTimeout(() => response.end('{}'), 150),
      '/by-location': shell('location.replace("/login?next=/by-location")', 'location'),
      '/by-location-later': shell(
        'addEventListener("load", () => setTimeout(() => { location = "/login?next=/by-location-later" }, 5))',
        'later',
      ),
      '/by-meta': html('', { head: '<meta http-equiv="refresh" content="0; url=/login?next=/by-meta">', title: 'meta' }),
      '/by-header': file('text/html', html('', { title: 'header' }), { refresh: '0; url=/login?next=/by-header' }),
      '/by-status': redirect('/login?next=/by-status'),
      '/login': html(LOGIN_FORM, { title: 'Sign in' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    const moved = [
      '/before-load',
      '/after-load',
      '/after-data',
      '/by-location',
      '/by-location-later',
      '/by-meta',
      '/by-header',
      '/by-status',
    ];
    for (const path of moved) {
      const page = untested(pages, path);
      expect(page.reason, path).to.equal('sign_in_page');
      expect(page.final_url, path).to.equal(`${site.origin}/login?next=${path}`);
      expect(page.message, path).to.include(`${site.origin}/login`);
    }
    expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.deep.equal(['/', '/login']);
  });

  it('is a sign-in page if it has status 200 and nothing but a form to sign in, not if it has content too', async () => {
    const text = `<p>${'Opening hours and prices of the library. '.repeat(20)}</p>`;
    const register = LOGIN_FORM.replace('type="password"', 'type="password" autocomplete="new-password"');
    await open({
      '/members': html(`<h2>Sign in</h2>${LOGIN_FORM}`, { title: 'Members' }),
      '/members/area': `<!doctype html><html lang="de"><head><title>Bereich</title></head><body><header>${text}</header><main><h1>Anmelden</h1>${LOGIN_FORM}</main><footer>${text}</footer></body></html>`,
      '/library': html(`${text}<h2>Sign in</h2>${LOGIN_FORM}`, { title: 'Library' }),
      '/register': html(register, { title: 'Sign in or register' }),
      '/unlock': html('<form><label>Password <input type="password"></label><button>Unlock the door</button></form>', { title: 'Door' }),
      '/hidden': html(`<div hidden>${LOGIN_FORM}</div><h2>Sign in</h2>`, { title: 'Hidden' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(untested(pages, '/members').reason).to.equal('sign_in_page');
    expect(untested(pages, '/members/area').reason).to.equal('sign_in_page');
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/library', '/register', '/unlock', '/hidden']);
  });

  it('is not loaded from another site, whoever redirects there', async () => {
    const other = await openSite({ '/': html('') });
    const away = `${other.origin.replace('127.0.0.1', 'localhost')}/`;
    try {
      await open({
        '/status': redirect(away),
        '/meta': html('', { head: `<meta http-equiv="refresh" content="0; url=${away}">` }),
        '/header': file('text/html', html(''), { refresh: `0; url=${away}` }),
        '/script': html(script(`location.replace("${away}")`)),
        '/form': html(`<form action="${away}"></form>${script('document.forms[0].submit()')}`),
      });
      const { pages } = await scan(`${site.origin}/`);
      for (const path of ['/status', '/meta', '/header', '/script', '/form']) {
        expect(untested(pages, path).reason, path).to.equal('redirected_away');
        expect(untested(pages, path).message, path).to.include(new URL(away).origin);
      }
      expect(await failureOf(scan(`${site.origin}/status`))).to.include({ reason: 'redirected_away' });
      expect(other.requests).to.deep.equal([]);
    } finally {
      await other.close();
    }
  });

  it('fails the scan if the first page is a sign-in page', async () => {
    await open({ '/app': shell(`history.replaceState(null, "", "/login?next=/app"); ${show}`, 'app') });
    expect(await failureOf(scan(`${site.origin}/app`))).to.include({ reason: 'sign_in_required' });
    const signIn = signInOf(site.origin, { cookie: 'session=old' });
    expect(await failureOf(scan(`${site.origin}/app`, {}, {}, { signIn }))).to.include({ reason: 'sign_in_failed' });
  });

  it('is tested as it was displayed if a script loads another page during the test, with a caveat, unless that is a sign-in page', async () => {
    // The test finishes animations after navigation was blocked. The promise resolves at once; the event waits for the next
    // frame, which may come after the test.
    const leaves = (to: string, title: string): string =>
      html(script(`document.body.animate([{ opacity: 1 }, { opacity: 1 }], 1e6).finished.then(() => { location = "${to}" })`), { title });
    await open({ '/leaves': leaves('/other', 'leaves'), '/expires': leaves('/login', 'expires') });
    const { pages } = await scan(`${site.origin}/`);
    const [tested] = testedOf(pages).filter(({ url }) => url.endsWith('/leaves'));
    expect(tested?.caveats.map(({ kind }) => kind)).to.deep.equal(['redirect_blocked']);
    expect(tested?.caveats[0]?.message).to.include(`${site.origin}/other`);
    expect(untested(pages, '/expires').reason).to.equal('sign_in_page');
    expect(untested(pages, '/expires').message).to.include(`${site.origin}/login`);
    expect(site.hits('/other') + site.hits('/login')).to.equal(0);
  });

  it('is tested once if scripts change two addresses to the same one, and not if robots.txt disallows that one', async () => {
    const shows = (to: string): string => shell(`history.replaceState(null, "", "${to}")`, `App ${to}`) + '<img src="/x.png" id="fault">';
    await open({
      '/robots.txt': file('text/plain', 'User-agent: *\nDisallow: /private'),
      '/one': shows('/app'),
      '/two': shows('/app'),
      '/three': shows('/private/three'),
      '/anchor': html(script('location.hash = "top"'), { title: 'anchor' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    const app = pages.find(({ url }) => url.endsWith('/app'));
    expect(app?.final_url).to.equal(`${site.origin}/app`);
    expect(found(app)).to.deep.equal(['image-alt #fault']);
    expect(testedOf(pages).filter(({ final_url }) => final_url === `${site.origin}/app`)).to.have.length(1);
    for (const path of ['/one', '/two']) expect(untested(pages, path).reason, path).to.equal('redirected_to_gate');
    expect(untested(pages, '/three').reason).to.equal('robots_disallowed');
    expect(pages.find(({ url }) => url.endsWith('/anchor'))?.final_url).to.equal(`${site.origin}/anchor`);
  });
});
