/**
 * Applies an Organisation resource to MongoDB and states the result: guard clauses in the order of their precedence. A change is
 * followed by `again`, so that each decision follows from a record that was read after the last change.
 */
import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_PLAN, type Organisation } from '../../core/organisation.ts';
import {
  ORGANISATION_FINALIZER,
  type OrganisationResource,
  type OrganisationSpec,
  type OrganisationStatus,
} from '../../core/protocol/organisation-resources.ts';
import type { ManifestVersion } from '../../stores/accounts/organisation-document.ts';
import type { AppliedWebhook } from '../../stores/webhooks/manifest-webhooks.ts';
import { watchesNamespace } from '../config.ts';
import { withConditions, type ConditionUpdate } from '../runtime/conditions.ts';
import type { Next } from '../runtime/controller.ts';
import { deleting, managedByAdmin, nameInUse, outdated, ready, storeUnavailable, type TakenNamespace } from './conditions.ts';
import { audit, endAccess, endScans, type Change, type OrganisationWrites } from './changes.ts';
import { areApplied, type DeclaredWebhooks } from './declared-webhooks.ts';
import type { OrganisationRecord } from './records.ts';

export interface OrganisationFacts {
  resource: OrganisationResource;
  /** Null if MongoDB did not answer. */
  record: OrganisationRecord | null;
  webhooks: DeclaredWebhooks;
  /** The namespaces that the operator watches; empty: all. */
  watchNamespaces: readonly string[];
  /** The time of this operator's last write of the status; null before the first. */
  statusAt: Date | null;
  /** The minimum time between two writes of a status in which only amounts have changed, in milliseconds. */
  everyMs: number;
  now: Date;
}

/** What the spec sets besides credits and namespaces. */
type AppliedSpec = Required<Pick<OrganisationSpec, 'displayName' | 'plan' | 'blocked'>>;

/** The delay before MongoDB is asked again after it did not answer. */
const STORE_RETRY_MS = 5_000;
/** The delay before a deleted organisation's live scans are counted again. */
const LIVE_SCANS_EVERY_MS = 2_000;

export async function reconcileOrganisation(facts: OrganisationFacts, to: OrganisationWrites, signal: AbortSignal): Promise<Next> {
  const { resource, record, webhooks } = facts;
  const { name: id, deletionTimestamp } = resource.metadata;
  const change = (...changes: Change[]) => carryOut(changes, to, resource, signal);
  const state = (updates: readonly ConditionUpdate[]) => writeStatus(facts, updates, to, signal);

  if (deletionTimestamp !== undefined) return reconcileDeletion(facts, to, signal);
  // First, so that the end of the resource is always noticed.
  if (!hasFinalizer(resource)) return change(addFinalizer);
  if (record === null) return outage(facts, to, signal);
  if (isAdmins(record)) {
    const isLate = ({ version }: AppliedWebhook) => version === null || !isNewer(version, versionOf(resource));
    // A late writer has declared them for an organisation that `curbcut-admin` manages.
    return record.webhooks.some(isLate) ? change(declare({ wanted: [], kept: [] })) : state(managedByAdmin(id));
  }
  if (isOthers(resource, record)) return state(nameInUse(id));
  if (isOutdated(resource, record)) return state(outdated(id));
  const changes = changesTo(resource, record, webhooks);
  if (changes.length > 0) return change(...changes);
  const unwatched = wantedOf(resource).filter((namespace) => !watchesNamespace(facts, namespace));
  return state(ready(resource, takenOf(resource, record), unwatched, webhooks.problems));
}

/**
 * The resource is being deleted: blocks the organisation, ends what acts for it, waits for its live scans, and gives its namespaces back.
 * Access is ended again at the end, because a request may have passed its checks before.
 */
async function reconcileDeletion(facts: OrganisationFacts, to: OrganisationWrites, signal: AbortSignal): Promise<Next> {
  const { resource, record } = facts;
  const change = (...changes: Change[]) => carryOut(changes, to, resource, signal);
  if (!hasFinalizer(resource)) return {};
  if (record === null) return outage(facts, to, signal);
  const { organisation, account } = record;
  // Nothing in MongoDB depends on this resource.
  if (organisation === null || isAdmins(record) || isOthers(resource, record) || isOutdated(resource, record))
    return change(removeFinalizer);
  if (organisation.deletedAt === null || !organisation.blocked) return change(close, endAccess, endScans);
  const live = account?.liveScans ?? 0;
  if (live > 0) {
    const next = await writeStatus(facts, deleting(live), to, signal, LIVE_SCANS_EVERY_MS);
    await endScans(to, resource, signal);
    return next;
  }
  if (organisation.namespaces.length > 0) return change(claim([]));
  if (record.webhooks.length > 0) return change(recordVersion, declare({ wanted: [], kept: [] }));
  return change(recordVersion, endAccess, endScans, removeFinalizer);
}

