/** Memberships that the identity provider decides about. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Role } from '../../core/accounts.ts';
import { MEMBERS_PATH } from '../../core/web-paths.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { createClient } from './client.ts';
import { startContext, type ApiContext, type MonitoredReplica } from './context.ts';
import { addPerson } from './people.ts';

const BASE = 'https://curbcut.example';
const START = '/dashboard/sign-in/oidc';

describe('roles of the identity provider', () => {
  let context: ApiContext;
  let provider: TestProvider;
  let replica: MonitoredReplica;
  let acme: string;
  let shop: string;
  before(async () => {
    provider = await startProvider(`${BASE}${START}/callback`);
    context = await startContext();
    [acme, shop] = [(await context.organisation()).id, (await context.organisation()).id];
    const rules = [
      { value: 'heads', organisation: acme, role: 'owner' },
      { value: 'staff', organisation: acme, role: 'viewer' },
      { value: 'staff', organisation: shop, role: 'member' },
      { value: 'staff', organisation: 'not-yet', role: 'owner' },
    ] as const;
    const { issuer, clientId, clientSecret } = provider;
    const roleMapping = { claim: 'groups', rules };
    replica = await context.replica({
      identityProvider: { issuer, clientId, clientSecret, roleMapping, name: 'Acme', localPasswords: true },
    });
  });
  after(async () => {
    await context?.close();
    await provider?.close();
  });

  const newEmail = () => `roles-${randomUUID().slice(0, 8)}@people.example`;
  const subjects = new Map<string, string>();
  /** Signs in as a person with these groups. @returns the browser, and where it was sent */
  async function signIn(email: string, groups?: unknown, idToken = {}, next = '') {
    const sub = subjects.get(email) ?? randomUUID();
    subjects.set(email, sub);
    Object.assign(provider, { person: { sub, email, email_verified: true, groups }, idToken });
    const client = createClient(replica.url);
    const start = (await client.get(START + next)).headers.get('location')!;
    const ended = await client.get((await provider.signIn(start)).slice(BASE.length));
    return { client, location: ended.headers.get('location') };
  }
  const rolesOf = async (email: string): Promise<Record<string, Role>> =>
    Object.fromEntries((await context.stores.members.of(email)).map(({ organisation, role }) => [organisation.id, role]));
  const entriesOf = async (id: string, email: string) =>
    (await context.stores.organisations.auditPage(id, { kind: 'changes', limit: 50 }))
      .filter(({ actor, subject }) => actor === provider.issuer && subject?.includes(email) === true)
      .map(({ action, subject }) => `${action} ${subject}`)
      .reverse();

  it('are set at each sign-in, without an invitation, and end with the group, also for the last owner; keys keep no more', async () => {
    const email = newEmail();
    const first = await signIn(email, ['staff', 'heads']);
    expect(first.location).to.equal('/dashboard');
    expect(await rolesOf(email)).to.deep.equal({ [acme]: 'owner', [shop]: 'member' });
    const { key } = await context.stores.keys
      .issue({ organisation: acme, name: 'k', creator: { createdBy: email, rootCreator: email } } as never)
      .then((issued) => issued as { key: { id: string } });
    await signIn(email, ['staff']);
    expect(await rolesOf(email)).to.deep.equal({ [acme]: 'viewer', [shop]: 'member' });
    expect((await context.stores.keys.find(acme, key.id))?.limit?.role).to.equal('viewer');
    const last = await signIn(email, []);
    expect(await rolesOf(email)).to.deep.equal({});
    expect((await last.client.get('/dashboard')).headers.get('location')).to.equal('/dashboard/organisations');
    expect((await first.client.get('/dashboard')).headers.get('location'), 'sessions in the organisation end').to.include('sign-in');
    expect(await entriesOf(acme, email)).to.deep.equal([
      `user.add ${email}: owner`,
      `user.role ${email}: viewer`,
      `key.limit ${email}: 1 key, at most viewer`,
      `user.remove ${email}`,
      `key.limit ${email}: 1 key, at most viewer`,
    ]);
    expect(await context.db.collection('memberships').countDocuments({ _id: 'not-yet' as never })).to.equal(0);
  });

  it('are untouched, and the sign-in is refused, if the provider does not say the groups', async () => {
    const email = newEmail();
    await signIn(email, ['heads']);
    const elsewhere = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example' } } };
    const { client, location } = await signIn(email, undefined, elsewhere);
    expect(location).to.equal('/dashboard/sign-in?problem=groups_unknown');
    expect((await client.get(location!)).text).to.include('did not say which groups you are in');
    expect(await rolesOf(email)).to.deep.equal({ [acme]: 'owner' });
  });

  it('are untouched, and the sign-in is refused, if a member gets no claim: a wrong scope must not end rights', async () => {
    const email = newEmail();
    await signIn(email, ['heads']);
    for (const person of [email, newEmail()]) {
      const { client, location } = await signIn(person);
      expect(location).to.equal('/dashboard/sign-in?problem=groups_absent');
      expect((await client.get(location!)).text).to.include('check oidc.scopes and oidc.roleMapping.claim');
    }
    expect(await rolesOf(email)).to.deep.equal({ [acme]: 'owner' });
    expect(await entriesOf(acme, email)).to.include(`user.groups-missing ${email}`);
    // Providers leave out an empty list: who has nothing to lose may sign in.
    const free = (await context.organisation()).id;
    const { email: other } = await addPerson(context, free, 'viewer');
    expect((await signIn(other)).location).to.equal('/dashboard');
    expect(await rolesOf(other)).to.deep.equal({ [free]: 'viewer' });
  });

  it('are the only way into their organisations: invitations to them do not count, and nobody changes members there', async () => {
    const owner = newEmail();
    const { client } = await signIn(owner, ['heads']);
    const page = (await client.get(MEMBERS_PATH)).text;
    expect(page).to.include('The identity provider decides').and.not.include(`${MEMBERS_PATH}/role`).and.not.include('Invite someone');
    const other = (await addPerson(context, acme, 'member')).email;
    const changes: [path: string, fields: Record<string, string>][] = [
      ['invitations', { email: newEmail(), role: 'viewer' }],
      ['role', { email: other, role: 'viewer' }],
      ['remove', { email: other }],
    ];
    for (const [path, fields] of changes)
      expect((await client.submit(`${MEMBERS_PATH}/${path}`, fields, '/dashboard/account')).status, path).to.equal(409);
    expect((await client.get('/dashboard/organisations')).text).to.not.include('organisations/leave');
    const left = await client.submit('/dashboard/organisations/leave', { organisation: acme }, '/dashboard/account');
    expect(left.status).to.equal(404);
    expect(await rolesOf(owner)).to.deep.equal({ [acme]: 'owner' });

    const email = newEmail();
    const invite = async (organisation: string, createdBy: string) => {
      const created = await context.stores.invitations.create({ organisation, email, role: 'owner', createdBy, mailed: true });
      if (!created.ok) throw new Error(created.reason);
      return created;
    };
    const closed = await invite(acme, owner);
    const link = `/dashboard/invitation/${closed.token}`;
    expect((await createClient(replica.url).get(link)).status).to.equal(404);
    const unknown = await signIn(email, [], {}, `?next=${link}`);
    expect(unknown.location).to.include('problem=no_role');
    expect((await unknown.client.get(unknown.location!)).text).to.include('None of your groups');

    const free = (await context.organisation()).id;
    const open = await invite(free, (await addPerson(context, free)).email);
    const invited = await signIn(email, []);
    const join = (id: string) => invited.client.submit('/dashboard/organisations/join', { id }, '/dashboard/organisations');
    expect((await join(closed.invitation.id)).status).to.equal(404);
    expect((await join(open.invitation.id)).status).to.equal(303);
    expect(await rolesOf(email)).to.deep.equal({ [free]: 'owner' });
    await signIn(email, []);
    expect(await rolesOf(email), 'other organisations are managed here').to.deep.equal({ [free]: 'owner' });
  });
});
