/** Submissions that sign in: which Secrets they may name, and what becomes of them. */
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { tokenIn } from './client.ts';
import { HIGH_LIMITS, SUBMISSION, useContext } from './context.ts';
import { signedIn } from './people.ts';

const auth = { secret: 'shop-login' };

describe('a submission with auth', () => {
  const context = useContext({ limits: HIGH_LIMITS, allowScanSecrets: ['shop-login', 'nobody/own'] });

  const submit = (key: string, body: object, headers: Record<string, string> = {}) =>
    context.request('POST', '/v1/ci/scans', { key, headers, body: { ...SUBMISSION, ...body } });

  it('signs in with the Secret, and states its name', async () => {
    const { key } = await context.organisation({ credits: 10 });
    const { status, body } = await submit(key, { auth });
    expect(status).to.equal(202);
    expect((await context.resource(body.scan_id)).spec.auth).to.deep.equal({ secretRef: { name: 'shop-login' } });
    expect((await context.request('GET', `/v1/ci/scans/${body.scan_id}`, { key })).body.auth).to.deep.equal(auth);
    const without = await submit(key, {});
    expect((await context.resource(without.body.scan_id)).spec.auth).to.equal(undefined);
    expect((await context.request('GET', `/v1/ci/scans/${without.body.scan_id}`, { key })).body.auth).to.equal(null);
  });

  it('is rejected with a Secret that the organisation may not name, and charges nothing', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    const { status, body } = await submit(key, { auth: { secret: 'own' } });
    expect(status).to.equal(422);
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'auth', 'secret'], type: 'auth.secret_refused' });
    expect(await context.stores.credits.balance(id)).to.include({ balance: 10, held: 0 });
  });

  it('is sent by the form of the dashboard, which says at the field what is refused', async () => {
    const { client, organisation } = await signedIn(context);
    await context.stores.credits.grant(organisation, 'more', 20);
    const send = (secret: string) =>
      client.submit('/dashboard/scans/new', { ...SUBMISSION, max_pages: '1', fail_on_truncation: 'on', auth: secret });
    const refused = await send('own');
    expect([refused.status, refused.text.includes('id="auth-error"')]).to.deep.equal([422, true]);
    expect((await send(' shop-login ')).status).to.equal(303);
    expect((await context.stores.scans.search(organisation, { limit: 1 })).rows[0]!.auth).to.deep.equal(auth);
  });

  it('is repeated by "Scan again", and compared only with scans of the same sign-in', async () => {
    const person = await signedIn(context);
    await context.stores.credits.grant(person.organisation, 'more', 20);
    const options = withDefaults({ url: SUBMISSION.url });
    const at = (minute: number) => ({ phase: 'done', options, createdAt: new Date(Date.UTC(2026, 0, 1, 0, minute)) }) as const;
    const first = await context.scan(person.organisation, { ...at(0), auth });
    await context.scan(person.organisation, at(1));
    const last = await context.scan(person.organisation, { ...at(2), auth, finishedAt: new Date() });
    expect((await context.stores.scans.previousDone(last))?.id).to.equal(first.id);
    const path = `/dashboard/scans/${last.id}`;
    const { text } = await person.client.get(path);
    const idempotency_key = /name="idempotency_key" value="([^"]+)"/.exec(text)![1]!;
    const again = await person.client.post(`${path}/again`, { _csrf: tokenIn(text), idempotency_key });
    expect(again.status).to.equal(303);
    const scanId = again.headers.get('location')!.split('/').at(-1)!;
    expect((await context.stores.scans.find(scanId))?.auth).to.deep.equal(auth);
  });
});
