/** Second factors in a real browser, with Chromium's virtual authenticator. */
import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { totpCode, totpStep } from '../../core/totp.ts';
import { addPerson, PASSWORD } from '../api/people.ts';
import { addApp, ageSessions, FACTORS } from '../api/second-factor.ts';
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
  const account = async () => addPerson(web, (await web.organisation()).id);
  async function sendPassword(page: Page, email: string, next = FACTORS): Promise<void> {
    await page.goto(`/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }
  async function open(email: string, options: VisitorOptions = {}, path = FACTORS): Promise<Page> {
    const page = await (await web.visitor(options)).newPage();
    await sendPassword(page, email, path);
    await page.waitForURL(`**${path}`);
    return page;
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

  it('add a passkey, sign in with it after the password and alone, and remove it', async () => {
    const { email } = await account();
    const page = await open(email);
    await expectAccessible(page, 'second-factor');
    const { look } = await plugIn(page);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    expect(await page.getByLabel('Name').inputValue()).to.match(/^Chrome on /);
    await page.getByLabel('Name').fill('Work laptop');
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    await look('recovery-codes');
    await page.getByRole('link', { name: 'I have saved the codes' }).click();
    await page.getByRole('link', { name: 'Work laptop' }).waitFor();
    await signOut(page);

    await sendPassword(page, email);
    await page.getByRole('heading', { name: 'Second factor', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Use passkey' }).click();
    await page.waitForURL(`**${FACTORS}`);
    await signOut(page);

    await page.getByRole('link', { name: 'Sign in with a passkey' }).click();
    await look('sign-in-passkey');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL('**/dashboard');

    await page.goto(`${FACTORS}/passkeys/new`);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByText('has a passkey for your account already').waitFor();

    await page.goto(FACTORS);
    await page.getByRole('link', { name: 'Work laptop' }).click();
    await look('passkey');
    await page.getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByText('The second factor was removed.').waitFor();
  });

  it('say that the browser gave no passkey, and move the focus to the button', async () => {
    const { email } = await account();
    const page = await open(email, {}, `${FACTORS}/passkeys/new`);
    await page.evaluate(`navigator.credentials.create = () => Promise.reject(new DOMException('canceled', 'NotAllowedError'))`);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'The browser gave no passkey' }).waitFor();
    expect(await page.evaluate<string>('document.activeElement.textContent')).to.equal('Add passkey');
    await expectAccessible(page, 'passkey-new');
  });

  it('set up an authenticator app without scripts, and sign in with a recovery code', async () => {
    const { email } = await account();
    const page = await open(email, { javaScriptEnabled: false });
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('img', { name: 'QR code with the key below' }).waitFor();
    await page.getByLabel('Code of your authenticator app').fill('000000');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('This code is not correct').first().waitFor();
    await expectAccessible(page, 'app-new');
    const secret = (await web.stores.secondFactors.waitingTotp(email))!;
    await page.getByLabel('Code of your authenticator app').fill(totpCode(secret, totpStep(new Date())));
    await page.getByRole('button', { name: 'Confirm' }).click();
    const recovery = (await page.locator('#recovery-codes').textContent())!.split('\n')[0]!;
    await page.goto(`${FACTORS}/passkeys/new`);
    await page.getByText('Passkeys need JavaScript').waitFor();
    expect(await page.getByRole('button', { name: 'Add passkey' }).count()).to.equal(0);
    await signOut(page);

    await sendPassword(page, email);
    await page.getByRole('link', { name: 'Use a recovery code' }).click();
    await expectAccessible(page, 'sign-in-recovery');
    await page.getByLabel('Recovery code').fill(recovery);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('You signed in with a recovery code; 9 of 10 are left').waitFor();
    await page.getByRole('link', { name: 'Remove the authenticator app' }).click();
    await expectAccessible(page, 'app-remove');
    await page.getByRole('button', { name: 'Remove authenticator app' }).click();
    await page.getByText('The second factor was removed.').waitFor();
  });

  it('sign in with a code by the keyboard only, and confirm before a change', async () => {
    const { email } = await account();
    const { code } = await addApp(web, email);
    const page = await (await web.visitor()).newPage();
    await page.goto('/dashboard/sign-in');
    await tabTo(page, 'E-mail address');
    await page.keyboard.type(email);
    await tabTo(page, 'Password');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard/sign-in/second-factor');
    await expectAccessible(page, 'sign-in-second-factor');
    await tabTo(page, 'Code of your authenticator app');
    await page.keyboard.type(code());
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard');

    await ageSessions(web, email);
    await page.goto(`${FACTORS}/app/removal`);
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    await expectAccessible(page, 'confirm');
  });
});
