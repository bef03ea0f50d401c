/** Test keys: what they scan, that it costs nothing, where it is marked, and what they may not do. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KEY_SCOPES } from '../../core/accounts.ts';
import { creditAccountOf } from '../../core/scan/counts.ts';
import { TEST_LABEL } from '../../core/protocol/custom-resources.ts';
import { issueKey } from '../support/issue-key.ts';
import { HIGH_LIMITS, SUBMISSION, useContext } from './context.ts';

const TEST_SECRET = /svc_test_[0-9A-Za-z]{38}/;
const LOOPBACK = { url: 'http://127.0.0.1:3000/' };

describe('a test key', () => {
  const context = useContext({
    limits: HIGH_LIMITS,
    targets: { allow: ['127.0.0.0/8', 'demo.example'], deny: [] },
    testTargets: ['demo.example'],
  });

  const organisation = async (options: { credits?: number } = {}) => {
    const created = await context.organisation(options);
    const issued = await context.request('POST', '/v1/api-keys', { key: created.key, body: { name: 'tests', test: true } });
    expect(issued.status, issued.text).to.equal(201);
    return { ...created, test: issued.body.key as string, testId: issued.body.id as string };
  };
  const submit = (key: string, body: object = LOOPBACK, headers: Record<string, string> = {}) =>
    context.request('POST', '/v1/ci/scans', { key, body, headers });
  const get = (path: string, key: string) => context.request('GET', path, { key });
  const submitted = async (key: string, body?: object): Promise<string> => {
    const answer = await submit(key, body);
    expect(answer.status, answer.text).to.equal(202);
    return answer.body.scan_id as string;
  };

  it('is marked when it is created and listed, and for itself', async () => {
    const { key, test, testId } = await organisation();
    expect(test).to.match(TEST_SECRET);
    const { body } = await get('/v1/api-keys', key);
    expect(body.data.map((one: { id: string; test: boolean }) => [one.id === testId, one.test])).to.deep.equal([
      [true, true],
      [false, false],
    ]);
    expect([(await get('/v1/me', test)).body.key.test, (await get('/v1/me', key)).body.key.test]).to.deep.equal([true, false]);
  });

  it('scans loopback and the demo site without credits, which leaves no trace in the ledger', async () => {
    const { id, test } = await organisation();
    for (const url of [LOOPBACK.url, 'http://demo.example/en/']) {
      const scanId = await submitted(test, { url, max_pages: 3 });
      const { body } = await get(`/v1/ci/scans/${scanId}`, test);
      expect(body).to.deep.include({ test: true, pages_requested: 3, pages_reserved: 3, pages_charged: null });
      expect((await context.resource(scanId)).metadata.labels).to.include({ [TEST_LABEL]: 'true' });
    }
    expect(await context.stores.credits.balance(id)).to.deep.equal({ balance: 0, granted: 0, held: 0, spent: 0 });
    expect((await get('/v1/billing/ledger', test)).body.data).to.deep.equal([]);
    expect((await get('/v1/ci/scans', test)).body.data.map((scan: { test: boolean }) => scan.test)).to.deep.equal([true, true]);
  });

  it('scans nothing else, whatever the target rules allow', async () => {
    const { id, key, test } = await organisation({ credits: 10 });
    for (const url of [SUBMISSION.url, 'http://10.0.0.1/', 'http://demo.example.com/']) {
      const { status, body } = await submit(test, { url });
      expect(status).to.equal(422);
      expect(body.detail).to.have.lengthOf(1);
      expect(body.detail[0]).to.deep.include({ loc: ['body', 'url'], type: 'test_key_target' });
      expect(body.detail[0].msg).to.match(/^A test key scans only the demo site and loopback/);
    }
    const further = await submit(test, { ...LOOPBACK, hosts: ['localhost:3000', 'www.example.com'] });
    expect(further.body.detail[0]).to.deep.include({ loc: ['body', 'hosts', 1], type: 'test_key_target' });
    expect((await submit(key, SUBMISSION)).body.scan_id).to.be.a('string');
    expect((await context.stores.credits.balance(id)).held).to.equal(5);
  });

  it('has a few live scans of its own, whatever the share of the organisation is', async () => {
    const { id, key, test } = await organisation({ credits: 20 });
    const [first] = [await submitted(test), await submitted(test)];
    const full = await submit(test);
    expect([full.status, full.body.detail]).to.deep.equal([429, 'live_scans_exceeded']);
    await submitted(key, SUBMISSION);
    const account = creditAccountOf({ organisation: id, test: true });
    expect(await context.stores.credits.settle(account, first!, 0)).to.deep.equal({ ok: true, spent: 0, released: 5 });
    await submitted(test);
  });

  it('never gets the scan of another key by its Idempotency-Key, nor the other way round', async () => {
    const { key, test } = await organisation({ credits: 10 });
    const headers = { 'Idempotency-Key': 'build' };
    const first = await submit(test, LOOPBACK, headers);
    expect((await submit(test, LOOPBACK, headers)).text).to.equal(first.text);
    expect((await submit(key, LOOPBACK, headers)).body.detail[0].type).to.equal('idempotency_key.reused');
  });

  it('cancels only scans of test keys', async () => {
    const { key, test } = await organisation({ credits: 10 });
    const cancel = (scanId: string) => context.request('POST', `/v1/ci/scans/${scanId}/cancel`, { key: test });
    const theirs = await cancel(await submitted(key, SUBMISSION));
    expect([theirs.status, theirs.body.detail]).to.deep.equal([404, 'scan_not_found']);
    expect((await cancel(await submitted(test))).status).to.equal(202);
  });

  it('creates and revokes only test keys', async () => {
    const { id, key, keyId, test } = await organisation();
    const create = (body: object) => context.request('POST', '/v1/api-keys', { key: test, body: { name: 'x', ...body } });
    const inherited = await create({});
    expect(inherited.body).to.include({ test: true });
    expect(inherited.body.key).to.match(TEST_SECRET);
    const { status, body } = await create({ test: false });
    expect([status, body.detail[0].loc, body.detail[0].type]).to.deep.equal([422, ['body', 'test'], 'test_key.test_only']);
    const revoke = (of: string) => context.request('DELETE', `/v1/api-keys/${of}`, { key: test });
    expect((await revoke(keyId)).body.detail).to.equal('key_not_found');
    expect((await get('/v1/me', key)).status).to.equal(200);
    expect((await revoke(inherited.body.id)).status).to.equal(204);
    expect(await context.stores.keys.list(id, { status: 'live', limit: 10 })).to.have.lengthOf(2);
  });

  it('changes nothing else, whichever scopes it has', async () => {
    const { id } = await context.organisation();
    const { secret: key } = await issueKey(context.stores.keys, id, { scopes: KEY_SCOPES, test: true });
    const routes = [...context.app.acceptedMethods()]
      .filter(([url]) => url.startsWith('/v1/'))
      .flatMap(([url, methods]) => [...methods].map((method) => [method, url] as const))
      .filter(([method]) => !['GET', 'HEAD', 'OPTIONS'].includes(method));
    const usable: string[] = [];
    for (const [method, url] of routes) {
      const path = url.replace(/:\w+/g, randomUUID());
      const { status, body } = await context.request(method, path, { key, ...(method !== 'DELETE' && { body: {} }) });
      if (status === 403 && body.detail === 'permission_denied') expect(body.message, path).to.match(/^A test key cannot change this; /);
      else usable.push(`${method} ${url}`);
    }
    // Public scans need no key, so they are those of a stranger.
    expect(usable).to.have.members([
      'POST /v1/ci/scans',
      'POST /v1/ci/scans/:scan_id/cancel',
      'DELETE /v1/scans/:scan_id',
      'POST /v1/api-keys',
      'DELETE /v1/api-keys/:key_id',
      'POST /v1/public/scan-request',
    ]);
    expect(routes).to.have.length.above(usable.length + 7);
  });
});
