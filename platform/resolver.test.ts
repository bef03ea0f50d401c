import { expect } from 'chai';
import { addressesIn, createResolver, type Lookups } from './resolver.ts';

type Lookup = () => Promise<string[]>;
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
const some =
  (...addresses: string[]): Lookup =>
  () =>
    Promise.resolve(addresses);
/** A resolver with fake lookups, and the names that it passed to each, as `kind name`. */
function resolverOf(v4: Lookup, v6: Lookup, hosts: Lookup, system: Lookup = failing('ENOTFOUND'), withinMs?: number) {
  const asked: string[] = [];
  const ask = (kind: string, lookup: Lookup) => (hostname: string) => {
    asked.push(`${kind} ${hostname}`);
    return lookup();
  };
  const lookups: Lookups = {
    nameServers: (hostname, family) => ask(`v${family}`, family === 4 ? v4 : v6)(hostname),
    hostsFile: ask('hosts', hosts),
    system: ask('system', system),
  };
  return { resolver: createResolver({ lookups, withinMs }), asked };
}

describe('resolver', () => {
  const none = some();
  const cases: [what: string, lookups: [Lookup, Lookup, Lookup], result: string[] | 'not_found' | 'unavailable', readsHosts: boolean][] = [
    ['returns the addresses of both families', [some('192.0.2.1'), some('2001:db8::1'), none], ['192.0.2.1', '2001:db8::1'], false],
    ['accepts a name with one family only', [some('192.0.2.1'), failing('ENODATA'), none], ['192.0.2.1'], false],
    ['returns one family if the other times out', [failing('ETIMEOUT'), some('2001:db8::1'), none], ['2001:db8::1'], false],
    [
      'finds a name in the hosts file that name servers do not know',
      [failing('ENOTFOUND'), failing('ENODATA'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    [
      'finds a name in the hosts file without name servers',
      [failing('ECONNREFUSED'), failing('ECONNREFUSED'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    ['reports a name that does not exist', [failing('ENOTFOUND'), failing('ENODATA'), none], 'not_found', true],
    ['reports name servers that time out', [failing('ETIMEOUT'), failing('ENODATA'), none], 'unavailable', true],
    ['reports name servers that fail', [failing('ESERVFAIL'), failing('ESERVFAIL'), none], 'unavailable', true],
    ['reports name servers that cannot be reached', [failing('ECONNREFUSED'), failing('ECONNREFUSED'), none], 'unavailable', true],
  ];
  for (const [what, lookups, result, readsHosts] of cases)
    it(`${what}, and never tries search domains`, async () => {
      const { resolver, asked } = resolverOf(...lookups, some('10.96.3.4'));
      expect(await resolver.resolve('name.example.')).to.deep.equal(
        typeof result === 'string' ? { ok: false, reason: result } : { ok: true, addresses: result },
      );
      expect(asked).to.deep.equal(['v4 name.example', 'v6 name.example', ...(readsHosts ? ['hosts name.example'] : [])]);
    });

  it('reads a hosts file with comments and aliases', () => {
    const text = '# none.example\n127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n10.1.2.3  demo.example DEMO # home.example\n\n';
    expect(addressesIn(text, 'localhost')).to.deep.equal(['127.0.0.1', '::1']);
    expect(addressesIn(text, 'demo')).to.deep.equal(['10.1.2.3']);
    for (const name of ['none.example', 'home.example', '127.0.0.1', '']) expect(addressesIn(text, name)).to.deep.equal([]);
  });

  it('queries only the system for a configured name, which may need its search domains', async () => {
    const { resolver, asked } = resolverOf(failing('ESERVFAIL'), failing('ESERVFAIL'), none, some('10.0.0.1'));
    expect(await resolver.resolve('demo.team.svc', { configured: true })).to.deep.equal({ ok: true, addresses: ['10.0.0.1'] });
    expect(asked).to.deep.equal(['system demo.team.svc']);
  });

  const temporary: [code: string, reason: 'not_found' | 'unavailable'][] = [
    ['ENOTFOUND', 'not_found'],
    ['EAI_AGAIN', 'unavailable'],
  ];
  for (const [code, reason] of temporary)
    it(`reports ${code} of the system as ${reason}`, async () => {
      const { resolver } = resolverOf(none, none, none, failing(code));
      expect(await resolver.resolve('demo.team.svc', { configured: true })).to.deep.equal({ ok: false, reason });
    });

  it('stops waiting after the time limit', async () => {
    const never = () => new Promise<never>(() => undefined);
    const { resolver } = resolverOf(never, never, none, none, 20);
    expect(await resolver.resolve('slow.example')).to.deep.equal({ ok: false, reason: 'unavailable' });
  });

  it('resolves localhost without a name server', async () => {
    const resolution = await createResolver().resolve('localhost');
    expect(resolution.ok && resolution.addresses).to.include('127.0.0.1');
  });
});