/** MongoDB does not answer. A resource for which there is nothing to do keeps its status, so that an outage causes few writes. */
async function outage(facts: OrganisationFacts, to: OrganisationWrites, signal: AbortSignal): Promise<Next> {
  const { metadata, status } = facts.resource;
  const deleted = metadata.deletionTimestamp !== undefined;
  if (!deleted && status?.observedGeneration === metadata.generation) return { requeueAfterMs: STORE_RETRY_MS };
  return writeStatus(facts, storeUnavailable(deleted), to, signal, STORE_RETRY_MS);
}

function changesTo(resource: OrganisationResource, record: OrganisationRecord, webhooks: DeclaredWebhooks): Change[] {
  const { organisation, account, granted } = record;
  const changes: Change[] = [];
  const spec = specOf(resource);
  const isApplied =
    organisation !== null &&
    organisation.deletedAt === null &&
    organisation.manifest?.uid === resource.metadata.uid &&
    isDeepStrictEqual({ displayName: organisation.displayName, plan: organisation.plan, blocked: organisation.blocked }, spec);
  if (!isApplied) changes.push(apply(spec));
  if (account === null) changes.push(openAccount);
  for (const { id, pages } of resource.spec.creditGrants ?? []) if (!granted.has(id)) changes.push(grant(id, pages));
  const namespaces = wantedOf(resource).filter((namespace) => !record.owners.has(namespace));
  if (!sameSet(namespaces, organisation?.namespaces ?? [])) changes.push(claim(namespaces));
  // If another writer is faster after the version is recorded, what this one adds is deleted when the records are read again.
  if (!areApplied(webhooks, record.webhooks, versionOf(resource))) changes.push(recordVersion, declare(webhooks));
  return changes;
}

async function carryOut(changes: Change[], to: OrganisationWrites, resource: OrganisationResource, signal: AbortSignal): Promise<Next> {
  for (const change of changes) {
    signal.throwIfAborted();
    try {
      if (!(await change(to, resource, signal))) break;
    } finally {
      to.onChange(resource.metadata.name);
    }
  }
  return 'again';
}

const addFinalizer: Change = ({ client }, resource, signal) => {
  const finalizers = [...(resource.metadata.finalizers ?? []), ORGANISATION_FINALIZER];
  return client.patchMetadata(resource, { finalizers }, signal).then(() => true);
};

const removeFinalizer: Change = ({ client }, resource, signal) => {
  const finalizers = (resource.metadata.finalizers ?? []).filter((name) => name !== ORGANISATION_FINALIZER);
  return client.patchMetadata(resource, { finalizers }, signal).then(() => true);
};

const apply =
  (spec: AppliedSpec): Change =>
  async (to, resource) => {
    const { name: id } = resource.metadata;
    const applied = await to.context.stores.organisations.applyManifest(id, versionOf(resource), spec);
    if (applied.ok) for (const [what, subject] of entriesOf(id, applied.before, spec)) await audit(to, id, what, subject);
    return applied.ok;
  };

const openAccount: Change = ({ context: { stores } }, { metadata }) => stores.credits.open(metadata.name).then(() => true);

const grant =
  (name: string, pages: number): Change =>
  async (to, { metadata: { name: id } }) => {
    if (await to.context.stores.credits.grant(id, name, pages)) await audit(to, id, 'organisation.grant', `${name}: ${pages} pages`);
    return true;
  };

const claim =
  (namespaces: string[]): Change =>
  async (to, resource) => {
    const { name: id } = resource.metadata;
    const claimed = await to.context.stores.organisations.claimNamespaces(id, versionOf(resource), namespaces);
    if (!claimed.ok) return false;
    await audit(to, id, 'organisation.namespaces', namespaces.join(', ') || 'none');
    to.onClaim();
    return true;
  };

const recordVersion: Change = async ({ context: { stores } }, resource) =>
  (await stores.organisations.recordVersion(resource.metadata.name, versionOf(resource))).ok;

/** Makes these the webhooks of the manifest. Those that are kept stay as they are. */
const declare =
  ({ wanted, kept }: Pick<DeclaredWebhooks, 'wanted' | 'kept'>): Change =>
  async (to, resource) => {
    const { name: id } = resource.metadata;
    for (const { change, webhook } of await to.context.stores.webhooks.declare(id, wanted, { kept, version: versionOf(resource) })) {
      if (change === 'delete') await to.context.stores.deliveries.cancelAll(webhook.id);
      await audit(to, id, `webhook.${change}`, `${webhook.name} (${webhook.id})`);
    }
    return true;
  };

const close: Change = async (to, resource) => {
  const { name: id } = resource.metadata;
  const closed = await to.context.stores.organisations.closeOrganisation(id, versionOf(resource));
  if (closed.ok) await audit(to, id, 'organisation.delete', id);
  return closed.ok;
};

