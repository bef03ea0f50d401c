import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { addPerson, mailedLink, PASSWORD } from '../api/people.ts';
import { issueKey } from '../support/issue-key.ts';
import { expectAccessible } from './accessible.ts';
import { useWeb } from './web.ts';

describe('pages of sign-in and people', () => {
  const web = useWeb({ mail: true });

  const account = async (role: 'owner' | 'member' = 'owner') => {
    const { id } = await web.organisation();
    const email = `${role}-${randomUUID().slice(0, 8)}@people.example`;
    await web.stores.users.add({ email, organisation: id, password: PASSWORD, role });
    return { id, email };
  };
  async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  async function open(visitor: BrowserContext, path: string, email: string): Promise<Page> {
    const page = await visitor.newPage();
    await page.goto(`/dashboard/sign-in?next=${encodeURIComponent(path)}`);
    await signIn(page, email);
    await page.waitForURL(`**${path}`);
    return page;
  }

  it('sign in, say what is wrong, and return to where the person was after the session expired', async () => {
    const { email } = await account();
    const page = await web.open('/dashboard/settings/members');
    await expectAccessible(page, 'sign-in');
    await signIn(page, email, 'a wrong password');
    await page.getByText('The e-mail address or the password is not correct.').first().waitFor();
    await expectAccessible(page, 'sign-in-wrong');
    expect(await page.getByLabel('E-mail address').inputValue()).to.equal(email);
    await page.getByRole('button', { name: 'Show password' }).click();
    expect(await page.getByLabel('Password', { exact: true }).getAttribute('type')).to.equal('text');
    await signIn(page, email);
    await page.waitForURL('**/dashboard/settings/members');
    await web.stores.users.endSessions(email);
    await page.getByLabel('E-mail address').fill('new@people.example');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.waitForURL('**/dashboard/sign-in?next=*');
    await signIn(page, email);
    await page.waitForURL('**/dashboard/settings/members');
  });

  it('sign in without scripts', async () => {
    const { email } = await account();
    const page = await open(await web.visitor({ javaScriptEnabled: false }), '/dashboard/account', email);
    expect(await page.getByRole('button', { name: 'Show password' }).count()).to.equal(0);
  });

  it('invite a member, who joins, and change and remove members', async () => {
    const { email } = await account();
    const page = await open(await web.visitor(), '/dashboard/settings/members', email);
    await expectAccessible(page, 'members');
    await page.getByLabel('E-mail address').fill('not an address');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByText('Enter an e-mail address such as').first().waitFor();
    await expectAccessible(page, 'members-error');
    const guestAddress = `guest-${randomUUID().slice(0, 8)}@people.example`;
    await page.getByLabel('E-mail address').fill(guestAddress);
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByText('The service sends the invitation by mail.').waitFor();
    await expectAccessible(page, 'members-invited');
    const link = await mailedLink(web, guestAddress);

    const guest = await web.open(link);
    await expectAccessible(guest, 'invitation');
    await guest.getByLabel('New password', { exact: true }).fill('password12345678');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.getByText('This password is easy to guess').first().waitFor();
    await expectAccessible(guest, 'invitation-error');
    await guest.getByLabel('New password', { exact: true }).fill('nine tin kettles hum');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.waitForURL('**/dashboard');
    const ended = await web.open(link);
    await ended.getByRole('heading', { name: 'This invitation does not work any more' }).waitFor();
    await expectAccessible(ended, 'invitation-ended');

    await page.goto('/dashboard/settings/members');
    await page.getByLabel(`Role of ${guestAddress}`).selectOption('viewer');
    await page.getByRole('button', { name: `Save the role of ${guestAddress}` }).click();
    await page.getByText('The role is changed.').waitFor();
    await page.getByRole('button', { name: `Remove ${guestAddress}` }).click();
    await page.getByRole('dialog').waitFor();
    await expectAccessible(page, 'members-remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The member is removed and signed out. What the member invited is canceled.').waitFor();
    await page.goto('/dashboard/settings/audit-log');
    await page.getByText('Member removed').last().waitFor();
    await expectAccessible(page, 'audit-log');
    await page.goto('/dashboard/settings/audit-log?action=key.revoke');
    await expectAccessible(page, 'audit-log-empty');
  });

  it('show the link of an invitation where mail is off, and offer the keys of a member who was removed', async () => {
    const off = await web.replica({ mail: false });
    const { id, email } = await account();
    const member = await addPerson(web, id, 'member');
    for (const name of ['Shop pipeline', 'Laptop'])
      await issueKey(web.stores.keys, id, { name, creator: { createdBy: member.email, rootCreator: member.email } });
    const visitor = await web.visitor();
    const page = await open(visitor, '/dashboard/settings/members', email);
    await page.getByRole('button', { name: `Remove ${member.email}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Keys of a member' }).waitFor();
    await expectAccessible(page, 'member-keys');
    await page.getByRole('button', { name: 'Revoke all 2 keys' }).click();
    await page.getByText('The keys are revoked.').waitFor();

    await page.goto(`${off.url}/dashboard/settings/members`);
    await page.getByLabel('E-mail address').fill('guest@people.example');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.locator('#invitation-link').waitFor();
    await expectAccessible(page, 'members-invited-link');
  });

  it('switch, join, confirm and leave organisations, and delete the account', async () => {
    const { id, email } = await account('member');
    const [other, third, fourth] = [await web.organisation(), await web.organisation(), await web.organisation()];
    const users = web.db.collection<{ _id: string }>('users');
    await users.updateOne({ _id: email }, { $set: { verifiedAt: new Date(), unconfirmed: [third.id], lastOrganisation: id } });
    await addPerson(web, id);
    for (const one of [other, third]) await web.stores.members.add(one.id, email, 'viewer');
    const inviter = await addPerson(web, fourth.id);
    const created = await web.stores.invitations.create({
      organisation: fourth.id,
      email,
      role: 'member',
      createdBy: inviter.email,
      mailed: true,
    });
    if (!created.ok) throw new Error(created.reason);
    const link = `/dashboard/invitation/${created.token}`;

    const stranger = await web.open(link);
    await expectAccessible(stranger, 'invitation-sign-in');
    await stranger.getByRole('link', { name: 'Sign in with your password' }).click();
    await signIn(stranger, email);
    await stranger.waitForURL(`**${link}`);
    await expectAccessible(stranger, 'invitation-join');
    const foreign = await open(await web.visitor(), link, inviter.email);
    await expectAccessible(foreign, 'invitation-other-account');

    const page = await open(await web.visitor(), '/dashboard/organisations', email);
    await expectAccessible(page, 'organisations');
    await page.getByRole('button', { name: `Stay in ${third.id}` }).click();
    await page.getByText('You stay in the organisation.').waitFor();
    await page.getByRole('button', { name: `Switch to ${other.id}` }).click();
    await page.waitForURL('**/dashboard');
    await page.getByRole('link', { name: new RegExp(`^${other.id} ?\\(switch organisation\\)$`) }).click();
    await page.getByRole('button', { name: `Join ${fourth.id}` }).click();
    await page.waitForURL('**/dashboard');
    await page.goto('/dashboard/organisations');
    for (const one of [id, other.id, third.id, fourth.id]) {
      await page.getByRole('button', { name: `Leave ${one}` }).click();
      await page.getByRole('dialog').waitFor();
      if (one === id) await expectAccessible(page, 'organisations-leave');
      await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
      await page.getByText('You have left the organisation.').waitFor();
    }
    await expectAccessible(page, 'organisations-none');
    await page.goto('/dashboard/account');
    await page.getByRole('link', { name: 'Delete the account' }).click();
    await page.getByRole('button', { name: 'Delete the account' }).click();
    await page.getByText(`Enter ${email} to confirm.`).first().waitFor();
    await expectAccessible(page, 'account-delete');
    await page.getByLabel('Your e-mail address, to confirm').fill(email);
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Delete the account' }).click();
    await page.getByText('Your account is deleted').waitFor();
  });

  it('show and change the account, and a forgotten password', async () => {
    const { email } = await account('member');
    const page = await open(await web.visitor(), '/dashboard/account', email);
    await expectAccessible(page, 'account');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Enter your current password.').first().waitFor();
    await expectAccessible(page, 'account-error');
    await page.goto('/dashboard/settings/members');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expectAccessible(page, 'permission-denied');

    const guest = await web.open('/dashboard/reset-password');
    await expectAccessible(guest, 'reset-password');
    await guest.getByLabel('E-mail address').fill(email);
    await guest.getByRole('button', { name: 'Send link' }).click();
    await guest.getByRole('heading', { name: 'Check your mail' }).waitFor();
    await expectAccessible(guest, 'reset-password-sent');
    const [mail] = await web.db.collection('outbox').find({ to: email }).toArray();
    await guest.goto(new URL(mail!.data.url as string).pathname);
    await expectAccessible(guest, 'reset-password-new');
    await guest.getByLabel('New password', { exact: true }).fill('nine tin kettles hum');
    await guest.getByRole('button', { name: 'Set password' }).click();
    await guest.waitForURL('**/dashboard');
  });
});
