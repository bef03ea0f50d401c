/** Second factors of accounts, sign-ins that wait for one, and challenges for passkeys: what happens at the same time, and what ends. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Db } from 'mongodb';
import { totpCode, totpStep } from '../../core/totp.ts';
import { createPasskeyChallenges, createPendingSignIns, PENDING_ATTEMPTS } from '../../stores/accounts/pending-sign-ins.ts';
import { createPasswordResets } from '../../stores/accounts/one-time-links.ts';
import { createSecondFactors, RECOVERY_CODES } from '../../stores/accounts/second-factors.ts';
import { PASSKEYS_MAX } from '../../stores/accounts/second-factor-steps.ts';
import { createMembers } from '../../stores/accounts/members.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { accountOf } from '../support/account-of.ts';
import { useDatabase } from './database.ts';

/** In the future, because the database removes what has expired by its own clock. */
const START = Date.parse('2126-11-01T12:00:00Z');
const STEP_MS = 30_000;
const address = (): string => `${randomUUID().slice(0, 8)}@people.example`;

describe('second factors', () => {
  const database = useDatabase();
  let at = START;
  const now = () => new Date(at);
  beforeEach(() => (at = START));

  const factors = () => createSecondFactors(database.db, { now });
  const replicas = () => [factors(), createSecondFactors(database.another(), { now })] as const;
  const passkey = (id: string = randomUUID(), counter = 0) => ({
    id,
    name: 'Laptop',
    rpId: 'curbcut.example',
    publicKey: 'a2V5',
    counter,
    transports: ['internal'],
  });
  const stored = () => database.db.collection('users').find().toArray();

  /** Adds an account. @returns its address */
  async function person(): Promise<string> {
    const email = address();
    await database.db.collection<{ _id: string }>('users').insertOne({ _id: email, createdAt: now(), generation: 'first' } as never);
    return email;
  }
  const of = (email: string) => ({ email, generation: 'first' });

  /** An account with a confirmed secret. @returns its codes, by distance from the current step */
  async function withTotp(email: string) {
    const account = await accountOf(database.db, email);
    await factors().beginTotp(account);
    const secret = (await factors().waitingTotp(email))!;
    const code = (distance = 0) => totpCode(secret, totpStep(now()) + distance);
    const added = await factors().confirmTotp(account, code());
    if (!added.ok) throw new Error(added.reason);
    return { code, secret, codes: added.codes! };
  }

  describe('passkeys', () => {
    it('are several, with names, and belong to one account', async () => {
      const [ann, bob] = [await person(), await person()];
      const [one, two] = [passkey(), passkey()];
      expect(await factors().addPasskey(of(ann), one))
        .to.have.property('codes')
        .with.lengthOf(RECOVERY_CODES);
      expect(await factors().addPasskey(of(ann), { ...two, name: 'Key' })).to.deep.equal({ ok: true, codes: null });
      for (const email of [ann, bob])
        expect(await factors().addPasskey(of(email), one)).to.deep.equal({ ok: false, reason: 'already_added' });
      expect(await factors().renamePasskey(of(ann), two.id, 'Blue key')).to.deep.equal({ ok: true });
      expect(await factors().renamePasskey(of(bob), two.id, 'Mine')).to.deep.equal({ ok: false, reason: 'not_found' });
      expect((await factors().find(ann)).passkeys.map(({ name }) => name)).to.deep.equal(['Laptop', 'Blue key']);
      const found = await factors().findByPasskey(two.id);
      expect([found?.email, found?.handle]).to.deep.equal([ann, await factors().handleOf(ann)]);
      expect(await factors().findByPasskey(randomUUID())).to.equal(null);
      expect([...(await factors().protected([ann, bob]))]).to.deep.equal([ann]);
    });

    it('of an account have one random name for authenticators, also if several requests ask for it first', async () => {
      const email = await person();
      const [one, two] = replicas();
      const handles = await Promise.all([one, two, one, two].map((replica) => replica.handleOf(email)));
      expect(new Set(handles)).to.have.property('size', 1);
      expect(handles[0]).to.match(/^[\w-]{43}$/);
      expect((await one.find(email)).any).to.equal(false);
    });

    it('are all kept if they are added at the same time, and bring one set of recovery codes', async () => {
      const email = await person();
      const [one, two] = replicas();
      const added = await Promise.all([one, two, one, two].map((replica) => replica.addPasskey(of(email), passkey())));
      expect(added.filter((each) => each.ok && each.codes !== null)).to.have.lengthOf(1);
      expect((await one.find(email)).passkeys).to.have.lengthOf(4);
    });

    it(`are at most ${PASSKEYS_MAX}`, async () => {
      const email = await person();
      for (let count = 0; count < PASSKEYS_MAX; count += 1) await factors().addPasskey(of(email), passkey());
      expect(await factors().addPasskey(of(email), passkey())).to.deep.equal({ ok: false, reason: 'too_many' });
    });

    it('are refused if their counter does not rise: the passkey was copied', async () => {
      const email = await person();
      const { id } = passkey();
      await factors().addPasskey(of(email), passkey(id, 5));
      const use = (counter: number) => factors().usePasskey(email, id, counter);
      expect(await use(6)).to.deep.equal({ ok: true });
      for (const counter of [0, 5, 6]) expect(await use(counter)).to.deep.equal({ ok: false, reason: 'copied' });
      const [one, two] = replicas();
      const outcomes = await Promise.all([one, two, one, two].map((replica) => replica.usePasskey(email, id, 9)));
      expect(outcomes.filter(({ ok }) => ok)).to.have.lengthOf(1);
      expect((await factors().find(email)).passkeys[0]).to.deep.include({ counter: 9, lastUsedAt: now() });
    });

    it('without a counter can be used any number of times', async () => {
      const email = await person();
      const { id } = passkey();
      await factors().addPasskey(of(email), passkey(id));
      for (let count = 0; count < 3; count += 1) expect(await factors().usePasskey(email, id, 0)).to.deep.equal({ ok: true });
      expect(await factors().usePasskey(email, randomUUID(), 0)).to.deep.equal({ ok: false, reason: 'not_found' });
    });
  });

  describe('an authenticator app', () => {
    it('counts once a code was entered, within an hour', async () => {
      const email = await person();
      expect(await factors().confirmTotp(of(email), '123456')).to.deep.equal({ ok: false, reason: 'not_found' });
      await factors().beginTotp(of(email));
      const secret = (await factors().waitingTotp(email))!;
      expect(secret).to.have.lengthOf(20);
      expect((await factors().find(email)).any).to.equal(false);
      expect(await factors().confirmTotp(of(email), totpCode(secret, totpStep(now()) + 5))).to.deep.equal({ ok: false, reason: 'wrong' });
      expect(await factors().useTotp(email, totpCode(secret, totpStep(now())))).to.deep.equal({ ok: false, reason: 'not_found' });
      at += 3_600_000;
      expect(await factors().waitingTotp(email)).to.equal(null);
      expect(await factors().confirmTotp(of(email), totpCode(secret, totpStep(now())))).to.deep.equal({ ok: false, reason: 'not_found' });
      await withTotp(email);
      expect((await factors().find(email)).any).to.equal(true);
    });

    it('accepts each time step once, the first code included (ASVS 6.5.1)', async () => {
      const email = await person();
      const { code } = await withTotp(email);
      expect(await factors().useTotp(email, code())).to.deep.equal({ ok: false, reason: 'used' });
      expect(await factors().useTotp(email, code(-1))).to.deep.equal({ ok: false, reason: 'used' });
      expect(await factors().useTotp(email, code(1))).to.deep.equal({ ok: true });
      at += STEP_MS;
      expect(await factors().useTotp(email, code())).to.deep.equal({ ok: false, reason: 'used' });
    });

    it('accepts one of several simultaneous uses of a code (ASVS 6.5.1)', async () => {
      const email = await person();
      const { code } = await withTotp(email);
      const [one, two] = replicas();
      for (let round = 0; round < 5; round += 1) {
        at += 2 * STEP_MS;
        const outcomes = await Promise.all([one, two, one, two].map((replica) => replica.useTotp(email, code())));
        expect(outcomes.filter(({ ok }) => ok)).to.have.lengthOf(1);
        expect(outcomes).to.deep.include({ ok: false, reason: 'used' });
      }
    });

    it('can be replaced; the old one counts until the new one is confirmed', async () => {
      const email = await person();
      const old = await withTotp(email);
      await factors().beginTotp(of(email));
      at += 2 * STEP_MS;
      expect(await factors().useTotp(email, old.code())).to.deep.equal({ ok: true });
      const secret = (await factors().waitingTotp(email))!;
      const code = (distance: number) => totpCode(secret, totpStep(now()) + distance);
      expect(await factors().confirmTotp(of(email), code(0))).to.deep.equal({ ok: true, codes: null });
      at += 2 * STEP_MS;
      expect(await factors().useTotp(email, old.code())).to.deep.equal({ ok: false, reason: 'wrong' });
      expect(await factors().useTotp(email, code(0))).to.deep.equal({ ok: true });
    });
  });

  describe('recovery codes', () => {
    it('are ten, of 120 random bits, and are not stored (ASVS 6.5.2, 6.5.3)', async () => {
      const { codes } = await withTotp(await person());
      expect(new Set(codes)).to.have.property('size', RECOVERY_CODES);
      for (const code of codes) expect(code).to.match(/^(?:[0-9a-hjkmnp-tv-z]{6}-){3}[0-9a-hjkmnp-tv-z]{6}$/);
      const text = JSON.stringify(await stored());
      for (const code of codes) expect(text).to.not.include(code).and.not.include(code.replaceAll('-', ''));
    });

    it('work once, however they are typed (ASVS 6.5.1)', async () => {
      const email = await person();
      const { codes } = await withTotp(email);
      const typed = codes[0]!.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l');
      expect(await factors().useRecovery(email, typed)).to.deep.equal({ ok: true });
      for (const code of [codes[0]!, '', 'x', codes[1]!.slice(1)])
        expect(await factors().useRecovery(email, code)).to.deep.equal({ ok: false, reason: 'wrong' });
      expect((await factors().find(email)).recovery).to.deep.include({ left: RECOVERY_CODES - 1, lastUsedAt: now() });
    });

    it('of one account do not work for another', async () => {
      const { codes } = await withTotp(await person());
      const other = await person();
      await withTotp(other);
      expect(await factors().useRecovery(other, codes[0]!)).to.deep.equal({ ok: false, reason: 'wrong' });
    });

    it('are used by one of several simultaneous requests, and different ones do not disturb each other (ASVS 6.5.1)', async () => {
      const email = await person();
      const { codes } = await withTotp(email);
      const [one, two] = replicas();
      const same = await Promise.all([one, two, one, two].map((replica) => replica.useRecovery(email, codes[0]!)));
      expect(same.filter(({ ok }) => ok)).to.have.lengthOf(1);
      const different = await Promise.all(codes.slice(1, 5).map((code, index) => (index % 2 ? one : two).useRecovery(email, code)));
      expect(different.every(({ ok }) => ok)).to.equal(true);
      expect((await one.find(email)).recovery?.left).to.equal(5);
    });

    it('are replaced all at once', async () => {
      const email = await person();
      expect(await factors().replaceRecovery(of(email))).to.deep.equal({ ok: false, reason: 'not_found' });
      const { codes } = await withTotp(email);
      const replaced = await factors().replaceRecovery(of(email));
      if (!replaced.ok) throw new Error(replaced.reason);
      expect(replaced.codes).to.have.lengthOf(RECOVERY_CODES);
      expect(await factors().useRecovery(email, codes[0]!)).to.deep.equal({ ok: false, reason: 'wrong' });
      expect(await factors().useRecovery(email, replaced.codes[0]!)).to.deep.equal({ ok: true });
    });
  });

  describe('the removal of a factor', () => {
    it('takes the recovery codes along with the last one', async () => {
      const email = await person();
      const { codes } = await withTotp(email);
      const { id } = passkey();
      await factors().addPasskey(of(email), passkey(id));
      expect(await factors().removeTotp(of(email), { keepOne: true })).to.deep.equal({ ok: true });
      expect(await factors().removeTotp(of(email), { keepOne: true })).to.deep.equal({ ok: false, reason: 'not_found' });
      expect((await factors().find(email)).recovery?.left).to.equal(RECOVERY_CODES);
      expect(await factors().removePasskey(of(email), id, { keepOne: true })).to.deep.equal({ ok: false, reason: 'last_factor' });
      expect(await factors().removePasskey(of(email), randomUUID(), { keepOne: false })).to.deep.equal({ ok: false, reason: 'not_found' });
      expect(await factors().removePasskey(of(email), id, { keepOne: false })).to.deep.equal({ ok: true });
      expect(await factors().find(email)).to.deep.equal({ any: false, passkeys: [], totp: null, recovery: null });
      expect(await factors().useRecovery(email, codes[0]!)).to.deep.equal({ ok: false, reason: 'wrong' });
      expect(await factors().findByPasskey(id)).to.equal(null);
      expect((await factors().addPasskey(of(email), passkey(id))).ok, 'again').to.equal(true);
    });

    it('keeps one if two are removed at the same time and one must stay', async () => {
      const [one, two] = replicas();
      for (let round = 0; round < 5; round += 1) {
        const email = await person();
        const keys = [passkey(), passkey()] as const;
        for (const key of keys) await one.addPasskey(of(email), key);
        const outcomes = await Promise.all([
          one.removePasskey(of(email), keys[0].id, { keepOne: true }),
          two.removePasskey(of(email), keys[1].id, { keepOne: true }),
        ]);
        expect(outcomes.filter(({ ok }) => ok)).to.have.lengthOf(1);
        expect((await one.find(email)).passkeys).to.have.lengthOf(1);
      }
    });

    it('can be that of everything', async () => {
      const email = await person();
      expect(await factors().reset(email)).to.equal(false);
      await withTotp(email);
      const handle = await factors().handleOf(email);
      expect(await factors().reset(email.toUpperCase())).to.equal(true);
      expect((await factors().find(email)).any).to.equal(false);
      expect(await factors().handleOf(email)).to.not.equal(handle);
    });
  });

  it('end with the account: who gets the address later has none', async () => {
    const users = createUsers(database.db);
    const email = await person();
    await users.add({ email, organisation: 'acme', password: null });
    await withTotp(email);
    await createMembers(database.db).deleteAccount(email, { lastOwner: true });
    expect((await factors().find(email)).any).to.equal(false);
    await users.add({ email, organisation: 'acme', password: null });
    expect((await factors().find(email)).any).to.equal(false);
    expect((await users.add({ email, organisation: 'acme', password: null })).ok, 'again').to.equal(false);
  });

  describe('that a request adds while the account goes to another person', () => {
    const code = (secret: Uint8Array) => totpCode(secret, totpStep(now()));
    const identity = (email: string) => ({ issuer: 'https://idp.example', subject: email });
    const reset = async (email: string) => {
      const resets = createPasswordResets(database.db, { now });
      return resets.use((await resets.create(email))!.token, 'a password of the owner');
    };
    const TAKEOVERS: Readonly<Record<string, (email: string) => Promise<unknown>>> = {
      'by a mailed invitation': (email) => createUsers(database.db).reclaim(email, { password: 'a password of the owner', name: null }),
      'by the first sign-in at the identity provider': (email) => createUsers(database.db).link(email, identity(email)),
      'by a new account for the address': (email) => createUsers(database.db).add({ email, password: null, verified: true }),
      'by a new password from a mailed link': reset,
      'by a reset of the administrator': (email) => factors().reset(email),
    };

    /** Factors in which the account changes hands between the read and the write of a change. */
    function racing(takeOver: () => Promise<unknown>) {
      const users = new Proxy(database.db.collection('users'), {
        get(target, property) {
          const value: unknown = Reflect.get(target, property);
          if (typeof value !== 'function') return value;
          return async (...parameters: unknown[]) => {
            if (property === 'updateOne') await takeOver();
            return value.apply(target, parameters) as unknown;
          };
        },
      });
      return createSecondFactors({ collection: () => users } as unknown as Db, { now });
    }

    // ASVS 7.4.3: what a session started does not outlive the end of all sessions.
    for (const [name, takeOver] of Object.entries(TAKEOVERS))
      it(`are refused: ${name}`, async () => {
        for (const when of ['before', 'during']) {
          const email = address();
          await createUsers(database.db).add({ email, password: 'a password of a thief' });
          const account = await accountOf(database.db, email);
          await factors().beginTotp(account);
          const secret = (await factors().waitingTotp(email))!;
          let taken: Promise<unknown> | undefined;
          const once = () => (taken ??= takeOver(email));
          if (when === 'before') await once();
          const added = [await racing(once).confirmTotp(account, code(secret)), await racing(once).addPasskey(account, passkey())];
          expect(added, when).to.deep.equal(Array(2).fill({ ok: false, reason: 'not_found' }));
          expect(await factors().replaceRecovery(account), when).to.deep.equal({ ok: false, reason: 'not_found' });
          expect(await factors().find(email), when).to.deep.equal({ any: false, passkeys: [], totp: null, recovery: null });
          expect(await factors().waitingTotp(email), when).to.equal(null);
        }
      });
  });

  it('stay if the address is only tried to be added again', async () => {
    const users = createUsers(database.db);
    const email = address();
    await users.add({ email, organisation: 'acme', password: null });
    await withTotp(email);
    expect((await users.add({ email, organisation: 'other', password: null })).ok).to.equal(false);
    expect((await factors().find(email)).any).to.equal(true);
  });

  describe('challenges', () => {
    const challenges = () => createPasskeyChallenges(database.db, { now });

    it('can be answered once, for their subject, within ten minutes', async () => {
      const challenge = await challenges().issue('sign-in:a');
      expect(await challenges().take(challenge, 'sign-in:b')).to.equal(false);
      const taken = await Promise.all([0, 1, 2, 3].map(() => challenges().take(challenge, 'sign-in:a')));
      expect(taken.filter(Boolean)).to.have.lengthOf(1);
      const late = await challenges().issue('sign-in:a');
      at += 600_000;
      expect(await challenges().take(late, 'sign-in:a')).to.equal(false);
      expect(await challenges().take('A'.repeat(43), 'sign-in:a')).to.equal(false);
    });
  });

  describe('sign-ins that wait for a second factor', () => {
    const pending = () => createPendingSignIns(database.db, { now });
    const users = () => createUsers(database.db);
    async function started() {
      const email = address();
      await users().add({ email, organisation: 'acme', password: 'seven blue bicycles' });
      return { email, token: await pending().start({ email, next: '/dashboard/credits' }) };
    }

    it('are found by their token, which is not stored, and end once', async () => {
      const { email, token } = await started();
      expect(await pending().find(token)).to.deep.include({ email, next: '/dashboard/credits' });
      expect(JSON.stringify(await database.db.collection('pendingSignIns').find().toArray())).to.not.include(token);
      const taken = await Promise.all([0, 1, 2, 3].map(() => pending().take(token)));
      expect(taken.filter((one) => one !== null)).to.have.lengthOf(1);
      for (const wrong of [token, '', 'x', 'A'.repeat(43)])
        expect([await pending().find(wrong), await pending().attempt(wrong), await pending().take(wrong)]).to.deep.equal([
          null,
          null,
          null,
        ]);
    });

    it(`allow ${PENDING_ATTEMPTS} attempts, also at the same time (ASVS 6.3.1)`, async () => {
      const { token } = await started();
      const attempts = await Promise.all(Array.from({ length: PENDING_ATTEMPTS + 3 }, () => pending().attempt(token)));
      expect(attempts.filter((one) => one !== null)).to.have.lengthOf(PENDING_ATTEMPTS);
    });

    it('end after ten minutes', async () => {
      const { token } = await started();
      at += 599_999;
      expect(await pending().find(token)).to.not.equal(null);
      at += 1;
      expect([await pending().find(token), await pending().attempt(token), await pending().take(token)]).to.deep.equal([null, null, null]);
    });

    it('end with a new password, the end of all sessions, and the removal of the user', async () => {
      for (const end of [
        (email: string) => users().resetPassword(email, 'nine tin kettles hum'),
        (email: string) => users().endSessions(email),
        (email: string) => createMembers(database.db).deleteAccount(email, { lastOwner: true }),
      ]) {
        const { email, token } = await started();
        await end(email);
        expect([await pending().find(token), await pending().attempt(token), await pending().take(token)]).to.deep.equal([
          null,
          null,
          null,
        ]);
      }
    });
  });
});
