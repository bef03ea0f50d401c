/**
 * An attack from thousands of networks against the real app behind a trusted proxy: passwords, sign-ins at the identity provider,
 * public forms, random tokens, cookies and keys. It counts what the attack costs, and whether people notice it.
 */
import { expect } from 'chai';
import type { CommandStartedEvent, CommandSucceededEvent, CommandFailedEvent } from 'mongodb';
import { Pool } from 'undici';
import { mailboxOf } from '../../core/email-address.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { issueKey } from '../support/issue-key.ts';
import { nightly } from '../support/nightly.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { attack as sendAttack, strangersAddress, VICTIM } from '../support/stranger-attacks.ts';
import { createClient, tokenIn } from './client.ts';
import { startContext, type ApiContext } from './context.ts';
import { addPerson, PASSWORD, signedIn, type Person } from './people.ts';
import { BEHIND_PROXY, PUBLIC_SCANS } from './public-context.ts';

const NETWORKS = nightly(2000, 10_000);
const CONNECTIONS = 4;
const AT_ONCE = 48;
const HASH_MS = 200;
const LIMITS = { perEmailAndHour: 3, perDomainAndHour: 5, perHour: 8 };

/** Counts the commands of a client, and how many were in progress at once. */
function watchCommands(db: ApiContext['db']) {
  const seen = { names: [] as string[], atOnce: 0 };
  const open = new Set<number>();
  db.client.on('commandStarted', ({ requestId, commandName, command }: CommandStartedEvent) => {
    open.add(requestId);
    seen.atOnce = Math.max(seen.atOnce, open.size);
    seen.names.push(`${commandName} ${String(command[commandName])}`);
  });
  const end = ({ requestId }: CommandSucceededEvent | CommandFailedEvent) => void open.delete(requestId);
  db.client.on('commandSucceeded', end).on('commandFailed', end);
  return seen;
}

