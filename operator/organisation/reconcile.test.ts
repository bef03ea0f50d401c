import { expect } from 'chai';
import fc from 'fast-check';
import {
  ORGANISATION_FINALIZER,
  type CreditGrant,
  type OrganisationResource,
  type OrganisationStatus,
} from '../../core/protocol/organisation-resources.ts';
import { ago, NOW, secondsAgo } from '../../test/support/scan-samples.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { contextOf } from '../../test/support/operator-context.ts';
import type { OrganisationRecord } from './records.ts';
import type { OrganisationWrites } from './changes.ts';
import { reconcileOrganisation, type OrganisationFacts } from './reconcile.ts';

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
type Write =
  | { do: 'addFinalizer' | 'removeFinalizer' | 'openAccount' | 'close' | 'endAccess' | 'endScans' }
  | { do: 'apply'; spec: object }
  | { do: 'grant'; grant: CreditGrant }
  | { do: 'claim'; namespaces: string[] }
  | { do: 'declareWebhooks' }
  | { do: 'writeStatus'; status: OrganisationStatus };

/** Reconciles once. @returns what was written, in order, and the delay until the next reconcile */
async function reconcileFacts(facts: OrganisationFacts): Promise<{ actions: Write[]; wakeAfterMs: number | null }> {
  const actions: Write[] = [];
  const wrote = <T>(write: Write, answer?: T): Promise<T> => Promise.resolve((actions.push(write), answer as T));
  const ok = { ok: true };
  const writes = {
    client: {
      patchStatus: (_: unknown, status: OrganisationStatus) => wrote({ do: 'writeStatus', status }),
      patchMetadata: (_: unknown, { finalizers }: { finalizers: string[] }) =>
        wrote({ do: finalizers.includes(ORGANISATION_FINALIZER) ? 'addFinalizer' : 'removeFinalizer' }),
    },
    context: contextOf({
      stores: {
        organisations: {
          applyManifest: (_id: string, _version: object, spec: object) => wrote({ do: 'apply', spec }, { ok: true, before: null }),
          claimNamespaces: (_id: string, _version: object, namespaces: string[]) => wrote({ do: 'claim', namespaces }, ok),
          closeOrganisation: () => wrote({ do: 'close' }, ok),
          recordVersion: () => Promise.resolve(ok),
          record: () => Promise.resolve(),
        },
        credits: {
          open: () => wrote({ do: 'openAccount' }),
          grant: (_id: string, id: string, pages: number) => wrote({ do: 'grant', grant: { id, pages } }, true),
        },
        webhooks: { declare: () => wrote({ do: 'declareWebhooks' }, []), disableAll: () => Promise.resolve([]) },
        keys: { revokeAll: () => wrote({ do: 'endAccess' }, []) },
        invitations: { cancelAll: () => Promise.resolve([]) },
        dashboardSchedules: { list: () => Promise.resolve([]) },
      } as never,
      scanClient: { list: () => (actions.push({ do: 'endScans' }), []) },
    }),
    onChange: () => undefined,
    onClaim: () => undefined,
    onStatus: () => undefined,
  } as unknown as OrganisationWrites;
  const next = await reconcileOrganisation(facts, writes, new AbortController().signal);
  return { actions, wakeAfterMs: next === 'again' ? null : (next.requeueAfterMs ?? null) };
}
const reconcile = (more: Partial<OrganisationFacts> = {}) => reconcileFacts(factsWith(more));
const doing = async (more: Partial<OrganisationFacts> = {}) => (await reconcile(more)).actions.map((action) => action.do);
const deleted = { deletionTimestamp: ago(1), generation: 3 };

/** The status that a reconcile writes. */
function statusOf({ actions }: { actions: readonly Write[] }) {
  expect(actions.map((action) => action.do)).to.deep.equal(['writeStatus']);
  return (actions[0] as Extract<Write, { do: 'writeStatus' }>).status;
}
/** The status of a resource whose spec is in effect. */
const settled = async () => statusOf(await reconcile());
const readyOf = async (more: Partial<OrganisationFacts>) => conditionOf(statusOf(await reconcile(more)).conditions, 'Ready')!;

