import { expect } from 'chai';
import fc from 'fast-check';
import { addressOf, auditNetwork, createTrust, networkOf, networksOf } from './networks.ts';

describe('networksOf', () => {
  for (const [item, networks] of [
    ['192.0.2.7', ['192.0.2.7', '192.0.2.0/24']],
    ['::ffff:192.0.2.7', ['192.0.2.7', '192.0.2.0/24']],
    ['2001:db8::1', ['2001:db8:0:0::/64', '2001:db8:0:0::/56', '2001:db8:0:0::/48']],
    ['[2001:db8:1:ab7a::1]:4711', ['2001:db8:1:ab7a::/64', '2001:db8:1:ab00::/56', '2001:db8:1:0::/48']],
    ['::1', ['0:0:0:0::/64', '0:0:0:0::/56', '0:0:0:0::/48']],
  ] as const)
    it(`of ${item} are ${networks.join(', ')}`, () => expect(networksOf(item)).to.deep.equal(networks));

  it('count everything that is no address as one network', () => {
    for (const garbage of ['', 'unknown', '010.0.0.1', '127.1', '1.2.3.256', '[::1', ':::'])
      expect(networksOf(garbage), garbage).to.deep.equal(['unknown']);
  });

  it('are the same for every spelling and port of an address', () => {
    const port = fc.nat({ max: 65_535 });
    fc.assert(
      fc.property(fc.ipV4(), port, (address, one) => {
        for (const spelling of [`${address}:${one}`, `::ffff:${address}`, `[::ffff:${address}]:${one}`, `"${address}"`])
          expect(networksOf(spelling)).to.deep.equal(networksOf(address));
        expect(addressOf(`${address}:${one}`)).to.equal(address);
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), port, (address, one) => {
        for (const spelling of [address.toUpperCase(), `[${address}]`, `[${address}]:${one}`, `${address}%1`])
          expect(networksOf(spelling)).to.deep.equal(networksOf(address));
      }),
    );
  });

  it('begin with the network of one client', () => {
    for (const item of ['192.0.2.7', '2001:db8::1', 'x']) expect(networkOf(item)).to.equal(networksOf(item)[0]);
  });
});

describe('createTrust', () => {
  const trusted = createTrust(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::ffff:198.51.100.1']);
  for (const [item, is] of [
    ['10.1.2.3', true],
    ['192.0.2.1', true],
    ['192.0.2.2', false],
    ['fd12::1', true],
    ['2001:db8::1', false],
    ['198.51.100.1', true],
  ] as const)
    it(`${is ? 'trusts' : 'does not trust'} ${JSON.stringify(item)}`, () => expect(trusted(item)).to.equal(is));

  it('trusts no one without proxies', () => expect(createTrust([])('127.0.0.1')).to.equal(false));
});

describe('the network in the audit log', () => {
  for (const [address, network] of [
    ['203.0.113.77', '203.0.113.0/24'],
    ['::ffff:203.0.113.77', '203.0.113.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
  ] as const)
    it(`of ${address} is ${network}`, () => {
      expect(auditNetwork(address)).to.equal(network);
    });
});
