/** Requests without a valid key or session: what they cost, whom they affect, and how networks are counted. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { createClient, tokenIn } from './client.ts';
import { eventually, startContext, useContext, type ApiContext, type MonitoredReplica } from './context.ts';
import { addPerson, PASSWORD, signedIn } from './people.ts';
import { ASK } from './second-factor.ts';
import { BEHIND_PROXY, client, newEmail, PUBLIC_SCANS, tokenOf } from './public-context.ts';

const SESSION = '__Host-curbcut_session';
const from = (address: string) => ({ 'X-Forwarded-For': address });
const token = () => randomBytes(32).toString('base64url');

/** What a stranger can open that has a token in it. */
const LINKS: [name: string, path: (token: string) => string][] = [
  ['a public result', (one) => `/scan/${one}`],
  ['a shared result', (one) => `/shared/${one}`],
  ['a picture of a public result', (one) => `/scan/${one}/pictures/x`],
  ['the status of a public scan', (one) => `/v1/public/scan-status/${one}`],
  ['an invitation', (one) => `/dashboard/invitation/${one}`],
  ['a password reset', (one) => `/dashboard/reset-password/${one}`],
  ['an unsubscribe link', (one) => `/unsubscribe/${one}`],
];

// ASVS 2.4.1 (anti-automation) and 15.2.2 (availability of expensive functions).
describe('a stranger', () => {
  const context = useContext({ publicScans: PUBLIC_SCANS, mail: true, ...BEHIND_PROXY });

  for (const [name, pathOf] of LINKS)
    it(`causes no look-up with a malformed token of ${name}, and one with a well-formed one`, async () => {
      const stranger = createClient(context.url);
      for (const malformed of ['x', 'a'.repeat(44)]) {
        context.commands.length = 0;
        expect((await stranger.get(pathOf(malformed))).status, malformed).to.equal(404);
        expect(context.commands, malformed).to.deep.equal([]);
      }
      expect((await stranger.get(pathOf(token()))).status).to.equal(404);
      expect(context.commands).to.have.length(1);
    });

  describe('above the limit of the network', () => {
    let limited: MonitoredReplica;
    const size = { limit: 2, windowSeconds: 600 };
    before(async () => {
      limited = await context.replica({
        networkLimits: { links: size, 'public-status': size, 'public-requests': size, 'reset-address': size },
      });
    });

    for (const [at, [name, pathOf]] of LINKS.entries())
      it(`gets 429 without a look-up for ${name}`, async () => {
        const stranger = createClient(limited.url);
        const open = (n: number) => stranger.get(pathOf(token()), from(`2001:db8:${at}::${n}`));
        for (const n of [1, 2]) expect((await open(n)).status).to.equal(404);
        limited.commands.length = 0;
        const denied = await open(3);
        expect([denied.status, limited.commands]).to.deep.equal([429, []]);
        expect(Number(denied.headers.get('retry-after'))).to.be.within(1, 600);
        const policy = name.includes('status') ? 'public-status' : 'links';
        expect(await limited.scrape()).to.match(new RegExp(`curbcut_network_limited_total\\{policy="${policy}"\\} [1-9]`));
      });

    // ASVS 6.3.1
    for (const [at, path] of [ASK, '/dashboard/sign-in/passkey'].entries())
      it(`gets 429 without a look-up for ${path}, also with forms`, async () => {
        const stranger = createClient(limited.url);
        const here = from(`198.51.100.${at}`);
        for (let count = 0; count < 2; count += 1) expect((await stranger.get(path, here)).status).to.not.equal(429);
        limited.commands.length = 0;
        expect((await stranger.get(path, here)).status).to.equal(429);
        expect((await stranger.post(path, { way: 'totp' }, here)).status).to.equal(429);
        expect(limited.commands).to.deep.equal([]);
      });

    it('does not keep a signed-in person of the same network from anything', async () => {
      const { client: person } = await signedIn(context);
      const stranger = createClient(limited.url);
      const here = from('192.0.2.9');
      for (let count = 0; count < 3; count += 1) await stranger.get(`/scan/${token()}`, here);
      expect((await stranger.get(`/scan/${token()}`, here)).status).to.equal(429);
      stranger.cookies.set(SESSION, token());
      expect((await stranger.get(`/scan/${token()}`, here)).status, 'with an unknown session').to.equal(429);
      stranger.cookies.set(SESSION, person.cookies.get(SESSION)!);
      for (let count = 0; count < 5; count += 1) expect((await stranger.get(`/scan/${token()}`, here)).status).to.equal(404);
    });

    it('keeps what was typed into the form of a public scan and of a password reset', async () => {
      const stranger = createClient(limited.url);
      for (let count = 0; count < 3; count += 1) {
        const typed = { url: 'http://10.0.0.1/', email: 'ada@example.com' };
        const { status, text } = await stranger.post('/scan-request', typed, from('198.51.100.1'));
        expect(status).to.equal(count < 2 ? 422 : 429);
        expect(text).to.include('value="http://10.0.0.1/"').and.include('value="ada@example.com"');
      }
    });
  });

  it('gets no more than 10 invitations an hour, whatever the tag and the organisation', async () => {
    const [name, domain] = newEmail().split('@');
    const statuses = [];
    for (let n = 0; n < 2; n += 1) {
      const owner = await signedIn(context);
      const members = '/dashboard/settings/members';
      for (let one = 0; one < 6; one += 1) {
        const fields = { email: `${name}+${n}-${one}@${domain}`, role: 'viewer' };
        statuses.push((await owner.client.submit(`${members}/invitations`, fields, members)).status);
      }
    }
    expect(statuses).to.deep.equal([...Array.from({ length: 10 }, () => 303), 429, 429]);
  });

  it('uses up the mails of a domain for its own network only, and those of the installation for all', async () => {
    const small = await context.replica({ publicScans: { ...PUBLIC_SCANS, maxLive: 1000, perDomainAndHour: 3, perHour: 6 } });
    const [greedy, other] = [client(small), client(small)];
    const to = async (domain: string, visitor = client(small)) => {
      const { status, headers } = await visitor.ask({ email: newEmail().replace(/@.*/, `@${domain}`) });
      return [status, /"([\w-]+)";r=0/.exec(headers.get('ratelimit') ?? '')?.[1]];
    };
    await context.db.collection('limits').deleteMany({});
    for (let n = 0; n < 3; n += 1) expect((await to(n === 1 ? 'ONE.example' : 'one.example', greedy))[0]).to.equal(200);
    expect(await to('one.example', greedy)).to.deep.equal([429, 'public-network-domain']);
    expect((await to('one.example', other))[0], 'from another network').to.equal(200);
    expect(await to('one.example', other), 'once').to.deep.equal([429, 'public-network-domain']);
    expect((await to('two.example', greedy))[0]).to.equal(200);
    expect((await to('three.example'))[0]).to.equal(200);
    expect(await to('four.example')).to.deep.equal([429, 'public-all']);
    await context.db.collection('limits').deleteMany({});
  });
});

