import { expect } from 'chai';
import { contextOf, type Parts } from '../../test/support/operator-context.ts';
import type { AppliedOrganisation } from '../../stores/accounts/organisation-manifests.ts';
import type { AccountSummary } from '../../stores/credits/credits.ts';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { createRecords } from './records.ts';

const organisation = (id: string, namespaces: string[] = []): AppliedOrganisation => ({
  id,
  displayName: id,
  plan: 'team',
  blocked: false,
  requireSecondFactor: false,
  namespaces,
  createdAt: new Date(0),
  managedBy: 'manifest',
  deletedAt: null,
  manifest: null,
});
const account = (sequence: number, balance = 10): AccountSummary => ({ balance, granted: 10, held: 0, spent: 0, liveScans: 0, sequence });

/** Records over stores in memory. */
function setUp(specs: Record<string, string[]>) {
  const wanted = new Map(Object.entries(specs));
  const rows = new Map(Object.keys(specs).map((id) => [id, organisation(id, specs[id])]));
  const accounts = new Map(Object.keys(specs).map((id) => [id, account(1)]));
  const grants = new Map(Object.keys(specs).map((id) => [id, new Set(['first'])]));
  const calls: string[] = [];
  const store = { fails: false, during: () => undefined as void };
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const pick = <T>(all: ReadonlyMap<string, T>, ids: readonly string[]) =>
    new Map(ids.flatMap((id) => (all.has(id) ? [[id, all.get(id)!] as const] : [])));
  const stores: Parts['stores'] = {
    organisations: {
      async findApplied(ids, namespaces) {
        calls.push(`organisations ${ids.join(' ')}${namespaces.length > 0 ? ` | ${namespaces.join(' ')}` : ''}`);
        if (store.fails) throw new Error('down');
        const found = [...rows.values()].filter((row) => ids.includes(row.id) || row.namespaces.some((one) => namespaces.includes(one)));
        await Promise.resolve();
        store.during();
        return found;
      },
    },
    credits: {
      async accounts(ids) {
        return pick(accounts, ids);
      },
      async grantIds(ids) {
        if (ids.length > 0) calls.push(`grants ${ids.join(' ')}`);
        return pick(grants, ids);
      },
    },
    webhooks: {
      async applied() {
        return new Map();
      },
    },
  };
  const records = createRecords(contextOf({ stores, logger, clock }), () => wanted);
  return { records, rows, accounts, grants, wanted, calls, store, clock, logger };
}

describe('the records of organisations', () => {
  it('are read together, once, and then held', async () => {
    const { records, calls } = setUp({ a: [], b: ['web'], c: [] });
    const all = ['a', 'b', 'c'].map((id) => records.get(id));
    expect((await Promise.all(all)).map((record) => record.organisation?.id)).to.deep.equal(['a', 'b', 'c']);
    expect(calls).to.deep.equal(['organisations a b c | web', 'grants a b c']);
    await records.get('b');
    expect(calls).to.have.length(2);
  });

  it('are read again when they were forgotten, and not from a read that began before', async () => {
    const { records, store, rows, calls } = setUp({ a: [] });
    await records.get('a');
    records.forget('a');
    store.during = () => {
      store.during = () => undefined;
      // The organisation changes after the query has read it.
      rows.set('a', { ...organisation('a'), plan: 'new' });
      records.forget('a');
    };
    expect((await records.get('a')).organisation?.plan).to.equal('new');
    expect(calls.filter((call) => call.startsWith('organisations'))).to.have.length(3);
  });

  it('tell which organisations have changed, and whether only their amounts did', async () => {
    const { records, rows, accounts, calls } = setUp({ a: [], b: [], c: [] });
    expect(await records.refresh(), 'the first read').to.deep.equal({ amounts: [], others: [] });
    expect(await records.refresh()).to.deep.equal({ amounts: [], others: [] });
    accounts.set('a', account(2, 7));
    rows.set('b', { ...organisation('b'), managedBy: 'admin' });
    calls.length = 0;
    expect(await records.refresh()).to.deep.equal({ amounts: ['a'], others: ['b'] });
    expect(calls, 'the grants are known').to.deep.equal(['organisations a b c']);
  });

  it('name the owners of namespaces that others have, and notice when they are released', async () => {
    const { records, rows } = setUp({ a: ['web', 'shop'] });
    rows.set('a', organisation('a', ['shop']));
    rows.set('other', organisation('other', ['web']));
    expect([...(await records.get('a')).owners]).to.deep.equal([['web', 'other']]);
    expect(records.conflicting()).to.deep.equal(['a']);
    rows.set('other', organisation('other', []));
    expect(await records.refresh()).to.deep.equal({ amounts: [], others: ['a'] });
    expect(records.conflicting()).to.deep.equal([]);
  });

  it('read the grants again when an account has fewer operations: its database was restored', async () => {
    const { records, accounts, grants } = setUp({ a: [] });
    accounts.set('a', account(5));
    expect([...(await records.get('a')).granted]).to.deep.equal(['first']);
    accounts.set('a', account(1));
    grants.set('a', new Set());
    expect(await records.refresh()).to.deep.equal({ amounts: [], others: ['a'] });
    expect([...(await records.get('a')).granted]).to.deep.equal([]);
  });

  it('fail for all callers at once while MongoDB does not answer, which is logged once', async () => {
    const { records, store, calls, clock, logger } = setUp({ a: [], b: [] });
    store.fails = true;
    const failure = (promise: Promise<unknown>) => promise.then(() => null, (error: unknown) => String(error)); // prettier-ignore
    expect(await failure(records.get('a'))).to.include('down');
    expect(await failure(records.get('b')), 'at once').to.include('down');
    expect(calls).to.have.length(1);
    await clock.advance(1_001);
    expect(await failure(records.get('b'))).to.include('down');
    expect(calls).to.have.length(2);
    store.fails = false;
    await clock.advance(1_001);
    expect((await records.get('b')).organisation?.id).to.equal('b');
    expect(logger.lines.map(({ message }) => message)).to.deep.equal(['organisations unavailable', 'organisations available again']);
  });
});
