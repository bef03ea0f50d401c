/** Known issues over REST. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ENDING_DAYS, KNOWN_ISSUE_MAX_DAYS, KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import { HIGH_LIMITS, useContext } from './context.ts';

const DAY_MS = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const wanted = (fields: object = {}) => ({
  site: 'www.example.com',
  fingerprint: '0123456789abcdef',
  reason: 'The supplier fixes it.',
  owner: 'video team',
  expires_at: inDays(90),
  ...fields,
});

interface Listed {
  id: string;
  status: string;
  site: string;
  manifest: { namespace: string; name: string } | null;
  expires_at: string;
}

describe('known issues over REST', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  const organisation = () => context.organisation();
  const add = async (key: string, fields: object = {}): Promise<Listed> => {
    const { status, body, text } = await context.request('POST', '/v1/known-issues', { key, body: wanted(fields) });
    expect(status, text).to.equal(201);
    return body as unknown as Listed;
  };

  it('are accepted, listed, changed and removed, each recorded in the audit log', async () => {
    const { id: organisationId, key, keyId } = await organisation();
    const first = await add(key);
    expect(first).to.deep.include({
      site: 'www.example.com',
      fingerprint: '0123456789abcdef',
      rule: null,
      selector: null,
      reason: 'The supplier fixes it.',
      owner: 'video team',
      status: 'live',
      created_by: `key:${keyId}`,
    });
    const second = await add(key, {
      site: 'https://Shop.example.com:8443/',
      fingerprint: undefined,
      rule: 'image-alt',
      selector: '#logo',
      expires_at: inDays(3),
    });
    expect(second).to.deep.include({
      site: 'shop.example.com:8443',
      fingerprint: null,
      rule: 'image-alt',
      selector: '#logo',
      status: 'ending',
    });
    const list = async (query: string) => (await context.request('GET', `/v1/known-issues?${query}`, { key })).body.data as Listed[];
    expect(await list('')).to.deep.equal([second, first]);
    expect(await list('site=WWW.example.com')).to.deep.equal([first]);
    expect(await list(`ends_before=${inDays(ENDING_DAYS)}`)).to.deep.equal([second]);
    expect(await list('limit=1')).to.deep.equal([second]);
    const path = `/v1/known-issues/${first.id}`;
    const changed = await context.request('PATCH', path, { key, body: { reason: 'Later.', expires_at: inDays(10) } });
    expect(changed.body).to.deep.include({ reason: 'Later.', owner: 'video team', status: 'ending' });
    expect((await context.request('PATCH', path, { key, body: {} })).body).to.deep.equal(changed.body);
    expect((await context.request('DELETE', path, { key })).status).to.equal(204);
    for (const method of ['GET', 'DELETE'])
      expect((await context.request(method, path, { key })).body.detail).to.equal('known_issue_not_found');
    const audit = await context.stores.organisations.audit(organisationId, 20);
    const entries = audit.filter(({ action }) => action.startsWith('known-issue.'));
    expect(entries.map(({ actor, action, subject }) => [actor, action, subject])).to.deep.equal([
      [`key:${keyId}`, 'known-issue.remove', `www.example.com ${first.id}`],
      [`key:${keyId}`, 'known-issue.change', `www.example.com ${first.id} until ${String(changed.body['expires_at'])}, video team`],
      [`key:${keyId}`, 'known-issue.add', `shop.example.com:8443 ${second.id} until ${second.expires_at}, video team`],
      [`key:${keyId}`, 'known-issue.add', `www.example.com ${first.id} until ${first.expires_at}, video team`],
    ]);
  });

  const MISTAKES: readonly [string, object, field: string[], type: string][] = [
    ['neither a fingerprint nor a rule', { fingerprint: undefined }, [], 'known_issue.target'],
    ['an address with a path', { site: 'https://www.example.com/shop' }, ['site'], 'known_issue.site'],
    ['an end in the past', { expires_at: inDays(-1) }, ['expires_at'], 'date.past'],
    ['an end in more than a year', { expires_at: inDays(KNOWN_ISSUE_MAX_DAYS + 1) }, ['expires_at'], 'date.too_late'],
  ];
  for (const [name, fields, field, type] of MISTAKES)
    it(`are refused with ${name}`, async () => {
      const { key } = await organisation();
      const { status, body } = await context.request('POST', '/v1/known-issues', { key, body: wanted(fields) });
      const [item] = body.detail as unknown as { loc: string[]; type: string }[];
      expect([status, item!.loc, item!.type]).to.deep.equal([422, ['body', ...field], type]);
    });

  it('cannot be prolonged beyond a year, or from the past', async () => {
    const { key } = await organisation();
    const { id } = await add(key);
    for (const days of [-1, KNOWN_ISSUE_MAX_DAYS + 1])
      expect((await context.request('PATCH', `/v1/known-issues/${id}`, { key, body: { expires_at: inDays(days) } })).status).to.equal(422);
  });

  it('are accepted once for a root cause of a site', async () => {
    const { key } = await organisation();
    const first = await add(key);
    const refused = await context.request('POST', '/v1/known-issues', { key, body: wanted({ site: 'https://www.example.com' }) });
    expect([refused.status, refused.body.detail, refused.body.known_issue_id]).to.deep.equal([409, 'known_issue_exists', first.id]);
    await add(key, { site: 'other.example.com' });
  });

  it('of a manifest are listed, and changed only by the manifest, which the error names', async () => {
    const { id, key } = await organisation();
    const manifest = { operatorClass: 'curbcut', namespace: 'shop', name: 'accepted' };
    const issue = { rule: 'image-alt', selector: '#logo', reason: 'Known', owner: 'team', expiresAt: new Date(inDays(9)) };
    const declared = { ...manifest, uid: 'u', generation: 1, organisation: id, site: 'www.example.com', createdAt: new Date() };
    await context.stores.knownIssues.declare({ ...declared, issues: [issue] }, null, new Date());
    const [listed] = (await context.request('GET', '/v1/known-issues', { key })).body.data as Listed[];
    const owner = { namespace: 'shop', name: 'accepted' };
    expect(listed).to.deep.include({ created_by: 'manifest', manifest: owner, status: 'ending' });
    const path = `/v1/known-issues/${listed!.id}`;
    expect((await context.request('GET', path, { key })).body).to.deep.equal(listed);
    for (const [method, body] of [['PATCH', { reason: 'Mine' }], ['DELETE']] as const) {
      const refused = await context.request(method, path, { key, body });
      expect([refused.status, refused.body.detail]).to.deep.equal([409, 'known_issue_managed_by_manifest']);
      expect(refused.body.manifest).to.deep.equal(owner);
      expect(refused.body.message).to.include('KnownIssues shop/accepted');
    }
    const body = wanted({ fingerprint: undefined, rule: 'image-alt', selector: '#logo' });
    const refused = await context.request('POST', '/v1/known-issues', { key, body });
    expect([refused.status, refused.body.detail]).to.deep.equal([409, 'known_issue_exists']);
    expect(refused.body).to.deep.include({ manifest: owner, known_issue_id: listed!.id });
  });

  it('have a limit for each site', async () => {
    const { id, key } = await organisation();
    const expiresAt = new Date(inDays(9));
    const full = Array.from({ length: KNOWN_ISSUES_MAX }, (_, slot) => ({
      organisation: id,
      site: 'www.example.com',
      slots: [`${id}/www.example.com/${slot}`],
      expiresAt,
    }));
    await context.db.collection<{ _id: string }>('knownIssues').insertMany(full.map((issue) => ({ _id: randomUUID(), ...issue })));
    const refused = await context.request('POST', '/v1/known-issues', { key, body: wanted() });
    expect([refused.status, refused.body.detail]).to.deep.equal([409, 'too_many_known_issues']);
    await add(key, { site: 'other.example.com' });
  });
});
