/** Submitting a scan over HTTP: what is accepted, what is charged, what is refused. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { VERSION, GROUP, SCANS_PLURAL, type AccessibilityScan } from '../../core/resources.ts';
import { startWorld, SUBMISSION, NAMESPACE, type World } from './world.ts';

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

describe('POST /v1/ci/scans', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ limits: { key: { limit: 1000, windowSeconds: 60 }, submissions: { limit: 1000, windowSeconds: 60 } } });
  });
  after(() => world?.close());
  afterEach(async () => {
    world.faults.clear();
    await world.stores.queueStates.write({ paused: false, live: 0 });
  });

  const resourceOf = (scanId: string) =>
    world.kubernetes.request<AccessibilityScan>('GET', world.kubernetes.path(SCANS, NAMESPACE, `scan-${scanId}`));

  it('accepts a submission with defaults, writes its resource and holds its credits', async () => {
    const { id, key } = await world.organisation({ credits: 20 });
    const { status, body, headers } = await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect(status).to.equal(202);
    expect(body).to.include({ status: 'queued', status_url: `/v1/ci/scans/${body.scan_id}`, pages_requested: 5, pages_reserved: 5 });
    expect(headers.get('location')).to.equal(body.status_url);
    expect(headers.get('retry-after')).to.equal('5');
    expect(headers.get('idempotent-replayed')).to.equal(null);
    expect(await world.stores.credits.balance(id)).to.include({ balance: 15, held: 5, spent: 0 });

    const row = await world.stores.scans.find(body.scan_id, id);
    expect(row).to.deep.include({ submission: 'accepted', phase: 'queued', pagesRequested: 5, pagesReserved: 5, origin: 'api' });
    const resource = await resourceOf(body.scan_id);
    expect(resource.metadata.labels).to.include({ 'curbcut.dev/organisation': id, 'curbcut.dev/scan-id': body.scan_id });
    expect(resource.spec).to.include({ url: 'https://example.com/', maxPages: 5, wcagLevel: 'AA', wcagVersion: '2.1' });
  });

  it('takes every option', async () => {
    const { id, key } = await world.organisation({ credits: 20 });
    const { body } = await world.request('POST', '/v1/ci/scans', {
      key,
      body: {
        url: 'http://example.com:8080/start?q=1#/route',
        min_score: 92.5,
        max_violations: 0,
        fail_on_severity: 'moderate',
        max_pages: 7,
        fail_on_truncation: false,
        wcag_level: 'AAA',
        wcag_version: '2.2',
      },
    });
    const row = await world.stores.scans.find(body.scan_id, id);
    expect(row?.options).to.deep.include({
      url: 'http://example.com:8080/start?q=1#/route',
      maxPages: 7,
      wcagLevel: 'AAA',
      wcagVersion: '2.2',
      thresholds: { minScore: 92.5, maxViolations: 0, failOnSeverity: 'moderate' },
    });
    expect((await resourceOf(body.scan_id)).spec.thresholds).to.deep.equal({
      minScore: 92.5,
      maxViolations: 0,
      failOnSeverity: 'moderate',
    });
  });

  it('reads null as no threshold', async () => {
    const { id, key } = await world.organisation({ credits: 5 });
    const nothing = { min_score: null, max_violations: null, fail_on_severity: null };
    const { body } = await world.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, ...nothing } });
    expect((await world.stores.scans.find(body.scan_id, id))?.options.thresholds).to.deep.equal({});
  });

  it('answers 402 where credits are short, charges nothing and keeps nothing', async () => {
    const { id, key } = await world.organisation({ credits: 4 });
    const { status, body } = await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect(status).to.equal(402);
    expect(body).to.include({ detail: 'insufficient_credits', balance: 4, pages_requested: 5 });
    expect(await world.stores.credits.balance(id)).to.include({ balance: 4, held: 0 });
    expect(await world.stores.scans.abandoned(new Date(Date.now() + 1000), 10)).to.deep.equal([]);
  });

  it('takes what there is with fail_on_truncation false, and 402 with nothing', async () => {
    const { id, key } = await world.organisation({ credits: 3 });
    const body = { ...SUBMISSION, fail_on_truncation: false };
    const first = await world.request('POST', '/v1/ci/scans', { key, body });
    expect(first.status).to.equal(202);
    expect(first.body).to.include({ pages_requested: 5, pages_reserved: 3 });
    expect(first.body.message).to.include('3 of 5 pages');
    expect((await world.stores.scans.find(first.body.scan_id))?.pagesReserved).to.equal(3);
    const second = await world.request('POST', '/v1/ci/scans', { key, body });
    expect(second.status).to.equal(402);
    expect(second.body.balance).to.equal(0);
    expect(await world.stores.credits.balance(id)).to.include({ balance: 0, held: 3 });
  });

  it('answers 402 to an organisation that never had credits', async () => {
    const { key } = await world.organisation();
    const { status, body } = await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect([status, body.detail, body.balance]).to.deep.equal([402, 'insufficient_credits', 0]);
  });

  it('never reserves more than there is, however many ask at once', async () => {
    const { id, key } = await world.organisation({ credits: 12 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 202, 402, 402, 402, 402]);
    expect(await world.stores.credits.balance(id)).to.include({ balance: 2, held: 10 });
  });

  describe('refuses with 422 and says where', () => {
    const cases: [what: string, body: unknown, loc: (string | number)[], type: string][] = [
      ['no url', {}, ['body', 'url'], 'missing_field'],
      ['a url that is none', { url: 'not a url' }, ['body', 'url'], 'string.uri'],
      ['a url without a host', { url: 'https://' }, ['body', 'url'], 'string.uri'],
      ['a url that is no string', { url: 5 }, ['body', 'url'], 'type.string'],
      ['a url that is null', { url: null }, ['body', 'url'], 'type.string'],
      ['a url that is too long', { url: `https://example.com/${'a'.repeat(2029)}` }, ['body', 'url'], 'string.max_length'],
      [
        'a url that is too long once it is escaped',
        { url: `https://example.com/${'ü'.repeat(400)}` },
        ['body', 'url'],
        'string.max_length',
      ],
      ['a score below 0', { ...SUBMISSION, min_score: -0.1 }, ['body', 'min_score'], 'number.minimum'],
      ['a score above 100', { ...SUBMISSION, min_score: 100.1 }, ['body', 'min_score'], 'number.maximum'],
      ['a score as text', { ...SUBMISSION, min_score: '90' }, ['body', 'min_score'], 'type.number'],
      ['violations below 0', { ...SUBMISSION, max_violations: -1 }, ['body', 'max_violations'], 'number.minimum'],
      ['violations with a fraction', { ...SUBMISSION, max_violations: 1.5 }, ['body', 'max_violations'], 'type.integer'],
      ['an unknown severity', { ...SUBMISSION, fail_on_severity: 'fatal' }, ['body', 'fail_on_severity'], 'enum'],
      ['no page', { ...SUBMISSION, max_pages: 0 }, ['body', 'max_pages'], 'number.minimum'],
      ['too many pages', { ...SUBMISSION, max_pages: 501 }, ['body', 'max_pages'], 'number.maximum'],
      ['pages as text', { ...SUBMISSION, max_pages: '5' }, ['body', 'max_pages'], 'type.integer'],
      ['null pages', { ...SUBMISSION, max_pages: null }, ['body', 'max_pages'], 'type.integer'],
      ['truncation as text', { ...SUBMISSION, fail_on_truncation: 'yes' }, ['body', 'fail_on_truncation'], 'type.boolean'],
      ['an unknown level', { ...SUBMISSION, wcag_level: 'aa' }, ['body', 'wcag_level'], 'enum'],
      ['an unknown version', { ...SUBMISSION, wcag_version: '2.0' }, ['body', 'wcag_version'], 'enum'],
      ['a version as a number', { ...SUBMISSION, wcag_version: 2.1 }, ['body', 'wcag_version'], 'type.string'],
      ['an unknown field', { ...SUBMISSION, min_scor: 90 }, ['body', 'min_scor'], 'unexpected_field'],
      ['a list', [SUBMISSION], ['body'], 'type.object'],
      ['null', null, ['body'], 'type.object'],
      ['another scheme', { url: 'ftp://example.com/' }, ['body', 'url'], 'url.scheme'],
      ['a file', { url: 'file:///etc/passwd' }, ['body', 'url'], 'url.scheme'],
      ['a script', { url: 'javascript:alert(1)' }, ['body', 'url'], 'url.scheme'],
      ['credentials', { url: 'https://user:pass@example.com/' }, ['body', 'url'], 'url.credentials'],
      ['a low port', { url: 'https://example.com:22/' }, ['body', 'url'], 'url.port'],
      ['loopback', { url: 'http://127.0.0.1/' }, ['body', 'url'], 'url.private_address'],
      ['loopback as a number', { url: 'http://2130706433/' }, ['body', 'url'], 'url.private_address'],
      ['loopback of IPv6', { url: 'http://[::1]/' }, ['body', 'url'], 'url.private_address'],
      ['localhost', { url: 'http://localhost:3000/' }, ['body', 'url'], 'url.private_address'],
      ['a cloud metadata service', { url: 'http://169.254.169.254/latest/meta-data/' }, ['body', 'url'], 'url.private_address'],
      ['a range that the operator denies', { url: 'http://198.18.0.1/' }, ['body', 'url'], 'url.private_address'],
      ['a name of a private address', { url: 'https://inside.example.com/' }, ['body', 'url'], 'url.private_address'],
      ['a name with one private address', { url: 'https://mixed.example.com/' }, ['body', 'url'], 'url.private_address'],
      ['a name of nobody', { url: 'https://nobody.example.com/' }, ['body', 'url'], 'url.unresolvable'],
    ];
    for (const [what, body, loc, type] of cases) {
      it(what, async () => {
        const { id, key } = await world.organisation({ credits: 5 });
        const response = await world.request('POST', '/v1/ci/scans', { key, body });
        expect(response.status).to.equal(422);
        expect(response.body.detail).to.have.lengthOf(1);
        expect(response.body.detail[0]).to.deep.include({ loc, type });
        expect(response.body.detail[0].msg).to.match(/^\S.*\.$/);
        expect((await world.stores.credits.balance(id)).balance).to.equal(5);
      });
    }

    it('several mistakes, all at once', async () => {
      const { key } = await world.organisation();
      const body = { url: 'x', max_pages: 0, wcag_level: 'B', extra: 1, other: 2 };
      const { body: answer } = await world.request('POST', '/v1/ci/scans', { key, body });
      const places = (answer.detail as { loc: string[] }[]).map(({ loc }) => loc.join('.')).sort();
      expect(places).to.deep.equal(['body.extra', 'body.max_pages', 'body.other', 'body.url', 'body.wcag_level']);
    });

    it('thousands of mistakes, of which it lists fifty', async () => {
      const { key } = await world.organisation();
      const body = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`field${index}`, 1]));
      expect((await world.request('POST', '/v1/ci/scans', { key, body })).body.detail).to.have.lengthOf(50);
    });

    for (const [what, raw] of [
      ['no JSON', '{"url": '],
      ['JSON that would poison prototypes', '{"url": "https://example.com/", "__proto__": {"admin": true}}'],
    ] as const)
      it(what, async () => {
        const { key } = await world.organisation();
        const { status, body } = await world.request('POST', '/v1/ci/scans', { key, raw });
        expect(status).to.equal(422);
        expect(body.detail[0]).to.deep.include({ loc: ['body'], type: 'json.invalid' });
      });

    it('no body', async () => {
      const { key } = await world.organisation();
      for (const headers of [{}, { 'Content-Type': 'application/json' }] as Record<string, string>[]) {
        const { status, body } = await world.request('POST', '/v1/ci/scans', { key, headers });
        expect(status).to.equal(422);
        expect(body.detail[0]).to.deep.include({ loc: ['body'], type: 'type.object' });
      }
    });
  });

  it('takes a URL as a browser would, and keeps it canonical', async () => {
    const { key } = await world.organisation({ credits: 50 });
    for (const [given, kept] of [
      ['HTTPS://EXAMPLE.com', 'https://example.com/'],
      ['https://example.com/ü?q=é', 'https://example.com/%C3%BC?q=%C3%A9'],
      ['https://example.com:443/a/../b', 'https://example.com/b'],
    ]) {
      const { body } = await world.request('POST', '/v1/ci/scans', { key, body: { url: given } });
      expect((await world.stores.scans.find(body.scan_id))?.options.url).to.equal(kept);
    }
  });

  it('answers 415 to what is not JSON, 413 to what is too large', async () => {
    const { key } = await world.organisation();
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded']) {
      const { status, body } = await world.request('POST', '/v1/ci/scans', { key, raw: 'url=x', headers: { 'Content-Type': type } });
      expect([status, body.detail]).to.deep.equal([415, 'unsupported_media_type']);
    }
    const raw = JSON.stringify({ ...SUBMISSION, filler: 'x'.repeat(64 * 1024) });
    const { status, body } = await world.request('POST', '/v1/ci/scans', { key, raw });
    expect([status, body.detail]).to.deep.equal([413, 'payload_too_large']);
    const charset = { 'Content-Type': 'application/json; charset=utf-8' };
    expect((await world.request('POST', '/v1/ci/scans', { key, raw: '{}', headers: charset })).status).to.equal(422);
  });

  it('answers 503 while the queue is paused, and while too many scans are live', async () => {
    const { id, key } = await world.organisation({ credits: 5 });
    await world.stores.queueStates.write({ paused: true, live: 0 });
    const paused = await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect([paused.status, paused.body.detail, paused.headers.get('retry-after')]).to.deep.equal([503, 'queue_paused', '30']);
    await world.stores.queueStates.write({ paused: false, live: 2000 });
    const full = await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect([full.status, full.body.detail, full.headers.get('retry-after')]).to.deep.equal([503, 'queue_full', '30']);
    await world.stores.queueStates.write({ paused: false, live: 1999 });
    expect((await world.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).status).to.equal(202);
    expect(await world.stores.credits.balance(id)).to.include({ balance: 0, held: 5 });
  });

  describe('with an Idempotency-Key', () => {
    const submit = (key: string, idempotencyKey: string, body: unknown = SUBMISSION) =>
      world.request('POST', '/v1/ci/scans', { key, body, headers: { 'Idempotency-Key': idempotencyKey } });

    it('answers a repeat with the first answer and charges nothing', async () => {
      const { id, key } = await world.organisation({ credits: 20 });
      const first = await submit(key, 'build-1');
      const second = await submit(key, 'build-1');
      expect(first.status).to.equal(202);
      expect(second.status).to.equal(202);
      expect(second.text).to.equal(first.text);
      expect(first.headers.get('idempotent-replayed')).to.equal(null);
      expect(second.headers.get('idempotent-replayed')).to.equal('true');
      for (const name of ['location', 'retry-after']) expect(second.headers.get(name)).to.equal(first.headers.get(name));
      expect(await world.stores.credits.balance(id)).to.include({ balance: 15, held: 5 });
    });

    it('answers a repeat although the queue is paused or the credits are gone by now', async () => {
      const { key } = await world.organisation({ credits: 5 });
      const first = await submit(key, 'build-1');
      await world.stores.queueStates.write({ paused: true, live: 9999 });
      const second = await submit(key, 'build-1');
      expect([second.status, second.text]).to.deep.equal([202, first.text]);
    });

    it('takes the same request for the same, however it is written', async () => {
      const { key } = await world.organisation({ credits: 20 });
      const first = await submit(key, 'k', { url: 'https://example.com/', max_pages: 5 });
      const second = await submit(key, 'k', { wcag_level: 'AA', url: 'https://example.com/' });
      expect(second.text).to.equal(first.text);
    });

    it('refuses the same key with another body', async () => {
      const { id, key } = await world.organisation({ credits: 20 });
      await submit(key, 'build-1');
      const { status, body } = await submit(key, 'build-1', { ...SUBMISSION, max_pages: 6 });
      expect(status).to.equal(422);
      expect(body.detail[0]).to.deep.include({ loc: ['header', 'idempotency-key'], type: 'idempotency_key.reused' });
      expect((await world.stores.credits.balance(id)).held).to.equal(5);
    });

    it('lets one of two at once through', async () => {
      const { id, key } = await world.organisation({ credits: 20 });
      const second = await world.replica();
      const answers = await Promise.all(
        [world, second].flatMap((one) =>
          [1, 2, 3].map(() => one.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'race' } })),
        ),
      );
      const fresh = answers.filter(({ status, headers }) => status === 202 && headers.get('idempotent-replayed') === null);
      expect(fresh).to.have.lengthOf(1);
      for (const { status, body } of answers)
        expect(status === 202 ? body.scan_id : body.detail).to.be.oneOf([fresh[0]!.body.scan_id, 'idempotency_conflict']);
      expect(await world.stores.credits.balance(id)).to.include({ balance: 15, held: 5 });
    });

    it('answers 409 while the first is under way', async () => {
      const { key } = await world.organisation({ credits: 20 });
      let let1Go = (): void => undefined;
      const held = new Promise<void>((resolve) => (let1Go = resolve));
      let arrived = (): void => undefined;
      const reached = new Promise<void>((resolve) => (arrived = resolve));
      world.faults.set('scanResources.submit', async (real, ...parameters) => {
        arrived();
        await held;
        return real(...parameters);
      });
      const first = submit(key, 'slow');
      await reached;
      const second = await submit(key, 'slow');
      expect([second.status, second.body.detail, second.headers.get('retry-after')]).to.deep.equal([409, 'idempotency_conflict', '1']);
      let1Go();
      expect((await first).status).to.equal(202);
    });

    it('stores no refusal: 402, 422 and 503 may be sent again with the same key', async () => {
      const { id, key } = await world.organisation();
      expect((await submit(key, 'k')).status).to.equal(402);
      await world.stores.credits.grant(id, 'later', 5);
      await world.stores.queueStates.write({ paused: true, live: 0 });
      expect((await submit(key, 'k')).status).to.equal(503);
      await world.stores.queueStates.write({ paused: false, live: 0 });
      expect((await submit(key, 'k', { url: 'http://localhost/' })).status).to.equal(422);
      const { status, headers } = await submit(key, 'k');
      expect([status, headers.get('idempotent-replayed')]).to.deep.equal([202, null]);
    });

    it('keeps the keys of two organisations apart', async () => {
      const [one, other] = [await world.organisation({ credits: 5 }), await world.organisation({ credits: 5 })];
      const [first, second] = [await submit(one.key, 'same'), await submit(other.key, 'same')];
      expect(first.body.scan_id).to.not.equal(second.body.scan_id);
    });

    it('takes 255 characters and refuses 256, and an empty key', async () => {
      const { key } = await world.organisation({ credits: 5 });
      expect((await submit(key, 'k'.repeat(255))).status).to.equal(202);
      const long = await submit(key, 'k'.repeat(256));
      expect(long.body.detail[0]).to.deep.include({ loc: ['header', 'idempotency-key'], type: 'string.max_length' });
      const empty = await submit(key, '');
      expect(empty.body.detail[0]).to.deep.include({ loc: ['header', 'idempotency-key'], type: 'string.min_length' });
    });
  });

  it('puts the request id and the scan id in its one log line, and no secret', async () => {
    const { id, key, keyId } = await world.organisation({ credits: 5 });
    world.log.length = 0;
    const requestId = `test-${randomUUID()}`;
    const { body } = await world.request('POST', '/v1/ci/scans?api_key=oops', {
      key,
      body: SUBMISSION,
      headers: { 'X-Request-Id': requestId },
    });
    const lines = world.log.filter(({ fields }) => fields.requestId === requestId);
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]!.fields).to.deep.include({
      method: 'POST',
      route: '/v1/ci/scans',
      status: 202,
      organisation: id,
      key: keyId,
      scan: body.scan_id,
    });
    expect(JSON.stringify(world.log)).to.not.include(key).and.not.include('oops');
  });
});
