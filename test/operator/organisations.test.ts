import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessibilityScanSpec } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource, OrganisationSpec } from '../../core/protocol/organisation-resources.ts';
import { secretText } from '../../core/webhooks/signature.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { ORGANISATIONS } from '../../operator/organisation/controller.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { issueKey } from '../support/issue-key.ts';
import { openContext, ORGANISATION, reasonOf, until, type OperatorContext, type Scan } from './context.ts';
import { getIfThere, isGone } from './simulated-scan.ts';

const MERGE = 'application/merge-patch+json';

describe('operator: Organisation resources', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  /** Organisations are cluster-scoped: a class of its own keeps the operators of other tests away. */
  let operatorClass: string;
  let created: string[];
  beforeEach(async () => {
    context = await openContext();
    operatorClass = `orgs-${randomUUID().slice(0, 8)}`;
    created = [];
  });
  afterEach(async () => {
    await context.rest();
    for (const name of created) {
      // Without a running operator, the finalizer would keep it.
      for (const request of [patch(name, { metadata: { finalizers: null } }), remove(name)])
        await request.catch((error: unknown) => {
          if (!isGone(error)) throw error;
        });
    }
    await context.close();
  });

  const pathOf = (name: string) => context.connection.path(ORGANISATIONS, undefined, name);
  const start = (settings: Parameters<OperatorContext['start']>[0] = {}, overrides?: Parameters<OperatorContext['start']>[1]) =>
    context.start({ operatorClass, organisationsEveryMs: 100, ...settings }, overrides);
  const named = (): string => `acme-${randomUUID().slice(0, 8)}`;

  async function apply(name: string, spec: Partial<OrganisationSpec> = {}): Promise<OrganisationResource> {
    const body = { apiVersion: 'curbcut.dev/v1', kind: 'Organisation', metadata: { name }, spec: { class: operatorClass, ...spec } };
    created.push(name);
    return context.connection.request('POST', context.connection.path(ORGANISATIONS), { body });
  }
  const patch = (name: string, body: object) =>
    context.connection.request<OrganisationResource>('PATCH', pathOf(name), { contentType: MERGE, body });
  const remove = (name: string) => context.connection.request('DELETE', pathOf(name));
  const read = (name: string) => getIfThere<OrganisationResource>(context.connection, ORGANISATIONS, undefined, name);
  const isReady = (resource: OrganisationResource | null) => conditionOf(resource?.status?.conditions, 'Ready');

  /** Waits until the status describes the current spec and satisfies a condition. */
  const reaches = (name: string, what: string, holds: (resource: OrganisationResource) => boolean) =>
    until(`${name} ${what}`, async () => {
      const resource = await read(name);
      const isCurrent = resource !== null && resource.status?.observedGeneration === resource.metadata.generation;
      return isCurrent && holds(resource) ? resource : null;
    });
  const becomes = (name: string, reason: string) => reaches(name, `becomes ${reason}`, (resource) => isReady(resource)?.reason === reason);
  const isRemoved = (name: string) => until(`${name} is removed`, async () => (await read(name)) === null);

  const applyScan = (spec: Partial<AccessibilityScanSpec> = {}): Promise<Scan> =>
    context.apply(context.strangers, { class: operatorClass, ...spec });
  const audit = async (name: string) =>
    (await context.stores.organisations.audit(name, 50)).toReversed().map(({ actor, action, subject }) => `${actor} ${action} ${subject}`);

  it('create organisations with credits and namespaces, whose manifests are charged to them', async () => {
    start();
    const name = named();
    await apply(name, {
      displayName: 'Acme',
      plan: 'team',
      creditGrants: [{ id: 'order-1', pages: 100 }],
      namespaces: [context.strangers],
    });
    const { status } = await becomes(name, 'Applied');
    expect(status).to.deep.include({ balance: 100, held: 0, spent: 0, granted: 100, liveScans: 0, namespaces: [context.strangers] });
    expect(status?.conditions?.map((one) => `${one.type} ${one.status}`)).to.deep.equal([
      'Ready True',
      'Reconciling False',
      'Stalled False',
    ]);
    expect(await context.stores.organisations.find(name)).to.deep.include({
      displayName: 'Acme',
      plan: 'team',
      blocked: false,
      managedBy: 'manifest',
      namespaces: [context.strangers],
    });
    const scan = await applyScan({ maxPages: 4 });
    await scan.pod();
    expect((await scan.read())?.status?.organisation).to.equal(name);
    await reaches(name, 'shows the hold', (resource) => resource.status?.held === 4 && resource.status.balance === 96);
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
    await reaches(name, 'shows the refund', (resource) => resource.status?.liveScans === 0 && resource.status.balance === 100);
    expect(await audit(name)).to.deep.equal([
      `manifest organisation.add ${name}`,
      'manifest organisation.grant order-1: 100 pages',
      `manifest organisation.namespaces ${context.strangers}`,
    ]);
  });

  it('grant each ID once, ever: also after a removal from the list, a new resource and with two leaders', async () => {
    start();
    const name = named();
    const creditGrants = [
      { id: 'first', pages: 100 },
      { id: 'second', pages: 10 },
    ];
    await apply(name, { creditGrants });
    await reaches(name, 'has its credits', ({ status }) => status?.granted === 110);
    await patch(name, { spec: { creditGrants: [{ id: 'first', pages: 100 }] } });
    await becomes(name, 'Applied');
    await patch(name, { spec: { creditGrants } });
    await becomes(name, 'Applied');
    await remove(name);
    await isRemoved(name);
    // Two operators that both lead, as for a moment after a lost lease.
    start({ namespace: context.strangers });
    await apply(name, { creditGrants: [...creditGrants, { id: 'third', pages: 1 }] });
    await reaches(name, 'has the third grant', ({ status }) => status?.granted === 111);
    const { balance, granted } = await context.stores.credits.balance(name);
    expect([balance, granted]).to.deep.equal([111, 111]);
    expect((await audit(name)).filter((line) => line.includes('organisation.grant'))).to.have.lengthOf(3);
  });

  it('block an organisation at once: its key, its scans, and until it is unblocked', async () => {
    start();
    const name = named();
    await apply(name, { creditGrants: [{ id: 'first', pages: 100 }], namespaces: [context.strangers] });
    await becomes(name, 'Applied');
    const { key, secret } = await issueKey(context.stores.keys, name);
    await patch(name, { spec: { blocked: true } });
    await becomes(name, 'Blocked');
    expect((await context.stores.keys.recognise(secret))?.organisation.blocked).to.equal(true);
    expect([...(await context.stores.keys.usable([key.id]))], 'an event stream ends').to.deep.equal([]);
    expect((await context.stores.organisations.findByNamespace(context.strangers))?.blocked).to.equal(true);
    const scan = await applyScan();
    expect(reasonOf(await scan.settles(), 'Succeeded')).to.equal('OrganisationBlocked');
    await patch(name, { spec: { blocked: false } });
    await becomes(name, 'Applied');
    expect((await context.stores.keys.recognise(secret))?.organisation.blocked).to.equal(false);
    expect((await audit(name)).slice(-2)).to.deep.equal([`manifest organisation.block ${name}`, `manifest organisation.unblock ${name}`]);
  });

  it('leave out a namespace that another organisation has, name it, and take it when it is released', async () => {
    start();
    const [first, second] = [named(), named()];
    await apply(first, { namespaces: [context.strangers] });
    await becomes(first, 'Applied');
    await apply(second, { namespaces: [context.strangers, context.team, 'curbcut-free'], creditGrants: [{ id: 'one', pages: 5 }] });
    const taken = await becomes(second, 'NamespaceTaken');
    expect(isReady(taken)).to.include({ status: 'False' });
    expect(isReady(taken)?.message).to.include(`namespace ${context.strangers} to organisation ${first}`);
    expect(isReady(taken)?.message).to.include(`namespace ${context.team} to organisation ${ORGANISATION}`);
    expect(conditionOf(taken.status?.conditions, 'Stalled')?.status).to.equal('True');
    expect(taken.status).to.deep.include({ granted: 5, namespaces: ['curbcut-free'] });
    await patch(first, { spec: { namespaces: [] } });
    await reaches(second, 'has the first', ({ status }) => status?.namespaces?.includes(context.strangers) === true);
    await context.stores.organisations.setNamespaces(ORGANISATION, []);
    const unwatched = await becomes(second, 'NamespaceNotWatched');
    expect(unwatched.status?.namespaces).to.have.members(['curbcut-free', context.strangers, context.team]);
    expect(isReady(unwatched)?.message).to.match(/^The operator does not run the scans of namespace curbcut-free; scans\.extraNamespaces/);
    await patch(second, { spec: { namespaces: [context.strangers, context.team] } });
    await becomes(second, 'Applied');
  });

  it('change nothing while curbcut-admin manages the organisation, and take over after the hand-over', async () => {
    start();
    const name = named();
    const { organisations } = context.stores;
    await organisations.add({ id: name, displayName: 'By hand', plan: 'team', namespaces: [] });
    await apply(name, { blocked: true, creditGrants: [{ id: 'first', pages: 100 }] });
    const refused = await becomes(name, 'ManagedByAdmin');
    expect(isReady(refused)?.message).to.include(`curbcut-admin organisation hand-over ${name} --to manifest`);
    expect(await organisations.find(name)).to.include({ displayName: 'By hand', blocked: false });
    expect((await context.stores.credits.balance(name)).granted).to.equal(0);
    await organisations.handOver(name, 'manifest');
    await becomes(name, 'Blocked');
    expect(await organisations.find(name)).to.include({ displayName: name, plan: 'standard', blocked: true });
    expect(await organisations.setBlocked(name, false)).to.deep.equal({ ok: false, reason: 'managed_by_manifest' });
    expect((await context.stores.credits.balance(name)).granted).to.equal(100);

    await organisations.handOver(name, 'admin');
    await becomes(name, 'ManagedByAdmin');
    expect(await organisations.setBlocked(name, false)).to.deep.equal({ ok: true });
    await remove(name);
    await isRemoved(name);
    expect(await organisations.find(name)).to.include({ blocked: false, managedBy: 'admin', deletedAt: null });
  });

  it('wait with their deletion for live scans, then release the namespaces and keep the ledger', async () => {
    start();
    const name = named();
    const spec = { creditGrants: [{ id: 'first', pages: 100 }], namespaces: [context.strangers] };
    await apply(name, spec);
    await becomes(name, 'Applied');
    const scan = await applyScan({ maxPages: 4 });
    await scan.pod();
    await remove(name);
    const waiting = await becomes(name, 'ScansLive');
    expect(isReady(waiting)?.message).to.include('1 scan is live');
    const late = await (await applyScan()).settles();
    expect(reasonOf(late, 'Succeeded')).to.equal('OrganisationBlocked');
    expect(late.status?.message).to.include(`Apply the Organisation manifest ${name} again`);
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
    await isRemoved(name);
    const deleted = (await context.stores.organisations.find(name))!;
    expect(deleted).to.deep.include({ blocked: true, managedBy: 'manifest', namespaces: [] });
    expect(deleted.deletedAt).to.be.instanceOf(Date);
    expect(await context.stores.credits.balance(name)).to.deep.equal({ balance: 100, granted: 100, held: 0, spent: 0 });
    const stranger = await (await applyScan()).settles();
    expect(reasonOf(stranger, 'Succeeded')).to.equal('NoOrganisation');
    expect(stranger.status?.message).to.match(/an Organisation \(spec\.namespaces\).*curbcut-admin organisation namespaces/);

    await apply(name, spec);
    const again = await becomes(name, 'Applied');
    expect(again.status).to.deep.include({ granted: 100, namespaces: [context.strangers] });
    expect(await context.stores.organisations.find(name)).to.deep.include({ blocked: false, deletedAt: null });
    expect(await audit(name)).to.include.members([`manifest organisation.delete ${name}`, `manifest organisation.restore ${name}`]);
  });

  it('are left alone by operators of another class', async () => {
    const name = named();
    const before = await apply(name, { class: `${operatorClass}-b` });
    const ours = named();
    await apply(ours);
    start();
    await becomes(ours, 'Applied');
    expect(await read(name)).to.deep.equal(before);
    expect(await context.stores.organisations.find(name)).to.equal(null);
  });

  it('are refused at apply time with a clear message if a value is wrong', async () => {
    const refusal = (request: Promise<unknown>) => request.then(() => 'accepted', (error: unknown) => String(error)); // prettier-ignore
    const suffix = randomUUID().slice(0, 8);
    expect(await refusal(apply(`with.dot-${suffix}`))).to.match(/must be a DNS label of at most 63 characters/);
    expect(await refusal(apply(`a${'b'.repeat(55)}-${suffix}`))).to.match(/must be a DNS label of at most 63 characters/);
    expect(await refusal(apply('anonymous'))).to.match(/must not be anonymous/);
    const name = named();
    const twice = [
      { id: 'one', pages: 1 },
      { id: 'one', pages: 2 },
    ];
    expect(await refusal(apply(name, { creditGrants: twice }))).to.match(/Duplicate value/);
    expect(await refusal(apply(name, { creditGrants: [{ id: 'one', pages: 0 }] }))).to.match(/greater than or equal to 1/);
    expect(await refusal(apply(name, { namespaces: ['Not_A_Namespace'] }))).to.match(/namespaces\[0\]/);
    await apply(name, { creditGrants: [{ id: 'one', pages: 1 }] });
    expect(await refusal(patch(name, { spec: { creditGrants: [{ id: 'one', pages: 2 }] } }))).to.match(/add a grant with another id/);
    expect(await refusal(patch(name, { spec: { class: 'other' } }))).to.match(/class cannot be changed/);
    expect(await refusal(patch(name, { spec: { creditGrants: [] } }))).to.equal('accepted');
  });

  it('wait while MongoDB does not answer, also with their deletion, and say so', async () => {
    const down = { is: false };
    const { organisations } = context.stores;
    const findApplied: typeof organisations.findApplied = async (...wanted) => {
      if (down.is) throw new Error('the database does not answer');
      return organisations.findApplied(...wanted);
    };
    start({}, { stores: { ...context.stores, organisations: { ...organisations, findApplied } } });
    const [name, late] = [named(), named()];
    await apply(name);
    await becomes(name, 'Applied');
    down.is = true;
    await apply(late);
    const waiting = await becomes(late, 'StoreUnavailable');
    expect(isReady(waiting)).to.include({ status: 'Unknown', message: 'The changes wait until the database answers.' });
    await remove(name);
    const kept = await becomes(name, 'StoreUnavailable');
    expect(isReady(kept)?.message).to.equal('The deletion waits until the database answers.');
    down.is = false;
    await isRemoved(name);
    await becomes(late, 'Applied');
  });

  it('have no effect while the operator may not list them, and everything else works', async () => {
    const { connection: whole } = context;
    const permitted = { is: false };
    const connection: typeof whole = {
      ...whole,
      path: whole.path.bind(whole),
      async request<T>(...[method, path, options]: Parameters<typeof whole.request>): Promise<T> {
        if (path === whole.path(ORGANISATIONS) && !permitted.is) throw new KubernetesError(403, 'Forbidden', 'organisations is forbidden');
        return whole.request<T>(method, path, options);
      },
    };
    const metrics = createOperatorMetrics();
    const readable = async () => /^curbcut_organisations_readable (\d)$/m.exec(await metrics.registry.metrics())?.[1];
    const condition = async () => conditionOf((await context.queue())?.status?.conditions, 'OrganisationsReadable');
    await context.grant(10);
    const name = named();
    await apply(name);
    const operator = start({}, { connection, metrics });
    const scan = await context.apply(context.team, { class: operatorClass });
    await scan.pod();
    const refused = await until('the queue says so', async () => ((await condition())?.status === 'False' ? condition() : null));
    expect(refused?.message).to.match(/organisations is forbidden.*rbac\.organisations/);
    expect(await readable()).to.equal('0');
    expect(operator.lines.filter(({ message }) => message.startsWith('cannot read Organisations'))).to.have.length(1);
    expect((await read(name))?.status).to.deep.equal({ observedGeneration: -1 });
    permitted.is = true;
    await becomes(name, 'Applied');
    await until('the queue says so', async () => (await condition())?.status === 'True');
    expect(await readable()).to.equal('1');
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
  });

  it('send few commands to MongoDB at rest, whatever their number', async () => {
    const names = Array.from({ length: 30 }, named);
    // Without grants, which the ledger would relay in the background.
    for (const name of names) await apply(name);
    start({ organisationsEveryMs: 600_000 });
    for (const name of names) await becomes(name, 'Applied');
    await context.rest();
    // A new leader reads all of them together, writes nothing, and then only looks for changes.
    const before = await Promise.all(names.map(read));
    context.commands.length = 0;
    start({ organisationsEveryMs: 200 });
    const reads = () => context.commands.filter((command) => command === 'find organisations').length;
    await until('some intervals are over', async () => reads() > 10);
    const sent = context.commands.filter((command) => /organisations|accounts|webhooks$/.test(command));
    expect([...new Set(sent)]).to.have.members(['find organisations', 'find accounts', 'find webhooks']);
    // Per interval: the organisations, their accounts and webhooks. At the start also the grants.
    expect(sent.length).to.be.below(reads() * 4 + 20);
    expect(await Promise.all(names.map(read))).to.deep.equal(before);
  });

  it('declare webhooks with mounted secrets, replace and delete them, and say which secret is missing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-webhooks-'));
    try {
      const [first, second] = [1, 2].map((fill) => secretText(Buffer.alloc(32, fill)));
      await mkdir(join(folder, 'hooks'));
      await writeFile(join(folder, 'hooks', 'chat'), `${first}\n`);
      start({ webhookSecrets: folder });
      const name = named();
      const chat = {
        name: 'chat',
        url: 'https://example.com/a',
        events: ['scan.failed' as const],
        secretRef: { name: 'hooks', key: 'chat' },
      };
      const mail = { ...chat, name: 'mail', secretRef: { name: 'hooks', key: 'mail' } };
      await apply(name, { webhooks: [chat, mail] });
      const missing = await becomes(name, 'WebhookNotApplied');
      expect(isReady(missing)!.message).to.equal(
        'Not applied: webhook mail: the Secret hooks has no key mail, or is not in webhooks.secrets of the chart. Everything else is in effect.',
      );
      const { webhooks } = context.stores;
      const list = async () => (await webhooks.list(name)).map((one) => [one.name, one.managedBy, one.format, one.creditsBelow]);
      expect(await list()).to.deep.equal([['chat', 'manifest', 'json', 100]]);
      const { id } = (await webhooks.list(name))[0]!;
      const { disabled } = (await webhooks.stop(id, 'failing'), (await webhooks.find(name, id))!);
      expect(disabled).to.include({ reason: 'failing' });
      await writeFile(join(folder, 'hooks', 'mail'), 'not a secret');
      await until('the reason is new', async () => /is not whsec_/.test(isReady(await read(name))?.message ?? ''));
      await writeFile(join(folder, 'hooks', 'mail'), first!);
      await becomes(name, 'Applied');
      // A new secret enables one that was stopped.
      await writeFile(join(folder, 'hooks', 'chat'), second!);
      await until('the secret is replaced', async () => (await webhooks.sendable(id))!.secrets.length === 2);
      expect(await webhooks.sendable(id)).to.deep.include({ secrets: [second, first], disabled: null });
      await patch(name, { spec: { webhooks: [{ ...chat, format: 'slack' }] } });
      await until('the other one is deleted', async () => (await list()).length === 1);
      expect(await list()).to.deep.equal([['chat', 'manifest', 'slack', 100]]);
      await remove(name);
      await isRemoved(name);
      expect(await list()).to.deep.equal([]);
      const recorded = (await audit(name)).filter((entry) => entry.includes(' webhook.')).map((entry) => entry.replace(/ \(.*/, ''));
      expect(recorded).to.have.members([
        'manifest webhook.add chat',
        'manifest webhook.add mail',
        'manifest webhook.change chat',
        'manifest webhook.change chat',
        'manifest webhook.delete mail',
        'manifest webhook.delete chat',
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