describe('the reconcile of an Organisation', () => {
  it('adds the finalizer before it changes anything', async () => {
    expect(await doing({ resource: resourceWith({}, { finalizers: ['other'] }), record: null })).to.deep.equal(['addFinalizer']);
  });

  it('creates the organisation, its account, its grants and its namespaces', async () => {
    const record: OrganisationRecord = {
      organisation: null,
      account: null,
      granted: new Set(),
      owners: new Map([['web', 'other']]),
      webhooks: [],
    };
    expect((await reconcile({ record })).actions).to.deep.equal([
      { do: 'apply', spec: { displayName: 'acme', plan: 'team', blocked: false } },
      { do: 'openAccount' },
      { do: 'grant', grant: GRANTS[0] },
      { do: 'grant', grant: GRANTS[1] },
      { do: 'claim', namespaces: ['shop'] },
    ]);
  });

  const drifts: [what: string, record: OrganisationRecord, actions: string[]][] = [
    ['the plan', recordWith({ organisation: { plan: 'other' } }), ['apply']],
    ['whether it is blocked', recordWith({ organisation: { blocked: true } }), ['apply']],
    ['a hand-over', recordWith({ organisation: { manifest: null } }), ['apply']],
    ['a missing grant', recordWith({ granted: new Set(['first']) }), ['grant']],
    ['an additional namespace', recordWith({ organisation: { namespaces: ['web', 'shop', 'blog'] } }), ['claim']],
    ['a missing account', recordWith({ account: null }), ['openAccount']],
    ['nothing', recordWith(), ['writeStatus']],
  ];
  for (const [what, record, actions] of drifts)
    it(`corrects only what differs: ${what}`, async () => expect(await doing({ record })).to.deep.equal(actions));

  it('writes the amounts and conditions of the current generation, and nothing if they are there', async () => {
    const status = await settled();
    expect(status).to.deep.include({ balance: 100, held: 4, spent: 6, granted: 110, liveScans: 1, namespaces: ['shop', 'web'] });
    expect(status.observedGeneration).to.equal(2);
    expect(
      status.conditions?.map(({ type, status: is, reason, observedGeneration }) => [type, is, reason, observedGeneration]),
    ).to.deep.equal([
      ['Ready', 'True', 'Applied', 2],
      ['Reconciling', 'False', 'Applied', 2],
      ['Stalled', 'False', 'Applied', 2],
    ]);
    expect(await reconcile({ resource: resourceWith({ status }) })).to.deep.equal({ actions: [], wakeAfterMs: null });
  });

  it('writes changed amounts at most once per interval, and everything else at once', async () => {
    const resource = resourceWith({ status: await settled() });
    const record = recordWith({ account: { balance: 96, held: 8, spent: 6, granted: 110, liveScans: 2, sequence: 10 } });
    expect(await reconcile({ resource, record, statusAt: secondsAgo(4) })).to.deep.equal({ actions: [], wakeAfterMs: 6_000 });
    expect(statusOf(await reconcile({ resource, record, statusAt: secondsAgo(10) }))).to.include({ balance: 96, liveScans: 2 });
    const changed = { ...resource, metadata: { ...resource.metadata, generation: 3 } };
    expect(await doing({ resource: changed, record, statusAt: secondsAgo(4) })).to.deep.equal(['writeStatus']);
  });

  it('names each namespace that another organisation has, and is stalled', async () => {
    const record = recordWith({ organisation: { namespaces: ['shop'] }, owners: new Map([['web', 'globex']]) });
    const { conditions } = statusOf(await reconcile({ record }));
    expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'NamespaceTaken' });
    expect(conditionOf(conditions, 'Ready')!.message).to.match(/^Already charged: namespace web to organisation globex\. /);
    expect(conditionOf(conditions, 'Stalled')).to.include({ status: 'True' });
    expect(conditionOf(conditions, 'Reconciling')).to.include({ status: 'False' });
  });

  it('names each namespace whose scans the operator does not run, and is stalled', async () => {
    const { conditions } = statusOf(await reconcile({ watchNamespaces: ['curbcut', 'shop'] }));
    expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'NamespaceNotWatched' });
    expect(conditionOf(conditions, 'Ready')!.message).to.match(
      /^The operator does not run the scans of namespace web; scans\.extraNamespaces/,
    );
    expect(conditionOf(conditions, 'Stalled')).to.include({ status: 'True' });
    const watched = statusOf(await reconcile({ watchNamespaces: ['curbcut', 'shop', 'web'] }));
    expect(conditionOf(watched.conditions, 'Ready')).to.include({ status: 'True' });
  });

  it('changes nothing that curbcut-admin manages, and says how to hand over', async () => {
    const record = recordWith({ organisation: { managedBy: 'admin', plan: 'other', namespaces: [] }, granted: new Set() });
    const ready = await readyOf({ record });
    expect(ready).to.include({ status: 'False', reason: 'ManagedByAdmin' });
    expect(ready.message).to.include('curbcut-admin organisation hand-over acme --to manifest');
  });

  it('changes nothing if a newer version was applied, and says how to make this one count', async () => {
    const manifest = { uid: 'u1', createdAt: secondsAgo(60), generation: 3 };
    const ready = await readyOf({ record: recordWith({ organisation: { manifest, plan: 'newer' } }) });
    expect(ready).to.include({ status: 'False', reason: 'Outdated' });
    expect(ready.message).to.match(/hand-over acme --to admin, and then the same with --to manifest/);
  });

  it('changes nothing of another object of the name, whichever is newer, and says how to restore or purge it', async () => {
    for (const age of [99, 5])
      for (const deletedAt of [null, NOW]) {
        const manifest = { uid: 'u0', createdAt: secondsAgo(age), generation: 1 };
        const ready = await readyOf({ record: recordWith({ organisation: { manifest, deletedAt, plan: 'other' } }) });
        expect(ready).to.include({ status: 'False', reason: 'NameInUse' });
        expect(ready.message).to.match(/organisation restore acme\. .*organisation purge acme --confirm acme$/);
      }
  });

  it('waits while MongoDB does not answer, and says so only if there is something to do', async () => {
    const outage = await reconcile({ record: null });
    expect(conditionOf(statusOf(outage).conditions, 'Ready')).to.include({ status: 'Unknown', reason: 'StoreUnavailable' });
    expect(outage.wakeAfterMs).to.equal(5_000);
    expect(await reconcile({ resource: resourceWith({ status: await settled() }), record: null })).to.deep.equal({
      actions: [],
      wakeAfterMs: 5_000,
    });
    const resource = resourceWith({ status: await settled() }, deleted);
    const waiting = statusOf(await reconcile({ resource, record: null }));
    expect(conditionOf(waiting.conditions, 'Ready')!.message).to.equal('The deletion waits until the database answers.');
    expect(waiting, 'the last known amounts').to.include({ balance: 100, granted: 110 });
  });

  describe('while it is deleted', () => {
    const resource = resourceWith({}, deleted);
    const closed = { blocked: true, deletedAt: NOW };
    const noScans = { balance: 104, held: 0, spent: 6, granted: 110, liveScans: 0, sequence: 10 };

    it('blocks the organisation first, and ends what acts for it', async () => {
      const ends = ['close', 'endAccess', 'endScans'];
      expect(await doing({ resource })).to.deep.equal(ends);
      expect(await doing({ resource, record: recordWith({ organisation: { ...closed, blocked: false } }) })).to.deep.equal(ends);
    });

    it('cancels and waits for live scans, and says how many there are', async () => {
      const waiting = await reconcile({ resource, record: recordWith({ organisation: closed }) });
      expect(waiting.actions.pop()).to.deep.equal({ do: 'endScans' });
      const { conditions } = statusOf(waiting);
      expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', reason: 'ScansLive' });
      expect(conditionOf(conditions, 'Ready')!.message).to.match(/1 scan is live\.$/);
      expect(conditionOf(conditions, 'Reconciling')).to.include({ status: 'True' });
      expect(waiting.wakeAfterMs).to.equal(2_000);
    });

    it('then releases the namespaces, and last the resource', async () => {
      const record = recordWith({ organisation: closed, account: noScans });
      expect((await reconcile({ resource, record })).actions).to.deep.equal([{ do: 'claim', namespaces: [] }]);
      expect(
        await doing({ resource, record: recordWith({ organisation: { ...closed, namespaces: [] }, account: noScans }) }),
      ).to.deep.equal(['endAccess', 'endScans', 'removeFinalizer']);
    });

    it('releases the resource at once if MongoDB holds nothing that depends on it', async () => {
      for (const record of [
        { ...recordWith(), organisation: null },
        recordWith({ organisation: { managedBy: 'admin' } }),
        recordWith({ organisation: { manifest: { uid: 'u9', createdAt: secondsAgo(5), generation: 1 } } }),
      ])
        expect(await doing({ resource, record })).to.deep.equal(['removeFinalizer']);
    });

    it('does nothing more without its finalizer', async () => {
      expect(await reconcile({ resource: resourceWith({}, { ...deleted, finalizers: [] }) })).to.deep.equal({
        actions: [],
        wakeAfterMs: null,
      });
    });
  });
});