/** The audit log entries of an applied spec, each as its action and subject. */
function entriesOf(id: string, before: Organisation | null, spec: AppliedSpec): [action: string, subject: string][] {
  if (before === null) return [['organisation.add', id], ...(spec.blocked ? blocking(id, true) : [])];
  const entries: [string, string][] = [];
  if (before.displayName !== spec.displayName) entries.push(['organisation.name', spec.displayName]);
  if (before.plan !== spec.plan) entries.push(['organisation.plan', spec.plan]);
  if (before.blocked !== spec.blocked) entries.push(...blocking(id, spec.blocked));
  return entries;
}

function blocking(id: string, blocked: boolean): [action: string, subject: string][] {
  return [[blocked ? 'organisation.block' : 'organisation.unblock', id]];
}

/** Writes the status if it has changed. Without a record it keeps the last amounts. */
async function writeStatus(
  { resource, record, statusAt, everyMs, now }: OrganisationFacts,
  updates: readonly ConditionUpdate[],
  { client, onStatus }: OrganisationWrites,
  signal: AbortSignal,
  wakeAfterMs?: number,
): Promise<Next> {
  const { observedGeneration: _generation, conditions: _conditions, ...last } = resource.status ?? {};
  const amounts = record === null ? last : amountsOf(record);
  const conditions = withConditions(resource, updates, now);
  const status: OrganisationStatus = { ...amounts, observedGeneration: resource.metadata.generation, conditions };
  const next = wakeAfterMs === undefined ? {} : { requeueAfterMs: wakeAfterMs };
  if (isDeepStrictEqual(status, resource.status)) return next;
  const onlyAmounts = isDeepStrictEqual({ ...status, ...last, namespaces: status.namespaces }, { ...resource.status });
  const left = onlyAmounts && statusAt !== null ? statusAt.getTime() + everyMs - now.getTime() : 0;
  if (left > 0) return { requeueAfterMs: Math.min(left, wakeAfterMs ?? left) };
  signal.throwIfAborted();
  await client.patchStatus(resource, status, signal);
  onStatus(resource.metadata.name, now);
  return next;
}

function amountsOf({ organisation, account }: OrganisationRecord): OrganisationStatus {
  const { balance = 0, held = 0, spent = 0, granted = 0, liveScans = 0 } = account ?? {};
  return { balance, held, spent, granted, liveScans, namespaces: (organisation?.namespaces ?? []).toSorted() };
}

/** The version of a resource, by which MongoDB orders it among earlier and later ones. */
function versionOf({ metadata }: OrganisationResource): ManifestVersion {
  return { uid: metadata.uid!, createdAt: new Date(metadata.creationTimestamp!), generation: metadata.generation ?? 1 };
}

/** Whether this version of the manifest has no webhooks to declare any more. Then each event finds those that it is for. */
export function hasDeclared({ resource, record, webhooks }: Pick<OrganisationFacts, 'resource' | 'record' | 'webhooks'>): boolean {
  if (record === null) return false;
  return (
    isAdmins(record) ||
    isOthers(resource, record) ||
    isOutdated(resource, record) ||
    areApplied(webhooks, record.webhooks, versionOf(resource))
  );
}

const isAdmins = ({ organisation }: OrganisationRecord): boolean => organisation?.managedBy === 'admin';

/** Whether another object of the name has the organisation: it was deleted, or the cluster was built again. */
function isOthers({ metadata }: OrganisationResource, { organisation }: OrganisationRecord): boolean {
  const applied = organisation?.manifest ?? null;
  return applied !== null && applied.uid !== metadata.uid;
}

/** Whether a newer version was applied: the cluster was restored from a backup, or this operator is no longer the leader. */
function isOutdated(resource: OrganisationResource, { organisation }: OrganisationRecord): boolean {
  const applied = organisation?.manifest ?? null;
  return applied !== null && isNewer(applied, versionOf(resource));
}

/** In the order of `notNewer` (stores). */
function isNewer(one: ManifestVersion, than: ManifestVersion): boolean {
  return one.uid === than.uid ? one.generation > than.generation : one.createdAt > than.createdAt;
}

function specOf({ metadata, spec }: OrganisationResource): AppliedSpec {
  const { displayName = metadata.name, plan = DEFAULT_PLAN, blocked = false } = spec;
  return { displayName, plan, blocked };
}

const hasFinalizer = ({ metadata }: OrganisationResource): boolean => metadata.finalizers?.includes(ORGANISATION_FINALIZER) ?? false;

const wantedOf = ({ spec }: OrganisationResource): string[] => [...new Set(spec.namespaces ?? [])];

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value) => other.includes(value));
}

function takenOf(resource: OrganisationResource, { owners }: OrganisationRecord): TakenNamespace[] {
  return wantedOf(resource).flatMap((namespace) => {
    const organisation = owners.get(namespace);
    return organisation === undefined ? [] : [{ namespace, organisation }];
  });
}
