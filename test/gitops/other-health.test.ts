/** Argo CD's health of ScanSchedules, ScanQueues, Organisations and KnownIssues, with the statuses that the operator's own plans write. */
import { expect } from 'chai';
import type { AccessibilityScan, ScanQueue, ScanQueueSpec } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource, OrganisationSpec } from '../../core/protocol/organisation-resources.ts';
import type { ScanSchedule, ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import type { KnownIssuesResource } from '../../core/protocol/known-issues-resources.ts';
import { ending, mirrored, noOrganisation, storeUnavailable as issuesUnavailable } from '../../operator/known-issues/conditions.ts';
import { deleting, managedByAdmin, outdated, ready, storeUnavailable } from '../../operator/organisation/conditions.ts';
import { misplacedConditions } from '../../operator/queue/misplaced.ts';
import { namespacesReadable } from '../../operator/queue/waiting.ts';
import { withConditions, type ConditionUpdate } from '../../operator/runtime/conditions.ts';
import { readiness, readinessOf } from '../../operator/schedule/policy/conditions.ts';
import type { NamespaceOwner, ScheduleFacts } from '../../operator/schedule/policy/facts.ts';
import { failuresOf } from '../../operator/schedule/policy/history.ts';
import { judgeRegression } from '../../operator/schedule/policy/regression.ts';
import { parseSchedule } from '../../core/schedule/times.ts';
import { newScheduleState } from '../../operator/schedule/policy/facts.ts';
import { NOW } from '../support/scan-samples.ts';
import { healthOf, type Health } from './argo-lua.ts';

/** An object with these conditions, which the operator has written for its current spec. */
function withStatus<T extends { metadata: { generation?: number }; spec: object }>(object: T, updates: readonly ConditionUpdate[]): T {
  const conditions = withConditions(object as never, updates, NOW);
  return { ...object, status: { observedGeneration: object.metadata.generation, conditions } };
}
const head = (kind: string) => ({ apiVersion: 'curbcut.dev/v1', kind, metadata: { name: 'shop', namespace: 'shop', generation: 3 } });

describe("Argo CD's health of a ScanSchedule", () => {
  const OWNED: NamespaceOwner = { state: 'owned', organisation: 'shop', blocked: false };

  function schedule(
    spec: Partial<ScanScheduleSpec> = {},
    owner = OWNED,
    { waits = false, more = [] as ConditionUpdate[], children = [] as AccessibilityScan[] } = {},
  ): ScanSchedule {
    const object = {
      ...head('ScanSchedule'),
      spec: { schedule: '@daily', scanTemplate: { spec: { url: 'https://example.com/' } }, ...spec },
    };
    const parsed = parseSchedule(object.spec.schedule, spec.timeZone);
    const facts: ScheduleFacts = {
      schedule: object,
      parsed,
      jitterMs: 0,
      children,
      apiNamespace: 'curbcut-scans',
      owner,
      state: newScheduleState(),
      now: NOW,
    };
    return withStatus(object, [...readiness({ readiness: readinessOf(facts), requestWaits: waits }, null, failuresOf(facts)), ...more]);
  }
  const health = (object: ScanSchedule): Promise<Health> => healthOf('ScanSchedule', object);

  it('is Healthy for one that starts scans', async () => {
    expect((await health(schedule())).status).to.equal('Healthy');
  });

  it('is Suspended for one that is suspended', async () => {
    expect(await health(schedule({ suspend: true }))).to.deep.equal({
      status: 'Suspended',
      message: 'The schedule is suspended: no scan is started at the scheduled times.',
    });
  });

  it('is Degraded for days that never come or a time zone that Node.js does not know, and says so', async () => {
    for (const spec of [{ schedule: '0 0 30 2 *' }, { timeZone: 'Factory' }]) {
      const { status, message } = await health(schedule(spec));
      expect(status).to.equal('Degraded');
      expect(message).to.match(/never fires|Factory/);
    }
  });

  it('is Degraded if three scans failed in a row, and says why the last one did; not if fewer did, or while it is suspended', async () => {
    const failed = Array.from({ length: 3 }, (_, at): AccessibilityScan => ({
      ...head('AccessibilityScan'),
      metadata: { name: `daily-${at}` },
      spec: { url: 'https://example.com/' },
      status: { phase: 'failed', completionTime: `2026-03-0${at + 1}T00:00:00Z`, message: 'The site does not answer.' },
    }));
    expect(await health(schedule({}, undefined, { children: failed }))).to.deep.equal({
      status: 'Degraded',
      message: 'daily-2 failed (3 in a row): The site does not answer.',
    });
    expect((await health(schedule({}, undefined, { children: failed.slice(1) }))).status).to.equal('Healthy');
    expect((await health(schedule({ suspend: true }, undefined, { children: failed }))).status).to.equal('Suspended');
  });

  it('is Degraded while the organisation is blocked', async () => {
    const { status, message } = await health(schedule({}, { ...OWNED, blocked: true }));
    expect([status, message]).to.deep.equal(['Degraded', 'The organisation shop is blocked. No scan is started until it is unblocked.']);
  });

  it('is Progressing while its namespace belongs to no organisation, and while a requested run waits', async () => {
    expect((await health(schedule({}, { state: 'none' }))).status).to.equal('Progressing');
    expect((await health(schedule({}, OWNED, { waits: true }))).status).to.equal('Progressing');
  });

  it('stays Healthy when the site has regressed, and says what is new', async () => {
    const scan = (name: string, passed: boolean) => ({ name, scanId: name, passed, completionTime: '2026-03-02T09:00:00Z' });
    const outcome = {
      ok: true as const,
      new: 2,
      onNewPages: 0,
      newKnown: 0,
      judged: 2,
      newCauses: 1,
      fixed: 0,
      unchanged: 5,
      notTested: 0,
      caveats: [],
      examples: [],
    };
    const { condition } = judgeRegression(scan('b', false), scan('a', true), outcome, undefined);
    expect(condition).to.include({ type: 'Regressed', status: 'True' });
    expect(await health(schedule({}, OWNED, { more: [condition] }))).to.deep.equal({ status: 'Healthy', message: condition.message });
  });
});

describe("Argo CD's health of an Organisation", () => {
  const organisation = (spec: OrganisationSpec, updates: (resource: OrganisationResource) => ConditionUpdate[]): OrganisationResource => {
    const resource = { ...head('Organisation'), spec };
    return withStatus(resource, updates(resource));
  };
  const statusOf = async (object: OrganisationResource): Promise<string> => (await healthOf('Organisation', object)).status;

  it('is Healthy when its spec is in effect', async () => {
    expect(await statusOf(organisation({}, (resource) => ready(resource, [])))).to.equal('Healthy');
  });

  it('is Suspended when it is blocked', async () => {
    expect(await statusOf(organisation({ blocked: true }, (resource) => ready(resource, [])))).to.equal('Suspended');
  });

  it('is Progressing while the database does not answer', async () => {
    expect(await statusOf(organisation({}, () => storeUnavailable(false)))).to.equal('Progressing');
  });

  it('is Progressing while it is deleted and waits for its scans', async () => {
    for (const spec of [{}, { blocked: true }]) {
      const { status, message } = await healthOf(
        'Organisation',
        organisation(spec, () => deleting(2)),
      );
      expect([status, message]).to.deep.equal([
        'Progressing',
        'The organisation is blocked. Its deletion waits until its scans, which are canceled, have ended: 2 scans are live.',
      ]);
    }
  });

  it('is Degraded when the manifest has no effect, or not all of it, and says why', async () => {
    const taken = [{ namespace: 'team', organisation: 'other' }];
    const states = [() => managedByAdmin('shop'), () => outdated('shop'), (resource: OrganisationResource) => ready(resource, taken)];
    for (const updates of states) {
      const { status, message } = await healthOf('Organisation', organisation({ blocked: true }, updates));
      expect(status).to.equal('Degraded');
      expect(message).to.match(/curbcut-admin|organisation other/);
    }
  });
});

describe("Argo CD's health of a ScanQueue", () => {
  const queue = (spec: ScanQueueSpec, unreadable: Parameters<typeof namespacesReadable>[0] = new Map()): ScanQueue => {
    const object = withStatus({ ...head('ScanQueue'), spec } as ScanQueue, [namespacesReadable(unreadable)]);
    return { ...object, status: { ...object.status!, queued: 3, running: 2, oldestWaitSeconds: 10 } };
  };

  it('is Healthy for an open one, with its load', async () => {
    expect(await healthOf('ScanQueue', queue({}))).to.deep.equal({ status: 'Healthy', message: '3 waiting, 2 running' });
  });

  it('is Suspended for a paused one', async () => {
    expect(await healthOf('ScanQueue', queue({ paused: true }))).to.deep.equal({
      status: 'Suspended',
      message: 'The queue is paused: 3 waiting, 2 running',
    });
  });

  it('is Degraded in a namespace where no scan uses it, and names the right one', async () => {
    const object = withStatus({ ...head('ScanQueue'), spec: {} } as ScanQueue, misplacedConditions('curbcut-scans'));
    const { status, message } = await healthOf('ScanQueue', object);
    expect(status).to.equal('Degraded');
    expect(message).to.contain('curbcut-scans');
  });

  it('is Degraded while the operator cannot read a namespace, and names it', async () => {
    const { status, message } = await healthOf(
      'ScanQueue',
      queue({}, new Map([['team', { resource: 'jobs', message: 'forbidden', since: NOW }]])),
    );
    expect(status).to.equal('Degraded');
    expect(message).to.contain('team');
  });
});

describe("Argo CD's health of KnownIssues", () => {
  const known = (updates: readonly ConditionUpdate[]): KnownIssuesResource =>
    withStatus({ ...head('KnownIssues'), spec: { site: 'shop.example.com', issues: [] } }, updates);

  it('is Healthy when they are in effect, also if one ends, and says so', async () => {
    expect(await healthOf('KnownIssues', known([...mirrored('shop.example.com', 2, []), ending([], [])]))).to.deep.equal({
      status: 'Healthy',
      message: '2 known issues are in effect for scans of shop.example.com.',
    });
    expect(await healthOf('KnownIssues', known([...mirrored('shop.example.com', 1, []), ending(['a'], ['b'])]))).to.deep.equal({
      status: 'Healthy',
      message: 'Ended, so that violations count again: b. End within 30 days: a.',
    });
  });

  it('is Degraded if one is not in effect, and names it', async () => {
    const problems = [{ reason: 'IssueTaken', text: 'a is accepted already over REST' }] as const;
    const { status, message } = await healthOf('KnownIssues', known([...mirrored('shop.example.com', 1, problems), ending([], [])]));
    expect([status, message]).to.deep.equal([
      'Degraded',
      'Not in effect: a is accepted already over REST. For scans of shop.example.com, 1 known issue is in effect.',
    ]);
  });

  it('is Progressing while its namespace belongs to no organisation, or the database does not answer, or nothing has seen it', async () => {
    for (const updates of [noOrganisation('shop'), issuesUnavailable()])
      expect((await healthOf('KnownIssues', known(updates))).status).to.equal('Progressing');
    const unseen = { ...known([]), status: { observedGeneration: -1 } };
    expect((await healthOf('KnownIssues', unseen)).status).to.equal('Progressing');
  });
});
