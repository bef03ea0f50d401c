import { expect } from 'chai';
import { createNetworkLimits, type NetworkPolicy } from './network-limits.ts';

const SIZE = { limit: 3, windowSeconds: 10 };

describe('limits of networks', () => {
  let now: number;
  let denied: NetworkPolicy[];
  const start = () => {
    now = 0;
    denied = [];
    const limits = createNetworkLimits({ sizes: { links: SIZE }, monotonic: () => now, onDenied: (policy) => denied.push(policy) });
    return (address: string) => limits.admit('links', address);
  };
  const times = (count: number, admit: (n: number) => { ok: boolean }): number =>
    Array.from({ length: count }, (_, n) => admit(n)).filter(({ ok }) => ok).length;

  it('accept the limit in a window, then deny until it ends, and a request sent then is accepted', () => {
    const admit = start();
    expect(times(3, () => admit('192.0.2.1'))).to.equal(3);
    now = 4_500;
    const answer = admit('192.0.2.1');
    expect(answer).to.deep.equal({
      ok: false,
      reason: 'rate_limited',
      states: [{ policy: 'links', limit: 3, windowSeconds: 10, remaining: 0, resetSeconds: 6 }],
      retryAfterSeconds: 6,
    });
    expect(denied).to.deep.equal(['links']);
    expect(admit('192.0.2.2').ok, 'another address').to.equal(true);
    now += 6_000;
    expect(admit('192.0.2.1').ok).to.equal(true);
  });

  for (const [network, limit, addressOf] of [
    ['an IPv4 /24', 24, (n: number) => `192.0.2.${n}`],
    ['an IPv6 /64', 3, (n: number) => `2001:db8::${n.toString(16)}`],
    ['an IPv6 /56', 6, (n: number) => `2001:db8:0:${n.toString(16)}::1`],
    ['an IPv6 /48', 12, (n: number) => `2001:db8:0:${n.toString(16)}00::1`],
    ['all that is no address', 3, (n: number) => `garbage ${n}`],
  ] as const)
    it(`hold for ${network}, whatever the addresses in it`, () => {
      const admit = start();
      expect(times(200, (n) => admit(addressOf(n)))).to.equal(limit);
      expect(admit('198.51.100.1').ok, 'another network').to.equal(true);
      expect(admit('2001:db8:1::1').ok, 'another /48').to.equal(true);
    });

  it('consume nothing of any network if one of them denies', () => {
    const admit = start();
    times(3, () => admit('2001:db8::1'));
    times(50, () => admit('2001:db8::1'));
    expect(
      times(50, (n) => admit(`2001:db8:0:${(n + 1).toString(16)}::1`)),
      'three of the /56 are left',
    ).to.equal(3);
  });

  it('take back a refunded request', () => {
    now = 0;
    const limits = createNetworkLimits({ sizes: { links: SIZE }, monotonic: () => now });
    for (let n = 0; n < 3; n += 1) limits.admit('links', '192.0.2.1');
    limits.refund('links', '192.0.2.1');
    limits.refund('links', '198.51.100.1');
    expect(times(5, () => limits.admit('links', '192.0.2.1'))).to.equal(1);
  });
});
