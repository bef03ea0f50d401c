/** Plans the writes for an Organisation resource: a pure function from the resource and what MongoDB holds to a list of actions. */
import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_PLAN } from '../../core/organisation.ts';
import {
  ORGANISATION_FINALIZER,
  type CreditGrant,
  type OrganisationResource,
  type OrganisationSpec,
  type OrganisationStatus,
} from '../../core/protocol/organisation-resources.ts';
import type { ManifestVersion } from '../../stores/accounts/organisation-document.ts';
import type { AppliedOrganisation } from '../../stores/accounts/organisation-manifests.ts';
import type { AccountSummary } from '../../stores/credits/credits.ts';
import type { AppliedWebhook } from '../../stores/webhooks/manifest-webhooks.ts';
import { watchesNamespace } from '../settings.ts';
import { withConditions, type ConditionUpdate } from '../runtime/conditions.ts';
import type { Plan } from '../runtime/controller.ts';
import { areApplied, type DeclaredWebhooks } from './declared-webhooks.ts';
import { deleting, managedByAdmin, outdated, ready, storeUnavailable, type TakenNamespace } from './conditions.ts';

/** What MongoDB holds about an organisation. */
export interface OrganisationRecord {
  /** Null if the organisation does not exist. */
  organisation: AppliedOrganisation | null;
  /** Null if it has no account. */
  account: AccountSummary | null;
  /** The IDs of all grants ever made. */
  granted: ReadonlySet<string>;
  /** The organisations that have namespaces of the spec, by namespace; without the organisation itself. */
  owners: ReadonlyMap<string, string>;
  /** The webhooks of its manifest. */
  webhooks: readonly AppliedWebhook[];
}

export interface OrganisationFacts {
  resource: OrganisationResource;
  /** Null if MongoDB did not answer. */
  record: OrganisationRecord | null;
  /** The webhooks of the spec. */
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
export type AppliedSpec = Required<Pick<OrganisationSpec, 'displayName' | 'plan' | 'blocked'>>;

export type OrganisationAction =
  | { do: 'addFinalizer' }
  | { do: 'apply'; spec: AppliedSpec }
  | { do: 'openAccount' }
  | { do: 'grant'; grant: CreditGrant }
  /** Replace the namespaces that are charged to the organisation. */
  | { do: 'claim'; namespaces: string[] }
  /** Make these the webhooks of the manifest. Those that are kept stay as they are. */
  | ({ do: 'declareWebhooks' } & Pick<DeclaredWebhooks, 'wanted' | 'kept'>)
  /** Delete webhooks that a late writer has declared for an organisation that `curbcut-admin` manages. */
  | { do: 'removeWebhooks' }
  /** Block the organisation and mark it as deleted. */
  | { do: 'close' }
  | { do: 'removeFinalizer' }
  | { do: 'writeStatus'; status: OrganisationStatus };

/** The delay before MongoDB is asked again after it did not answer. */
const STORE_RETRY_MS = 5_000;
/** The delay before a deleted organisation's live scans are counted again. */
const LIVE_SCANS_EVERY_MS = 2_000;

export function planOrganisation(facts: OrganisationFacts): Plan<OrganisationAction> {
  const { resource } = facts;
  if (resource.metadata.deletionTimestamp !== undefined) return planDeletion(facts);
  // First, so that the end of the resource is always noticed.
  if (!hasFinalizer(resource)) return at([{ do: 'addFinalizer' }]);
  const { record } = facts;
  if (record === null) return outage(facts);
  if (isAdmins(record)) {
    const isLate = ({ version }: AppliedWebhook) => version === null || !isNewer(version, versionOf(resource));
    if (record.webhooks.some(isLate)) return at([{ do: 'removeWebhooks' }]);
    return writing(facts, managedByAdmin(resource.metadata.name), record);
  }
  if (isOutdated(resource, record)) return writing(facts, outdated(resource.metadata.name), record);
  const changes = changesOf(resource, record, facts.webhooks);
  if (changes.length > 0) return at(changes);
  return writing(facts, ready(resource, takenOf(resource, record), unwatchedOf(facts), facts.webhooks.problems), record);
}

/** MongoDB does not answer. A resource for which there is nothing to do keeps its status, so that an outage causes few writes. */
function outage(facts: OrganisationFacts): Plan<OrganisationAction> {
  const { metadata, status } = facts.resource;
  const deleted = metadata.deletionTimestamp !== undefined;
  if (!deleted && status?.observedGeneration === metadata.generation) return { actions: [], wakeAfterMs: STORE_RETRY_MS };
  return writing(facts, storeUnavailable(deleted), null, STORE_RETRY_MS);
}

/** The version of a resource, by which MongoDB orders it among earlier and later ones. */
export function versionOf({ metadata }: OrganisationResource): ManifestVersion {
  return { uid: metadata.uid!, createdAt: new Date(metadata.creationTimestamp!), generation: metadata.generation ?? 1 };
}

/** Whether this version of the manifest has no webhooks to declare any more. Then each event finds those that it is for. */
export function hasDeclared({ resource, record, webhooks }: Pick<OrganisationFacts, 'resource' | 'record' | 'webhooks'>): boolean {
  if (record === null) return false;
  return isAdmins(record) || isOutdated(resource, record) || areApplied(webhooks, record.webhooks, versionOf(resource));
}

const isAdmins = ({ organisation }: OrganisationRecord): boolean => organisation?.managedBy === 'admin';

/** Whether a newer version was applied: the cluster was restored from a backup, or this operator is no longer the leader. */
function isOutdated(resource: OrganisationResource, { organisation }: OrganisationRecord): boolean {
  const applied = organisation?.manifest ?? null;
  return applied !== null && isNewer(applied, versionOf(resource));
}

/** In the order of `notNewer` (stores). */
function isNewer(one: ManifestVersion, than: ManifestVersion): boolean {
  return one.uid === than.uid ? one.generation > than.generation : one.createdAt > than.createdAt;
}

/** What the spec sets, with its defaults. */
export function specOf({ metadata, spec }: OrganisationResource): AppliedSpec {
  const { displayName = metadata.name, plan = DEFAULT_PLAN, blocked = false } = spec;
  return { displayName, plan, blocked };
}

const at = (actions: readonly OrganisationAction[]): Plan<OrganisationAction> => ({ actions, wakeAfterMs: null });
const hasFinalizer = ({ metadata }: OrganisationResource): boolean => metadata.finalizers?.includes(ORGANISATION_FINALIZER) ?? false;

/** The changes that bring MongoDB to the spec. */
function changesOf(resource: OrganisationResource, record: OrganisationRecord, webhooks: DeclaredWebhooks): OrganisationAction[] {
  const { organisation, account, granted } = record;
  const actions: OrganisationAction[] = [];
  const spec = specOf(resource);
  const isApplied =
    organisation !== null &&
    organisation.deletedAt === null &&
    organisation.manifest?.uid === resource.metadata.uid &&
    isDeepStrictEqual({ displayName: organisation.displayName, plan: organisation.plan, blocked: organisation.blocked }, spec);
  if (!isApplied) actions.push({ do: 'apply', spec });
  if (account === null) actions.push({ do: 'openAccount' });
  for (const grant of resource.spec.creditGrants ?? []) if (!granted.has(grant.id)) actions.push({ do: 'grant', grant });
  const namespaces = wantedOf(resource).filter((namespace) => !record.owners.has(namespace));
  if (!sameSet(namespaces, organisation?.namespaces ?? [])) actions.push({ do: 'claim', namespaces });
  const { wanted, kept } = webhooks;
  if (!areApplied(webhooks, record.webhooks, versionOf(resource))) actions.push({ do: 'declareWebhooks', wanted, kept });
  return actions;
}

const wantedOf = ({ spec }: OrganisationResource): string[] => [...new Set(spec.namespaces ?? [])];

function sameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((value) => other.includes(value));
}

