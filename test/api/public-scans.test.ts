/** Public scans: their submission, repeats, and refusals. */
import { expect } from 'chai';
import { API_VERSION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { WORDS } from '../../report/words/words.ts';
import { useContext, SUBMISSION } from './context.ts';
import { BEHIND_PROXY, client, newEmail, PUBLIC_SCANS, rowOf, tokenOf } from './public-context.ts';
import { down } from './replica.ts';

describe('public scans', () => {
  const context = useContext({ publicScans: PUBLIC_SCANS, ...BEHIND_PROXY });

  afterEach(async () => {
    context.faults.clear();
    await context.stores.queueStates.write({ paused: false, live: 0 }, 'public');
    await context.stores.queueStates.write({ paused: false, live: 0 });
    await context.db.collection('accounts').deleteMany({});
  });

  const stored = () => context.db.collection('public_scans').countDocuments({});

  it('are submitted for the anonymous organisation to the public queue, with one page and without credits', async () => {
    const email = newEmail();
    const answer = await client(context).ask({ url: 'HTTPS://Example.com', email, locale: 'pl' });
    const token = tokenOf(answer);
    expect(token).to.match(/^[\w-]{43}$/);
    expect(answer.body.estimated_seconds).to.equal(60);
    expect(answer.headers.get('cache-control')).to.equal('no-store');
    const row = await rowOf(context, token);
    expect(row).to.deep.include({ organisation: 'anonymous', queue: 'public', submission: 'accepted', pagesReserved: 1 });
    expect(row.options).to.deep.include({ url: 'https://example.com/', maxPages: 1, locale: 'pl', thresholds: {} });
    const path = context.kubernetes.path(SCANS, row.resource.namespace, row.resource.name);
    const resource = await context.kubernetes.request<AccessibilityScan>('GET', path);
    expect(resource).to.deep.include({ apiVersion: API_VERSION });
    expect(resource.spec).to.deep.include({ queue: 'public', maxPages: 1, locale: 'pl' });
    expect(JSON.stringify([row, resource]), 'only the token’s document has the address').to.not.include(email);
    const found = (await context.stores.publicScans.findByToken(token))!;
    expect(found).to.deep.include({ email, locale: 'pl', url: 'https://example.com/', scanId: row.id });
    expect(found.expiresAt.getTime() - found.createdAt.getTime()).to.equal(30 * 86_400_000);
  });

  it('say what is wrong with the target and the e-mail address of a form at once', async () => {
    const body = new URLSearchParams({ url: 'mailto:me@example.org', email: 'ann@' });
    const answer = await fetch(`${context.url}/scan-request`, { method: 'POST', body });
    expect(answer.status).to.equal(422);
    const { refused } = WORDS.en.publicPages;
    expect(await answer.text())
      .to.include(refused.urlScheme)
      .and.include(refused.emailInvalid);
  });

  const mistakes: [string, object, string, string][] = [
    ['a mistyped e-mail address', { email: 'ada@example' }, 'email', 'string.email'],
    ['further hosts', { hosts: ['shop.example.com'] }, 'hosts', 'unexpected_field'],
    ['a private address', { url: 'http://10.0.0.1/' }, 'url', 'url.private_address'],
  ];
  for (const [what, body, field, type] of mistakes)
    it(`are refused with ${what}`, async () => {
      const before = await stored();
      const { status, body: answer } = await client(context).ask(body);
      expect([status, answer.detail[0].loc, answer.detail[0].type]).to.deep.equal([422, ['body', field], type]);
      expect(await stored()).to.equal(before);
    });

  it('answer a repeated request with the token of the scan that is under way, without consuming a limit', async () => {
    const email = newEmail();
    const visitor = client(context);
    const token = tokenOf(await visitor.ask({ email }));
    for (const again of [{ email: email.toUpperCase() }, { email, url: 'https://EXAMPLE.com:443' }, { email }, { email }])
      expect(tokenOf(await visitor.ask(again))).to.equal(token);
    expect(tokenOf(await visitor.ask({ email, url: 'https://example.com/other' }))).to.not.equal(token);
    expect((await visitor.ask()).headers.get('ratelimit')).to.match(/"public-hour";r=2;/);
  });

  it('can be returned to every limit by another process, so that a fault of ours does not count', async () => {
    const visitor = client(context);
    const token = tokenOf(await visitor.ask());
    const { counted } = (await context.stores.publicScans.findByToken(token))!;
    expect(counted!.logs.map(({ policy }) => policy)).to.deep.equal([
      ...['public-hour', 'public-hour-56', 'public-hour-48', 'public-day', 'public-day-56', 'public-day-48'],
      'public-email',
      'public-network-domain',
      'public-domain',
      'public-all',
    ]);
    expect((await visitor.ask()).headers.get('ratelimit')).to.match(/"public-hour";r=3;/);
    await context.stores.rateLimits.refund(counted!.logs, counted!.hit);
    expect((await visitor.ask()).headers.get('ratelimit')).to.match(/"public-hour";r=3;/);
  });

  // ASVS 8.2.2: access to an object needs more than knowing what it was made from.
  it('give the token to the network of the first request only: who guesses URL and e-mail address gets a scan of their own', async () => {
    const email = newEmail();
    const token = tokenOf(await client(context, '198.51.100.7').ask({ email }));
    const other = tokenOf(await client(context, '198.51.100.8').ask({ email }));
    expect(other).to.not.equal(token);
    expect((await rowOf(context, other)).id).to.not.equal((await rowOf(context, token)).id);
    for (const same of ['198.51.100.7:4711', '::ffff:198.51.100.7', '"198.51.100.7"'])
      expect(tokenOf(await client(context, same).ask({ email })), same).to.equal(token);
  });

  it('are submitted again after 10 minutes', async () => {
    let now = new Date();
    const later = await context.replica({ now: () => now });
    const email = newEmail();
    const visitor = client(later);
    const token = tokenOf(await visitor.ask({ email }));
    now = new Date(now.getTime() + 599_000);
    expect(tokenOf(await visitor.ask({ email }))).to.equal(token);
    now = new Date(now.getTime() + 1_000);
    expect(tokenOf(await visitor.ask({ email }))).to.not.equal(token);
  });

  it('follow a request that died before its scan had a row, and wait no longer than some seconds for one that may live', async () => {
    const visitor = client(context, '192.0.2.1');
    const at = (ageMs: number, email: string) => {
      const times = { createdAt: new Date(Date.now() - ageMs), expiresAt: new Date(Date.now() + 60_000) };
      const about = { token: `dead-${email}`, scanId: crypto.randomUUID(), url: SUBMISSION.url, email, locale: 'en' as const };
      return context.stores.publicScans.claim({ ...about, ...times }, visitor.address);
    };
    const [dead, slow] = [newEmail(), newEmail()];
    await at(61_000, dead);
    await at(0, slow);
    expect(tokenOf(await visitor.ask({ email: dead }))).to.have.length(43);
    const waited = await visitor.ask({ email: slow });
    expect([waited.status, waited.body.detail]).to.deep.equal([503, 'service_unavailable']);
    expect(waited.body.message).to.include('another request');
  });

  it('are refused while their queue is paused, and organisations’ scans are not', async () => {
    await context.stores.queueStates.write({ paused: true, live: 0 }, 'public');
    const { status, body, headers } = await client(context).ask();
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'queue_paused', '30']);
    const { key } = await context.organisation({ credits: 10 });
    expect((await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).status).to.equal(202);
    await context.stores.queueStates.write({ paused: false, live: 0 }, 'public');
    await context.stores.queueStates.write({ paused: true, live: 9_999 });
    tokenOf(await client(context).ask());
  });

  it('are limited in their number at a time, and take no place of an organisation’s scans', async () => {
    const small = await context.replica({ publicScans: { ...PUBLIC_SCANS, maxLive: 1 } });
    tokenOf(await client(small).ask());
    const refused = await client(small).ask();
    expect([refused.status, refused.body.detail, refused.body.limit]).to.deep.equal([503, 'queue_full', 'public']);
    expect(refused.headers.get('retry-after')).to.equal('30');
    const { key } = await context.organisation({ credits: 10 });
    expect((await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).status).to.equal(202);
  });

  it('answer 503 and store nothing while a dependency is down', async () => {
    const before = await stored();
    const visitor = client(context);
    for (const call of ['scans.create', 'credits.reserve', 'scanResources.submit', 'publicScans.claim', 'queueStates.read']) {
      context.faults.set(call, down);
      const { status, body } = await visitor.ask();
      expect([call, status, body.detail]).to.deep.equal([call, 503, 'service_unavailable']);
      context.faults.clear();
    }
    expect(await stored()).to.equal(before);
    expect((await visitor.ask()).headers.get('ratelimit'), 'nothing was consumed').to.match(/"public-hour";r=4;/);
  });

  it('are refused by an installation that offers none, also with a mistake in the body', async () => {
    const without = await context.replica({ publicScans: null });
    for (const request of [{ body: {} }, { body: { url: 'https://example.com/', email: newEmail() } }]) {
      const { status, body } = await client(without).post(request);
      expect([status, body.detail]).to.deep.equal([403, 'public_scans_disabled']);
    }
    expect(await without.scrape()).to.include('curbcut_public_scan_requests_total{outcome="public_scans_disabled"} 2');
  });
});
