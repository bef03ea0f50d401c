import { expect } from 'chai';
import { auditNetwork } from './audit-network.ts';

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
