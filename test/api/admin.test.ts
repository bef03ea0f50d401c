import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../../api/admin/run.ts';
import type { AdminContext } from '../../api/admin/command.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { openDatabase, type TestDatabase } from '../stores/database.ts';
import { silentLogger } from '../support/silent-logger.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'api', 'admin', 'main.ts');

describe('curbcut-admin', () => {
  let database: TestDatabase;
  let stores: AllStores;
  let input = '';
  let word = 0;
  before(async () => {
    database = await openDatabase();
    stores = openStores(database.db, { logger: silentLogger });
  });
  after(() => database.close());

  async function admin(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const said = { code: -1, out: '', err: '' };
    const context: AdminContext = {
      stores,
      readInput: async () => input,
      randomWord: () => `made-up-word-${(word += 1)}`,
      now: () => new Date('2026-03-01T00:00:00Z'),
    };
    said.code = await run(args, { out: (text) => (said.out += text), err: (text) => (said.err += text) }, async () => context);
    return said;
  }
  const json = async (...args: string[]) => {
    const said = await admin(...args, '--json');
    expect(said.code, said.err).to.equal(0);
    return JSON.parse(said.out) as never;
  };
  const actions = async (id: string): Promise<string[]> =>
    (await stores.organisations.audit(id, 50)).map(({ action, subject }) => `${action} ${subject}`).reverse();

  describe('organisation', () => {
    it('is added, shown, listed, granted, blocked and given namespaces, and each change is recorded', async () => {
      expect(
        (await admin('organisation', 'add', 'acme', '--name', 'Acme Ltd', '--plan', 'team', '--namespaces', 'web,shop')).code,
      ).to.equal(0);
      expect(await json('organisation', 'grant', 'acme', '100', '--id', 'first')).to.deep.include({ added: true, balance: 100 });
      expect(await json('organisation', 'grant', 'acme', '100', '--id', 'first')).to.deep.include({ added: false, balance: 100 });
      expect((await admin('organisation', 'grant', 'acme', '20')).out).to.match(
        /Granted 20 pages \(made-up-word-\d+\); 120 can be reserved now/,
      );
      await admin('organisation', 'block', 'acme');
      expect((await stores.organisations.find('acme'))!.blocked).to.equal(true);
      await admin('organisation', 'unblock', 'acme');
      await admin('organisation', 'namespaces', 'acme', 'web', 'blog');
      expect((await admin('organisation', 'namespaces', 'acme')).out).to.equal('Charged to acme: web, blog.\n');
      expect(await json('organisation', 'namespaces', 'acme', '--none')).to.deep.equal({ organisation: 'acme', namespaces: [] });

      expect(await json('organisation', 'show', 'acme')).to.deep.include({
        id: 'acme',
        displayName: 'Acme Ltd',
        plan: 'team',
        blocked: false,
      });
      const shown = (await admin('organisation', 'show', 'acme')).out;
      expect(shown)
        .to.include('120 to reserve, 0 held, 0 spent, 120 granted')
        .and.to.match(/organisation\.grant +first: 100 pages/);
      expect((await admin('organisation', 'list')).out).to.match(
        /ID +NAME +PLAN +CREDITS +STATE +NAMESPACES\n[^]*acme +Acme Ltd +team +120 +open +none\n/,
      );
      expect((await actions('acme')).map((entry) => entry.replace(/made-up-word-\d+/, 'X'))).to.deep.equal([
        'organisation.add acme',
        'organisation.grant first: 100 pages',
        'organisation.grant X: 20 pages',
        'organisation.block acme',
        'organisation.unblock acme',
        'organisation.namespaces web, blog',
        'organisation.namespaces none',
      ]);
    });

    const refusals: [string[], number, string][] = [
      [['organisation', 'add', 'Not Valid'], 1, "organisation's id is a DNS label"],
      [['organisation', 'add', 'taken'], 1, 'organisation taken already exists'],
      [['organisation', 'add', 'another', '--namespaces', 'mine'], 1, 'namespace mine is already charged to organisation taken'],
      [['organisation', 'add', 'another', '--namespaces', 'Not_Valid'], 1, 'Not_Valid is not a valid Kubernetes namespace'],
      [['organisation', 'add', 'anonymous'], 1, 'already exists'],
      [['organisation', 'add'], 2, 'The ID is missing.'],
      [['organisation', 'add', 'a', 'b'], 2, 'b is too much.'],
      [['organisation', 'grant', 'nobody', '5'], 1, 'There is no organisation nobody'],
      [['organisation', 'grant', 'taken', '-5'], 2, "Unknown option '-5'"],
      [['organisation', 'grant', 'taken', '1.5'], 1, '1.5 is not a number of pages'],
      [['organisation', 'grant', 'taken', '0'], 1, '0 is not a number of pages'],
      [['organisation', 'block', 'nobody'], 1, 'There is no organisation nobody'],
      [['organisation', 'namespaces', 'taken', 'a', '--none'], 2, '--none goes without namespaces'],
      [['organisation', 'destroy', 'taken'], 2, 'organisation what? There are add, list'],
      [['organisation'], 2, 'organisation what?'],
      [['nothing'], 2, 'There is no command nothing'],
      [['user', 'add', 'nobody', '--organisation', 'taken'], 1, 'nobody is no e-mail address'],
      [['user', 'add', 'a@b.example'], 2, '--organisation is missing'],
      [['user', 'remove', 'a@b.example'], 1, 'Nobody has the address a@b.example'],
      [['user', 'reset-password', 'a@b.example'], 1, 'Nobody has the address a@b.example'],
      [['key', 'issue', '--organisation', 'taken'], 2, '--name is missing'],
      [['key', 'issue', '--organisation', 'taken', '--name', 'x', '--expires', 'soon'], 1, 'soon is no date'],
      [['key', 'issue', '--organisation', 'taken', '--name', 'x', '--expires', '2026-02-28'], 1, '2026-02-28 is past'],
      [['key', 'revoke', 'k', '--organisation', 'taken'], 1, 'taken has no live key k'],
    ];
    for (const [args, code, text] of refusals)
      it(`refuses: ${args.join(' ')}`, async () => {
        await stores.organisations.add({ id: 'taken', displayName: 'T', plan: 'p', namespaces: ['mine'] }).catch(() => undefined);
        const said = await admin(...args);
        expect(said.code).to.equal(code);
        expect(said.err).to.include(text);
        expect(said.out).to.equal('');
        expect(await actions('taken')).to.deep.equal([]);
      });

    it('ensure creates an organisation, its credits and a key once', async () => {
      const ensure = ['organisation', 'ensure', 'first', '--credits', '50', '--key-name', 'setup', '--namespaces', 'one'];
      const { key } = (await json(...ensure)) as { key: string };
      expect((await stores.keys.recognise(key))!.organisation).to.equal('first');
      input = `${key}\n`;
      expect(await json(...ensure, '--key-stdin')).to.deep.equal({ organisation: 'first', key });
      expect((await stores.credits.balance('first')).balance).to.equal(50);
      expect(await stores.keys.list('first')).to.have.length(1);
      expect((await actions('first')).map((action) => action.split(' ')[0])).to.deep.equal([
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
      await stores.keys.revoke('second', (await stores.keys.list('second'))[0]!.id);
      expect(((await json(...ensure('second'))) as { key: string }).key).to.not.equal(key);
    });
  });

  describe('user', () => {
    before(async () => {
      await admin('organisation', 'add', 'people');
    });

    it('gets a password that is made up and shown once, or one from standard input', async () => {
      const password = /Password: (\S+)\nIt is shown only now\./.exec(
        (await admin('user', 'add', 'Ada@People.example', '--organisation', 'people')).out,
      )![1]!;
      expect(await stores.users.verify('ada@people.example', password)).to.include({ organisation: 'people' });
      input = 'a password of my own\n';
      const reset = await admin('user', 'reset-password', 'ada@people.example', '--password-stdin');
      expect(reset.out).to.equal('ada@people.example has a new password.\n');
      expect(await stores.users.verify('ada@people.example', password)).to.equal(null);
      expect(await stores.users.verify('ada@people.example', 'a password of my own')).not.to.equal(null);
      expect((await admin('user', 'list', '--organisation', 'people')).out).to.include('ada@people.example');
      await admin('user', 'remove', 'ada@people.example');
      expect((await admin('user', 'list', '--organisation', 'people')).out).to.equal('Nobody may sign in for people.\n');
      expect(await actions('people')).to.deep.equal([
        'organisation.add people',
        'user.add ada@people.example',
        'user.reset-password ada@people.example',
        'user.remove ada@people.example',
      ]);
    });

    it('gets no password that is empty or too short', async () => {
      input = '\n';
      expect(await admin('user', 'add', 'bob@people.example', '--organisation', 'people', '--password-stdin')).to.deep.include({ code: 1 });
      input = 'short\n';
      expect((await admin('user', 'add', 'bob@people.example', '--organisation', 'people', '--password-stdin')).err).to.include(
        '8 to 1024 characters',
      );
    });
  });

  describe('key', () => {
    it('is issued, shown once, listed without its secret, and revoked', async () => {
      await admin('organisation', 'add', 'keyed');
      const issued: { id: string; key: string } = await json(
        'key',
        'issue',
        '--organisation',
        'keyed',
        '--name',
        'CI',
        '--expires',
        '2126-01-31',
      );
      expect(await stores.keys.recognise(issued.key)).to.include({ id: issued.id, organisation: 'keyed' });
      const listed = (await admin('key', 'list', '--organisation', 'keyed')).out;
      expect(listed)
        .to.include(issued.id)
        .and.to.include(`…${issued.key.slice(-4)}`)
        .and.to.include('2126-01-31')
        .and.not.include(issued.key);
      expect((await admin('key', 'revoke', issued.id, '--organisation', 'keyed')).code).to.equal(0);
      expect(await stores.keys.recognise(issued.key)).to.equal(null);
      expect(await actions('keyed')).to.deep.equal(['organisation.add keyed', `key.issue ${issued.id}`, `key.revoke ${issued.id}`]);
    });
  });

  describe('as a process', () => {
    const process_ = (args: string[], environment: Record<string, string>): Promise<{ code: number; out: string; err: string }> =>
      new Promise((resolve) => {
        execFile(process.execPath, [MAIN, ...args], { env: { PATH: process.env['PATH'], ...environment } }, (error, out, err) =>
          resolve({ code: error === null ? 0 : Number(error.code), out, err }),
        );
      });

    it('needs no database for --help', async () => {
      const said = await process_(['--help'], {});
      expect(said.code).to.equal(0);
      expect(said.out).to.include('curbcut-admin organisation add');
    });

    it('says what is missing, and never the address of the database', async () => {
      expect((await process_(['organisation', 'list'], {})).err).to.include('MONGODB_URL is not set');
      const wrong = await process_(['organisation', 'list'], { MONGODB_URL: 'postgres://user:secret@x' });
      expect(wrong).to.include({ code: 1, out: '' });
      expect(wrong.err).to.include('(hidden)').and.not.include('secret@');
    });

    it('works on the database that MONGODB_URL names, and makes a grant once', async () => {
      const environment = { MONGODB_URL: database.url };
      expect((await process_(['organisation', 'add', 'process'], environment)).code).to.equal(0);
      const grant = await process_(['organisation', 'grant', 'process', '7', '--json'], environment);
      expect(JSON.parse(grant.out)).to.deep.include({ added: true, balance: 7 });
      expect((await stores.credits.balance('process')).balance).to.equal(7);
    });
  });
});
