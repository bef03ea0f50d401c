/** Memberships, invitations and links for new passwords: what happens at the same time, and what has expired. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createInvitations, INVITATION_HOURS, INVITATIONS_MAX } from '../../stores/accounts/invitations.ts';
import { createMembers } from '../../stores/accounts/members.ts';
import { createMemberships } from '../../stores/accounts/memberships.ts';
import { createPasswordResets } from '../../stores/accounts/one-time-links.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { useDatabase } from './database.ts';

/** In the future, because the database removes what has expired by its own clock. */
const START = Date.parse('2126-11-01T12:00:00Z');
const HOUR = 3_600_000;
const named = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;
const expectFailure = (promise: Promise<unknown>) => promise.then(() => expect.fail('no failure'), () => undefined); // prettier-ignore
const address = (): string => `${named('user')}@people.example`;

describe('people', () => {
  const database = useDatabase();
  let at = START;
  const now = () => new Date(at);
  beforeEach(() => (at = START));

  describe('memberships', () => {
    const replicas = () => [createMemberships(database.db), createMemberships(database.another())] as const;
    const owners = async (organisation: string) =>
      [...(await createMemberships(database.db).rolesOf(organisation))].filter(([, role]) => role === 'owner').map(([email]) => email);

    it('keep one owner if two owners demote or remove each other at the same time', async () => {
      const [one, two] = replicas();
      for (const way of ['demote', 'remove', 'both'] as const)
        for (let round = 0; round < 5; round += 1) {
          const organisation = named('org');
          const [ann, bob] = [address(), address()];
          await one.add(organisation, ann, 'owner');
          await one.add(organisation, bob, 'owner');
          const act = (store: typeof one, email: string, how: 'demote' | 'remove') =>
            how === 'demote' ? store.change(organisation, email, 'viewer') : store.remove(organisation, email, { lastOwner: false });
          const outcomes = await Promise.all([
            act(one, bob, way === 'remove' ? 'remove' : 'demote'),
            act(two, ann, way === 'demote' ? 'demote' : 'remove'),
          ]);
          expect(
            outcomes.filter(({ ok }) => ok),
            way,
          ).to.have.lengthOf(1);
          expect(outcomes).to.deep.include({ ok: false, reason: 'last_owner' });
          expect(await owners(organisation)).to.have.lengthOf(1);
        }
    });

    it('do not know people of other organisations', async () => {
      const [one] = replicas();
      const ann = address();
      await one.add(named('org'), ann, 'owner');
      const other = named('org');
      await one.add(other, address(), 'owner');
      expect(await one.change(other, ann, 'owner')).to.deep.equal({ ok: false, reason: 'not_found' });
      expect(await one.remove(other, ann, { lastOwner: true })).to.deep.equal({ ok: false, reason: 'not_found' });
    });
  });

  describe('invitations', () => {
    const invitations = () => createInvitations(database.db, { now });
    async function invite(organisation = named('org'), email = address()) {
      const created = await invitations().create({ organisation, email, role: 'member', createdBy: 'ann@people.example', mailed: true });
      if (!created.ok) throw new Error(created.reason);
      return created;
    }

    it('are claimed by one of several requests, and given back to the next', async () => {
      const { invitation } = await invite();
      const other = createInvitations(database.another(), { now });
      const claims = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((index) => (index % 2 ? other : invitations()).claim(invitation.email, invitation.id)),
      );
      const [claim, ...more] = claims.filter((one) => one !== null);
      expect([claim!.invitation, more]).to.deep.equal([invitation, []]);
      await invitations().release({ ...claim!, holder: 'another' });
      expect(await invitations().claim(invitation.email, invitation.id)).to.equal(null);
      await invitations().release(claim!);
      const next = (await other.claim(invitation.email, invitation.id))!;
      await invitations().finish(claim!);
      expect(await database.db.collection('invitations').countDocuments({ email: invitation.email }), 'only by its holder').to.equal(1);
      await invitations().finish(next);
      expect(await invitations().claim(invitation.email, invitation.id)).to.equal(null);
    });

    it('are not reserved for another address, although their IDs can be guessed', async () => {
      const { invitation, token } = await invite();
      expect(await invitations().claim('mallory@people.example', invitation.id)).to.equal(null);
      expect(await invitations().find(token)).to.deep.equal(invitation);
    });

    it('are not lost if the process dies while it uses one', async () => {
      const { invitation, token } = await invite();
      await invitations().claim(invitation.email, invitation.id);
      expect(await invitations().find(token)).to.equal(null);
      at += 60_000;
      expect(await invitations().find(token)).to.deep.equal(invitation);
      expect(await invitations().claim(invitation.email, invitation.id)).to.not.equal(null);
    });

    // ASVS 6.6.2: a link works once, and one request decides.
    it('of ten double clicks leave exactly one link each, which works', async () => {
      const other = createInvitations(database.another(), { now });
      for (let round = 0; round < 10; round += 1) {
        const request = {
          organisation: named('org'),
          email: address(),
          role: 'member',
          createdBy: 'ann@people.example',
          mailed: true,
        } as const;
        // Every second round there is an earlier link.
        if (round % 2 === 1) await invitations().create(request);
        const answers = await Promise.all([invitations().create(request), other.create(request)]);
        const tokens = answers.flatMap((answer) => (answer.ok ? [answer.token] : []));
        const live = await Promise.all(tokens.map((token) => invitations().find(token)));
        expect(live.filter((one) => one !== null)).to.have.lengthOf(1);
        expect(live.at(-1), 'the newest').to.not.equal(null);
        for (const answer of answers) if (!answer.ok) expect(answer.reason).to.equal('just_invited');
        expect(await database.db.collection('invitations').countDocuments({ organisation: request.organisation })).to.equal(1);
      }
    });

    it('expire after 72 hours, and do not store the token', async () => {
      const { invitation, token } = await invite();
      at = START + INVITATION_HOURS * HOUR - 1;
      expect(await invitations().find(token)).to.deep.equal(invitation);
      at += 1;
      expect(await invitations().find(token)).to.equal(null);
      expect(await invitations().claim(invitation.email, invitation.id)).to.equal(null);
      expect(await invitations().list(invitation.organisation)).to.deep.equal([]);
      expect(JSON.stringify(await database.db.collection('invitations').find().toArray())).to.not.include(token);
    });

    it('replace an earlier one of the same address, and are canceled only by their own organisation', async () => {
      const first = await invite();
      const { organisation, email } = first.invitation;
      const second = await invite(organisation, email);
      const elsewhere = await invite(named('org'), email);
      expect(await invitations().find(first.token)).to.equal(null);
      expect((await invitations().findByEmail(email)).map(({ id }) => id)).to.have.members([second.invitation.id, elsewhere.invitation.id]);
      expect(await invitations().cancel(elsewhere.invitation.organisation, second.invitation.id)).to.equal(null);
      expect(await invitations().cancel(organisation, second.invitation.id)).to.deep.equal(second.invitation);
      expect(await invitations().find(second.token)).to.equal(null);
    });

    it('of one organisation are at most 100; expired ones make room', async () => {
      const organisation = named('org');
      for (let count = 0; count < INVITATIONS_MAX; count += 1) await invite(organisation);
      const request = { organisation, email: address(), role: 'member', createdBy: 'ann@people.example', mailed: true } as const;
      expect(await invitations().create(request)).to.deep.equal({ ok: false, reason: 'too_many' });
      const [newest] = await invitations().list(organisation);
      expect((await invite(organisation, newest!.email)).ok, 'in place of an earlier one').to.equal(true);
      at += INVITATION_HOURS * HOUR;
      expect((await invitations().create(request)).ok).to.equal(true);
    });
  });

  describe('links for a new password', () => {
    const resets = () => createPasswordResets(database.db, { now });
    const users = () => createUsers(database.db);
    async function user(password: string | null = 'seven blue bicycles'): Promise<string> {
      const email = address();
      await users().add({ email, organisation: named('org'), password });
      return email;
    }

    it('work once, also for several requests at the same time, and verify the address', async () => {
      const email = await user();
      const { token } = (await resets().create(email))!;
      const other = createPasswordResets(database.another(), { now });
      expect(await resets().find(token)).to.deep.equal({ email, expiresAt: new Date(START + HOUR) });
      const used = await Promise.all([0, 1, 2, 3].map((index) => (index % 2 ? other : resets()).use(token, `password number ${index}`)));
      expect(used.filter((one) => one !== null).map((one) => [one!.email, one!.verified])).to.deep.equal([[email, true]]);
      const winner = used.findIndex((one) => one !== null);
      expect((await users().verify(email, `password number ${winner}`))?.email).to.equal(email);
      expect(await resets().find(token)).to.equal(null);
    });

    it('are not lost if the new password cannot be set', async () => {
      const email = await user();
      const { token } = (await resets().create(email))!;
      await expectFailure(resets().use(token, 'x'.repeat(2_000)));
      expect(await resets().find(token)).to.not.equal(null);
      expect(await users().verify(email, 'seven blue bicycles')).to.not.equal(null);
    });

    it('of ten double clicks leave exactly one link each, which works', async () => {
      const other = createPasswordResets(database.another(), { now });
      const email = await user();
      for (let round = 0; round < 10; round += 1) {
        const created = await Promise.all([resets().create(email), other.create(email)]);
        const live = await Promise.all(created.map(async (one) => one !== null && (await resets().find(one.token)) !== null));
        expect(live.filter((one) => one)).to.have.lengthOf(1);
        expect(await database.db.collection<{ _id: string }>('passwordResets').countDocuments({ _id: email })).to.equal(1);
      }
    });

    it('expire after an hour, and do not store the token', async () => {
      const email = await user();
      const { token } = (await resets().create(email))!;
      expect(JSON.stringify(await database.db.collection('passwordResets').find().toArray())).to.not.include(token);
      at = START + HOUR - 1;
      expect((await resets().find(token))?.email).to.equal(email);
      at += 1;
      expect(await resets().find(token)).to.equal(null);
      expect(await resets().use(token, 'nine tin kettles hum')).to.equal(null);
    });

    it('end with a newer link, a new password, and the removal of the user', async () => {
      const email = await user();
      const first = (await resets().create(email))!.token;
      const second = (await resets().create(email))!.token;
      expect(await resets().find(first)).to.equal(null);
      await users().resetPassword(email, 'nine tin kettles hum');
      expect(await resets().find(second)).to.equal(null);
      const third = (await resets().create(email))!.token;
      await createMembers(database.db).deleteAccount(email, { lastOwner: true });
      expect(await resets().use(third, 'nine tin kettles hum')).to.equal(null);
    });

    it('are not created for an unknown address, or a user without a password', async () => {
      expect(await resets().create(address())).to.equal(null);
      expect(await resets().create(await user(null))).to.equal(null);
    });
  });
});
