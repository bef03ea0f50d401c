/** Limits of public scans by address and e-mail address, and proxies that state the address. */
import { expect } from 'chai';
import { useContext } from './context.ts';
import { BEHIND_PROXY, client, newEmail, PUBLIC_SCANS, tokenOf } from './public-context.ts';

describe('limits of public scans', () => {
  const limits = { perAddressAndHour: 2, perAddressAndDay: 4 };
  const context = useContext({ publicScans: { ...PUBLIC_SCANS, ...limits, maxLive: 1000 }, ...BEHIND_PROXY });

  /** Makes the accepted requests older. */
  async function age(policy: string, milliseconds: number): Promise<void> {
    const logs = context.db.collection<{ _id: string; hits: { at: Date }[] }>('limits');
    for (const log of await logs.find({ _id: new RegExp(`^${policy}[-/]`) }).toArray()) {
      const hits = log.hits.map((hit) => ({ ...hit, at: new Date(hit.at.getTime() - milliseconds) }));
      await logs.updateOne({ _id: log._id }, { $set: { hits } });
    }
  }

  it('accept a number of scans an hour and a day from one address', async () => {
    const visitor = client(context);
    for (let hour = 0; hour < 2; hour += 1) {
      for (let n = 0; n < 2; n += 1) tokenOf(await visitor.ask());
      const { status, headers, body } = await visitor.ask();
      expect([status, body.detail]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(headers.get('ratelimit-policy')).to.equal(
        '"public-hour";q=2;w=3600, "public-hour-56";q=4;w=3600, "public-hour-48";q=8;w=3600, ' +
          '"public-day";q=4;w=86400, "public-day-56";q=8;w=86400, "public-day-48";q=16;w=86400, "public-email";q=3;w=3600, ' +
          '"public-network-domain";q=100000;w=3600, "public-domain";q=100000;w=3600, "public-all";q=100000;w=3600',
      );
      expect(headers.get('ratelimit')).to.match(/"public-hour";r=0;t=\d+, .*"public-day";r=\d+;t=\d+, .*"public-email";r=3;t=3600/);
      const wait = Number(headers.get('retry-after'));
      if (hour === 0) expect(wait).to.be.within(1, 3600);
      else expect(wait, 'the day is over later than the hour').to.be.above(3600);
      await age('public-hour', 3_601_000);
    }
    expect((await visitor.ask()).headers.get('ratelimit')).to.match(/"public-hour";r=2;.*"public-day";r=0;/);
    await age('public-day', 86_401_000);
    tokenOf(await visitor.ask());
  });

  it('accept 3 scans an hour for one mailbox from any client, whatever the case of its letters and its tag', async () => {
    const email = newEmail();
    for (const [n, spelling] of [email, email.toUpperCase(), email.replace('@', '+a@')].entries())
      tokenOf(await client(context).ask({ email: spelling, url: `https://example.com/${n}` }));
    const other = client(context);
    for (const spelling of [email.replace('example', 'EXAMPLE'), email.replace('@', '+b+c@')])
      expect((await other.ask({ email: spelling })).status, spelling).to.equal(429);
    const denied = await other.ask({ email });
    expect(denied.headers.get('ratelimit')).to.match(/"public-hour";r=2;t=3600, .*"public-day";r=4;t=86400, .*"public-email";r=0;t=\d+/);
    tokenOf(await other.ask());
    const logs = await context.db.collection<{ _id: string }>('limits').find().toArray();
    expect(JSON.stringify(logs), 'addresses are stored as hashes').to.not.include('@');
  });

  it('count a network of IPv6 as one client', async () => {
    const network = client(context).address.replace(/::1$/, '');
    for (let n = 1; n <= 2; n += 1) tokenOf(await client(context, `${network}:${n}::7`).ask());
    expect((await client(context, `${network}::abcd`).ask()).status).to.equal(429);
    tokenOf(await client(context).ask());
  });

  for (const [bits, most] of [
    [56, 4],
    [48, 8],
  ] as const)
    it(`accept ${most} scans an hour from a /${bits}, which one subscriber has`, async () => {
      const site = client(context).address.split(':').slice(0, 3).join(':');
      const from = (n: number) => client(context, `${site}:${bits === 56 ? n : 256 * n + 256}::1`).ask();
      for (let n = 0; n < most; n += 1) tokenOf(await from(n));
      const { status, headers } = await from(most);
      expect([status, /"([\w-]+)";r=0/.exec(headers.get('ratelimit')!)?.[1]]).to.deep.equal([429, `public-hour-${bits}`]);
    });

  it('are not consumed by requests that are refused for another reason', async () => {
    const visitor = client(context);
    for (const url of ['http://10.0.0.1/', 'https://nowhere.example.com/', 'ftp://example.com/'])
      expect((await visitor.ask({ url })).status).to.equal(422);
    expect((await visitor.ask()).headers.get('ratelimit')).to.match(/"public-hour";r=1;t=3600, .*"public-day";r=3;/);
  });

  it('count the address that the nearest untrusted hop has, not the ones that it claims', async () => {
    const real = client(context).address;
    for (let n = 0; n < 2; n += 1) tokenOf(await client(context, `198.51.100.${n}, ${real}`).ask());
    expect((await client(context, `198.51.100.9, ${real}`).ask()).status).to.equal(429);
  });
});