// ASVS 2.4.1 (anti-automation), 6.3.1 (password guessing) and 15.2.2 (availability of expensive functions).
describe(`an attack from ${NETWORKS} networks`, function () {
  this.timeout(600_000);
  let context: ApiContext;
  let provider: TestProvider;
  let people: Person[];
  let keys: string[];
  let organisation: string;
  before(async () => {
    provider = await startProvider('https://curbcut.example/dashboard/sign-in/oidc/callback');
    const { issuer, clientId, clientSecret } = provider;
    context = await startContext({
      ...BEHIND_PROXY,
      anonymousConnections: CONNECTIONS,
      // The test counts; it must not fail because the machine is slow.
      dependencyTimeoutMs: 120_000,
      publicScans: { ...PUBLIC_SCANS, ...LIMITS, maxLive: 1000 },
      mail: true,
      identityProvider: { issuer, clientId, clientSecret, name: 'Acme', localPasswords: true },
    });
    organisation = (await context.organisation()).id;
    people = [];
    for (let n = 0; n < 3; n += 1) people.push(await signedIn(context, { organisation }));
    keys = [];
    for (let n = 0; n < 8; n += 1) keys.push((await issueKey(context.stores.keys, organisation)).secret);
    await context.stores.users.add({ email: VICTIM, organisation, password: PASSWORD });
  });
  after(async () => {
    await context?.close();
    await provider?.close();
  });

  it('costs a bounded number of look-ups, hashes and mails, and no person and no key is refused', async () => {
    const scan = await context.scan(organisation);
    const returning = await addPerson(context, organisation);
    const home = '203.0.113.77';
    const signInAt = async (person: Person) => {
      const browser = createClient(context.url);
      const { text } = await browser.get('/dashboard/sign-in', { 'X-Forwarded-For': home });
      const fields = { _csrf: tokenIn(text), email: person.email, password: PASSWORD };
      return (await browser.post('/dashboard/sign-in', fields, { 'X-Forwarded-For': home })).status;
    };
    expect(await signInAt(returning)).to.equal(303);

    const checks = { strangers: 0, now: 0, atOnce: 0 };
    // A place is held as long as by a hash, which is not computed: it would take the processor from the rest of the test.
    context.faults.set('users.verify', async (real, email, password) => {
      if (!String(password).startsWith('wrong')) return real(email, password);
      checks.strangers += 1;
      checks.now += 1;
      checks.atOnce = Math.max(checks.atOnce, checks.now);
      await new Promise((resolve) => setTimeout(resolve, HASH_MS));
      checks.now -= 1;
      return null;
    });
    const anonymous = watchCommands(context.anonymousDb);
    const others = watchCommands(context.db);
    const form = createClient(context.url);
    const page = tokenIn((await form.get('/dashboard/sign-in')).text);
    const cookie = [...form.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

    const pool = new Pool(context.url, { connections: AT_ONCE });
    const statuses = new Map<string, number>();
    const began = performance.now();
    let next = 0;
    const attacker = async (): Promise<void> => {
      for (let network = next++; network < NETWORKS; network = next++) {
        const kind = await sendAttack(pool, network, { token: page, cookie, session: '__Host-curbcut_session' });
        statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
      }
    };
    const attack = Promise.all(Array.from({ length: AT_ONCE }, attacker));
    let over = false;
    void attack.then(
      () => (over = true),
      () => (over = true),
    );

    // Meanwhile: sessions and keys, some of which this replica has not seen, from networks that also attack.
    const noticed: string[] = [];
    let served = 0;
    const expectStatus = (what: string, status: number, wanted: number) => {
      served += 1;
      if (status !== wanted) noticed.push(`${what}: ${status}`);
    };
    for (let round = 0; round < 40 && (!over || round < 8); round += 1) {
      const here = { 'X-Forwarded-For': strangersAddress(round) };
      const key = keys[round % keys.length]!;
      expectStatus('a poll', (await context.request('GET', `/v1/ci/scans/${scan.id}`, { key, headers: here })).status, 202);
      expectStatus('a page', (await people[round % 3]!.client.get('/dashboard/account', here)).status, 200);
      if (round % 10 === 3) {
        const fresh = await issueKey(context.stores.keys, organisation);
        expectStatus('a new key', (await context.request('GET', '/v1/billing/credits', { key: fresh.secret, headers: here })).status, 200);
        expectStatus('a sign-in from a known network', await signInAt(returning), 303);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await attack;
    await pool.close();
    const seconds = (performance.now() - began) / 1000;

    const failures = context.log
      .filter(({ fields }) => Number(fields['status']) >= 500)
      .map(({ fields }) => `${String(fields['route'])}: ${String(fields['err'])}`);
    expect(noticed, `refused people and keys; failures: ${[...new Set(failures)].join(', ')}`).to.deep.equal([]);
    expect(served).to.be.at.least(16);
    const sum = (pattern: RegExp) => [...statuses].reduce((all, [kind, count]) => all + (pattern.test(kind) ? count : 0), 0);
    expect(sum(/./)).to.equal(NETWORKS);
    expect(sum(/^5(?!03)/), [...statuses.keys()].join('\n')).to.equal(0);
    expect(sum(/^(?:200|303) .*credits/), 'nobody got in').to.equal(0);

    // Look-ups: never more at once than the connections, and those of keys, sessions and known networks together.
    expect(anonymous.atOnce).to.be.within(1, CONNECTIONS);
    const shared = 2 + Math.ceil((seconds * 1000) / 50);
    for (const command of ['aggregate keys', 'aggregate sessions', 'find users'])
      expect(others.names.filter((name) => name === command).length, command).to.be.at.most(shared + 3 * served);
    const signIns = sum(/\/dashboard\/sign-in$/);
    expect(signIns).to.be.at.least(NETWORKS / 10);
    expect(anonymous.names.filter((name) => name === 'find users').length).to.be.at.most(sum(/reset-password/));
    expect(anonymous.names.filter((name) => /^aggregate (?:keys|sessions)$/.test(name))).to.deep.equal([]);

    // Hashes: one at once, and only for those that found a place; the others got an answer without one.
    expect(checks.atOnce).to.equal(1);
    expect(checks.strangers).to.be.within(1, signIns - 1);
    expect(sum(/^(?:422|429|503) \/dashboard\/sign-in$/)).to.equal(signIns);

    // Mails: no mailbox, no domain and no installation gets more than its limit.
    // Only a scan that was accepted sends a mail. The claim of a refused one may remain for the sweeper.
    const rows = context.db.collection<{ _id: string }>('scans').find({ organisation: ANONYMOUS, submission: { $ne: 'abandoned' } });
    const accepted = new Set((await rows.toArray()).map(({ _id }) => _id));
    const claims = await context.db.collection<{ email: string; scanId: string }>('public_scans').find().toArray();
    const scans = claims.filter(({ scanId }) => accepted.has(scanId));
    const per = (of: (email: string) => string) =>
      Math.max(
        0,
        ...Map.groupBy(scans, ({ email }) => of(email))
          .values()
          .map((all) => all.length),
      );
    expect(per(mailboxOf)).to.be.at.most(LIMITS.perEmailAndHour);
    expect(per((email) => email.split('@')[1]!)).to.be.at.most(LIMITS.perDomainAndHour);
    expect(scans.length).to.be.within(1, LIMITS.perHour);
    expect(await context.db.collection('outbox').countDocuments({ to: VICTIM, kind: 'password_reset' })).to.be.within(1, 3);
  });

  it('leaves nothing behind that refuses people afterwards', async () => {
    context.faults.clear();
    const newcomer = await addPerson(context, organisation);
    await newcomer.client.signIn(newcomer.email, PASSWORD);
    expect((await newcomer.client.get('/dashboard/account')).status).to.equal(200);
    expect((await createClient(context.url).get('/')).status).to.equal(200);
  });
});
