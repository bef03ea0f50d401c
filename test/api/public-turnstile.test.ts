/** Turnstile's verification of visitors, against a local verifier. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startContext, type ApiContext } from './context.ts';
import { BEHIND_PROXY, client, newEmail, PUBLIC_SCANS, tokenOf } from './public-context.ts';
import { createTurnstile } from '../../api/public/turnstile.ts';
import { silentLogger } from '../support/silent-logger.ts';

type Answer = { status?: number; body: string | null };
const json = (body: object, status = 200): Answer => ({ status, body: JSON.stringify(body) });

describe('Turnstile', () => {
  let verifier: Server;
  let verifyUrl: string;
  let answer: Answer;
  let questions: { method: string | undefined; fields: Record<string, string> }[];
  let context: ApiContext;

  before(async () => {
    verifier = createServer(async (request, response) => {
      const fields = Object.fromEntries(new URLSearchParams(await text(request)));
      questions.push({ method: request.method, fields });
      // Null: the verifier never answers.
      if (answer.body !== null) response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(answer.body);
    });
    await new Promise<void>((resolve) => verifier.listen(0, '127.0.0.1', resolve));
    verifyUrl = `http://127.0.0.1:${(verifier.address() as AddressInfo).port}/siteverify`;
    const turnstile = { siteKey: 'site', secretKey: 'hush', verifyUrl };
    context = await startContext({ publicScans: { ...PUBLIC_SCANS, turnstile }, ...BEHIND_PROXY });
  });
  after(async () => {
    await context?.close();
    verifier.closeAllConnections();
    await new Promise((resolve) => verifier.close(resolve));
  });
  beforeEach(() => {
    questions = [];
    answer = json({ success: true });
  });

  const stored = () => context.db.collection('public_scans').countDocuments({});

  it('is asked with the token, the secret key and the address of the visitor before a scan is accepted', async () => {
    const visitor = client(context);
    tokenOf(await visitor.ask({ cf_turnstile_token: 'tok' }));
    expect(questions).to.have.length(1);
    const [{ method, fields }] = questions as [(typeof questions)[number]];
    expect(method).to.equal('POST');
    expect(fields).to.include({ secret: 'hush', response: 'tok', remoteip: visitor.address });
    expect(fields['idempotency_key']).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('is asked as the same question again only for the same scan', async () => {
    answer = json({ success: false, 'error-codes': ['timeout-or-duplicate'] });
    const [visitor, email] = [client(context), newEmail()];
    for (const body of [{ email }, { email }, {}]) await visitor.ask({ cf_turnstile_token: 'tok', ...body });
    const [first, second, other] = questions.map(({ fields }) => fields['idempotency_key']);
    expect([first === second, first === other]).to.deep.equal([true, false]);
  });

  for (const token of ['', 'used'])
    it(`refuses ${token === '' ? 'a missing' : 'an invalid'} token, and nothing is stored or consumed`, async () => {
      answer = json({ success: false, 'error-codes': ['invalid-input-response'] });
      const [before, visitor] = [await stored(), client(context)];
      const { status, body } = await visitor.ask({ cf_turnstile_token: token });
      expect([status, body.detail[0].loc, body.detail[0].type]).to.deep.equal([422, ['body', 'cf_turnstile_token'], 'turnstile.refused']);
      expect(questions).to.have.length(token === '' ? 0 : 1);
      expect(await stored()).to.equal(before);
      answer = json({ success: true });
      expect((await visitor.ask({ cf_turnstile_token: 'tok' })).headers.get('ratelimit')).to.match(/"public-hour";r=4;/);
    });

  it('is not asked for a visitor that has used up a limit', async () => {
    const visitor = client(context);
    for (let n = 0; n < 5; n += 1) tokenOf(await visitor.ask({ cf_turnstile_token: 'tok' }));
    questions = [];
    expect((await visitor.ask({ cf_turnstile_token: 'tok' })).status).to.equal(429);
    expect(questions).to.deep.equal([]);
  });

  const failures: [string, Answer][] = [
    ['answers with 500', { status: 500, body: 'oops' }],
    ['answers with no verdict', json({})],
    ['rejects the secret key', json({ success: false, 'error-codes': ['invalid-input-secret'] })],
  ];
  for (const [what, failure] of failures)
    it(`lets nobody through while it ${what}`, async () => {
      answer = failure;
      const before = await stored();
      const { status, body, headers } = await client(context).ask({ cf_turnstile_token: 'tok' });
      expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'service_unavailable', '5']);
      expect(await stored()).to.equal(before);
      expect(JSON.stringify(context.log)).to.not.include('hush');
    });

  it('gets the current secret key, which may be rotated', async () => {
    let secretKey = 'hush';
    const verify = createTurnstile({ secretKey: () => secretKey, verifyUrl });
    const question = { token: 'tok', address: '192.0.2.1', request: '' };
    await verify(question, silentLogger);
    secretKey = 'quiet';
    await verify(question, silentLogger);
    expect(questions.map(({ fields }) => fields['secret'])).to.deep.equal(['hush', 'quiet']);
  });

  it('lets nobody through while it does not answer or is down', async () => {
    answer = { body: null };
    const question = { token: 'tok', address: '192.0.2.1', request: '' };
    const verify = createTurnstile({ secretKey: 'hush', verifyUrl, timeoutMs: 50 });
    expect(await verify(question, silentLogger)).to.deep.equal({ ok: false, reason: 'turnstile_unavailable' });
    const down = createTurnstile({ secretKey: 'hush', verifyUrl: 'http://127.0.0.1:9/' });
    expect(await down(question, silentLogger)).to.deep.equal({ ok: false, reason: 'turnstile_unavailable' });
  });
});
