/** Pages claim only what the service can guarantee. */
import { expect } from 'chai';
import { differenceSection, type Difference } from '../../api/dashboard/scans/difference.ts';
import { scanProgress } from '../../api/dashboard/scans/page.ts';
import { scanRow } from '../support/scan-rows.ts';
import { createClient } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, signedIn } from './people.ts';

describe('sentences of pages', () => {
  const context = useContext({ mail: true });

  const mainOf = (text: string): string => /<main[^]*<\/main>/.exec(text)![0];

  // ASVS 6.3.8: the answer does not reveal whether an account exists.
  it('say the same about a link for a new password with and without an account, a limit or a bounce, and all of it is true', async () => {
    const { id } = await context.organisation();
    const { email } = await addPerson(context, id);
    const { email: bounced } = await addPerson(context, id);
    await context.stores.suppressions.bounced(bounced, 'certain');
    const client = createClient(context.url);
    const pages: string[] = [];
    for (const address of ['nobody@people.example', bounced, email, email, email, email]) {
      const { status, text } = await client.submit('/dashboard/reset-password', { email: address });
      expect(status).to.equal(200);
      pages.push(mainOf(text).replaceAll(address, 'ADDRESS'));
    }
    const sent = await context.db.collection('outbox').countDocuments({ kind: 'password_reset', to: email });
    expect(sent, 'the limit stopped the fourth one').to.equal(3);
    expect(new Set(pages).size).to.equal(1);
    expect(pages[0]).to.include('at most three times in an hour').and.not.include('have sent');
  });

  it('do not say that an invitation was sent before it was', async () => {
    const { client } = await signedIn(context);
    const members = '/dashboard/settings/members';
    const { text } = await client.submit(`${members}/invitations`, { email: 'new@people.example', role: 'viewer' }, members);
    expect(text).to.not.match(/(was|been) (also )?sent/);
    expect(await context.db.collection('outbox').findOne({ to: 'new@people.example' })).to.include({ state: 'waiting' });
  });

  it('do not say that nothing changed because the audit log has no entries', async () => {
    const { client, organisation } = await signedIn(context);
    await context.db.collection('audit').deleteMany({ organisation });
    const { text } = await client.get('/dashboard/settings/audit-log');
    expect(mainOf(text)).to.include('The audit log has no entries yet.').and.not.include('changed yet');
  });

  it('say why scans cannot be compared only if that is known, and whose comparisons are in progress', () => {
    const said = (compared: NonNullable<Difference>['compared']) =>
      differenceSection(scanRow(), { previous: scanRow(), compared }).toString();
    expect(said({ ok: false, reason: 'unavailable' }))
      .to.include('at the moment.')
      .and.not.include('store');
    expect(said({ ok: false, reason: 'busy', limit: 'key' })).to.include('of your organisation');
    expect(said({ ok: false, reason: 'busy', limit: 'total' })).to.include('of all organisations');
    for (const reason of ['unavailable', 'busy'] as const)
      expect(said(reason === 'busy' ? { ok: false, reason, limit: 'key' } : { ok: false, reason })).to.include('Try again');
  });

  it('do not promise that a scan that is being canceled costs nothing', () => {
    for (const scanned of [0, 3]) {
      const row = scanRow({ phase: 'scanning', pages: { scanned, failed: 0, total: 9 } });
      const text = scanProgress({ row, position: undefined, csrfToken: 'token' } as Parameters<typeof scanProgress>[0]).toString();
      expect(text).to.include('Pages that are tested before the scan ends are charged').and.not.include('No page is charged');
      expect(text.includes('3 pages until now')).to.equal(scanned === 3);
    }
  });
});
