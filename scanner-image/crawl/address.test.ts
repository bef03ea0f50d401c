import { expect } from 'chai';
import fc from 'fast-check';
import { cleanUrl, type PageAddress, pageKey, repeatsItself, sameFamily, scopeOf, targetOf } from './address.ts';

const url = (text: string): URL => new URL(text);

describe('page key', () => {
  const same: [string, string][] = [
    ['https://example.org/a', 'https://example.org/a/'],
    ['https://example.org/a', 'http://www.example.org/a#part'],
    ['https://example.org/?b=2&a=1', 'https://example.org/?a=1&b=2'],
    ['https://example.org/?utm_source=x&fbclid=1', 'https://example.org/'],
    ['https://example.org:443/a?', 'https://EXAMPLE.org/a'],
    ['https://example.org/%c3%a4', 'https://example.org/ä'],
    ['https://example.org/?q=%c3%a4&b=c+d', 'https://example.org/?b=c%20d&q=ä'],
    ['https://example.org/?a=%41~&b', 'https://example.org/?b=&a=A%7e'],
    ['https://example.org/a;jsessionid=1F3A.node2', 'https://example.org/a'],
    ['https://example.org/a;JSESSIONID=1F3A?x=1', 'https://example.org/a?x=1'],
    ['https://example.org/a?PHPSESSID=abc&x=1', 'https://example.org/a?x=1'],
    ['https://example.org/a?sid=0123456789abcdef0123', 'https://example.org/a'],
    ['https://example.org/a?ASPSESSIONIDAAB=KJH', 'https://example.org/a'],
    ['https://example.org/a?CFID=12&CFTOKEN=34', 'https://example.org/a'],
    ['https://example.org/(S(lit3py55t21z5v55vlm25s55))/a', 'https://example.org/a'],
    ['https://example.org/#!', 'https://example.org/'],
    ['https://example.org/#/', 'https://example.org/'],
    ['https://example.org/#/a/', 'https://example.org/#/a'],
    ['https://example.org/#!a', 'https://example.org/#!/a'],
  ];
  for (const [a, b] of same) it(`is equal for ${a} and ${b}`, () => expect(pageKey(url(a))).to.equal(pageKey(url(b))));

  const unlike: [string, string][] = [
    ['https://example.org/find?q=%93%FA', 'https://example.org/find?q=%96%7B'],
    ['https://example.org/a', 'https://example.org/A'],
    ['https://example.org/a?x=1', 'https://example.org/a?x=2'],
    ['https://example.org/a?x=1&x=2', 'https://example.org/a?x=1'],
    ['https://example.org/a', 'https://example.org:8443/a'],
    ['https://example.org/a', 'https://shop.example.org/a'],
    ['https://example.org/story?sid=41', 'https://example.org/story?sid=42'],
    ['https://example.org/talks?session_id=keynote-2026', 'https://example.org/talks?session_id=closing-2026'],
    ['https://example.org/wiki/Set_(S)', 'https://example.org/wiki/Set_(T)'],
    ['https://example.org/#/a', 'https://example.org/#/b'],
    ['https://example.org/#!/a', 'https://example.org/'],
  ];
  for (const [a, b] of unlike) it(`differs for ${a} and ${b}`, () => expect(pageKey(url(a))).to.not.equal(pageKey(url(b))));

  it('keeps unknown query parameters in their order', () => {
    expect(cleanUrl(url('https://u:p@example.org/a?z=1&utm_medium=m&a=%20b#c')).href).to.match(
      /^https:\/\/example\.org\/a\?z=1&a=(\+|%20)b$/,
    );
    expect(cleanUrl(url('https://example.org/a?flag&x=%2F')).href).to.equal('https://example.org/a?flag&x=%2F');
  });

  it('is that of the clean URL, for any names of parameters', () => {
    const names = `utm_source gclid GCLSRC dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid mc_cid mc_eid _ga _gl
      _hsenc _hsmi mkt_tok JSESSIONID phpsessid ASPSESSIONIDQ asp.net_sessionid CFID cftoken osCsid xtcsid zenid mscssid s sid ssid sess sessid session
      session_id`.split(/\s+/);
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.boolean(), fc.constantFrom('a', 'a-b', 'z.x', 'é'), (name, encoded, other) => {
        const written = encoded ? `%${name.charCodeAt(0).toString(16)}${name.slice(1)}` : name;
        const noisy = url(`https://example.org/a?${other}=1&${written}=0123456789abcdef01&b=2`);
        expect(pageKey(noisy)).to.equal(pageKey(url(`https://example.org/a?b=2&${other}=1`)));
      }),
    );
  });

  it('does not depend on the order of parameters', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 6 }), (pairs) => {
        const forth = url('https://example.org/a');
        const back = url('https://example.org/a');
        for (const [name, value] of pairs) forth.searchParams.append(name, value);
        for (const [name, value] of pairs.toReversed()) back.searchParams.append(name, value);
        expect(pageKey(forth)).to.equal(pageKey(back));
      }),
    );
  });
});

