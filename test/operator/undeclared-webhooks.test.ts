/** Webhooks of an Organisation manifest that are not declared: the operator died before, or webhooks are off. */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { secretText } from '../../core/webhooks/signature.ts';
import { ORGANISATIONS } from '../../operator/organisation/controller.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import type { AllStores } from '../../stores/stores.ts';
import { scanRow } from '../support/scan-rows.ts';
import { startReceiver, type Receiver } from '../support/webhook-receiver.ts';
import { ORGANISATION, until, useContext } from './context.ts';
import { getIfThere } from './simulated-scan.ts';

const MERGE = 'application/merge-patch+json';

describe('operator: webhooks that are not declared', function () {
  this.timeout(240_000);
  const context = useContext();
  const operatorClass = `late-${randomUUID().slice(0, 8)}`;
  const name = `late-${randomUUID().slice(0, 8)}`;
  let receiver: Receiver;
  let folder: string;
  beforeEach(async () => {
    receiver = await startReceiver();
    folder = await mkdtemp(join(tmpdir(), 'curbcut-webhooks-'));
    await mkdir(join(folder, 'hooks'));
    await writeFile(join(folder, 'hooks', 'secret'), secretText(Buffer.alloc(32, 1)));
  });
  afterEach(async () => {
    await context.rest();
    await request('PATCH', pathOf(), { metadata: { finalizers: null } });
    await request('DELETE', pathOf());
    for (const { id } of await context.stores.webhooks.list(ORGANISATION)) await context.stores.webhooks.remove(ORGANISATION, id);
    await receiver.close();
    await rm(folder, { recursive: true });
  });

  const pathOf = () => context.connection.path(ORGANISATIONS, undefined, name);
  const request = (method: 'PATCH' | 'DELETE', path: string, body?: object) =>
    context.connection.request(method, path, { contentType: MERGE, body });
  const settings = () => ({
    operatorClass,
    organisationsEveryMs: 100,
    webhookSecrets: folder,
  });
  async function apply(webhooks: object[] = []): Promise<void> {
    const manifest = { apiVersion: 'curbcut.dev/v1', kind: 'Organisation', metadata: { name }, spec: { class: operatorClass, webhooks } };
    await context.connection.request('POST', context.connection.path(ORGANISATIONS), { body: manifest });
  }
  const declared = () => ({ name: 'late', url: `${receiver.url}/late`, events: ['scan.completed'], secretRef: { name: 'hooks' } });
  /** Of an organisation without a manifest. */
  async function addOther(): Promise<void> {
    const fields = { name: 'other', url: `${receiver.url}/other`, events: ['scan.completed'], format: 'json', creditsBelow: 1 } as const;
    await context.stores.webhooks.add({ ...fields, organisation: ORGANISATION, createdBy: 'ada@example.com' });
  }
  /** An operator whose declarations of webhooks begin with `before`. */
  function start(before: () => Promise<void>, onLook: () => void = () => undefined) {
    const { webhooks, scans } = context.stores;
    const declare: AllStores['webhooks']['declare'] = async (...parameters) => {
      await before();
      return webhooks.declare(...parameters);
    };
    const unannounced: AllStores['scans']['unannounced'] = (...parameters) => {
      onLook();
      return scans.unannounced(...parameters);
    };
    const stores = { ...context.stores, webhooks: { ...webhooks, declare }, scans: { ...scans, unannounced } };
    context.startOutbox();
    return context.start(settings(), { stores });
  }
  async function endScan(organisation: string): Promise<string> {
    const row = scanRow({ id: randomUUID(), organisation, submission: 'accepted' });
    await context.stores.scans.create({ ...row, phase: 'queued' });
    await context.stores.scans.mirror(row.id, { phase: 'done', passed: true, finishedAt: new Date() });
    return row.id;
  }
  const scansAt = (path: string) =>
    receiver.received
      .filter((one) => one.path === path)
      .map(({ body }) => (JSON.parse(body) as { data: { scan_id: string } }).data.scan_id);

  it('get the scans that ended after the crash and before the declaration, and delay no other organisation', async () => {
    await addOther();
    await apply();
    let crashes = 0;
    const crash = () => {
      crashes += 1;
      return Promise.reject(new Error('simulated crash'));
    };
    const first = start(crash);
    await until('the organisation is there', () => context.stores.organisations.find(name));
    await request('PATCH', pathOf(), { spec: { webhooks: [declared()] } });
    await until('it dies before the declaration', () => crashes > 0);
    await first.stop();
    expect(await context.stores.webhooks.list(name)).to.deep.equal([]);

    const [late, other] = [await endScan(name), await endScan(ORGANISATION)];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let looks = 0;
    start(
      () => released,
      () => (looks += 1),
    );
    await until('the other one got its event', () => scansAt('/other').length === 1);
    await until('events were queued again', () => looks > 3);
    expect(await context.stores.webhooks.list(name)).to.deep.equal([]);
    release();
    await until('the late one got its event', () => scansAt('/late').length === 1);
    expect([scansAt('/late'), scansAt('/other')]).to.deep.equal([[late], [other]]);
  });

  it('are not applied while webhooks are off, as their Organisation and the log say, and events are dropped', async () => {
    await addOther();
    await apply([declared()]);
    const off = context.start({ ...settings(), webhooks: false });
    const ready = async () =>
      conditionOf(
        (await getIfThere<OrganisationResource>(context.connection, ORGANISATIONS, undefined, name))?.status?.conditions,
        'Ready',
      );
    await until('the Organisation says so', async () => (await ready())?.reason === 'WebhookNotApplied');
    expect((await ready())!.message).to.equal(
      'Not applied: webhooks are off in this installation (webhooks.enabled of the chart). Everything else is in effect.',
    );
    expect(off.lines.map(({ message }) => message)).to.include('webhooks are off, events are dropped');
    await endScan(ORGANISATION);
    await until('its event is dropped', async () => (await context.stores.scans.unannounced(1)).length === 0);
    await off.stop();
    context.start(settings());
    context.startOutbox();
    await until('the webhook is declared', async () => (await context.stores.webhooks.list(name)).length === 1);
    const [late, other] = [await endScan(name), await endScan(ORGANISATION)];
    await until('both got their event', () => scansAt('/late').length + scansAt('/other').length === 2);
    expect([scansAt('/late'), scansAt('/other')]).to.deep.equal([[late], [other]]);
  });
});
