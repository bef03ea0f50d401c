import { expect } from 'chai';
import fc from 'fast-check';
import { ORGANISATION_FINALIZER, type OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { ago, NOW, secondsAgo } from '../../test/support/scan-samples.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { planOrganisation, type OrganisationAction, type OrganisationFacts, type OrganisationRecord } from './plan.ts';

const GRANTS = [
  { id: 'first', pages: 100 },
  { id: 'second', pages: 10 },
];

function resourceWith(more: Partial<OrganisationResource> = {}, metadata: object = {}): OrganisationResource {
  return {
    apiVersion: 'curbcut.dev/v1',
    kind: 'Organisation',
    metadata: { name: 'acme', uid: 'u1', generation: 2, creationTimestamp: ago(60), finalizers: [ORGANISATION_FINALIZER], ...metadata },
    spec: { plan: 'team', creditGrants: GRANTS, namespaces: ['web', 'shop'] },
    ...more,
  };
}

/** What MongoDB holds when the spec of `resourceWith` is in effect. */
function recordWith({ organisation = {}, ...more }: Omit<Partial<OrganisationRecord>, 'organisation'> & { organisation?: object } = {}) {
  const record: OrganisationRecord = {
    organisation: {
      id: 'acme',
      displayName: 'acme',
      plan: 'team',
      blocked: false,
      requireSecondFactor: false,
      namespaces: ['shop', 'web'],
      createdAt: NOW,
      managedBy: 'manifest',
      deletedAt: null,
      manifest: { uid: 'u1', createdAt: secondsAgo(60), generation: 1 },
      ...organisation,
    },
    account: { balance: 100, held: 4, spent: 6, granted: 110, liveScans: 1, sequence: 9 },
    granted: new Set(['first', 'second']),
    owners: new Map(),
    webhooks: [],
    ...more,
  };
  return record;
}

const factsWith = (more: Partial<OrganisationFacts> = {}): OrganisationFacts => ({
  resource: resourceWith(),
  record: recordWith(),
  webhooks: { wanted: [], kept: [], problems: [] },
  watchNamespaces: [],
  statusAt: null,
  everyMs: 10_000,
  now: NOW,
  ...more,
});
const plan = (more: Partial<OrganisationFacts> = {}) => planOrganisation(factsWith(more));
const doing = (more: Partial<OrganisationFacts> = {}) => plan(more).actions.map((action) => action.do);
const deleted = { deletionTimestamp: ago(1), generation: 3 };

/** The status that a plan writes. */
function statusOf({ actions }: { actions: readonly OrganisationAction[] }) {
  expect(actions.map((action) => action.do)).to.deep.equal(['writeStatus']);
  return (actions[0] as Extract<OrganisationAction, { do: 'writeStatus' }>).status;
}
/** The status of a resource whose spec is in effect. */
const settled = () => statusOf(plan());
const readyOf = (more: Partial<OrganisationFacts>) => conditionOf(statusOf(plan(more)).conditions, 'Ready')!;

describe('the plan of an Organisation', () => {
  it('adds the finalizer before it changes anything', () => {
    expect(doing({ resource: resourceWith({}, { finalizers: ['other'] }), record: null })).to.deep.equal(['addFinalizer']);
  });

  it('creates the organisation, its account, its grants and its namespaces', () => {
    const record: OrganisationRecord = {
      organisation: null,
      account: null,
      granted: new Set(),
      owners: new Map([['web', 'other']]),
      webhooks: [],
    };
    expect(plan({ record }).actions).to.deep.equal([
      { do: 'apply', spec: { displayName: 'acme', plan: 'team', blocked: false } },
      { do: 'openAccount' },
      { do: 'grant', grant: GRANTS[0] },
      { do: 'grant', grant: GRANTS[1] },
      { do: 'claim', namespaces: ['shop'] },
    ]);
  });

  const drifts: [what: string, record: OrganisationRecord, actions: string[]][] = [
    ['the plan', recordWith({ organisation: { plan: 'other' } }), ['apply']],
    ['the name', recordWith({ organisation: { displayName: 'Other' } }), ['apply']],
    ['whether it is blocked', recordWith({ organisation: { blocked: true } }), ['apply']],
    ['a deletion', recordWith({ organisation: { deletedAt: NOW } }), ['apply']],
    ['an earlier resource', recordWith({ organisation: { manifest: { uid: 'u0', createdAt: secondsAgo(99), generation: 7 } } }), ['apply']],
    ['a hand-over', recordWith({ organisation: { manifest: null } }), ['apply']],
    ['a missing grant', recordWith({ granted: new Set(['first']) }), ['grant']],
    ['a missing namespace', recordWith({ organisation: { namespaces: ['web'] } }), ['claim']],
    ['an additional namespace', recordWith({ organisation: { namespaces: ['web', 'shop', 'blog'] } }), ['claim']],
    ['a missing account', recordWith({ account: null }), ['openAccount']],
    ['nothing', recordWith(), ['writeStatus']],
  ];
  for (const [what, record, actions] of drifts)
    it(`corrects only what differs: ${what}`, () => expect(doing({ record })).to.deep.equal(actions));

  it('writes the amounts and conditions of the current generation, and nothing if they are there', () => {
    const status = settled();
    expect(status).to.deep.include({ balance: 100, held: 4, spent: 6, granted: 110, liveScans: 1, namespaces: ['shop', 'web'] });
    expect(status.observedGeneration).to.equal(2);
    expect(
      status.conditions?.map(({ type, status: is, reason, observedGeneration }) => [type, is, reason, observedGeneration]),
    ).to.deep.equal([
      ['Ready', 'True', 'Applied', 2],
      ['Reconciling', 'False', 'Applied', 2],
      ['Stalled', 'False', 'Applied', 2],
    ]);
    expect(plan({ resource: resourceWith({ status }) })).to.deep.equal({ actions: [], wakeAfterMs: null });
  });

  it('writes changed amounts at most once per interval, and everything else at once', () => {
    const resource = resourceWith({ status: settled() });
    const record = recordWith({ account: { balance: 96, held: 8, spent: 6, granted: 110, liveScans: 2, sequence: 10 } });
    expect(plan({ resource, record, statusAt: secondsAgo(4) })).to.deep.equal({ actions: [], wakeAfterMs: 6_000 });
    expect(statusOf(plan({ resource, record, statusAt: secondsAgo(10) }))).to.include({ balance: 96, liveScans: 2 });
    const changed = { ...resource, metadata: { ...resource.metadata, generation: 3 } };
    expect(doing({ resource: changed, record, statusAt: secondsAgo(4) })).to.deep.equal(['writeStatus']);
  });

  it('names each namespace that another organisation has, and is stalled', () => {
    const record = recordWith({ organisation: { namespaces: ['shop'] }, owners: new Map([['web', 'globex']]) });
    const { conditions } = statusOf(plan({ record }));
    expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'NamespaceTaken' });
    expect(conditionOf(conditions, 'Ready')!.message).to.match(/^Already charged: namespace web to organisation globex\. /);
    expect(conditionOf(conditions, 'Stalled')).to.include({ status: 'True' });
    expect(conditionOf(conditions, 'Reconciling')).to.include({ status: 'False' });
  });

  it('names each namespace whose scans the operator does not run, and is stalled', () => {
    const { conditions } = statusOf(plan({ watchNamespaces: ['curbcut', 'shop'] }));
    expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'NamespaceNotWatched' });
    expect(conditionOf(conditions, 'Ready')!.message).to.match(
      /^The operator does not run the scans of namespace web; scans\.extraNamespaces/,
    );
    expect(conditionOf(conditions, 'Stalled')).to.include({ status: 'True' });
    const watched = statusOf(plan({ watchNamespaces: ['curbcut', 'shop', 'web'] }));
    expect(conditionOf(watched.conditions, 'Ready')).to.include({ status: 'True' });
  });

  it('states that a blocked organisation is as its spec wants it', () => {
    const spec = { ...resourceWith().spec, blocked: true };
    const record = recordWith({ organisation: { blocked: true } });
    expect(readyOf({ resource: resourceWith({ spec }), record })).to.include({ status: 'True', reason: 'Blocked' });
  });

  it('changes nothing that curbcut-admin manages, and says how to hand over', () => {
    const record = recordWith({ organisation: { managedBy: 'admin', plan: 'other', namespaces: [] }, granted: new Set() });
    const ready = readyOf({ record });
    expect(ready).to.include({ status: 'False', reason: 'ManagedByAdmin' });
    expect(ready.message).to.include('curbcut-admin organisation hand-over acme --to manifest');
  });

  it('changes nothing if a newer version was applied, and says how to make this one count', () => {
    for (const manifest of [
      { uid: 'u1', createdAt: secondsAgo(60), generation: 3 },
      { uid: 'u9', createdAt: secondsAgo(5), generation: 1 },
    ]) {
      const ready = readyOf({ record: recordWith({ organisation: { manifest, plan: 'newer' } }) });
      expect(ready).to.include({ status: 'False', reason: 'Outdated' });
      expect(ready.message).to.match(/hand-over acme --to admin, and then the same with --to manifest/);
    }
  });

  it('waits while MongoDB does not answer, and says so only if there is something to do', () => {
    const outage = plan({ record: null });
    expect(conditionOf(statusOf(outage).conditions, 'Ready')).to.include({ status: 'Unknown', reason: 'StoreUnavailable' });
    expect(outage.wakeAfterMs).to.equal(5_000);
    expect(plan({ resource: resourceWith({ status: settled() }), record: null })).to.deep.equal({ actions: [], wakeAfterMs: 5_000 });
    const resource = resourceWith({ status: settled() }, deleted);
    const waiting = statusOf(plan({ resource, record: null }));
    expect(conditionOf(waiting.conditions, 'Ready')!.message).to.equal('The deletion waits until the database answers.');
    expect(waiting, 'the last known amounts').to.include({ balance: 100, granted: 110 });
  });

  describe('while it is deleted', () => {
    const resource = resourceWith({}, deleted);
    const closed = { blocked: true, deletedAt: NOW };
    const noScans = { balance: 104, held: 0, spent: 6, granted: 110, liveScans: 0, sequence: 10 };

    it('blocks the organisation first', () => {
      expect(doing({ resource })).to.deep.equal(['close']);
      expect(doing({ resource, record: recordWith({ organisation: { ...closed, blocked: false } }) })).to.deep.equal(['close']);
    });

    it('waits for live scans, and says how many there are', () => {
      const waiting = plan({ resource, record: recordWith({ organisation: closed }) });
      const { conditions } = statusOf(waiting);
      expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'ScansLive' });
      expect(conditionOf(conditions, 'Ready')!.message).to.match(/1 scan is live\.$/);
      expect(conditionOf(conditions, 'Reconciling')).to.include({ status: 'True' });
      expect(waiting.wakeAfterMs).to.equal(2_000);
    });

    it('then releases the namespaces, and last the resource', () => {
      const record = recordWith({ organisation: closed, account: noScans });
      expect(plan({ resource, record }).actions).to.deep.equal([{ do: 'claim', namespaces: [] }]);
      expect(doing({ resource, record: recordWith({ organisation: { ...closed, namespaces: [] }, account: noScans }) })).to.deep.equal([
        'removeFinalizer',
      ]);
    });

    it('releases the resource at once if MongoDB holds nothing that depends on it', () => {
      for (const record of [
        { ...recordWith(), organisation: null },
        recordWith({ organisation: { managedBy: 'admin' } }),
        recordWith({ organisation: { manifest: { uid: 'u9', createdAt: secondsAgo(5), generation: 1 } } }),
      ])
        expect(doing({ resource, record })).to.deep.equal(['removeFinalizer']);
    });

    it('does nothing more without its finalizer', () => {
      expect(plan({ resource: resourceWith({}, { ...deleted, finalizers: [] }) })).to.deep.equal({ actions: [], wakeAfterMs: null });
    });
  });
});

