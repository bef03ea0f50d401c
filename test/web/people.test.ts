import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { addPerson, mailedLink, PASSWORD } from '../api/people.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { expectAccessible, expectAccessibleNow } from './accessible.ts';
import { useWeb } from './web.ts';

describe('pages of sign-in and people', () => {
  const web = useWeb({ mail: true });

  const account = async (role: 'owner' | 'member' = 'owner') => addPerson(web, (await web.organisation()).id, role);
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

  it('sign in, say what is wrong, and lead to the page that was asked for', async () => {
    const { email } = await account();
    const page = await web.open('/dashboard/settings/members');
    await signIn(page, email, 'a wrong password');
    await page.getByText('The e-mail address or the password is not correct.').first().waitFor();
    await expectAccessible(page, 'sign-in');
    expect(await page.getByLabel('E-mail address').inputValue()).to.equal(email);
    await page.getByRole('button', { name: 'Show password' }).click();
    expect(await page.getByLabel('Password', { exact: true }).getAttribute('type')).to.equal('text');
    await signIn(page, email);
    await page.waitForURL('**/dashboard/settings/members');
  });

  it('invite a member, who joins, and remove the member with the keys', async () => {
    const { email, organisation } = await account();
    const page = await open(await web.visitor(), '/dashboard/settings/members', email);
    const guestAddress = `guest-${randomUUID().slice(0, 8)}@people.example`;
    await page.getByLabel('E-mail address').fill(guestAddress);
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByText('The service sends the invitation by mail.').waitFor();

    const guest = await web.open(await mailedLink(web, guestAddress));
    await guest.getByLabel('New password', { exact: true }).fill('password12345678');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.getByText('This password is easy to guess').first().waitFor();
    await expectAccessible(guest, 'invitation');
    await guest.getByLabel('New password', { exact: true }).fill('nine tin kettles hum');
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.waitForURL('**/dashboard');
    const creator = { createdBy: guestAddress, rootCreator: guestAddress };
    await issueKey(web.stores.keys, organisation, { name: 'Laptop', creator });
    await issueKey(web.stores.keys, organisation, { name: 'Pipeline of the shop', creator });
    await addWebhook(web.stores, { organisation, ...creator });
    const schedule = { namespace: 'curbcut', name: 'shop-example-com-1a2b3c4d', organisation };
    await web.stores.dashboardSchedules.add({ ...schedule, createdAt: new Date(), values: '', rootCreator: guestAddress });
    await web.stores.schedules.put(scheduleRow({ ...schedule, site: 'shop.example.com' }), 'x');

    await page.goto('/dashboard/settings/members');
    await expectAccessible(page, 'members');
    await page.getByRole('button', { name: `Remove ${guestAddress}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: `Keys, webhooks and schedules of ${guestAddress}` }).waitFor();
    await expectAccessible(page, 'left-behind');
    await page.getByRole('button', { name: 'Adopt Laptop' }).click();
    await expectAccessibleNow(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Adopt' }).click();
    await page.getByText('The key is yours now.').waitFor();
    await page.getByRole('button', { name: 'Disable Chat' }).click();
    await page.getByText('The webhook is disabled.').waitFor();
    await page.goto('/dashboard/settings/audit-log');
    await page.getByText('Member removed').last().waitFor();
    await expectAccessible(page, 'audit-log');
    await page.goto('/dashboard/settings/security');
    await page.getByRole('button', { name: 'Require a second factor' }).click();
    await page.getByText('Set up a second factor for yourself first.').waitFor();
    await expectAccessible(page, 'security');
  });

  it('switch and leave organisations, and delete the account', async () => {
    const { organisation: id, email } = await account('member');
    const { id: other } = await web.organisation();
    await web.stores.members.add(other, email, 'viewer');
    await web.db.collection<{ _id: string }>('users').updateOne({ _id: email }, { $set: { verifiedAt: new Date(), lastOrganisation: id } });
    await addPerson(web, id);
    const page = await open(await web.visitor(), '/dashboard/organisations', email);
    await page.getByRole('button', { name: `Switch to ${other}` }).click();
    await page.waitForURL('**/dashboard');
    await page.getByRole('link', { name: new RegExp(`^${other} ?\\(switch organisation\\)$`) }).click();
    await expectAccessible(page, 'organisations');
    await page.getByRole('button', { name: `Leave ${id}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
    await page.getByText('You have left the organisation.').waitFor();
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

  it('show the account, refuse pages of owners, and replace a forgotten password', async () => {
    const { email } = await account('member');
    const page = await open(await web.visitor(), '/dashboard/account', email);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Enter your current password.').first().waitFor();
    await expectAccessible(page, 'account');
    await page.goto('/dashboard/settings/members');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('You may not do this');

    const guest = await web.open('/dashboard/reset-password');
    await expectAccessible(guest, 'reset-password');
    await guest.getByLabel('E-mail address').fill(email);
    await guest.getByRole('button', { name: 'Send link' }).click();
    await guest.getByRole('heading', { name: 'Check your mail' }).waitFor();
    const [mail] = await web.db.collection('outbox').find({ to: email }).toArray();
    await guest.goto(new URL(mail!.data.url as string).pathname);
    await expectAccessible(guest, 'reset-password-new');
    await guest.getByLabel('New password', { exact: true }).fill('nine tin kettles hum');
    await guest.getByRole('button', { name: 'Set password' }).click();
    await guest.waitForURL('**/dashboard');
  });
});