// ASVS 3.5.1 and 3.5.3: cross-origin requests to sensitive functions are refused.
describe('a form of another site', () => {
  const context = useContext({ publicScans: PUBLIC_SCANS, mail: true });
  const OTHER = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
  const fields = { url: 'https://example.com/', email: 'ada@example.com', password: 'x' };

  for (const path of ['/fr/scan-request', '/dashboard/sign-in', `/dashboard/invitation/${'a'.repeat(43)}`, '/dashboard/account/name'])
    it(`is refused by ${path} without a look-up`, async () => {
      context.commands.length = 0;
      const page = await createClient(context.url).post(path, fields, OTHER);
      expect(page.status).to.equal(403);
      expect(context.commands).to.deep.equal([]);
      const json = await createClient(context.url).post(path, fields, { ...OTHER, Accept: 'application/json' });
      expect(JSON.parse(json.text)).to.have.property('detail', 'cross_site_request');
    });

  it('is refused over REST, and one of this site, an old browser or a program is not', async () => {
    const visitor = client(context);
    for (const [site, status] of [
      ['cross-site', 403],
      ['same-origin', 200],
      ['same-site', 200],
      ['none', 200],
    ] as const) {
      const body = { url: 'https://example.com/', email: newEmail() };
      const answer = await visitor.post({ body, headers: { 'Sec-Fetch-Site': site } });
      expect(answer.status, site).to.equal(status);
      if (status === 403) expect(answer.body.detail).to.equal('cross_site_request');
    }
    tokenOf(await visitor.ask());
  });

  it('may be the one-click form of a mail program, which has the token of the mail', async () => {
    const one = await context.stores.suppressions.tokenFor('ada@example.com', 'en');
    const { status } = await createClient(context.url).post(`/unsubscribe/${one}`, { 'List-Unsubscribe': 'One-Click' }, OTHER);
    expect(status).to.equal(200);
  });
});

