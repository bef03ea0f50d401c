import { expect } from 'chai';
import { judgeScan, judgeScanUrl, judgeTarget, URL_MAX_LENGTH, type Resolution, type Resolver, type TargetRules } from './targets.ts';

/** A resolver with a fixed list of names. Records the names that it resolves. */
function resolverOf(addresses: Record<string, string[]>, otherwise: Resolution = { ok: false, reason: 'not_found' }) {
  const asked: string[] = [];
  return {
    asked,
    resolve(name: string): Promise<Resolution> {
      asked.push(name);
      const known = addresses[name];
      return Promise.resolve(known === undefined ? otherwise : { ok: true, addresses: known });
    },
  };
}
const NO_RULES: TargetRules = { allow: [], deny: [] };
const allowing = (...allow: string[]): TargetRules => ({ allow, deny: [] });

describe('judgeScan', () => {
  const resolver = resolverOf({ 'www.example.org': ['93.184.215.14'], 'shop.example.org': ['10.0.0.1'], 'in.example': ['10.0.0.5'] });
  const cases: [hosts: string[], refused: string | null][] = [
    [['www.example.org', '*.example.org', '*.nowhere.example'], null],
    [['in.example'], null],
    [['www.example.org', 'shop.example.org'], '1 private_address'],
    [['10.0.0.1'], '0 private_address'],
    [['[::1]:8080'], '0 private_address'],
    [['localhost:3000'], '0 private_address'],
    [['*.team.internal'], '0 private_address'],
    [['www.example.org:22'], '0 port'],
    [['*.example.org:22'], '0 port'],
    [['www.example.org:70000'], '0 not_a_url'],
    [['*.example.org:70000'], '0 not_a_url'],
    [['nowhere.example'], '0 unresolvable'],
  ];
  for (const [hosts, refused] of cases)
    it(`${refused === null ? 'allows' : 'refuses'} ${hosts.join(' and ')}`, async () => {
      const judged = await judgeScan({ url: 'https://www.example.org/', hosts }, allowing('in.example'), resolver);
      expect(judged.ok ? null : `${judged.host} ${judged.reason}`).to.equal(refused);
    });
});

