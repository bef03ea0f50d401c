/** Second factors in a real browser, with Chromium's virtual authenticator. */
import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { totpCode, totpStep } from '../../core/totp.ts';
import { accountOf } from '../support/account-of.ts';
import { addPerson, PASSWORD } from '../api/people.ts';
import { ageSessions, FACTORS } from '../api/second-factor.ts';
import { expectAccessible } from './accessible.ts';
import { openWeb, type VisitorOptions, type Web } from './web.ts';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Credential = Awaited<ReturnType<typeof credentialsOf>>[number];
const credentialsOf = async (session: CDPSession, authenticatorId: string) =>
  (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

describe('pages of second factors', () => {
  let web: Web;
  before(async () => {
    // Passkeys need a name, and browsers answer only for the exact address.
    const port = await freePort();
    web = await openWeb({ port, publicBaseUrl: `http://localhost:${port}`, mail: true });
  });
  after(() => web?.close());

  /** Lets pages find an authenticator that verifies its user. */
  async function plugIn(page: Page): Promise<{ look(name: string): Promise<void> }> {
    const session = await page.context().newCDPSession(page);
    let authenticatorId = '';
    async function plug(credentials: Credential[]): Promise<void> {
      await session.send('WebAuthn.enable');
      const options = {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      } as const;
      ({ authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options }));
      for (const credential of credentials) await session.send('WebAuthn.addCredential', { authenticatorId, credential });
    }
    await plug([]);
    return {
      /** As `expectAccessible`, whose session with the browser unplugs the authenticator when it ends. */
      async look(name) {
        const credentials = await credentialsOf(session, authenticatorId);
        await expectAccessible(page, name);
        await session.send('WebAuthn.disable');
        await plug(credentials);
      },
    };
  }
  const account = async (role: 'owner' | 'member' = 'owner') => addPerson(web, (await web.organisation()).id, role);
  async function sendPassword(page: Page, email: string, next = FACTORS): Promise<void> {
    await page.goto(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }
  async function open(email: string, options: VisitorOptions = {}, path = FACTORS): Promise<{ page: Page; visitor: BrowserContext }> {
    const visitor = await web.visitor(options);
    const page = await visitor.newPage();
    await sendPassword(page, email, path);
    await page.waitForURL(`**${path}`);
    return { page, visitor };
  }
  async function signOut(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('**/dashboard/sign-in?signedOut');
  }
  /** Moves the focus to an element with the keyboard only. */
  async function tabTo(page: Page, label: string): Promise<void> {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<string>(
        `(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim().replace(/\\s+/g, ' ')`,
      );
      if (focused.startsWith(label)) return;
    }
    throw new Error(`the keyboard does not reach ${label}`);
  }
  const confirmed = async (email: string) =>
    web.db.collection<{ _id: string }>('users').updateOne({ _id: email }, { $set: { 'secondFactors.totp.lastStep': 0 } });

  it('add a passkey, sign in with it after the password and alone, rename and remove it', async () => {
    const { email } = await account();
    const { page } = await open(email);
    await expectAccessible(page, 'second-factor-none');
    const { look } = await plugIn(page);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    expect(await page.getByLabel('Name').inputValue()).to.match(/^Chrome on /);
    await look('passkey-new');
    await page.getByLabel('Name').fill('Work laptop');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    expect((await page.locator('#recovery-codes').textContent())!.split('\n')).to.have.lengthOf(10);
    await look('recovery-codes');
    await page.getByRole('link', { name: 'I have saved the codes' }).click();
    await page.getByRole('link', { name: 'Work laptop' }).waitFor();
    await look('second-factor-passkey');
    await signOut(page);

    await sendPassword(page, email);
    await page.getByRole('heading', { name: 'Second factor', level: 1 }).waitFor();
    await look('sign-in-second-factor-passkey');
    await page.getByRole('button', { name: 'Use passkey' }).click();
    await page.waitForURL(`**${FACTORS}`);
    await signOut(page);

    await page.getByRole('link', { name: 'Sign in with a passkey' }).click();
    await look('sign-in-passkey');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL('**/dashboard');

    await page.goto(FACTORS);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByText('has a passkey for your account already').waitFor();

    await page.goto(FACTORS);
    await page.getByRole('link', { name: 'Work laptop' }).click();
    await page.getByLabel('Name').fill('Home laptop');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('The passkey was renamed.').waitFor();
    await page.getByRole('link', { name: 'Home laptop' }).click();
    await look('passkey');
    await page.getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByRole('dialog').waitFor();
    await look('passkey-remove');
    await page.getByRole('dialog').getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByText('The second factor was removed.').waitFor();
  });

  it('say that the browser gave no passkey, and move the focus to the button', async () => {
    const { email } = await account();
    const { page } = await open(email, {}, `${FACTORS}/passkeys/new`);
    await page.evaluate(`navigator.credentials.create = () => Promise.reject(new DOMException('canceled', 'NotAllowedError'))`);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'The browser gave no passkey' }).waitFor();
    expect(await page.evaluate<string>('document.activeElement.textContent')).to.equal('Add passkey');
    await expectAccessible(page, 'passkey-refused');
  });

  it('set up an authenticator app without scripts, and sign in with its code and with a recovery code', async () => {
    const { email } = await account();
    const { page, visitor } = await open(email, { javaScriptEnabled: false });
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code with the key below' }).waitFor();
    await expectAccessible(page, 'app-new');
    await page.getByLabel('Code of your authenticator app').fill('000000');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('This code is not correct').first().waitFor();
    await expectAccessible(page, 'app-new-wrong');
    const secret = (await web.stores.secondFactors.waitingTotp(email))!;
    const code = () => totpCode(secret, totpStep(new Date()));
    await page.getByLabel('Code of your authenticator app').fill(code());
    await page.getByRole('button', { name: 'Confirm' }).click();
    const recovery = (await page.locator('#recovery-codes').textContent())!.split('\n')[0]!;
    await page.getByRole('link', { name: 'I have saved the codes' }).click();
    await expectAccessible(page, 'second-factor-app');
    await page.goto(`${FACTORS}/passkeys/new`);
    await page.getByText('Passkeys need JavaScript').waitFor();
    expect(await page.getByRole('button', { name: 'Add passkey' }).count()).to.equal(0);
    await expectAccessible(page, 'passkey-new-no-script');
    await signOut(page);

    await confirmed(email);
    await sendPassword(page, email);
    await page.getByLabel('Code of your authenticator app').fill('000000');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('This code is not correct').first().waitFor();
    await expectAccessible(page, 'sign-in-second-factor-wrong');
    await page.getByLabel('Code of your authenticator app').fill(code());
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`**${FACTORS}`);
    await signOut(page);

    await sendPassword(page, email);
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await expectAccessible(page, 'sign-in-recovery');
    await page.getByLabel('Recovery code').fill(recovery);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('You signed in with a recovery code; 9 of 10 are left').waitFor();
    await expectAccessible(page, 'second-factor-recovered');
    await page.getByRole('link', { name: 'Remove the authenticator app' }).click();
    await expectAccessible(page, 'app-remove');
    await page.getByRole('button', { name: 'Remove authenticator app' }).click();
    await page.getByText('The second factor was removed.').waitFor();
    await visitor.close();
  });

  it('sign in with a code by the keyboard only, and confirm before a change', async () => {
    const { email } = await account();
    await web.stores.secondFactors.beginTotp(await accountOf(web.db, email));
    const secret = (await web.stores.secondFactors.waitingTotp(email))!;
    const code = () => totpCode(secret, totpStep(new Date()));
    await web.stores.secondFactors.confirmTotp(await accountOf(web.db, email), code());
    await confirmed(email);
    const page = await (await web.visitor()).newPage();
    await page.goto('/dashboard/sign-in');
    await tabTo(page, 'E-mail address');
    await page.keyboard.type(email);
    await tabTo(page, 'Password');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard/sign-in/second-factor');
    await tabTo(page, 'Code of your authenticator app');
    await page.keyboard.type(code());
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard');

    await ageSessions(web, email);
    await page.goto(`${FACTORS}/app/removal`);
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    await expectAccessible(page, 'confirm-app');
    await confirmed(email);
    await tabTo(page, 'Code of your authenticator app');
    await page.keyboard.type(code());
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${FACTORS}/app/removal`);
  });

  it('confirm with the password before the first factor', async () => {
    const { email } = await account();
    const { page } = await open(email);
    await ageSessions(web, email);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await expectAccessible(page, 'confirm-password');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`**${FACTORS}/passkeys/new`);
  });

  it('require a second factor in an organisation', async () => {
    const { email, organisation } = await account();
    const member = await addPerson(web, organisation, 'member');
    const { page } = await open(email, {}, '/dashboard/settings/security');
    await expectAccessible(page, 'security-optional');
    await page.getByRole('button', { name: 'Require a second factor' }).click();
    await page.getByText('Set up a second factor for yourself first.').waitFor();
    await expectAccessible(page, 'security-refused');
    await plugIn(page);
    await page.goto(`${FACTORS}/passkeys/new`);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    await page.goto('/dashboard/settings/security');
    await page.getByRole('button', { name: 'Require a second factor' }).click();
    await page.getByText('The setting is saved.').waitFor();
    await page.getByText(member.email).waitFor();
    await expectAccessible(page, 'security-required');

    const theirs = await (await web.visitor()).newPage();
    await sendPassword(theirs, member.email, '/dashboard');
    await theirs.waitForURL(`**${FACTORS}?required`);
    await expectAccessible(theirs, 'second-factor-required');
  });

  it('end a sign-in that took too long', async () => {
    const page = await web.open('/dashboard/sign-in/second-factor');
    await page.getByRole('heading', { name: 'The sign-in has ended' }).waitFor();
    await expectAccessible(page, 'sign-in-second-factor-ended');
  });
});
