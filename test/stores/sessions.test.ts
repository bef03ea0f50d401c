import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createSessions, SESSION_IDLE_MS, SESSION_MAX_MS, SESSIONS_PER_USER } from '../../stores/accounts/sessions.ts';
import { createMembers } from '../../stores/accounts/members.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { monitored, recordCommands } from '../support/mongo-commands.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useDatabase } from './database.ts';

/** In the future, because the database removes what has expired by its own clock. */
const START = Date.parse('2126-11-01T12:00:00Z');
const BROWSER = 'a browser';

describe('sessions', () => {
  const database = useDatabase();
  let at = START;
  const now = () => new Date(at);
  const sessions = () => createSessions(database.db, { now });
  const users = () => createUsers(database.db);
  const members = () => createMembers(database.db);
  before(() => createOrganisations(database.db).add({ id: 'acme', displayName: 'Acme', plan: 'team', namespaces: [] }));
  beforeEach(() => (at = START));

  async function addUser(role: 'owner' | 'member' = 'member'): Promise<string> {
    const email = `${randomUUID().slice(0, 8)}@people.example`;
    await users().add({ email, organisation: 'acme', password: null, role });
    return email;
  }
  const start = async (email: string) => (await sessions().start({ email, method: 'password', browser: BROWSER }))!;

  it('are recognised together in one look-up, without those that are malformed or unknown', async () => {
    const secrets = [];
    for (let n = 0; n < 2; n += 1) secrets.push((await start(await addUser())).secret);
    const unknown = 'A'.repeat(43);
    const found = await sessions().recogniseAll([secrets[0]!, unknown, 'malformed', secrets[1]!]);
    expect([...found.keys()].sort()).to.deep.equal([...secrets].sort());
    expect(await sessions().recogniseAll(['malformed'])).to.have.property('size', 0);
  });

  it('are recognised by their secret, which is not stored', async () => {
    const email = await addUser();
    const { secret, session } = await start(email);
    expect(session).to.deep.include({ email, method: 'password', browser: BROWSER, createdAt: now(), lastSeenAt: now() });
    const found = (await sessions().recognise(secret))!;
    expect(found.session).to.deep.equal(session);
    expect([found.user.email, found.membership?.role, found.membership?.organisation.id]).to.deep.equal([email, 'member', 'acme']);
    expect(JSON.stringify(await database.db.collection('sessions').find().toArray())).to.not.include(secret);
    for (const wrong of ['', secret.slice(1), `${secret}A`, session.id, 'A'.repeat(43)])
      expect(await sessions().recognise(wrong)).to.equal(null);
  });

  it('end 12 hours after their last use', async () => {
    const { secret } = await start(await addUser());
    at = START + SESSION_IDLE_MS - 1;
    expect(await sessions().recognise(secret)).to.not.equal(null);
    at += SESSION_IDLE_MS - 1;
    expect(await sessions().recognise(secret), 'extended by the use').to.not.equal(null);
    at += SESSION_IDLE_MS;
    expect(await sessions().recognise(secret)).to.equal(null);
  });

  it('end 30 days after sign-in, also if they are in use', async () => {
    const { secret } = await start(await addUser());
    for (at = START; at < START + SESSION_MAX_MS; at += SESSION_IDLE_MS / 2)
      expect(await sessions().recognise(secret), new Date(at).toISOString()).to.not.equal(null);
    at = START + SESSION_MAX_MS - 1;
    expect(await sessions().recognise(secret)).to.not.equal(null);
    at = START + SESSION_MAX_MS;
    expect(await sessions().recognise(secret)).to.equal(null);
  });

  it('are written at most once a minute', async () => {
    const mongo = connectMongo({ url: monitored(database.url), logger: silentLogger });
    const commands = recordCommands(mongo.db);
    const counted = createSessions(mongo.db, { now });
    const { secret } = (await counted.start({ email: await addUser(), method: 'password', browser: BROWSER }))!;
    const written = async (later: number): Promise<number> => {
      commands.length = 0;
      at = START + later;
      for (let use = 0; use < 3; use += 1) await counted.recognise(secret);
      return commands.filter((command) => command === 'update sessions').length;
    };
    expect([await written(0), await written(59_999), await written(60_000), await written(119_999), await written(120_000)]).to.deep.equal([
      0, 0, 1, 0, 1,
    ]);
    await mongo.close();
  });

  it('of a user are at most 20; a new one ends the one that was not used for the longest time', async () => {
    const email = await addUser();
    const started = [];
    for (let count = 0; count <= SESSIONS_PER_USER; count += 1) {
      at += 1000;
      started.push(await start(email));
    }
    expect(await sessions().recognise(started[0]!.secret)).to.equal(null);
    expect(await sessions().recognise(started[1]!.secret)).to.not.equal(null);
    expect((await sessions().list(email)).map(({ id }) => id)).to.have.members(started.slice(1).map(({ session }) => session.id));
  });

  it('can be ended only by their own user', async () => {
    const [email, other] = [await addUser(), await addUser()];
    const { secret, session } = await start(email);
    expect(await sessions().end(other, session.id)).to.equal(false);
    expect(await sessions().list(other)).to.deep.equal([]);
    expect(await sessions().recognise(secret)).to.not.equal(null);
    expect(await sessions().end(email, session.id)).to.equal(true);
    expect(await sessions().recognise(secret)).to.equal(null);
  });

  const ends: [what: string, end: (email: string) => Promise<unknown>][] = [
    ['signs out everywhere', (email) => users().endSessions(email)],
    ['gets a new password', (email) => users().resetPassword(email, 'seven blue bicycles')],
    ['is removed', (email) => members().remove('acme', email)],
    ['deletes the account', (email) => members().deleteAccount(email)],
    [
      'is removed and added again',
      async (email) => {
        await members().remove('acme', email);
        await members().add('acme', email, 'member');
      },
    ],
  ];
  for (const [what, end] of ends)
    it(`end on every replica when their user ${what}, and those of others do not`, async () => {
      await addUser('owner');
      const email = await addUser();
      const [one, two, foreign] = [await start(email), await start(email), await start(await addUser())];
      const replica = createSessions(database.another(), { now });
      expect(await replica.usable([one.session.id, two.session.id])).to.have.property('size', 2);
      await end(email);
      for (const { secret } of [one, two]) expect(await replica.recognise(secret)).to.equal(null);
      expect([...(await replica.usable([one.session.id, two.session.id, foreign.session.id]))]).to.deep.equal([foreign.session.id]);
      expect(await replica.list(email)).to.deep.equal([]);
    });

  it('have the current role of their user, and say that the organisation is blocked', async () => {
    await addUser('owner');
    const email = await addUser();
    const { secret, session } = await start(email);
    await members().setRole('acme', email, 'viewer');
    expect((await sessions().recognise(secret))?.membership?.role).to.equal('viewer');
    await createOrganisations(database.db).setBlocked('acme', true);
    expect((await sessions().recognise(secret))?.membership?.organisation.blocked).to.equal(true);
    expect((await sessions().usable([session.id])).size).to.equal(0);
    await createOrganisations(database.db).setBlocked('acme', false);
  });

  // ASVS 7.4: a sign-in that began with the old password must not outlive it.
  it('do not start if the password changed after it was checked', async () => {
    const email = await addUser();
    await users().resetPassword(email, 'seven blue bicycles');
    const { generation } = (await users().verify(email, 'seven blue bicycles'))!;
    const request = { email, method: 'password', browser: BROWSER, generation } as const;
    expect(await sessions().start(request)).to.not.equal(null);
    await users().endSessions(email);
    expect(await sessions().start(request)).to.equal(null);
  });

  it('act for the organisation that was asked for, and for the one that was chosen last', async () => {
    const email = await addUser();
    await createOrganisations(database.db).add({ id: 'globex', displayName: 'Globex', plan: 'team', namespaces: [] });
    const wanted = { email, method: 'password', browser: BROWSER, organisation: 'globex' } as const;
    expect(await sessions().start(wanted), 'not a member').to.equal(null);
    await members().add('globex', email, 'viewer');
    expect((await start(email)).membership?.organisation.id).to.equal('acme');
    const { secret } = (await sessions().start(wanted))!;
    expect((await start(email)).membership?.organisation.id).to.equal('globex');
    await members().remove('globex', email);
    expect(await sessions().recognise(secret)).to.equal(null);
    expect((await start(email)).membership?.organisation.id).to.equal('acme');
    await members().remove('acme', email);
    const none = await start(email);
    expect([none.membership, (await sessions().recognise(none.secret))?.membership]).to.deep.equal([null, null]);
    expect((await sessions().usable([none.session.id])).size, 'acts for no organisation').to.equal(0);
  });

  it('do not start for an unknown user', async () => {
    expect(await sessions().start({ email: 'nobody@people.example', method: 'password', browser: BROWSER })).to.equal(null);
  });
});
