import { expect } from 'chai';
import { createResolver, type LookUps } from './resolver.ts';

const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
/** Look-ups that count how often the system was asked. */
function lookUps(v4: () => Promise<string[]>, v6: () => Promise<string[]>, system: () => Promise<string[]>) {
  const asked: string[] = [];
  const all: LookUps = {
    ask: (hostname, family) => (family === 4 ? v4() : v6()),
    system: (hostname) => {
      asked.push(hostname);
      return system();
    },
  };
  return { resolver: createResolver(all), asked };
}
const some =
  (...addresses: string[]) =>
  () =>
    Promise.resolve(addresses);

describe('createResolver', () => {
  const cases: [what: string, parts: Parameters<typeof lookUps>, addresses: string[], askedSystem: boolean][] = [
    [
      'gives the addresses of both families',
      [some('192.0.2.1'), some('2001:db8::1'), some('10.0.0.1')],
      ['192.0.2.1', '2001:db8::1'],
      false,
    ],
    ['is content with one family', [some('192.0.2.1'), failing('ENODATA'), some('10.0.0.1')], ['192.0.2.1'], false],
    [
      'is content with one family while the other is slow',
      [failing('ETIMEOUT'), some('2001:db8::1'), some('10.0.0.1')],
      ['2001:db8::1'],
      false,
    ],
    [
      'asks the system for a name that name servers do not know',
      [failing('ENOTFOUND'), failing('ENODATA'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    [
      'asks the system where there are no name servers',
      [failing('ECONNREFUSED'), failing('ECONNREFUSED'), some('10.0.0.1')],
      ['10.0.0.1'],
      true,
    ],
    ['never asks the system for a name whose servers are slow', [failing('ETIMEOUT'), failing('ENODATA'), some('10.0.0.1')], [], false],
    ['never asks the system for a name whose servers fail', [failing('ESERVFAIL'), failing('ESERVFAIL'), some('10.0.0.1')], [], false],
    ['gives nothing where nobody knows the name', [failing('ENOTFOUND'), failing('ENOTFOUND'), failing('ENOTFOUND')], [], true],
  ];
  for (const [what, parts, addresses, askedSystem] of cases)
    it(what, async () => {
      const { resolver, asked } = lookUps(...parts);
      expect(await resolver.resolve('name.example.')).to.deep.equal(addresses);
      expect(asked).to.deep.equal(askedSystem ? ['name.example'] : []);
    });

  it('finds this machine without any name server', async () => {
    const resolver = createResolver();
    expect(await resolver.resolve('localhost')).to.include('127.0.0.1');
  });
});
