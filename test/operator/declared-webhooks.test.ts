/** The webhooks of an Organisation manifest when a write fails, a Secret cannot be read, or another writer is faster. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { DeclaredWebhookSpec, OrganisationResource, OrganisationStatus } from '../../core/protocol/organisation-resources.ts';
import { ORGANISATION_FINALIZER } from '../../core/protocol/organisation-resources.ts';
import { secretText } from '../../core/webhooks/signature.ts';
import { readDeclaredWebhooks, withoutWebhooks } from '../../operator/organisation/declared-webhooks.ts';
import type { OrganisationWrites } from '../../operator/organisation/changes.ts';
import { reconcileOrganisation, type OrganisationFacts } from '../../operator/organisation/reconcile.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { useDatabase } from '../stores/database.ts';
import { contextOf } from '../support/operator-context.ts';

const ID = 'acme';
const CHAT: DeclaredWebhookSpec = {
  name: 'chat',
  url: 'https://example.com/chat',
  events: ['scan.failed'],
  secretRef: { name: 'hooks', key: 'chat' },
};
const MAIL: DeclaredWebhookSpec = { ...CHAT, name: 'mail', url: 'https://example.com/mail', secretRef: { name: 'hooks', key: 'mail' } };
const signal = new AbortController().signal;

describe('declared webhooks', () => {
  const database = useDatabase();
  let stores: AllStores;
  let folder: string;
  let generation: number;
  beforeEach(async () => {
    for (const name of ['organisations', 'webhooks', 'outbox']) await database.db.collection(name).deleteMany({});
    stores = openStores(database.db);
    folder = await mkdtemp(join(tmpdir(), 'curbcut-webhooks-'));
    await mkdir(join(folder, 'hooks'));
    for (const [at, key] of ['chat', 'mail'].entries()) await writeFile(join(folder, 'hooks', key), secretText(Buffer.alloc(32, at + 1)));
    generation = 0;
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** The next version of the resource. */
  const resourceOf = (webhooks: DeclaredWebhookSpec[]): OrganisationResource => {
    const creationTimestamp = '2026-03-02T10:00:00Z';
    const metadata = { name: ID, uid: 'u1', creationTimestamp, generation: (generation += 1), finalizers: [ORGANISATION_FINALIZER] };
    return { apiVersion: 'curbcut.dev/v1', kind: 'Organisation', metadata, spec: { webhooks } } as OrganisationResource;
  };
  async function factsOf(resource: OrganisationResource): Promise<OrganisationFacts> {
    const webhooks = await readDeclaredWebhooks(resource, folder);
    const [organisation = null] = await stores.organisations.findApplied([ID], []);
    const account = (await stores.credits.accounts([ID])).get(ID) ?? null;
    const record = {
      organisation,
      account,
      granted: new Set<string>(),
      owners: new Map<string, string>(),
      webhooks: (await stores.webhooks.applied([ID])).get(ID) ?? [],
    };
    return { resource, record, webhooks, watchNamespaces: [], statusAt: null, everyMs: 0, now: new Date() };
  }
  /** Reconciles once. @returns the condition `Ready` of the status, if it is written */
  async function reconcile(resource: OrganisationResource, used: AllStores = stores) {
    const written: OrganisationStatus[] = [];
    const client = {
      patchStatus: (object: OrganisationResource, status: object) => Promise.resolve((written.push(status), object)),
      patchMetadata: () => Promise.reject(new Error('unexpected')),
    };
    const nothing = () => undefined;
    const hooks = { onChange: nothing, onClaim: nothing, onStatus: nothing };
    const writes = { context: contextOf({ stores: used }), client, ...hooks } as unknown as OrganisationWrites;
    await reconcileOrganisation(await factsOf(resource), writes, signal);
    return written[0]?.conditions!.find(({ type }) => type === 'Ready');
  }
  /** Reconciles until the status is written. @returns its condition `Ready` */
  async function apply(resource: OrganisationResource) {
    for (;;) {
      const ready = await reconcile(resource);
      if (ready !== undefined) return ready;
    }
  }
  const names = async () => (await stores.webhooks.list(ID)).map(({ name }) => name);

  it('are removed after a removal of the last one has failed, also when the organisation is deleted then', async () => {
    await apply(resourceOf([CHAT]));
    expect(await names()).to.deep.equal(['chat']);
    const down = { ...stores, webhooks: { ...stores.webhooks, declare: () => Promise.reject(new Error('down')) } };
    const none = resourceOf([]);
    await reconcile(none, down).then(
      () => expect.fail('it did not fail'),
      ({ message }: Error) => expect(message).to.equal('down'),
    );
    const deleted = { ...none, metadata: { ...none.metadata, deletionTimestamp: '2026-03-02T11:00:00Z' } };
    await stores.organisations.closeOrganisation(ID, { uid: 'u1', createdAt: new Date('2026-03-02T10:00:00Z'), generation });
    const declared: unknown[] = [];
    const declare: AllStores['webhooks']['declare'] = (...parameters) => Promise.resolve((declared.push(parameters.slice(0, 2)), []));
    await reconcile(deleted, { ...stores, webhooks: { ...stores.webhooks, declare } });
    expect(declared).to.deep.equal([[ID, []]]);
    expect((await apply(none)).reason).to.equal('Applied');
    expect(await names()).to.deep.equal([]);
  });

  it('stay, with what waits for delivery, while their Secret cannot be read, and go with their entry', async () => {
    await apply(resourceOf([CHAT, MAIL]));
    const mail = (await stores.webhooks.list(ID)).find(({ name }) => name === 'mail')!;
    const waiting = { webhook: mail.id, organisation: ID, event: 'e', type: 'scan.failed', scan: null, order: 0, body: '{}' } as const;
    const [stored] = await stores.deliveries.enqueue([waiting]);
    await rm(join(folder, 'hooks', 'mail'));
    expect(await apply(resourceOf([CHAT, MAIL]))).to.include({ status: 'False', reason: 'WebhookNotApplied' });
    expect(await names()).to.have.members(['chat', 'mail']);
    expect((await stores.deliveries.find(ID, mail.id, stored!.id))!.state).to.equal('waiting');
    await apply(resourceOf([CHAT]));
    expect(await names()).to.deep.equal(['chat']);
    expect((await stores.deliveries.find(ID, mail.id, stored!.id))!.state).to.equal('canceled');
  });

  it('get a new secret beside the old one, which enables one that was stopped, and each change is in the audit log', async () => {
    await apply(resourceOf([CHAT]));
    const { id } = (await stores.webhooks.list(ID))[0]!;
    await stores.webhooks.stop(id, 'failing');
    const secrets = [3, 1].map((fill) => secretText(Buffer.alloc(32, fill)));
    await writeFile(join(folder, 'hooks', 'chat'), secrets[0]!);
    await apply(resourceOf([CHAT]));
    expect(await stores.webhooks.sendable(id)).to.deep.include({ secrets, disabled: null });
    await writeFile(join(folder, 'hooks', 'mail'), 'not a secret');
    expect((await apply(resourceOf([MAIL]))).message).to.match(/webhook mail: .*is not whsec_/);
    const recorded = (await stores.organisations.audit(ID, 10)).filter(({ action }) => action.startsWith('webhook.'));
    expect(recorded.slice(0, 3).map(({ actor, action }) => `${actor} ${action}`)).to.deep.equal([
      'manifest webhook.delete',
      'manifest webhook.change',
      'manifest webhook.add',
    ]);
  });

  it('need an address that parses, which no message shows', async () => {
    const { message, reason } = await apply(resourceOf([CHAT, { ...MAIL, url: 'https://h:99999/token' }]));
    expect(reason).to.equal('WebhookNotApplied');
    expect(message).to.equal('Not applied: webhook mail: its url is not a URL. Everything else is in effect.');
    expect(await names()).to.deep.equal(['chat']);
  });

  it('are not applied while webhooks are off, and stay as they are', async () => {
    await apply(resourceOf([CHAT]));
    const { kept, problems } = withoutWebhooks(resourceOf([CHAT, MAIL]));
    expect(kept).to.deep.equal(['chat', 'mail']);
    expect(problems).to.have.length(1);
    expect(withoutWebhooks(resourceOf([])).problems).to.deep.equal([]);
  });

  it('lose nothing to a late write of an older version, though its writer dies then', async () => {
    const old = resourceOf([CHAT, { ...CHAT, name: 'third' }]);
    await apply(resourceOf([]));
    const newest = resourceOf([{ ...CHAT, url: 'https://example.com/new' }, MAIL]);
    // The write of a former leader, before which the newest version is applied. Nobody looks at it afterwards.
    await database.db.collection('organisations').updateOne({ _id: ID as never }, { $set: { 'manifest.generation': 1 } });
    const late = { ...stores, webhooks: { ...stores.webhooks, declare: afterwards(() => apply(newest)) } };
    await reconcile(old, late);
    expect(await names()).to.have.members(['chat', 'mail', 'third']);
    expect((await stores.webhooks.list(ID)).find(({ name }) => name === 'chat')!.url).to.equal('https://example.com/new');
    // What it has added goes when the records are read again.
    expect((await apply(newest)).reason).to.equal('Applied');
    expect(await names()).to.have.members(['chat', 'mail']);
  });

  it('that a late write declares after a hand-over are deleted, though its writer dies then', async () => {
    const resource = resourceOf([CHAT]);
    await apply(resourceOf([]));
    await database.db.collection('organisations').updateOne({ _id: ID as never }, { $set: { 'manifest.generation': 1 } });
    const handOver = async () => {
      await stores.organisations.handOver(ID, 'admin');
      await stores.webhooks.declare(ID, []);
    };
    const late = { ...stores, webhooks: { ...stores.webhooks, declare: afterwards(handOver) } };
    await reconcile(resource, late);
    expect(await names()).to.deep.equal(['chat']);
    expect((await apply(resource)).reason).to.equal('ManagedByAdmin');
    expect(await names()).to.deep.equal([]);
  });

  /** `declare`, whose first call comes after what another writer does. */
  function afterwards(other: () => Promise<unknown>): AllStores['webhooks']['declare'] {
    let first = true;
    return async (...parameters) => {
      if (first) await other();
      first = false;
      return stores.webhooks.declare(...parameters);
    };
  }
});