describe('the plans of an Organisation, carried out', () => {
  const names = fc.subarray(['a', 'b', 'c', 'd']);
  const worlds = fc.record({
    spec: fc.record({
      plan: fc.constantFrom('team', 'other'),
      blocked: fc.boolean(),
      namespaces: names,
      creditGrants: names.map((ids) => ids.map((id) => ({ id, pages: 5 }))),
    }),
    granted: names,
    namespaces: names,
    taken: names,
    exists: fc.boolean(),
    managedBy: fc.constantFrom('manifest' as const, 'admin' as const),
    deletedAt: fc.constantFrom(null, NOW),
    deletes: fc.boolean(),
    liveScans: fc.integer({ min: 0, max: 3 }),
  });
  type World = typeof worlds extends fc.Arbitrary<infer W> ? W : never;

  /** Carries out plans until nothing is left to do. Each live scan ends when the plan waits for it. */
  function run(world: World) {
    let resource = resourceWith({ spec: world.spec }, world.deletes ? deleted : {});
    const owners = new Map(world.spec.namespaces.filter((name) => world.taken.includes(name)).map((name) => [name, 'other']));
    let record = recordWith({
      organisation: {
        namespaces: world.namespaces.filter((name) => !world.taken.includes(name)),
        managedBy: world.managedBy,
        deletedAt: world.deletedAt,
      },
      account: world.exists ? { balance: 5, held: 0, spent: 0, granted: 5, liveScans: world.liveScans, sequence: 1 } : null,
      granted: new Set(world.granted),
      owners,
    });
    if (!world.exists) record = { ...record, organisation: null };
    const done: OrganisationAction[] = [];
    const change = (to: object) => (record = { ...record, organisation: { ...record.organisation!, ...to } });
    for (let round = 0; round < 20; round += 1) {
      const { actions } = planOrganisation(factsWith({ resource, record }));
      done.push(...actions);
      for (const action of actions) {
        if (action.do === 'apply') {
          record = {
            ...record,
            organisation: { ...recordWith().organisation!, namespaces: record.organisation?.namespaces ?? [], ...action.spec },
          };
        } else if (action.do === 'claim') change({ namespaces: action.namespaces });
        else if (action.do === 'close') change({ blocked: true, deletedAt: NOW });
        else if (action.do === 'grant') record = { ...record, granted: new Set([...record.granted, action.grant.id]) };
        else if (action.do === 'openAccount')
          record = { ...record, account: { balance: 0, held: 0, spent: 0, granted: 0, liveScans: 0, sequence: 0 } };
        else if (action.do === 'writeStatus') resource = { ...resource, status: action.status };
        else if (action.do === 'removeFinalizer') return { done, record, resource: null };
      }
      if (actions.length === 0 && record.account !== null && record.account.liveScans > 0 && world.deletes)
        record = { ...record, account: { ...record.account, liveScans: record.account.liveScans - 1 } };
      else if (actions.length === 0) return { done, record, resource };
    }
    throw new Error(`no end: ${JSON.stringify(done)}`);
  }

  it('reach the spec, or change nothing that another writer manages', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { done, record, resource } = run(world);
        const foreign = world.exists && world.managedBy === 'admin';
        if (foreign) expect(done.every((action) => action.do === 'writeStatus' || action.do === 'removeFinalizer')).to.equal(true);
        expect(resource === null).to.equal(world.deletes);
        if (world.deletes || foreign) return;
        expect(record.organisation).to.include({ plan: world.spec.plan, blocked: world.spec.blocked, deletedAt: null });
        expect(record.organisation!.namespaces).to.have.members(world.spec.namespaces.filter((name) => !world.taken.includes(name)));
        expect([...record.granted]).to.include.members(world.spec.creditGrants.map(({ id }) => id));
      }),
    );
  });

  it('never grant an ID twice, and never while the resource is deleted', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const { done } = run(world);
        const grants = done.flatMap((action) => (action.do === 'grant' ? [action.grant.id] : []));
        expect(new Set(grants).size).to.equal(grants.length);
        expect(grants.filter((id) => world.granted.includes(id))).to.deep.equal([]);
        if (world.deletes) expect(grants).to.deep.equal([]);
      }),
    );
  });

  it('leave a deleted organisation blocked and without namespaces', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        if (!world.deletes || !world.exists || world.managedBy === 'admin') return;
        const { record, done } = run(world);
        expect(record.organisation).to.deep.include({ blocked: true, namespaces: [] });
        expect(done.some((action) => action.do === 'writeStatus')).to.equal(world.liveScans > 0);
      }),
    );
  });
});
