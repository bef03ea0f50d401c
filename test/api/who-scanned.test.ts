/** Who started and who canceled scans: in the audit log, once for each scan, and on the pages, by name. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { siteOf } from '../../core/scan/site.ts';
import { SCANS_PATH } from '../../core/web-paths.ts';
import { issueKey } from '../support/issue-key.ts';
import { HIGH_LIMITS, SUBMISSION, useContext } from './context.ts';
import { signedIn, type Person } from './people.ts';
import { down } from './replica.ts';

const LOG = '/dashboard/settings/audit-log';

describe('who started and canceled scans', () => {
  const context = useContext({ limits: HIGH_LIMITS });

  const entries = async (organisation: string) => {
    await context.stores.organisations.flush();
    return (await context.stores.organisations.audit(organisation, 50))
      .filter(({ action }) => action.startsWith('scan.'))
      .map(({ action, actor, subject }) => ({ action, actor, subject }));
  };
  const submit = async (key: string, headers: Record<string, string> = {}): Promise<string> => {
    const { status, body, text } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers });
    expect(status, text).to.equal(202);
    return body.scan_id as string;
  };
  const owner = (organisation: string): Promise<Person> => signedIn(context, { role: 'owner', organisation });

  it('is recorded once for scans of API keys, however often a request is repeated', async () => {
    const { id: organisation, key, keyId } = await context.organisation({ credits: 20 });
    const headers = { 'idempotency-key': randomUUID() };
    const id = await submit(key, headers);
    expect(await submit(key, headers)).to.equal(id);
    for (let time = 0; time < 2; time += 1)
      expect((await context.request('POST', `/v1/ci/scans/${id}/cancel`, { key })).status).to.equal(202);
    const entry = { actor: `key:${keyId}`, subject: `${siteOf(SUBMISSION.url)} ${id}` };
    expect(await entries(organisation)).to.have.deep.members([
      { action: 'scan.submit', ...entry },
      { action: 'scan.cancel', ...entry },
    ]);
    expect((await context.stores.scans.find(id))?.submittedBy).to.equal(`key:${keyId}`);
  });

  it('is recorded for scans of the dashboard, which name the person as their origin', async () => {
    const { id: organisation } = await context.organisation({ credits: 20 });
    const { client, email } = await owner(organisation);
    const form = {
      url: SUBMISSION.url,
      max_pages: '2',
      wcag_version: '2.2',
      wcag_level: 'AA',
      locale: 'en',
      fail_on_truncation: 'on',
      consent: 'keep',
    };
    const sent = await client.submit('/dashboard/scans/new', { ...form, idempotency_key: randomUUID() });
    const path = sent.headers.get('location')!;
    const id = path.split('/').at(-1)!;
    expect(await entries(organisation)).to.deep.equal([
      { action: 'scan.submit', actor: email, subject: `${siteOf(SUBMISSION.url)} ${id}` },
    ]);
    expect((await client.get(path)).text.replace(/\s+/g, ' ')).to.include(`Dashboard: ${email}`);
    expect((await client.get(path)).text).to.include('Cancel this scan?');
    expect((await client.submit(`${path}/cancel`, {}, '/dashboard/scans/new')).status).to.equal(303);
  });

  it('is not known of a cancellation if the audit log is down, and the scan is canceled all the same', async () => {
    const { id: organisation, key } = await context.organisation({ credits: 20 });
    context.faults.set('organisations.record', down);
    const id = await submit(key);
    expect((await context.request('POST', `/v1/ci/scans/${id}/cancel`, { key })).status).to.equal(202);
    expect((await entries(organisation)).map(({ action }) => action)).to.deep.equal(['scan.submit']);
    expect(context.log.filter(({ message }) => message === 'audit entry lost')).to.have.length(1);
    context.log.length = 0;
  });

  it('is recorded by a repeated request if the entry was lost, with who started the scan, and when', async () => {
    const { id: organisation, key, keyId } = await context.organisation({ credits: 20 });
    const headers = { 'idempotency-key': randomUUID() };
    context.faults.set('organisations.recordStart', () => Promise.resolve());
    const id = await submit(key, headers);
    context.faults.clear();
    const other = await issueKey(context.stores.keys, organisation);
    expect(await submit(other.secret, headers)).to.equal(id);
    await context.stores.organisations.flush();
    const [entry, ...more] = (await context.stores.organisations.audit(organisation, 50)).filter(({ action }) => action === 'scan.submit');
    const { createdAt } = (await context.stores.scans.find(id))!;
    expect(entry).to.deep.include({ actor: `key:${keyId}`, at: createdAt });
    expect(more).to.deep.equal([]);
  });

  it('is recorded by the request that takes over an interrupted cancellation, also if the scan has ended', async () => {
    const { id: organisation, key, keyId } = await context.organisation({ credits: 20 });
    const id = await submit(key);
    const headers = { 'idempotency-key': randomUUID() };
    const cancel = () => context.request('POST', `/v1/ci/scans/${id}/cancel`, { key, headers });
    // Kubernetes may have taken the change: its answer is lost.
    context.faults.set('scanResources.cancel', down);
    expect((await cancel()).status).to.equal(503);
    context.faults.clear();
    await context.stores.scans.mirror(id, { phase: 'canceled', finishedAt: new Date() });
    expect((await entries(organisation)).map(({ action }) => action)).to.deep.equal(['scan.submit']);
    for (let time = 0; time < 2; time += 1) expect((await cancel()).status).to.equal(202);
    expect((await entries(organisation)).filter(({ action }) => action === 'scan.cancel')).to.deep.equal([
      { action: 'scan.cancel', actor: `key:${keyId}`, subject: `${siteOf(SUBMISSION.url)} ${id}` },
    ]);
  });

  it('is shown by the names of API keys, with a link to the scan', async () => {
    const { id: organisation, key, keyId } = await context.organisation({ credits: 20 });
    const id = await submit(key);
    await context.stores.organisations.flush();
    const { client } = await owner(organisation);
    const { name } = (await context.stores.keys.find(organisation, keyId))!;
    const log = (await client.get(`${LOG}?action=scan.submit`)).text.replace(/\s+/g, ' ');
    expect(log).to.include(`API key ${name}`).and.include(`href="/dashboard/scans/${id}"`).and.not.include(keyId);
    expect((await client.get(`/dashboard/scans/${id}`)).text.replace(/\s+/g, ' ')).to.include(`API: API key ${name}`);
    expect((await client.get(SCANS_PATH)).text).to.include(`API key ${name}`);
    expect((await client.get(`${LOG}?action=scan.cancel`)).text).to.include('No entry matches the filters.');
  });
});
