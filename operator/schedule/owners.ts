/**
 * Which organisation is charged for a namespace, or for one schedule of the dashboard. Remembered for a moment, because a thousand
 * schedules may be due together.
 */
import type { KubernetesObject, ObjectMeta } from '../../core/protocol/custom-resources.ts';
import { isOfDashboard } from '../../core/protocol/scan-schedules.ts';
import type { Organisation } from '../../core/organisation.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import type { DashboardScheduleRef, DashboardSchedules } from '../../stores/schedules/dashboard-schedules.ts';
import { fromKey, keyOf, toKey } from '../runtime/cache.ts';
import type { NamespaceOwner } from './policy/facts.ts';

/** What has an owner: a namespace, or `namespace/name` of a schedule. */
export type OwnedKey = string;

/** A schedule in the namespace of the API's scans may be one of the dashboard. Those of other namespaces share an owner. */
export function ownedKeyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>, apiNamespace: string): OwnedKey {
  return namespace === apiNamespace ? toKey(namespace, name) : namespace!;
}

/** Returns who is charged for a schedule. The owner of the namespace pays for no schedule of the dashboard whose record is lost. */
export async function ownerOfSchedule(
  owners: NamespaceOwners,
  metadata: Pick<ObjectMeta, 'namespace' | 'name' | 'labels'>,
  apiNamespace: string,
): Promise<NamespaceOwner> {
  const owner = await owners.of(ownedKeyOf(metadata, apiNamespace));
  const isRecorded = owner.state === 'owned' && owner.claimed === true;
  if (owner.state === 'unknown' || isRecorded || !isOfDashboard(metadata, apiNamespace)) return owner;
  return { state: 'unrecorded' };
}

/** The time for which an answer is used again, in milliseconds. */
const FRESH_MS = 2_000;

const scheduleOf = (key: OwnedKey): DashboardScheduleRef | null => (key.includes('/') ? fromKey(key) : null);
const namespaceOf = (key: OwnedKey): string => scheduleOf(key)?.namespace ?? key;

const ownerOf = (organisation: Organisation | null, claimed = false): NamespaceOwner =>
  organisation === null
    ? { state: 'none' }
    : { state: 'owned', organisation: organisation.id, blocked: organisation.blocked, ...(claimed && { claimed: true as const }) };

const isSame = (a: NamespaceOwner, b: NamespaceOwner): boolean => JSON.stringify(a) === JSON.stringify(b);

export type NamespaceOwners = ReturnType<typeof createNamespaceOwners>;

export function createNamespaceOwners(
  organisations: Pick<Organisations, 'find' | 'findByNamespace' | 'list'>,
  dashboardSchedules: Pick<DashboardSchedules, 'owners'>,
  monotonic: () => number,
) {
  const known = new Map<OwnedKey, { owner: Promise<NamespaceOwner>; at: number }>();
  /** The organisations of schedules of the dashboard, as of the last refresh. */
  const claims = new Map<OwnedKey, string>();
  /** The owners at the last refresh. `of` may have told only some callers of a change since. */
  let refreshed = new Map<OwnedKey, NamespaceOwner>();

  async function readClaims(keys: readonly OwnedKey[]): Promise<void> {
    const unknown = keys.flatMap((key) => (claims.has(key) ? [] : (scheduleOf(key) ?? [])));
    for (const [key, organisation] of await dashboardSchedules.owners(unknown)) claims.set(key, organisation);
  }

  async function ask(key: OwnedKey, last: Promise<NamespaceOwner> | undefined): Promise<NamespaceOwner> {
    try {
      await readClaims([key]);
      const claimed = claims.get(key);
      if (claimed !== undefined) return ownerOf(await organisations.find(claimed), true);
      return ownerOf(await organisations.findByNamespace(namespaceOf(key)));
    } catch {
      // The periodic refresh fails too, and logs the error.
      return last ?? { state: 'unknown' };
    }
  }

  return {
    /** Never throws: if MongoDB is down, it returns the last answer, because a scan checks its organisation again. */
    of(key: OwnedKey): Promise<NamespaceOwner> {
      const last = known.get(key);
      if (last !== undefined && monotonic() - last.at < FRESH_MS) return last.owner;
      const owner = ask(key, last?.owner);
      known.set(key, { owner, at: monotonic() });
      return owner;
    },
    /** Reads all organisations. @returns those of the keys whose owner differs from the last answer of `of` or of the last refresh */
    async refresh(all: Iterable<OwnedKey>): Promise<OwnedKey[]> {
      const keys = [...new Set(all)];
      const byNamespace = new Map<string, NamespaceOwner>();
      const byId = new Map<string, NamespaceOwner>();
      for (const organisation of await organisations.list()) {
        byId.set(organisation.id, ownerOf(organisation, true));
        for (const namespace of organisation.namespaces) byNamespace.set(namespace, ownerOf(organisation));
      }
      const claimedNow = await dashboardSchedules.owners(keys.flatMap((key) => scheduleOf(key) ?? []));
      claims.clear();
      for (const [key, organisation] of claimedNow) claims.set(key, organisation);
      const live = new Set(keys);
      for (const key of known.keys()) if (key.includes('/') && !live.has(key)) known.delete(key);
      const changed: OwnedKey[] = [];
      const current = new Map<OwnedKey, NamespaceOwner>();
      for (const key of keys) {
        const claimed = claims.get(key);
        const owner = (claimed === undefined ? byNamespace.get(namespaceOf(key)) : byId.get(claimed)) ?? ownerOf(null);
        current.set(key, owner);
        const last = known.get(key);
        const before = refreshed.get(key);
        if (last !== undefined && isSame(await last.owner, owner) && (before === undefined || isSame(before, owner))) continue;
        known.set(key, { owner: Promise.resolve(owner), at: monotonic() });
        changed.push(key);
      }
      refreshed = current;
      return changed;
    },
  };
}

/** Enqueues the resources whose organisation has changed. @param ownedKey what is charged for a resource */
export async function enqueueChanged<T extends KubernetesObject>(
  owners: NamespaceOwners,
  resources: readonly T[],
  ownedKey: (metadata: ObjectMeta) => OwnedKey,
  enqueue: (key: string) => void,
): Promise<void> {
  if (resources.length === 0) return;
  const changed = new Set(await owners.refresh(resources.map(({ metadata }) => ownedKey(metadata))));
  for (const resource of resources) if (changed.has(ownedKey(resource.metadata))) enqueue(keyOf(resource));
}
