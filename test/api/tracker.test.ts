/** The tracker of an organisation: who sets it, what is refused, and its end. */
import { expect } from 'chai';
import { TRACKER_PATH } from '../../core/web-paths.ts';
import { useContext } from './context.ts';
import { signedIn } from './people.ts';

const JIRA = { kind: 'jira', url: 'https://acme.atlassian.net/', project: '10000', issue_type: '10001' };

describe('the tracker of an organisation', () => {
  const context = useContext();

  it('is set and removed by an owner, which the audit log records', async () => {
    const owner = await signedIn(context);
    const { organisation } = owner;
    const stored = async () => (await context.stores.organisations.find(organisation))?.tracker;
    const save = (form: Record<string, string>) => owner.client.submit(TRACKER_PATH, form, TRACKER_PATH);
    const member = await signedIn(context, { organisation, role: 'member' });
    expect((await member.client.submit(TRACKER_PATH, JIRA, '/dashboard')).status).to.equal(403);
    for (const [mistake, text] of [
      [{ url: 'http://acme.atlassian.net' }, 'Enter the address of the Jira site'],
      [{ url: 'https://ada:secret@acme.atlassian.net' }, 'no user name, password or query'],
      [{ url: 'https://acme.atlassian.net/?a=b' }, 'no user name, password or query'],
      [{ kind: 'github', url: 'https://github.com/acme' }, 'https://github.com/acme/shop'],
      [{ project: 'SHOP' }, 'not its key'],
      [{ issue_type: '' }, 'Enter the ID of the issue type'],
      [{ kind: 'other' }, 'Choose a tracker.'],
    ] as const) {
      const refused = await save({ ...JIRA, ...mistake });
      expect([refused.status, refused.text.includes(text)], text).to.deep.equal([422, true]);
    }
    expect(await stored()).to.equal(undefined);
    expect((await save(JIRA)).headers.get('location')).to.equal(`${TRACKER_PATH}?done=saved`);
    expect(await stored()).to.deep.equal({ kind: 'jira', url: 'https://acme.atlassian.net', project: '10000', issueType: '10001' });
    expect((await owner.client.get(TRACKER_PATH)).text).to.include('value="10001"');
    await save({ kind: 'gitlab', url: 'https://code.example/group/sub/shop.git' });
    expect(await stored()).to.deep.equal({ kind: 'gitlab', url: 'https://code.example/group/sub/shop' });
    await save({ ...JIRA, kind: '' });
    expect(await stored()).to.equal(undefined);
    const entries = await context.stores.organisations.auditPage(organisation, { kind: 'changes', limit: 20 });
    expect(entries.map(({ action, subject }) => `${action} ${subject}`).reverse()).to.deep.equal([
      'organisation.tracker jira https://acme.atlassian.net, project 10000, issue type 10001',
      'organisation.tracker gitlab https://code.example/group/sub/shop',
      'organisation.tracker none',
    ]);
  });
});
