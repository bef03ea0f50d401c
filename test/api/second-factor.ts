/** People with second factors, for tests of the dashboard. */
import { expect } from 'chai';
import { parseDocument } from 'htmlparser2';
import { totpCode, totpStep } from '../../core/totp.ts';
import { accountOf } from '../support/account-of.ts';
import type { Authenticator, Claims } from '../support/authenticator.ts';
import type { ApiContext } from './context.ts';
import { tokenIn, type Client, type PageAnswer } from './client.ts';
import { PASSWORD, type Person } from './people.ts';

export const FACTORS = '/dashboard/account/second-factor';
export const ASK = '/dashboard/sign-in/second-factor';
/** What the tests' service is for authenticators. */
export const SITE = { origin: 'https://curbcut.example', rpId: 'curbcut.example' } as const satisfies Claims;

/** Gives a person an authenticator app, of which no code was used yet. @returns its current code, and the recovery codes */
export async function addApp({ stores, db }: ApiContext, email: string): Promise<{ code: (distance?: number) => string; codes: string[] }> {
  const account = await accountOf(db, email);
  await stores.secondFactors.beginTotp(account);
  const secret = (await stores.secondFactors.waitingTotp(email))!;
  const code = (distance = 0) => totpCode(secret, totpStep(new Date()) + distance);
  const added = await stores.secondFactors.confirmTotp(account, code());
  if (!added.ok) throw new Error(added.reason);
  await db.collection<{ _id: string }>('users').updateOne({ _id: email }, { $set: { 'secondFactors.totp.lastStep': 0 } });
  return { code, codes: added.codes! };
}

/** Sends the password of a person, who is then asked for the second factor. */
export async function sendPassword({ client, email }: Pick<Person, 'client' | 'email'>, next = '/dashboard'): Promise<PageAnswer> {
  const answer = await client.submit('/dashboard/sign-in', { email, password: PASSWORD, next });
  expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, ASK]);
  return client.get(ASK);
}

/** What a page asks authenticators. */
export function optionsIn(page: string): string {
  const form = parseDocument(page, { decodeEntities: true });
  const found: string[] = [];
  const search = (nodes: unknown[]): void => {
    for (const node of nodes as { attribs?: Record<string, string>; children?: unknown[] }[]) {
      if (node.attribs?.['data-options'] !== undefined) found.push(node.attribs['data-options']);
      search(node.children ?? []);
    }
  };
  search(form.children);
  return found[0] ?? '';
}

/** Adds a passkey with the pages of a signed-in person. */
export async function addPasskey(
  client: Client,
  authenticator: Authenticator,
  name = 'Laptop',
  claims: Claims = SITE,
): Promise<PageAnswer> {
  const page = await client.get(`${FACTORS}/passkeys/new`);
  expect(page.status, page.headers.get('location') ?? '').to.equal(200);
  return client.post(`${FACTORS}/passkeys/new`, {
    _csrf: tokenIn(page.text.slice(page.text.indexOf('data-passkey='))),
    name,
    'passkey-password': authenticator.create(optionsIn(page.text), claims),
  });
}

/** Makes the sessions of a person older, so that changes ask for a confirmation. */
export async function ageSessions({ db }: ApiContext, email: string, minutes = 11): Promise<void> {
  await db.collection('sessions').updateMany({ email }, { $set: { provedAt: new Date(Date.now() - minutes * 60_000) } });
}

/** The actions of the audit log, oldest first. */
export async function actionsOf({ stores }: ApiContext, organisation: string): Promise<string[]> {
  return (await stores.organisations.audit(organisation, 50)).map(({ action, subject }) => `${action} ${subject}`).reverse();
}