/** The namespaces of the spec that other organisations have. */
export function takenOf(resource: OrganisationResource, { owners }: OrganisationRecord): TakenNamespace[] {
  return wantedOf(resource).flatMap((namespace) => {
    const organisation = owners.get(namespace);
    return organisation === undefined ? [] : [{ namespace, organisation }];
  });
}

/** The namespaces of the spec whose scans the operator does not run. */
function unwatchedOf({ resource, watchNamespaces }: OrganisationFacts): string[] {
  return wantedOf(resource).filter((namespace) => !watchesNamespace({ namespaces: watchNamespaces }, namespace));
}

/** The resource is being deleted: blocks the organisation, waits for its live scans, and gives its namespaces back. */
function planDeletion(facts: OrganisationFacts): Plan<OrganisationAction> {
  const { resource } = facts;
  if (!hasFinalizer(resource)) return at([]);
  const { record } = facts;
  if (record === null) return outage(facts);
  const { organisation, account } = record;
  // Nothing in MongoDB depends on this resource.
  if (organisation === null || isAdmins(record) || isOutdated(resource, record)) return at([{ do: 'removeFinalizer' }]);
  if (organisation.deletedAt === null || !organisation.blocked) return at([{ do: 'close' }]);
  const live = account?.liveScans ?? 0;
  if (live > 0) return writing(facts, deleting(live), record, LIVE_SCANS_EVERY_MS);
  if (organisation.namespaces.length > 0) return at([{ do: 'claim', namespaces: [] }]);
  if (record.webhooks.length > 0) return at([{ do: 'declareWebhooks', wanted: [], kept: [] }]);
  return at([{ do: 'removeFinalizer' }]);
}

/** Writes the status if it has changed. @param record null keeps the last amounts */
function writing(
  facts: OrganisationFacts,
  updates: readonly ConditionUpdate[],
  record: OrganisationRecord | null,
  wakeAfterMs: number | null = null,
): Plan<OrganisationAction> {
  const { resource, now } = facts;
  const { observedGeneration: _generation, conditions: _conditions, ...last } = resource.status ?? {};
  const amounts = record === null ? last : amountsOf(record);
  const conditions = withConditions(resource, updates, now);
  const status: OrganisationStatus = { ...amounts, observedGeneration: resource.metadata.generation, conditions };
  if (isDeepStrictEqual(status, resource.status)) return { actions: [], wakeAfterMs };
  const onlyAmounts = isDeepStrictEqual({ ...status, ...last, namespaces: status.namespaces }, { ...resource.status });
  const left = onlyAmounts && facts.statusAt !== null ? facts.statusAt.getTime() + facts.everyMs - now.getTime() : 0;
  if (left > 0) return { actions: [], wakeAfterMs: Math.min(left, wakeAfterMs ?? left) };
  return { actions: [{ do: 'writeStatus', status }], wakeAfterMs };
}

function amountsOf({ organisation, account }: OrganisationRecord): OrganisationStatus {
  const { balance = 0, held = 0, spent = 0, granted = 0, liveScans = 0 } = account ?? {};
  return { balance, held, spent, granted, liveScans, namespaces: (organisation?.namespaces ?? []).toSorted() };
}