describe('the reconciles of an Organisation, repeated', () => {
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

  /** Reconciles until nothing is left to do. Each live scan ends when the reconcile waits for it. */
  async function run(world: World) {
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
    const done: Write[] = [];
    const change = (to: object) => (record = { ...record, organisation: { ...record.organisation!, ...to } });
    for (let round = 0; round < 20; round += 1) {
      const { actions } = await reconcile({ resource, record });
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
      if (actions.every((action) => action.do === 'endScans') && record.account !== null && record.account.liveScans > 0 && world.deletes)
        record = { ...record, account: { ...record.account, liveScans: record.account.liveScans - 1 } };
      else if (actions.length === 0) return { done, record, resource };
    }
    throw new Error(`no end: ${JSON.stringify(done)}`);
  }

  it('reach the spec, or change nothing that another writer manages', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { done, record, resource } = await run(world);
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

  it('never grant an ID twice, and never while the resource is deleted', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { done } = await run(world);
        const grants = done.flatMap((action) => (action.do === 'grant' ? [action.grant.id] : []));
        expect(new Set(grants).size).to.equal(grants.length);
        expect(grants.filter((id) => world.granted.includes(id))).to.deep.equal([]);
        if (world.deletes) expect(grants).to.deep.equal([]);
      }),
    );
  });
});
