/**
 * Mirrors ScanSchedules to MongoDB: one write when what users see of a schedule has changed, and one when it is gone. A
 * periodic comparison with what is stored finds what this process has not seen: schedules that were deleted while no operator
 * ran, and writes of a former leader. Kubernetes is only read, through the caches.
 */
import { createHash } from 'node:crypto';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { type LastScheduledScan, OBSERVED_EVERY_MS, type ScheduleProblem, type ScheduleRow } from '../../stores/schedules/schedules.ts';
import { fromKey, keyOf } from '../runtime/cache.ts';
import { watch } from '../runtime/manager.ts';
import type { ScheduleContext } from './actions.ts';
import { ownerOfSchedule } from './owners.ts';
import { type AccessibilityScan, scanIdOf } from '../../core/protocol/custom-resources.ts';
import { sourceOf } from '../../core/schedule/source.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { siteOf } from '../../core/scan/site.ts';
import { optionsKeyOf } from '../../stores/scans/scan-row.ts';
import { conditionOf } from '../runtime/conditions.ts';
/** The delay before MongoDB is asked again for the owner of a namespace, in milliseconds. */
const OWNER_RETRY_MS = 5_000;
const WORKERS = 2;
const MAX_BACK_OFF_MS = 30_000;

/**
 * Adds the controller, and the task that compares the stored schedules with the cluster's at the start of a term and then
 * periodically. @returns a function that enqueues a schedule of the controller
 */
export function addScheduleMirror(context: ScheduleContext): (key: string) => void {
  const { manager, schedules, scanClient, owners, stores, settings } = context;
  const { operatorClass, namespace: apiNamespace } = settings;
  const store = stores.schedules;
  const digests = createStoredDigests(() => store.digests(operatorClass));

  async function remove(key: string): Promise<void> {
    if (digests.get(key) === undefined) return;
    await store.remove({ operatorClass, ...fromKey(key) });
    digests.delete(key);
  }

  const enqueue = manager.add({
    name: 'schedule-mirror',
    workers: WORKERS,
    maxBackOffMs: MAX_BACK_OFF_MS,
    sources: [watch(schedules, ({ object }) => [keyOf(object)])],
    async reconcile(key) {
      await digests.ready();
      const { namespace, name } = fromKey(key);
      const schedule = schedules.get(namespace, name);
      if (schedule === undefined) return remove(key);
      const owner = await ownerOfSchedule(owners, schedule.metadata, apiNamespace);
      if (owner.state === 'unknown') return { requeueAfterMs: OWNER_RETRY_MS };
      if (owner.state !== 'owned') return remove(key);
      const children = scanClient.byIndex('owner', schedule.metadata.uid!).filter(({ metadata }) => metadata.namespace === namespace);
      const { organisation, claimed = false } = owner;
      const row = rowOf({ schedule, children, organisation, claimed, operatorClass, apiNamespace });
      const digest = digestOf(row);
      if (digest === digests.get(key)) return;
      await store.put(row, digest);
      digests.set(key, digest);
    },
  });
  manager.addTask({
    name: 'stored schedules',
    everyMs: settings.schedulesEveryMs ?? OBSERVED_EVERY_MS,
    run: () => compare(context, digests, enqueue),
  });
  return enqueue;
}

async function compare(context: ScheduleContext, digests: StoredDigests, enqueue: (key: string) => void): Promise<void> {
  const { schedules, isListed, stores, settings, clock } = context;
  const at = clock.now();
  const existing = new Set(schedules.list().map(keyOf));
  for (const key of await digests.refresh()) enqueue(key);
  for (const key of digests.keys()) if (!existing.has(key) && isListed(fromKey(key).namespace)) enqueue(key);
  // A schedule whose first write failed, or whose organisation was added since.
  for (const key of existing) if (digests.get(key) === undefined) enqueue(key);
  await stores.schedules.observed(settings.operatorClass, at);
}

interface RowFacts {
  schedule: ScanSchedule;
  children: readonly AccessibilityScan[];
  organisation: string;
  operatorClass: string;
  apiNamespace: string;
  /** Whether the schedule is recorded as one of the dashboard. */
  claimed: boolean;
}

