import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { addWebhook } from '../support/add-webhook.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { issueKey } from '../support/issue-key.ts';
import { run } from '../../api/admin/run.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { accountOf } from '../support/account-of.ts';
import { openDatabase, type TestDatabase } from '../stores/database.ts';
import { silentLogger } from '../support/silent-logger.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'api', 'admin', 'main.ts');

describe('curbcut-admin', () => {
  let database: TestDatabase;
  let stores: AllStores;
  let input = '';
  let tokens = 0;
  let recordEntry: AllStores['organisations']['record'];
  let mail = true;
  before(async () => {
    database = await openDatabase();
    stores = openStores(database.db, { logger: silentLogger });
    recordEntry = (entry) => stores.organisations.record(entry);
  });
  after(() => database.close());

  async function admin(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const ran = { code: -1, out: '', err: '' };
    const context = {
      stores: { ...stores, organisations: { ...stores.organisations, record: recordEntry } },
      readInput: async () => input,
      randomToken: () => `random-token-${(tokens += 1)}`,
      now: () => new Date('2026-03-01T00:00:00Z'),
      mail,
    };
    ran.code = await run(args, { out: (text) => (ran.out += text), err: (text) => (ran.err += text) }, async () => context);
    return ran;
  }
  const json = async (...args: string[]) => {
    const ran = await admin(...args, '--json');
    expect(ran.code, ran.err).to.equal(0);
    return JSON.parse(ran.out) as never;
  };
  const mailsTo = async (to: string): Promise<unknown[]> =>
    (await database.db.collection('outbox').find({ to, kind: 'account_notice' }).toArray()).map(({ data }) => data as unknown);
  const actions = async (id: string): Promise<string[]> =>
    (await stores.organisations.audit(id, 50)).map(({ action, subject }) => `${action} ${subject}`).reverse();

  describe('organisation', () => {
    it('can be added, shown, listed, granted credits, blocked and assigned namespaces, and every change is in the audit log', async () => {
      expect(
        (await admin('organisation', 'add', 'acme', '--name', 'Acme Ltd', '--plan', 'team', '--namespaces', 'web,shop')).code,
      ).to.equal(0);
      expect(await json('organisation', 'grant', 'acme', '100', '--id', 'first')).to.deep.include({ added: true, balance: 100 });
      expect(await json('organisation', 'grant', 'acme', '100', '--id', 'first')).to.deep.include({ added: false, balance: 100 });
      expect((await admin('organisation', 'grant', 'acme', '20')).out).to.match(/Granted 20 pages \(random-token-\d+\); 120 available/);
      await admin('organisation', 'block', 'acme');
      expect((await stores.organisations.find('acme'))!.blocked).to.equal(true);
      await admin('organisation', 'unblock', 'acme');
      await admin('organisation', 'namespaces', 'acme', 'web', 'blog');
      expect((await admin('organisation', 'namespaces', 'acme')).out).to.equal('Namespaces of acme: web, blog.\n');
      expect(await json('organisation', 'namespaces', 'acme', '--none')).to.deep.equal({ organisation: 'acme', namespaces: [] });

      expect(await json('organisation', 'show', 'acme')).to.deep.include({
        id: 'acme',
        displayName: 'Acme Ltd',
        plan: 'team',
        blocked: false,
      });
      expect((await actions('acme')).map((entry) => entry.replace(/random-token-\d+/, 'X'))).to.deep.equal([
        'organisation.add acme',
        'organisation.grant first: 100 pages',
        'organisation.grant X: 20 pages',
        'organisation.block acme',
        'organisation.unblock acme',
        'organisation.namespaces web, blog',
        'organisation.namespaces none',
      ]);
    });

    it('can require a second factor, also if a manifest manages the rest of it', async () => {
      const version = { uid: 'u2', createdAt: new Date(), generation: 1 };
      const apply = () => stores.organisations.applyManifest('strict', version, { displayName: 'Strict', plan: 'team', blocked: false });
      await apply();
      await stores.credits.open('strict');
      expect((await admin('organisation', 'require-second-factor', 'strict')).out).to.equal('strict: a second factor is required.\n');
      await apply();
      expect((await admin('organisation', 'show', 'strict')).out).to.match(/Second factor +required\n/);
      const off = await json('organisation', 'require-second-factor', 'strict', '--off');
      expect(off).to.deep.equal({ organisation: 'strict', requireSecondFactor: false });
      expect(await actions('strict')).to.deep.equal(['organisation.second-factor required', 'organisation.second-factor optional']);
    });

    it('is refused for an organisation that a manifest manages, with a sentence that says how to hand over', async () => {
      const version = { uid: 'u1', createdAt: new Date(), generation: 1 };
      await stores.organisations.applyManifest('declared', version, { displayName: 'Declared', plan: 'team', blocked: false });
      await stores.credits.open('declared');
      for (const args of [['block'], ['unblock'], ['grant', '100'], ['namespaces', 'web'], ['namespaces', '--none']]) {
        const [command, ...rest] = args;
        const ran = await admin('organisation', command!, 'declared', ...rest);
        expect([ran.code, ran.out], args.join(' ')).to.deep.equal([1, '']);
        expect(ran.err).to.include(
          'managed by its Organisation manifest: change the manifest, or run "curbcut-admin organisation hand-over declared --to admin" first.',
        );
      }
      expect(await stores.organisations.find('declared')).to.deep.include({ blocked: false, namespaces: [] });
      expect((await stores.credits.balance('declared')).granted).to.equal(0);
      expect(await actions('declared')).to.deep.equal([]);
      expect((await admin('organisation', 'show', 'declared')).out).to.match(/Managed by +manifest/);
      expect((await admin('organisation', 'list')).out).to.match(/declared +Declared +team +0 +open +manifest +none\n/);
    });

    it('restores organisations by name or all of them, and purges one only with its name and when it is closed', async () => {
      const version = (id: string) => ({ uid: `u-${id}`, createdAt: new Date('2026-03-01T00:00:00Z'), generation: 1 });
      const again = (id: string) => ({ ...version(id), uid: 'another' });
      const spec = { displayName: 'Lost', plan: 'team', blocked: false };
      for (const id of ['lost-1', 'lost-2']) await stores.organisations.applyManifest(id, version(id), spec);
      expect((await admin('organisation', 'restore')).code).to.equal(2);
      expect((await admin('organisation', 'restore', 'lost-1', 'nobody')).err).to.include('No manifest has managed an organisation nobody');
      expect(await json('organisation', 'restore', 'lost-1')).to.deep.equal({ restored: ['lost-1'] });
      expect((await stores.organisations.applyManifest('lost-2', again('lost-2'), spec)).ok).to.equal(false);
      expect((await admin('organisation', 'restore', '--all')).out).to.match(/lost-1.*lost-2/);
      expect((await stores.organisations.applyManifest('lost-2', again('lost-2'), spec)).ok).to.equal(true);
      expect(await actions('lost-1')).to.deep.equal(['organisation.restore lost-1', 'organisation.restore lost-1']);

      expect((await admin('organisation', 'purge', 'lost-1', '--confirm', 'lost-2')).code).to.equal(2);
      expect((await admin('organisation', 'purge', 'lost-1', '--confirm', 'lost-1')).err).to.match(
        /is in use: delete its Organisation object/,
      );
      await admin('organisation', 'hand-over', 'lost-1', '--to', 'admin');
      await admin('organisation', 'block', 'lost-1');
      expect(await json('organisation', 'purge', 'lost-1', '--confirm', 'lost-1')).to.deep.equal({
        organisation: 'lost-1',
        scans: 0,
        schedules: [],
      });
      expect(await stores.organisations.find('lost-1')).to.equal(null);
    });

    it('hands an organisation over in both directions', async () => {
      await stores.organisations.add({ id: 'moved', displayName: 'Moved', plan: 'team', namespaces: [] });
      const handOver = async (to: string) => (await admin('organisation', 'hand-over', 'moved', '--to', to)).out;
      expect(await handOver('manifest')).to.include('Organisation moved is now managed by its manifest.');
      expect(await handOver('manifest')).to.include('was already managed by its manifest');
      expect((await admin('organisation', 'block', 'moved')).code).to.equal(1);
      expect(await handOver('admin')).to.include('is now managed by curbcut-admin');
      expect(await actions('moved')).to.deep.equal(['organisation.hand-over to manifest', 'organisation.hand-over to curbcut-admin']);
    });
    const rejected: [string[], number, string][] = [
      [['organisation', 'add', 'Not Valid'], 1, 'must be a DNS label'],
      [['organisation', 'add', 'taken'], 1, 'organisation taken already exists'],
      [['organisation', 'add', 'another', '--namespaces', 'mine'], 1, 'namespace mine is already charged to organisation taken'],
      [['organisation', 'add'], 2, "Missing required argument 'ID'"],
      [['organisation', 'grant', 'unknown', '5'], 1, 'Organisation unknown does not exist'],
      [['organisation', 'namespaces', 'taken', 'a', '--none'], 2, '--none cannot be combined with namespaces'],
      [['organisation', 'hand-over', 'taken'], 2, "Required option '--to <manifest|admin>' not specified"],
      [['organisation', 'destroy', 'taken'], 2, "Unknown command 'destroy'"],
      [['organisation'], 2, 'Usage: curbcut-admin organisation'],
      [['organisation', 'add', ''], 2, 'It is empty.'],
      [['key', 'issue', '--organisation', 'taken', '--name', '--test'], 2, 'It is an option, so the value is missing.'],
      [['user', 'add', 'somebody', '--organisation', 'taken'], 1, 'somebody is not an email address'],
      [['user', 'reset-second-factor', 'a@b.example'], 1, 'No user has the address a@b.example'],
      [['key', 'issue', '--organisation', 'taken', '--name', 'x', '--expires', 'soon'], 1, 'soon is not a date'],
      [['key', 'issue', '--organisation', 'taken', '--name', 'x', '--scopes', 'scans:all'], 1, '"scans:all" is not a scope'],
      [['key', 'revoke', 'k', '--organisation', 'taken'], 1, 'taken has no live key k'],
    ];
    for (const [args, code, text] of rejected)
      it(`rejects: ${args.join(' ')}`, async () => {
        await stores.organisations.add({ id: 'taken', displayName: 'T', plan: 'p', namespaces: ['mine'] }).catch(() => undefined);
        const ran = await admin(...args);
        expect(ran.code).to.equal(code);
        expect(ran.err).to.include(text);
        expect(ran.out).to.equal('');
        expect(await actions('taken')).to.deep.equal([]);
      });

    it('ensure creates an organisation, its credits and a key only once', async () => {
      const ensure = ['organisation', 'ensure', 'first', '--credits', '50', '--key-name', 'setup', '--namespaces', 'one'];
      const { key } = (await json(...ensure)) as { key: string };
      expect((await stores.keys.recognise(key))!.organisation.id).to.equal('first');
      input = `${key}\n`;
      expect(await json(...ensure, '--key-stdin')).to.deep.equal({ organisation: 'first', key });
      expect((await stores.credits.balance('first')).balance).to.equal(50);
      expect(await stores.keys.list('first', { limit: 10 })).to.have.length(1);
      // In any order, because entries of the same millisecond have none.
      expect((await actions('first')).map((action) => action.split(' ')[0])).to.have.members([
        'organisation.add',
        'organisation.grant',
        'key.issue',
      ]);
    });

    it('ensure issues a new key if the given key is not live or belongs to another organisation', async () => {
      const ensure = (id: string) => ['organisation', 'ensure', id, '--credits', '50', '--key-name', 'setup', '--key-stdin'];
      input = '';
      const { key } = (await json(...ensure('second'))) as { key: string };
      input = key;
      expect(((await json(...ensure('third'))) as { key: string }).key).to.not.equal(key);
      await stores.keys.revoke('second', (await stores.keys.list('second', { limit: 1 }))[0]!.id);
      expect(((await json(...ensure('second'))) as { key: string }).key).to.not.equal(key);
    });
  });

  describe('organisation ensure --owner', () => {
    const EMAIL = 'owner@ensured.example';
    const ensure = (id: string, ...more: string[]) =>
      ['organisation', 'ensure', id, '--credits', '50', '--key-name', 'setup', '--owner', EMAIL, ...more]; // prettier-ignore

    it('adds an owner with the password from standard input, only once, and keeps the key', async () => {
      input = 'a password of the owner\n';
      const { key, owner } = (await json(...ensure('ensured'))) as { key: string; owner: object };
      expect(owner).to.deep.equal({ email: EMAIL, hasPassword: true });
      expect(await stores.users.verify(EMAIL, 'a password of the owner')).to.include({ createdBy: 'curbcut-admin', verified: false });
      expect((await stores.members.find('ensured', EMAIL))?.role).to.equal('owner');
      input = `${key}\na password of the owner\n`;
      expect(await json(...ensure('ensured', '--key-stdin'))).to.deep.equal({ organisation: 'ensured', key, owner });
      expect((await actions('ensured')).filter((action) => action.startsWith('user.'))).to.deep.equal([`user.add ${EMAIL}`]);
    });

    it('reports another password and does not change it', async () => {
      input = 'another password\n';
      const { owner } = (await json(...ensure('ensured'))) as { owner: object };
      expect(owner).to.deep.equal({ email: EMAIL, hasPassword: false });
      expect((await admin(...ensure('ensured'))).out).to.contain(`Owner: ${EMAIL} (with another password)`);
      expect(await stores.users.verify(EMAIL, 'a password of the owner')).to.not.equal(null);
    });

    it('rejects a user of another organisation, a missing password and a wrong address', async () => {
      input = 'a password of the owner\n';
      expect((await admin(...ensure('elsewhere'))).err).to.contain(`user ${EMAIL} exists and does not belong to organisation elsewhere`);
      input = '\n';
      expect((await admin(...ensure('ensured', '--key-stdin'))).err).to.contain('Standard input contains no password');
      input = 'a password of the owner\n';
      expect((await admin(...ensure('ensured').slice(0, -1), 'nobody')).err).to.contain('nobody is not an email address');
    });
  });

  describe('user', () => {
    it('can lose the second factors, which ends the sessions (ASVS 6.5.6)', async () => {
      await admin('organisation', 'add', 'lost');
      const email = 'lost@people.example';
      await admin('user', 'add', email, '--organisation', 'lost');
      await stores.secondFactors.addPasskey(await accountOf(database.db, email), {
        id: 'x',
        name: 'x',
        rpId: 'x',
        publicKey: 'x',
        counter: 0,
        transports: [],
      });
      const { secret } = (await stores.sessions.start({ email, method: 'password', browser: '' }))!;
      expect(await mailsTo(email)).to.deep.equal([]);
      expect((await admin('user', 'reset-second-factor', email)).out).to.equal(
        `${email} has no second factor any more.\nA mail tells ${email} about it.\n`,
      );
      expect(await mailsTo(email)).to.deep.equal([{ event: 'factors', at: '2026-03-01T00:00:00.000Z', client: null }]);
      expect((await stores.secondFactors.find(email)).any).to.equal(false);
      expect(await stores.sessions.recognise(secret)).to.equal(null);
      expect((await actions('lost')).filter((entry) => entry.includes('second-factor'))).to.deep.equal([
        `user.reset-second-factor ${email}`,
      ]);
    });

    it('can be unlinked from the identity provider, also all of an issuer: sessions end, and the next account can be linked', async () => {
      await admin('organisation', 'add', 'moved');
      const [from, to] = ['https://old.example/realms/ü', 'https://old.example/realms/ü2'];
      const people = { ada: from, bob: from, cyd: to };
      const addressOf = (name: string) => `${name}@moved.example`;
      const sessions: Record<string, string> = {};
      for (const [name, issuer] of Object.entries(people)) {
        await admin('user', 'add', addressOf(name), '--organisation', 'moved');
        await stores.users.link(addressOf(name), { issuer, subject: name });
        sessions[name] = (await stores.sessions.start({ email: addressOf(name), method: 'oidc', browser: '' }))!.secret;
      }
      const live = async (name: string) => (await stores.sessions.recognise(sessions[name]!)) !== null;
      expect((await admin('user', 'unlink', 'Cyd@moved.example')).out).to.equal(`cyd@moved.example is not linked to ${to} any more.\n`);
      expect([await live('ada'), await live('cyd')]).to.deep.equal([true, false]);
      const wrong = await admin('user', 'unlink', '--issuer', 'https://old.example');
      expect([wrong.code, wrong.err]).to.deep.equal([1, `curbcut-admin: https://old.example has no links. Users are linked to accounts at these issuers: ${from} (2).\n`]); // prettier-ignore
      expect((await admin('user', 'unlink')).code).to.equal(2);
      expect(await json('user', 'unlink', '--issuer', from)).to.deep.equal({
        unlinked: ['ada', 'bob'].map((name) => ({ email: addressOf(name), issuer: from })),
      });
      expect([await live('ada'), await live('bob')]).to.deep.equal([false, false]);
      expect((await actions('moved')).filter((entry) => entry.startsWith('user.unlink'))).to.have.members(
        Object.entries(people).map(([name, issuer]) => `user.unlink ${addressOf(name)}: ${issuer}`),
      );
      expect(await stores.users.link(addressOf('ada'), { issuer: to, subject: 'new' })).to.include({ ok: true, first: true });
    });

    before(async () => {
      await admin('organisation', 'add', 'people');
    });

    it('gets a generated password, which is shown once, or one from standard input', async () => {
      const password = /Password: (\S+)\nSave the password now: it is not shown again\./.exec(
        (await admin('user', 'add', 'Ada@People.example', '--organisation', 'people')).out,
      )![1]!;
      expect((await stores.users.verify('ada@people.example', password))?.email).to.equal('ada@people.example');
      input = 'a password of my own\n';
      const reset = await admin('user', 'reset-password', 'ada@people.example', '--password-stdin');
      expect(reset.out).to.equal('ada@people.example has a new password.\nA mail tells ada@people.example about it.\n');
      expect(await mailsTo('ada@people.example')).to.deep.equal([{ event: 'password', at: '2026-03-01T00:00:00.000Z', client: null }]);
      expect(await stores.users.verify('ada@people.example', password)).to.equal(null);
      expect(await stores.users.verify('ada@people.example', 'a password of my own')).not.to.equal(null);
      expect((await admin('user', 'list', '--organisation', 'people')).out).to.include('ada@people.example');
      expect(await actions('people')).to.deep.equal([
        'organisation.add people',
        'user.add ada@people.example',
        'user.reset-password ada@people.example',
      ]);
    });

    it('gets no mail about a reset if mail is off or the outbox is unavailable, which the output says', async () => {
      await admin('organisation', 'add', 'unmailed');
      const email = 'ada@unmailed.example';
      await admin('user', 'add', email, '--organisation', 'unmailed');
      const { enqueue } = stores.outbox;
      try {
        mail = false;
        expect((await admin('user', 'reset-password', email)).out).to.include(
          `${email} gets no mail about it, because SMTP_URL is not set.\n`,
        );
        mail = true;
        stores.outbox.enqueue = () => Promise.reject(new Error('no primary'));
        const reset = await admin('user', 'reset-password', email);
        expect(reset.code).to.equal(0);
        expect(reset.out)
          .to.include(`${email} gets no mail about it.\n`)
          .and.to.match(/^Password: \S+$/m);
        expect(reset.err).to.include('warning: the change was made, but the mail about it was lost: no primary');
      } finally {
        mail = true;
        stores.outbox.enqueue = enqueue;
      }
      expect(await mailsTo(email)).to.deep.equal([]);
    });

    it('is removed only with --last-owner if there is no other owner', async () => {
      await admin('organisation', 'add', 'owned');
      await admin('user', 'add', 'one@owned.example', '--organisation', 'owned');
      await admin('user', 'add', 'two@owned.example', '--organisation', 'owned', '--role', 'member');
      const refused = await admin('user', 'remove', 'one@owned.example');
      expect([refused.code, refused.out]).to.deep.equal([1, '']);
      expect(refused.err).to.include('add another owner first, or repeat the command with --last-owner');
      const creator = { createdBy: 'two@owned.example', rootCreator: 'two@owned.example' };
      const { key } = await issueKey(stores.keys, 'owned', { name: 'ci', creator });
      const { webhook } = await addWebhook(stores, { organisation: 'owned', ...creator });
      const schedule = { namespace: 'curbcut', name: 'daily', organisation: 'owned' };
      await stores.dashboardSchedules.add({ ...schedule, createdAt: new Date(), values: '', rootCreator: creator.rootCreator });
      await stores.schedules.put(scheduleRow({ ...schedule, site: 'example.com' }), 'x');
      const lines = (role: string): string =>
        [
          'What two@owned.example leaves in owned, with a command that ends each:',
          `key ci, at most ${role}: curbcut-admin key revoke ${key.id} --organisation owned`,
          `webhook Chat to example.com: curbcut-admin webhook disable ${webhook.id} --organisation owned`,
          'schedule of example.com: kubectl delete scanschedule daily -n curbcut\n',
        ].join('\n');
      const list = async () => (await admin('user', 'left', 'TWO@owned.example', '--organisation', 'owned')).out;
      expect(await list()).to.equal(lines('member'));
      for (const change of [['role', '--role', 'viewer'], ['reset-password'], ['remove']] as const) {
        const [verb, ...options] = change;
        expect((await admin('user', verb, 'two@owned.example', ...options)).out, verb).to.include(lines('viewer').trimEnd());
      }
      expect(await list(), 'of someone without an account').to.equal(lines('viewer'));
      expect((await admin('user', 'left', 'one@owned.example', '--organisation', 'owned')).out).to.include('leaves nothing in owned');
      expect((await admin('user', 'remove', 'one@owned.example', '--last-owner')).code).to.equal(0);
      expect((await admin('user', 'list', '--organisation', 'owned')).out).to.equal('owned has no users.\n');
      expect((await actions('owned')).at(-1)).to.equal('user.remove one@owned.example');
    });

    it('changes the role, but not that of the only owner', async () => {
      await admin('organisation', 'add', 'roles');
      await admin('user', 'add', 'one@roles.example', '--organisation', 'roles');
      const change = () => admin('user', 'role', 'one@roles.example', '--role', 'viewer');
      const refused = await change();
      expect([refused.code, refused.out]).to.deep.equal([1, '']);
      expect(refused.err).to.include('one@roles.example is the only owner');
      await admin('user', 'add', 'two@roles.example', '--organisation', 'roles');
      expect((await change()).out).to.equal('one@roles.example is now viewer of roles.\n');
      expect((await actions('roles')).at(-1)).to.equal('user.role one@roles.example: viewer');
    });

    it('cannot have a weak password, by whichever command', async () => {
      const [email, add] = ['strict@people.example', ['user', 'add', 'strict@people.example', '--organisation', 'people']];
      const owner = ['--owner', email, '--credits', '5', '--key-name', 'setup'];
      const refused = async (...args: string[]) => {
        input = 'short\n';
        const { code, out, err } = await admin(...args);
        expect([code, out]).to.deep.equal([1, '']);
        expect(err).to.include('Use at least 15 characters');
      };
      await refused(...add, '--password-stdin');
      await refused('organisation', 'ensure', 'people', ...owner);
      expect(await stores.users.find(email)).to.equal(null);
      await admin(...add);
      await refused('user', 'reset-password', email, '--password-stdin');
    });
  });

  describe('key', () => {
    it('is issued, shown once, listed without its secret, and revoked', async () => {
      await admin('organisation', 'add', 'keyed');
      const options = ['--organisation', 'keyed', '--name', 'CI', '--expires', '2126-01-31', '--scopes', 'scans:read,scans:write'];
      const issued: { id: string; key: string } = await json('key', 'issue', ...options);
      expect((await stores.keys.recognise(issued.key))?.key.scopes).to.deep.equal(['scans:read', 'scans:write']);
      const listed = (await admin('key', 'list', '--organisation', 'keyed')).out;
      for (const text of [issued.id, `…${issued.key.slice(-4)}`, '2126-01-31', 'scans:read,scans:write']) expect(listed).to.include(text);
      expect(listed).to.not.include(issued.key);
      expect((await admin('key', 'revoke', issued.id, '--organisation', 'keyed')).code).to.equal(0);
      expect(await stores.keys.recognise(issued.key)).to.equal(null);
      // Entries of the same millisecond have no order.
      expect(await actions('keyed')).to.have.members(['organisation.add keyed', `key.issue ${issued.id}`, `key.revoke ${issued.id}`]);
    });
  });

  describe('webhook', () => {
    it('are listed without their addresses, and enabled and disabled, also those of the manifest', async () => {
      await admin('organisation', 'add', 'hooked', '--name', 'Hooked');
      expect((await admin('webhook', 'list', '--organisation', 'hooked')).out).to.equal('hooked has no webhooks.\n');
      await addWebhook(stores, { organisation: 'hooked', url: 'https://example.com/secret' });
      const declared = { name: 'm', url: 'https://example.org/', events: ['scan.failed'], format: 'json', creditsBelow: 1 } as const;
      const [change] = await stores.webhooks.declare('hooked', [{ ...declared, secret: `whsec_${'A'.repeat(43)}=` }]);
      const { id } = change!.webhook;
      await stores.webhooks.stop(id, 'failing');
      const { out } = await admin('webhook', 'list', '--organisation', 'hooked');
      expect(out).to.match(/Chat +example\.com +scan\.completed +api +enabled\n/);
      expect(out).to.match(/m +example\.org +scan\.failed +manifest +disabled: failing\n/);
      expect(out).not.to.include('secret');
      const enable = () => admin('webhook', 'enable', id, '--organisation', 'hooked');
      expect((await enable()).out).to.equal(`Webhook ${id} is enabled.\n`);
      expect((await admin('webhook', 'disable', id, '--organisation', 'hooked')).out).to.equal(`Webhook ${id} is disabled.\n`);
      expect((await stores.webhooks.find('hooked', id))!.disabled).to.include({ reason: 'requested' });
      expect((await actions('hooked')).slice(-2)).to.deep.equal([`webhook.enable m (${id})`, `webhook.disable m (${id})`]);
    });
  });

  describe('mail', () => {
    it('shows and lifts the bounce of an address, and records it without the address of people who have no account', async () => {
      await admin('organisation', 'add', 'mailed');
      await admin('user', 'add', 'grace@mailed.example', '--organisation', 'mailed');
      const { suppressions } = stores;
      for (const address of ['grace@mailed.example', 'stranger@mailed.example']) {
        const sent = 'Results of public scans are sent.\nInvitations and links for a new password are sent.\n';
        expect((await admin('mail', 'show', address)).out).to.equal(sent);
        expect((await admin('mail', 'lift', address)).out).to.equal(`${address} has not bounced.\n`);
        await suppressions.bounced(address, 'certain');
        const stopped = /^Results of public scans are not sent until \S+Z: bounced\.\nInvitations .* are not sent until \S+Z: bounced\.\n$/;
        expect((await admin('mail', 'show', address)).out).to.match(stopped);
        expect(await json('mail', 'lift', address.toUpperCase())).to.deep.equal({ address: address.toUpperCase(), lifted: true });
        expect(await suppressions.find(address, 'public')).to.equal(null);
        expect((await admin('mail', 'show', address)).out).to.equal(sent);
      }
      expect((await actions('mailed')).at(-1)).to.equal('mail.lift grace@mailed.example');
      const [entry] = await stores.organisations.audit(ANONYMOUS, 50);
      expect(entry).to.include({ actor: 'curbcut-admin', action: 'mail.lift' });
      expect(entry!.subject).to.match(/^sha256:[0-9a-f]{64}$/);
    });
  });

  it('shows a secret, and does not fail, if the audit log is unavailable', async () => {
    await admin('organisation', 'add', 'unaudited');
    recordEntry = () => Promise.reject(new Error('no primary'));
    try {
      const warning = (change: string) => new RegExp(`warning: the change was made, but .*${change}.* was lost: no primary`);
      const issued = await admin('key', 'issue', '--organisation', 'unaudited', '--name', 'CI');
      expect(issued.code).to.equal(0);
      expect(issued.err).to.match(warning('key.issue'));
      const [, secret] = /^Key: (\S+)$/m.exec(issued.out)!;
      expect((await stores.keys.recognise(secret!))?.organisation.id).to.equal('unaudited');
      const granted = await admin('organisation', 'grant', 'unaudited', '5', '--id', 'one');
      expect([granted.code, granted.out]).to.deep.equal([0, 'Granted 5 pages (one); 5 available.\n']);
      expect(granted.err).to.match(warning('organisation.grant'));
    } finally {
      recordEntry = (entry) => stores.organisations.record(entry);
    }
  });

  it('names the ID of a grant before it adds the credits, so that a repeated command adds them once', async () => {
    await admin('organisation', 'add', 'granted');
    const { grant } = stores.credits;
    stores.credits.grant = async (...parameters) => {
      await grant(...parameters);
      throw new Error('the answer was lost');
    };
    let err = '';
    const context = { stores, readInput: async () => '', randomToken: () => 'generated', now: () => new Date(), mail: true };
    const streams = { out: () => undefined, err: (text: string) => void (err += text) };
    const failed = await run(['organisation', 'grant', 'granted', '40'], streams, async () => context).catch(
      (error: Error) => error.message,
    );
    stores.credits.grant = grant;
    expect(failed).to.equal('the answer was lost');
    expect(err).to.equal(
      'Grant ID: generated. If this command fails, repeat it with --id generated, so that the credits are added only once.\n',
    );
    expect(await json('organisation', 'grant', 'granted', '40', '--id', 'generated')).to.deep.include({ added: false, balance: 40 });
  });

  it('prints --help without a database', async () => {
    let out = '';
    const streams = { out: (text: string) => void (out += text), err: () => undefined };
    expect(await run(['--help'], streams, () => Promise.reject(new Error('no database')))).to.equal(0);
    expect(out).to.include('organisations, their credits and their namespaces: add, list');
  });

  describe('as a process', () => {
    const runProcess = (args: string[], environment: Record<string, string>): Promise<{ code: number; out: string; err: string }> =>
      new Promise((resolve) => {
        const { PATH, NODE_COMPILE_CACHE } = process.env;
        execFile(process.execPath, [MAIN, ...args], { env: { PATH, NODE_COMPILE_CACHE, ...environment } }, (error, out, err) =>
          resolve({ code: error === null ? 0 : Number(error.code), out, err }),
        );
      });

    it('never prints the address of the database', async () => {
      const wrong = await runProcess(['organisation', 'list'], { MONGODB_URL: 'postgres://user:secret@x' });
      expect(wrong).to.include({ code: 1, out: '' });
      expect(wrong.err).to.include('(hidden)').and.not.include('secret@');
    });

    it('changes the database of MONGODB_URL', async () => {
      expect((await runProcess(['organisation', 'add', 'process'], { MONGODB_URL: database.url })).code).to.equal(0);
      expect(await stores.organisations.find('process')).to.include({ id: 'process' });
    });
  });
});
