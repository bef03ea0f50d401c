import { expect } from 'chai';
import { createResolver, type Lookups } from './resolver.ts';

type Lookup = () => Promise<string[]>;
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
const some =
  (...addresses: string[]): Lookup =>
  () =>
    Promise.resolve(addresses);
/** A resolver with fake lookups, and the names that it passed to the system's resolver. */
function resolverOf(v4: Lookup, v6: Lookup, system: Lookup, withinMs?: number) {
  const askedSystem: string[] = [];
  const lookups: Lookups = {
    nameServers: (_hostname, family) => (family === 4 ? v4() : v6()),
    system: (hostname) => {
      askedSystem.push(hostname);
      return system();
    },
  };
  return { resolver: createResolver({ lookups, withinMs }), askedSystem };
}

describe('resolver', () => {
  const cases: [what: string, lookups: [Lookup, Lookup, Lookup], result: string[] | 'not_found' | 'unavailable', asksSystem: boolean][] = [
    [
      'returns the addresses of both families',
      [some('192.0.2.1'), some('2001:db8::1'), some('10.0.0.1')],
      ['192.0.2.1', '2001:db8::1'],
      false,
    ],
    ['accepts a name with one family only', [some('192.0.2.1'), failing('ENODATA'), some('10.0.0.1')], ['192.0.2.1'], false],
    ['returns one family if the other times out', [failing('ETIMEOUT'), some('2001:db8::1'), some('10.0.0.1')], ['2001:db8::1'], false],
    [
      'queries the system for a name that name servers do not know',
      [failing('ENOTFOUND'), failing('ENODATA'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    [
      'queries the system if there are no name servers',
      [failing('ECONNREFUSED'), failing('ECONNREFUSED'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    [
      'does not query the system if name servers time out',
      [failing('ETIMEOUT'), failing('ENODATA'), some('10.0.0.1')],
      'unavailable',
      false,
    ],
    [
      'does not query the system if name servers fail',
      [failing('ESERVFAIL'), failing('ESERVFAIL'), some('10.0.0.1')],
      'unavailable',
      false,
    ],
    ['reports a name that does not exist', [failing('ENOTFOUND'), failing('ENOTFOUND'), failing('ENOTFOUND')], 'not_found', true],
    [
      'reports a temporary failure of the system lookup',
      [failing('ENOTFOUND'), failing('ENOTFOUND'), failing('EAI_AGAIN')],
      'unavailable',
      true,
    ],
  ];
  for (const [what, lookups, result, asksSystem] of cases)
    it(what, async () => {
      const { resolver, askedSystem } = resolverOf(...lookups);
      expect(await resolver.resolve('name.example.')).to.deep.equal(
        typeof result === 'string' ? { ok: false, reason: result } : { ok: true, addresses: result },
      );
      expect(askedSystem).to.deep.equal(asksSystem ? ['name.example'] : []);
    });

  it('queries only the system for a configured name, which may need its search domains', async () => {
    const { resolver, askedSystem } = resolverOf(failing('ESERVFAIL'), failing('ESERVFAIL'), some('10.0.0.1'));
    expect(await resolver.resolve('demo.team.svc', { configured: true })).to.deep.equal({ ok: true, addresses: ['10.0.0.1'] });
    expect(askedSystem).to.deep.equal(['demo.team.svc']);
  });

  it('stops waiting after the time limit', async () => {
    const { resolver } = resolverOf(failing('ENOTFOUND'), failing('ENOTFOUND'), () => new Promise(() => undefined), 20);
    expect(await resolver.resolve('slow.example')).to.deep.equal({ ok: false, reason: 'unavailable' });
  });

  it('resolves localhost without a name server', async () => {
    const resolution = await createResolver().resolve('localhost');
    expect(resolution.ok && resolution.addresses).to.include('127.0.0.1');
  });
});
