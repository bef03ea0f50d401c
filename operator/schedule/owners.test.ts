import { expect } from 'chai';
import type { Organisation } from '../../core/organisation.ts';
import { DASHBOARD_MANAGER, MANAGED_BY_LABEL } from '../../core/protocol/scan-schedules.ts';
import { createNamespaceOwners, ownedKeyOf, ownerOfSchedule } from './owners.ts';

/** Organisations in memory, and how often they were asked for. */
function organisationsOf(all: Organisation[]) {
  const state = { all, asked: 0, down: false };
  const answer = <T>(value: T): Promise<T> => {
    state.asked += 1;
    return state.down ? Promise.reject(new Error('connection refused')) : Promise.resolve(value);
  };
  return {
    state,
    findByNamespace: (namespace: string) => answer(state.all.find(({ namespaces }) => namespaces.includes(namespace)) ?? null),
    find: (id: string) => answer(state.all.find((one) => one.id === id) ?? null),
    list: () => answer(state.all),
  };
}

const acme = (blocked = false): Organisation => ({
  id: 'acme',
  displayName: 'Acme',
  plan: 'test',
  blocked,
  requireSecondFactor: false,
  namespaces: ['team'],
  createdAt: new Date(0),
  managedBy: 'admin',
  deletedAt: null,
});
/** No schedule of the dashboard. */
const NO_CLAIMS = { owners: async () => new Map<string, string>() };
const owned = (blocked: boolean) => ({ state: 'owned', organisation: 'acme', blocked });

describe('namespace owners', () => {
  it('are asked for once by many schedules that are due together', async () => {
    let now = 0;
    const organisations = organisationsOf([acme()]);
    const owners = createNamespaceOwners(organisations, NO_CLAIMS, () => now);
    const answers = await Promise.all(Array.from({ length: 100 }, () => owners.of('team')));
    expect(answers.at(-1)).to.deep.equal(owned(false));
    expect(organisations.state.asked).to.equal(1);
    now += 3_000;
    organisations.state.all = [acme(true)];
    expect(await owners.of('team')).to.deep.equal(owned(true));
    expect(await owners.of('strangers')).to.deep.equal({ state: 'none' });
  });

  it('keep their last answer while MongoDB is down', async () => {
    let now = 0;
    const organisations = organisationsOf([acme(true)]);
    const owners = createNamespaceOwners(organisations, NO_CLAIMS, () => now);
    await owners.of('team');
    organisations.state.down = true;
    now += 60_000;
    expect(await owners.of('team')).to.deep.equal(owned(true));
    expect(await owners.of('strangers')).to.deep.equal({ state: 'unknown' });
    const error = await owners.refresh(['team']).catch((reason: unknown) => reason);
    expect(error).to.be.an('error').with.property('message', 'connection refused');
  });

  it('report each change once', async () => {
    const organisations = organisationsOf([acme()]);
    const owners = createNamespaceOwners(organisations, NO_CLAIMS, () => 0);
    await owners.of('team');
    await owners.of('strangers');
    expect(await owners.refresh(['team', 'team', 'strangers'])).to.deep.equal([]);
    organisations.state.all = [acme(true)];
    expect(await owners.refresh(['team', 'team', 'strangers'])).to.deep.equal(['team']);
    expect(await owners.refresh(['team', 'strangers'])).to.deep.equal([]);
    expect(await owners.of('team')).to.deep.equal(owned(true));
  });

  it('report a change also if only one caller has asked since', async () => {
    let now = 0;
    const organisations = organisationsOf([acme()]);
    const owners = createNamespaceOwners(organisations, NO_CLAIMS, () => now);
    await owners.of('team');
    await owners.refresh(['team']);
    organisations.state.all = [acme(true)];
    now += 3_000;
    expect(await owners.of('team')).to.deep.equal(owned(true));
    expect(await owners.refresh(['team'])).to.deep.equal(['team']);
    expect(await owners.refresh(['team'])).to.deep.equal([]);
  });

  it('are, for a schedule of the dashboard, its organisation instead of that of the namespace', async () => {
    const scans: Organisation = { ...acme(), id: 'platform', namespaces: ['scans'] };
    const organisations = organisationsOf([acme(), scans]);
    const claims = new Map([['scans/shop', 'acme']]);
    let asked = 0;
    const owners = createNamespaceOwners(
      organisations,
      {
        async owners(wanted) {
          asked += wanted.length;
          return new Map([...claims].filter(([key]) => wanted.some(({ namespace, name }) => key === `${namespace}/${name}`)));
        },
      },
      () => 0,
    );
    expect(ownedKeyOf({ namespace: 'team', name: 'a' }, 'scans')).to.equal('team');
    const [shop, other] = ['shop', 'other'].map((name) => ownedKeyOf({ namespace: 'scans', name }, 'scans'));
    expect(await owners.of(shop!)).to.deep.equal({ ...owned(false), claimed: true });
    expect(await owners.of(other!)).to.deep.equal({ ...owned(false), organisation: 'platform' });
    expect(await owners.refresh([shop!, other!])).to.deep.equal([]);
    organisations.state.all = [acme(true), scans];
    expect(await owners.refresh([shop!, other!])).to.deep.equal([shop]);
    expect(await owners.of(shop!)).to.deep.equal({ ...owned(true), claimed: true });
    expect(asked, 'a known claim is read again by a refresh only').to.equal(6);
  });

  it('are nobody for a schedule of the dashboard whose record is lost, although the namespace has an owner', async () => {
    const scans: Organisation = { ...acme(), id: 'platform', namespaces: ['scans'] };
    const organisations = organisationsOf([acme(), scans]);
    const claims = new Map([['scans/shop', 'acme']]);
    const owners = createNamespaceOwners(organisations, { owners: async () => claims }, () => 0);
    const stateOf = async (namespace: string, name: string, manager: string) =>
      (await ownerOfSchedule(owners, { namespace, name, labels: { [MANAGED_BY_LABEL]: manager } }, 'scans')).state;
    expect(await stateOf('scans', 'shop', DASHBOARD_MANAGER)).to.equal('owned');
    expect(await stateOf('scans', 'lost', DASHBOARD_MANAGER)).to.equal('unrecorded');
    expect(await stateOf('scans', 'manifest', 'Helm')).to.equal('owned');
    expect(await stateOf('team', 'forged', DASHBOARD_MANAGER), 'in a namespace of one organisation, labels mean nothing').to.equal('owned');
    organisations.state.down = true;
    expect(await stateOf('scans', 'new', DASHBOARD_MANAGER)).to.equal('unknown');
  });
});
