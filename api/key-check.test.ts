import { expect } from 'chai';
import { networkOf } from './key-check.ts';

describe('networkOf', () => {
  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
    ['2001::1:2:3:4:5', '2001:0:0:1::/64'],
    ['::1', ':0:0:0::/64'],
  ] as const)
    it(`of ${address} is ${network}`, () => expect(networkOf(address)).to.equal(network));
});