describe('endless path', () => {
  for (const path of ['/a/b/a/b/a/b/', '/x/x/x', '/shop/de/list/de/list/de/list', `/${'a/b'.repeat(20)}`])
    it(`is recognised in ${path.slice(0, 40)}`, () => expect(repeatsItself(url(`https://example.org${path}`))).to.equal(true));
  for (const path of ['/', '/a/b/a/b/c', '/2026/11/11/news', '/en/en/', '/aa/aaa/aaaa/aaaaa'])
    it(`is not recognised in ${path}`, () => expect(repeatsItself(url(`https://example.org${path}`))).to.equal(false));
});

describe('reading links', () => {
  const site = url('https://www.example.org');
  const cases: [string, string | null][] = [
    ['https://www.example.org/a#b', 'https://www.example.org/a'],
    ['http://example.org/a', 'https://www.example.org/a'],
    ['https://shop.example.org/', null],
    ['https://example.org:8443/', null],
    ['mailto:a@example.org', null],
    ['javascript:void(0)', null],
    ['file:///etc/passwd', null],
    ['view-source:https://www.example.org/', null],
    ['https://www.example.org/report.PDF', null],
    ['https://www.example.org/v2.0', 'https://www.example.org/v2.0'],
    ['https://www.example.org/wiki/Node.js', 'https://www.example.org/wiki/Node.js'],
    ['https://www.example.org/tags/vue.js', 'https://www.example.org/tags/vue.js'],
    ['https://www.example.org/README.md', 'https://www.example.org/README.md'],
    ['https://www.example.org/wiki/File:Plan.png', 'https://www.example.org/wiki/File:Plan.png'],
    ['https://www.example.org/images/plan.png', null],
    ['https://www.example.org/assets/app.min.js', null],
    ['https://www.example.org/style.css', null],
    ['https://www.example.org/#/settings?tab=1', 'https://www.example.org/#/settings?tab=1'],
    ['https://www.example.org/a;jsessionid=1F3A', 'https://www.example.org/a'],
    ['https://www.example.org/index.html', 'https://www.example.org/index.html'],
    ['https://www.example.org:443/a/../b?', 'https://www.example.org/b'],
    ['https://www.example.org/a?flag&x=%2F&&y', 'https://www.example.org/a?flag&x=%2F&&y'],
    ['https://www.example.org/a?utm%5fx=1&b=%20c&d=e=f', 'https://www.example.org/a?b=%20c&d=e=f'],
    ['https://www.example.org/find?q=%93%FA&gclid=1', 'https://www.example.org/find?q=%93%FA'],
    [`https://www.example.org/${'x'.repeat(2048)}`, null],
  ];
  for (const [link, page] of cases)
    it(`maps ${link.slice(0, 60)} to ${page ?? 'no page of the site'}`, () => {
      const target = targetOf(link, site);
      expect(target?.kind === 'page' ? target.page.href : null).to.equal(page);
    });

  for (const [fragment, kept] of [
    ['#item:1', '#item:1'],
    ['#/a', '#/a'],
    ['#', ''],
    ['#!', ''],
    ['#Top', ''],
    ['#a:~:text=b', ''],
  ] as const)
    it(`keeps ${kept === '' ? 'nothing' : kept} of ${fragment} if all fragments are routes`, () => {
      const { page } = targetOf(`https://example.org/a${fragment}`, site, { hasRoutes: true }) as { page: PageAddress };
      expect(page.href).to.equal(`https://www.example.org/a${kept}`);
      expect(page.key === pageKey(url(page.href.split('#', 1)[0]!))).to.equal(kept === '');
    });

  it('gives an address whose key does not change when it is read again', () => {
    const fragment = fc.array(fc.constantFrom('#/r', '#!', '#x', '#/'), { maxLength: 4 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.constantFrom('/', '/a', '/a?b=1'), fragment, (path, end) => {
        const { page } = targetOf(`https://www.example.org${path}${end}`, site) as { page: PageAddress };
        expect(page.key).to.equal(pageKey(url(page.href)));
      }),
    );
  });

  for (const [link, asLinked] of [
    ['http://example.org/a', null],
    ['http://www.example.org/a/?b=2&gclid=1#c', '/a/?b=2&gclid=1'],
  ] as const)
    it(`keeps the path and query of ${link} as they are linked, at the origin of the site`, () => {
      const target = targetOf(link, site) as { asLinked: PageAddress | null };
      expect(target.asLinked?.href ?? null).to.equal(asLinked && `${site.origin}${asLinked}`);
    });

  const long = '?'.padEnd(2048, 'x');
  const kinds: [string, string | null][] = [
    [`https://example.org/${long}`, 'too_long'],
    [`http://www.example.org/${long}`, 'too_long'],
    [`https://example.com/${long}`, 'other example.com'],
    ['https://example.org:8443/a', 'other example.org:8443'],
    [`data:,${long}`, null],
    ['https://example.org/a.pdf', 'file'],
    ['https://example.org/feed.xml', 'page'],
  ];
  for (const [link, kind] of kinds)
    it(`tells where ${link.slice(0, 40)} leads: ${kind ?? 'nowhere'}`, () => {
      const target = targetOf(link, site);
      expect(target && (target.kind === 'other' ? `other ${target.host}` : target.kind)).to.equal(kind);
    });
});