export function rowOf({ schedule, children, organisation, operatorClass, apiNamespace, claimed }: RowFacts): ScheduleRow {
  const { metadata, spec, status = {} } = schedule;
  const { url, auth } = spec.scanTemplate.spec;
  const options = withDefaults(spec.scanTemplate.spec);
  return {
    operatorClass,
    namespace: metadata.namespace!,
    name: metadata.name,
    organisation,
    displayName: spec.displayName ?? null,
    url,
    site: siteOf(url),
    optionsKey: optionsKeyOf({ options, auth }),
    maxPages: options.maxPages,
    source: sourceOf(schedule, claimed),
    schedule: spec.schedule,
    timeZone: spec.timeZone ?? null,
    suspended: spec.suspend === true,
    nextAt: dateOf(status.nextScheduleTime),
    lastScheduledAt: dateOf(status.lastScheduleTime),
    lastScan: lastScanOf(schedule, children, apiNamespace),
    lastPassedAt: dateOf(status.lastPassedTime),
    active: status.activeCount ?? 0,
    regressed: problemOf(schedule, 'Regressed'),
    stalled: problemOf(schedule, 'Stalled'),
  };
}

export function digestOf(row: ScheduleRow): string {
  return createHash('sha256').update(JSON.stringify(row)).digest('base64url');
}

const dateOf = (time: string | undefined): Date | null => (time === undefined ? null : new Date(time));

function problemOf({ status }: ScanSchedule, type: 'Regressed' | 'Stalled'): ScheduleProblem | null {
  const condition = conditionOf(status?.conditions, type);
  if (condition?.status !== 'True') return null;
  const { reason, message, lastTransitionTime } = condition;
  return { reason, message, since: new Date(lastTransitionTime) };
}

/** The status names the last scan with a result. A later one without a result is only known while its resource exists. */
function lastScanOf({ status }: ScanSchedule, children: readonly AccessibilityScan[], apiNamespace: string): LastScheduledScan | null {
  const ended = children.flatMap((scan): LastScheduledScan[] => {
    const { phase, passed, completionTime } = scan.status ?? {};
    if (phase === undefined || !isTerminal(phase) || completionTime === undefined) return [];
    return [{ scanId: scanIdOf(scan, apiNamespace), phase, passed: passed ?? null, endedAt: new Date(completionTime) }];
  });
  const completed = status?.lastCompleted;
  if (completed !== undefined && !ended.some(({ scanId }) => scanId === completed.scanId)) {
    const { scanId, passed = null, completionTime } = completed;
    ended.push({ scanId, phase: 'done', passed, endedAt: new Date(completionTime) });
  }
  // Ends are whole seconds. The ID gives those of the same second a stable order.
  const [last] = ended.toSorted((a, b) => b.endedAt.getTime() - a.endedAt.getTime() || b.scanId.localeCompare(a.scanId));
  return last ?? null;
}

type StoredDigests = ReturnType<typeof createStoredDigests>;

/** What is stored of each schedule, as its digest, so that a restart does not write every schedule again. */
export function createStoredDigests(read: () => Promise<Map<string, string>>) {
  let digests: Map<string, string> | null = null;
  let reading: Promise<void> | null = null;

  /** Resolves when the digests were read. @throws if MongoDB does not answer; the next call reads again */
  const ready = (): Promise<void> => {
    if (digests !== null) return Promise.resolve();
    reading ??= read()
      .then((stored) => void (digests = stored))
      .finally(() => (reading = null));
    return reading;
  };

  return {
    ready,
    /** Reads the digests again. @returns the keys whose digests are not the expected ones */
    async refresh(): Promise<string[]> {
      if (digests === null) {
        await ready();
        return [];
      }
      const before = digests;
      const stored = await read();
      const changed = [...new Set([...before.keys(), ...stored.keys()])].filter((key) => before.get(key) !== stored.get(key));
      // A write during the read may be missing in the result. Its key is planned again, which repeats the write at worst.
      digests = stored;
      return changed;
    },
    get: (key: string) => digests?.get(key),
    set: (key: string, digest: string) => void digests?.set(key, digest),
    delete: (key: string) => void digests?.delete(key),
    keys: () => [...(digests?.keys() ?? [])],
  };
}