describe('judgeTarget', () => {
  it('does not resolve an address', async () => {
    const resolver = resolverOf({});
    expect(await judgeTarget(new URL('http://93.184.215.14/a'), NO_RULES, resolver)).to.deep.equal({
      ok: true,
      addresses: ['93.184.215.14'],
    });
    expect(await judgeTarget(new URL('http://[::ffff:10.0.0.1]/'), NO_RULES, resolver)).to.include({
      ok: false,
      reason: 'private_address',
    });
    expect(resolver.asked).to.deep.equal([]);
  });

  it('returns every address of an allowed name, in the resolver’s order', async () => {
    const resolver = resolverOf({ 'site.example': ['2606:2800:21f::1', '93.184.215.14'] });
    expect(await judgeTarget(new URL('https://site.example/'), NO_RULES, resolver)).to.deep.equal({
      ok: true,
      addresses: ['2606:2800:21f::1', '93.184.215.14'],
    });
  });

  it('allows what ALLOW_TARGETS lists: a range, a name, an address with a port', async () => {
    const resolver = resolverOf({ localhost: ['127.0.0.1', '::1'], 'intranet.example': ['10.0.0.5'] });
    const verdict = async (url: string, ...allow: string[]) => (await judgeTarget(new URL(url), allowing(...allow), resolver)).ok;
    expect(await verdict('http://localhost:3000/', '127.0.0.0/8', '::1')).to.equal(true);
    expect(await verdict('http://localhost:3000/', '127.0.0.0/8'), 'one of its addresses is not listed').to.equal(false);
    expect(await verdict('http://intranet.example/', 'intranet.example')).to.equal(true);
    expect(await verdict('http://127.0.0.1:3000/', '127.0.0.1:3000')).to.equal(true);
    expect(await verdict('http://127.0.0.1:3001/', '127.0.0.1:3000')).to.equal(false);
  });

  it('marks only listed names as configured for the resolver', async () => {
    const marks: unknown[] = [];
    const resolver: Resolver = {
      resolve: (hostname, options) => {
        marks.push([hostname, options]);
        return Promise.resolve({ ok: true, addresses: ['93.184.215.14'] });
      },
    };
    const rules = allowing('demo.team.svc:8082');
    for (const url of ['http://demo.team.svc:8082/', 'http://site.example/']) await judgeTarget(new URL(url), rules, resolver);
    expect(marks).to.deep.equal([
      ['demo.team.svc', { configured: true }],
      ['site.example', { configured: false }],
    ]);
  });

  it('allows a listed name that does not resolve', async () => {
    expect(await judgeTarget(new URL('http://intranet.example/'), allowing('intranet.example'), resolverOf({}))).to.deep.equal({
      ok: true,
      addresses: [],
    });
  });

  const refusals: [what: string, url: string, reason: string, message: RegExp][] = [
    ['a scheme other than http and https', 'ftp://site.example/', 'scheme', /not ftp\.$/],
    ['credentials', 'https://user:secret@site.example/', 'credentials', /user name or password/],
    ['a privileged port', 'http://site.example:22/', 'port', /^Port 22 /],
    ['a private name', 'http://db.svc/', 'private_address', /^db\.svc is a private name/],
    ['a name without a dot', 'http://intranet/', 'private_address', /private name/],
    ['a private address', 'http://10.0.0.1/', 'private_address', /^10\.0\.0\.1 is a private, loopback/],
    ['the metadata service of Azure', 'http://168.63.129.16/', 'private_address', /reserved/],
    [
      'a name with one private address',
      'http://mixed.example/',
      'private_address',
      /^mixed\.example resolves to a private, loopback or otherwise reserved address; only/,
    ],
    ['a name that resolves to an invalid address', 'http://odd.example/', 'unresolvable', /^odd\.example cannot be resolved\.$/],
    ['a name without addresses', 'http://empty.example/', 'unresolvable', /^empty\.example cannot be resolved\.$/],
    ['a name that does not exist', 'http://nowhere.example/', 'unresolvable', /cannot be resolved/],
  ];
  for (const [what, url, reason, message] of refusals)
    it(`rejects ${what}`, async () => {
      const resolver = resolverOf({ 'mixed.example': ['93.184.215.14', '10.1.2.3'], 'empty.example': [], 'odd.example': ['none'] });
      const judged = await judgeTarget(new URL(url), NO_RULES, resolver);
      expect(judged).to.include({ ok: false, reason });
      if (!judged.ok) expect(judged.message).to.match(message);
    });

  it('rejects a name by an address of DENY_TARGETS', async () => {
    const rules = { allow: [], deny: ['93.184.215.0/24'] };
    const judged = await judgeTarget(new URL('https://site.example/'), rules, resolverOf({ 'site.example': ['93.184.215.14'] }));
    expect(judged).to.include({ ok: false, reason: 'private_address' });
  });

  it('distinguishes name servers that do not answer from a name that does not exist', async () => {
    const resolver = resolverOf({}, { ok: false, reason: 'unavailable' });
    expect(await judgeTarget(new URL('https://site.example/'), NO_RULES, resolver)).to.include({ ok: false, reason: 'dns_unavailable' });
  });
});

describe('judgeScanUrl', () => {
  const resolver = resolverOf({ 'site.example': ['93.184.215.14'] });

  it('returns the URL as a browser writes it', async () => {
    expect(await judgeScanUrl('HTTPS://Site.Example:443/ü', NO_RULES, resolver)).to.deep.equal({
      ok: true,
      href: 'https://site.example/%C3%BC',
    });
  });

  it('rejects what is not a URL', async () => {
    expect(await judgeScanUrl('site.example', NO_RULES, resolver)).to.include({ ok: false, reason: 'not_a_url' });
  });

  it('rejects a URL that is too long after escaping', async () => {
    const text = `https://site.example/${'ü'.repeat(URL_MAX_LENGTH / 4)}`;
    expect(text.length).to.be.below(URL_MAX_LENGTH);
    expect(await judgeScanUrl(text, NO_RULES, resolver)).to.include({ ok: false, reason: 'too_long' });
  });

  it('rejects a refused target', async () => {
    expect(await judgeScanUrl('http://127.0.0.1/', NO_RULES, resolver)).to.include({ ok: false, reason: 'private_address' });
  });
});