describe('hosts of one organisation', () => {
  const cases: [string, string, boolean][] = [
    ['www.example.org', 'api.example.org', true],
    ['example.org:8080', 'example.org', true],
    ['a.b.example.org', 'c.example.org', true],
    ['www.example.co.uk', 'api.example.co.uk', true],
    ['a.co.uk', 'b.co.uk', false],
    ['example.org', 'example.com', false],
    ['localhost', '127.0.0.1', false],
    ['127.0.0.1', '127.1.0.1', false],
  ];
  for (const [a, b, is] of cases)
    it(`${a} and ${b} ${is ? 'are' : 'are not'}`, () => expect(sameFamily(url(`http://${a}/`), url(`http://${b}/`))).to.equal(is));
});

describe('scope', () => {
  const cases: [string, string, boolean][] = [
    ['/docs/*', '/docs/a', true],
    ['/docs/**', '/docs/a/b', true],
    ['docs/*', '/docs/a', true],
    ['/a', '/a?x=1', true],
    ['/a?x=1', '/a?x=1', true],
    ['/a?x=1', '/a?x=2', false],
    ['/*?page=*', '/list?page=3', true],
    ['/app', '/app#/settings', true],
    ['/app#/settings/**', '/app#/settings/a/b', true],
    ['/app#/settings/**', '/app?x=1#/settings/a', true],
    ['/app#/settings/**', '/app#/home', false],
  ];
  for (const [glob, path, matches] of cases)
    it(`${glob} ${matches ? 'includes' : 'does not include'} ${path}`, () =>
      expect(scopeOf({ include: [glob], exclude: [] })(url(`https://example.org${path}`))).to.equal(matches));

  it('compares letters of a glob with their escapes in addresses', () => {
    for (const glob of ['/löschen', '/l%C3%B6schen', '/l*schen'])
      expect(scopeOf({ include: [glob], exclude: [] })(url('https://example.org/löschen')), glob).to.equal(true);
    expect(scopeOf({ include: ['/\ud800', '/x'], exclude: [] })(url('https://example.org/x'))).to.equal(true);
  });

  it('does not include what exclude matches', () => {
    expect(scopeOf({ include: [], exclude: ['/x/**'] })(url('https://example.org/x/y'))).to.equal(false);
    expect(scopeOf({ include: [], exclude: ['/x/**'] })(url('https://example.org/y'))).to.equal(true);
  });
});

describe('hosts of a scan', () => {
  const own = url('http://127.0.0.1:8080/');
  const rules = { hosts: ['shop.example.org', '*.docs.example.org', 'localhost:90'], rewriteHost: 'www.town.example' };
  const cases: [link: string, leads: string][] = [
    ['https://shop.example.org/a?b', 'https://shop.example.org/a?b'],
    ['http://www.shop.example.org/a', 'http://www.shop.example.org/a'],
    ['https://v1.docs.example.org/a#/b', 'https://v1.docs.example.org/a#/b'],
    ['https://a.b.DOCS.example.org/', 'https://a.b.docs.example.org/'],
    ['http://localhost:90/a', 'http://localhost:90/a'],
    ['http://user:word@shop.example.org/', 'http://shop.example.org/'],
    ['https://www.town.example/a?b#/c', 'http://127.0.0.1:8080/a?b#/c'],
    ['http://TOWN.example//shop.example.org/', 'http://127.0.0.1:8080//shop.example.org/'],
    ['https://www.town.example:444/', 'other www.town.example:444'],
    ['https://town.example.evil.test/', 'other town.example.evil.test'],
    ['https://docs.example.org/', 'other docs.example.org'],
    ['https://evildocs.example.org/', 'other evildocs.example.org'],
    ['https://shop.example.org:8443/', 'other shop.example.org:8443'],
    ['https://shop.example.org.evil.test/', 'other shop.example.org.evil.test'],
    ['http://localhost/', 'other localhost'],
  ];
  for (const [link, leads] of cases)
    it(`${link} leads to ${leads}`, () => {
      const target = targetOf(link, own, rules)!;
      expect(target.kind === 'page' ? target.page.href : target.kind === 'other' && `other ${target.host}`).to.equal(leads);
    });
});