// ASVS 6.3.1: anti-automation of sign-in, without locking out the owners of accounts.
describe('wrong passwords from one network', () => {
  let context: ApiContext;
  let provider: TestProvider;
  before(async () => {
    provider = await startProvider('https://curbcut.example/dashboard/sign-in/oidc/callback');
    const { issuer, clientId, clientSecret } = provider;
    const size = { limit: 5, windowSeconds: 900 };
    context = await startContext({
      ...BEHIND_PROXY,
      networkLimits: { 'sign-in-address': size, 'sign-in-provider': { limit: 8, windowSeconds: 900 } },
      identityProvider: { issuer, clientId, clientSecret, name: 'Acme', localPasswords: true },
    });
  });
  afterEach(() => context.faults.clear());
  after(async () => {
    await context?.close();
    await provider?.close();
  });
  const attempt = async (email: string, password: string, address: string) => {
    const browser = createClient(context.url);
    const { text } = await browser.get('/dashboard/sign-in', from(address));
    return (await browser.post('/dashboard/sign-in', { _csrf: tokenIn(text), email, password }, from(address))).status;
  };

  it('stop other accounts from that network, but not those that know it, and not sign-in at the identity provider', async () => {
    const here = '192.0.2.7';
    const { id } = await context.organisation();
    const [regular, newcomer] = [await addPerson(context, id), await addPerson(context, id)];
    expect(await attempt(regular.email, PASSWORD, here)).to.equal(303);
    context.faults.set('users.verify', (real, email, password) => (password === 'wrong' ? Promise.resolve(null) : real(email, password)));
    const spread = [];
    for (let n = 0; n < 8; n += 1) spread.push(await attempt(`nobody-${n}@example.com`, 'wrong', here));
    expect(spread.filter((status) => status === 429)).to.not.have.length(0);
    expect(await attempt(newcomer.email, PASSWORD, here), 'a network that the account does not know').to.equal(429);
    expect(await attempt(newcomer.email, PASSWORD, '192.0.2.200'), 'another address of the /24').to.equal(303);
    for (let n = 0; n < 3; n += 1) expect(await attempt(regular.email, PASSWORD, here), 'a known network').to.equal(303);
    const start = await createClient(context.url).get('/dashboard/sign-in/oidc', from(here));
    expect(start.headers.get('location')).to.match(new RegExp(`^${provider.issuer}`));
  });

  it('do not lock sign-in by password if someone starts sign-ins at the identity provider', async () => {
    const here = '192.0.2.8';
    const { email } = await addPerson(context, (await context.organisation()).id);
    const stranger = createClient(context.url);
    const locations = [];
    for (let n = 0; n < 10; n += 1) locations.push((await stranger.get('/dashboard/sign-in/oidc', from(here))).headers.get('location'));
    expect(locations.filter((one) => one!.startsWith(provider.issuer))).to.have.length(8);
    expect(locations.at(-1)).to.equal('/dashboard/sign-in?problem=too_many');
    expect(await attempt(email, PASSWORD, here)).to.equal(303);
    const callbacks = await stranger.get('/dashboard/sign-in/oidc/callback?state=x&code=y', from(here));
    expect(callbacks.status, 'the callback is counted too').to.equal(429);
  });

  it('wait for a place of their own: a /48 takes two, and people of known networks none of them', async () => {
    const person = await addPerson(context, (await context.organisation()).id);
    expect(await attempt(person.email, PASSWORD, '203.0.113.5')).to.equal(303);
    const [checked, ends]: [string[], (() => void)[]] = [[], []];
    context.faults.set('users.verify', (real, email, password) => {
      checked.push(String(email));
      return password === 'wrong' ? new Promise((resolve) => ends.push(() => resolve(null))) : real(email, password);
    });
    const refused: number[] = [];
    const flood = Array.from({ length: 12 }, async (_, n) => {
      const status = await attempt(`x${n}@example.com`, 'wrong', `2001:db8:77:${n.toString(16)}00::1`);
      if (status === 503) refused.push(n);
      return status;
    });
    await eventually('all but two are refused', () => refused.length === 10);
    await eventually('one is checked', () => checked.length > 0);
    expect(checked, 'one at once').to.have.length(1);
    const other = attempt('other@example.com', 'wrong', '2001:db8:78::1');
    expect(await attempt(person.email, PASSWORD, '203.0.113.5'), 'a known network').to.equal(303);
    // Each check that ends lets the next one start.
    let done = false;
    const all = Promise.all([...flood, other]).finally(() => (done = true));
    while (!done) {
      ends.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const statuses = await all;
    expect(
      statuses.filter((status) => status === 422),
      'two of the /48, and the other network',
    ).to.have.length(3);
    expect(statuses.filter((status) => status === 503)).to.have.length(10);
  });
});

describe('X-Forwarded-For', () => {
  const WARNING = /^X-Forwarded-For from an address that TRUSTED_PROXIES does not have/;

  it('of a peer that is no trusted proxy is logged once, with the peer', async () => {
    const context = await startContext({ trustedProxies: ['10.0.0.0/8'] });
    try {
      const warnings = () => context.log.filter(({ level, message }) => level === 'warn' && WARNING.test(message));
      await context.request('GET', '/healthz');
      expect(warnings()).to.deep.equal([]);
      for (let n = 0; n < 2; n += 1) await context.request('GET', '/healthz', { headers: from('192.0.2.1') });
      expect(warnings().map(({ fields }) => fields)).to.deep.equal([{ peer: '127.0.0.1' }]);
    } finally {
      await context.close();
    }
  });
});

describe('requests of strangers', () => {
  const context = useContext({ anonymousConnections: 1 });

  it('use connections of their own, so that they leave those of people and keys free', async () => {
    const stranger = createClient(context.url);
    context.commands.length = 0;
    expect((await stranger.get(`/dashboard/invitation/${token()}`)).status).to.equal(404);
    const wrong = await stranger.submit('/dashboard/sign-in', { email: 'nobody@example.com', password: 'wrong' });
    // Whether an account knows the network is looked up together with others.
    expect([wrong.status, context.commands]).to.deep.equal([422, ['find users']]);
  });
});
