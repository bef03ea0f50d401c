/**
 * Mirrors ScanSchedules to MongoDB: one write when what people see of a schedule has changed, and one when it is gone. A
 * periodic comparison with what is stored finds what this process has not seen: schedules that were deleted while no operator
 * ran, and writes of a former leader. Kubernetes is only read, through the caches.
 */
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { OBSERVED_EVERY_MS, type ScheduleRow, type Schedules } from '../../../stores/schedules/schedules.ts';
import { fromKey, keyOf } from '../../runtime/key.ts';
import { watch, type Manager } from '../../runtime/controller/manager.ts';
import type { Plan } from '../../runtime/controller/planned-reconcile.ts';
import type { ResourceClient } from '../../runtime/resource-client.ts';
import type { ScanClient } from '../../scan/scan-client.ts';
import { ownerOfSchedule, type NamespaceOwners } from '../owners.ts';
import { createStoredDigests, type StoredDigests } from './stored-digests.ts';
import { digestOf, rowOf } from './row.ts';

export interface ScheduleMirrorDeps {
  schedules: Pick<ResourceClient<ScanSchedule>, 'get' | 'list' | 'onChange'>;
  /** Whether the schedules of a namespace were listed, so that one that the cache does not hold does not exist. */
  isListed(namespace: string): boolean;
  /** Has the index `owner`, by the uid of the owner. */
  scanClient: Pick<ScanClient, 'byIndex'>;
  owners: Pick<NamespaceOwners, 'of'>;
  store: Pick<Schedules, 'put' | 'remove' | 'digests' | 'observed'>;
  operatorClass: string;
  apiNamespace: string;
  /** The interval of the comparison with what is stored, in milliseconds. */
  everyMs?: number;
  now: () => Date;
}

export interface MirrorFacts {
  /** Null if nothing is to be stored: the schedule is gone, or no organisation is charged for it. */
  row: ScheduleRow | null;
  /** Whether the owner of the namespace is unknown, because MongoDB is down. */
  ownerUnknown: boolean;
  /** The digest of what is stored; undefined if nothing is. */
  stored: string | undefined;
}

export type MirrorAction = { do: 'put'; row: ScheduleRow; digest: string } | { do: 'remove' };

/** The delay before MongoDB is asked again for the owner of a namespace, in milliseconds. */
const OWNER_RETRY_MS = 5_000;
const WORKERS = 2;
const MAX_BACK_OFF_MS = 30_000;

/** Decides what to write: at most one action. */
export function planMirror({ row, ownerUnknown, stored }: MirrorFacts): Plan<MirrorAction> {
  if (ownerUnknown) return { actions: [], wakeAfterMs: OWNER_RETRY_MS };
  if (row === null) return { actions: stored === undefined ? [] : [{ do: 'remove' }], wakeAfterMs: null };
  const digest = digestOf(row);
  return { actions: digest === stored ? [] : [{ do: 'put', row, digest }], wakeAfterMs: null };
}

/**
 * Adds the controller, and the task that compares the stored schedules with the cluster's at the start of a term and then
 * periodically. @returns a function that enqueues a schedule of the controller
 */
export function addScheduleMirror(manager: Pick<Manager, 'add' | 'addTask'>, deps: ScheduleMirrorDeps): (key: string) => void {
  const { schedules, scanClient, owners, store, operatorClass, apiNamespace } = deps;
  const digests = createStoredDigests(() => store.digests(operatorClass));

  async function factsOf(key: string): Promise<MirrorFacts> {
    await digests.ready();
    const stored = digests.get(key);
    const { namespace, name } = fromKey(key);
    const schedule = schedules.get(namespace, name);
    const nothing = { row: null, ownerUnknown: false, stored };
    if (schedule === undefined) return nothing;
    const owner = await ownerOfSchedule(owners, schedule.metadata, apiNamespace);
    if (owner.state !== 'owned') return { ...nothing, ownerUnknown: owner.state === 'unknown' };
    const children = scanClient.byIndex('owner', schedule.metadata.uid!).filter(({ metadata }) => metadata.namespace === namespace);
    return {
      row: rowOf({ schedule, children, organisation: owner.organisation, claimed: owner.claimed === true, operatorClass, apiNamespace }),
      ownerUnknown: false,
      stored,
    };
  }

  const enqueue = manager.add({
    name: 'schedule-mirror',
    workers: WORKERS,
    maxBackOffMs: MAX_BACK_OFF_MS,
    sources: [watch(schedules, ({ object }) => [keyOf(object)])],
    async reconcile(key) {
      const { actions, wakeAfterMs } = planMirror(await factsOf(key));
      const [action] = actions;
      if (action?.do === 'put') {
        await store.put(action.row, action.digest);
        digests.set(key, action.digest);
      } else if (action?.do === 'remove') {
        await store.remove({ operatorClass, ...fromKey(key) });
        digests.delete(key);
      }
      return wakeAfterMs === null ? {} : { requeueAfterMs: wakeAfterMs };
    },
  });
  manager.addTask({
    name: 'stored schedules',
    everyMs: deps.everyMs ?? OBSERVED_EVERY_MS,
    run: () => compare(deps, digests, enqueue),
  });
  return enqueue;
}

async function compare(deps: ScheduleMirrorDeps, digests: StoredDigests, enqueue: (key: string) => void): Promise<void> {
  const { schedules, isListed, store, operatorClass } = deps;
  const at = deps.now();
  const existing = new Set(schedules.list().map(keyOf));
  for (const key of await digests.refresh()) enqueue(key);
  for (const key of digests.keys()) if (!existing.has(key) && isListed(fromKey(key).namespace)) enqueue(key);
  // A schedule whose first write failed, or whose organisation was added since.
  for (const key of existing) if (digests.get(key) === undefined) enqueue(key);
  if (existing.size > 0) await store.observed(operatorClass, at);
}
