import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { AccessibilityScanSpec } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource, OrganisationSpec } from '../../core/protocol/organisation-resources.ts';
import { ORGANISATIONS } from '../../operator/organisation/controller.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { openContext, reasonOf, until, type OperatorContext, type Scan } from './context.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
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

  it('charge their manifests, end with what acts for them, and are of no other object of the name until they are restored', async () => {
    start();
    const name = named();
    const spec = { creditGrants: [{ id: 'first', pages: 100 }], namespaces: [context.strangers] };
    await apply(name, spec);
    await becomes(name, 'Applied');
    const { stores } = context;
    const { secret } = await issueKey(stores.keys, name);
    const { webhook } = await addWebhook(stores, { organisation: name });
    const email = `guest@${name}.example`;
    await stores.invitations.create({ organisation: name, email, role: 'viewer', createdBy: 'ann@people.example', mailed: true });
    // A request is accepting it.
    await stores.invitations.claim(email, `${name}/${email}`);
    await stores.dashboardSchedules.add({
      namespace: context.namespace,
      name: `${name}-daily`,
      organisation: name,
      createdAt: new Date(),
      values: '',
    });
    const scan = await applyScan({ maxPages: 4 });
    await scan.pod();
    await reaches(name, 'shows the hold', (resource) => resource.status?.held === 4 && resource.status.balance === 96);
    await remove(name);
    expect(reasonOf(await scan.settles(), 'Succeeded'), 'the live scan').to.equal('Canceled');
    await isRemoved(name);
    const deleted = (await stores.organisations.find(name))!;
    expect(deleted).to.deep.include({ blocked: true, managedBy: 'manifest', namespaces: [] });
    expect(deleted.deletedAt).to.be.instanceOf(Date);
    expect(await stores.credits.balance(name)).to.deep.equal({ balance: 100, granted: 100, held: 0, spent: 0 });
    const access = async () => [
      await stores.keys.recognise(secret),
      (await stores.webhooks.find(name, webhook.id))!.disabled?.reason,
      await stores.dashboardSchedules.list(name),
    ];
    expect(await access()).to.deep.equal([null, 'requested', []]);
    const stranger = await (await applyScan()).settles();
    expect(reasonOf(stranger, 'Succeeded')).to.equal('NoOrganisation');
    expect(stranger.status?.message).to.match(/an Organisation \(spec\.namespaces\).*curbcut-admin organisation namespaces/);

    await apply(name, { ...spec, displayName: 'Another team' });
    await becomes(name, 'NameInUse');
    expect(await stores.organisations.find(name)).to.deep.include({ displayName: deleted.displayName, blocked: true, namespaces: [] });
    await stores.organisations.restore(name);
    const again = await becomes(name, 'Applied');
    expect(again.status).to.deep.include({ granted: 100, namespaces: [context.strangers] });
    expect(await access(), 'does not come back').to.deep.equal([null, 'requested', []]);
    expect(await audit(name)).to.include.members([
      `manifest organisation.delete ${name}`,
      `manifest webhook.disable ${webhook.name} (${webhook.id})`,
      `manifest schedule.delete ${name}-daily`,
      `manifest user.invite-cancel ${email}`,
    ]);
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
});
