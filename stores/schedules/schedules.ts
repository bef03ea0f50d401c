/**
 * The ScanSchedules of organisations for pages and the API. The operator mirrors them to MongoDB, so that a page does not query the
 * Kubernetes API.
 */
import type { Db, Filter } from 'mongodb';
import type { ScheduleSource } from '../../core/schedule/source.ts';
import type { TerminalPhase } from '../../core/scan/phases.ts';
import { retryRace } from '../mongo-retry.ts';

/** How often the operator records that it watches the schedules of its class, in milliseconds. */
export const OBSERVED_EVERY_MS = 60_000;
/** The age of that record from which the schedules count as outdated, in milliseconds: two records are missing. */
export const OUTDATED_AFTER_MS = 3 * OBSERVED_EVERY_MS;

/** A condition that is true. */
export interface ScheduleProblem {
  reason: string;
  message: string;
  since: Date;
}

/** The last scan of a schedule that has ended. */
export interface LastScheduledScan {
  scanId: string;
  phase: TerminalPhase;
  /** Null without thresholds. */
  passed: boolean | null;
  endedAt: Date;
}

/** Identifies a schedule. */
export interface ScheduleRef {
  /** The operator class that starts its scans. */
  operatorClass: string;
  namespace: string;
  name: string;
}

export interface ScheduleRow extends ScheduleRef {
  /** The organisation that is charged for the namespace. */
  organisation: string;
  /** The name for people. Null: they call it by its site. */
  displayName: string | null;
  url: string;
  /** The host of the URL, as `siteOf` returns it. */
  site: string;
  /** Which scans its own are comparable with, as `optionsKeyOf` returns it. */
  optionsKey: string;
  /** The maximum number of pages of each scan. */
  maxPages: number;
  source: ScheduleSource;
  /** The cron expression. */
  schedule: string;
  /** Null: UTC. */
  timeZone: string | null;
  suspended: boolean;
  /** The next scheduled time, without jitter. Null if no scan will be started. */
  nextAt: Date | null;
  /** The last scheduled time at which a scan was started. */
  lastScheduledAt: Date | null;
  lastScan: LastScheduledScan | null;
  /** When the last scan ended that met its thresholds. */
  lastPassedAt: Date | null;
  /** The number of scans that have not ended. */
  active: number;
  /** Condition `Regressed`: the last scan is worse than the one before it. */
  regressed: ScheduleProblem | null;
  /** Condition `Stalled`: somebody must act. Scans are still started if `nextAt` is set, and fail. */
  stalled: ScheduleProblem | null;
}

export interface ListedSchedule extends ScheduleRow {
  /** When the operator last confirmed that this is the state of the cluster; null if it is unknown. */
  observedAt: Date | null;
}

/** A part of the schedules of an organisation, by namespace and name. */
export interface SchedulePage {
  /** Only those whose scans belong to this site and group of comparable options. */
  of?: Pick<ScheduleRow, 'site' | 'optionsKey'>;
  /** Only schedules after this one in the list. */
  after?: Pick<ScheduleRef, 'namespace' | 'name'> | null;
  limit: number;
}

export type NextRun = Pick<ScheduleRow, 'site' | 'optionsKey'> & { nextAt: Date };
export const NEXT_RUNS_MAX = 500;

type ScheduleDocument = ScheduleRow & { _id: string; digest: string };

/** What the first version did not store. The operator stores it soon after an upgrade. */
const UNKNOWN: Pick<ScheduleRow, 'displayName' | 'maxPages' | 'source'> = {
  displayName: null,
  maxPages: 0,
  source: { by: 'manifest', tool: null, application: null },
};

const idOf = ({ operatorClass, namespace, name }: ScheduleRef): string => `${operatorClass}/${namespace}/${name}`;

export function createSchedules(db: Db) {
  const schedules = db.collection<ScheduleDocument>('schedules');
  const observers = db.collection<{ _id: string; at: Date }>('schedule_observers');

  /** Reads schedules by namespace and name. Those that an older operator stored lack what it did not know. */
  async function read(filter: Filter<ScheduleDocument>, limit: number): Promise<ListedSchedule[]> {
    const found = await schedules
      .find(filter, { projection: { _id: 0, digest: 0 } })
      .sort({ namespace: 1, name: 1 })
      .limit(limit)
      .toArray();
    const classes = [...new Set(found.map(({ operatorClass }) => operatorClass))];
    const observed = classes.length === 0 ? [] : await observers.find({ _id: { $in: classes } }).toArray();
    const at = new Map(observed.map((one) => [one._id, one.at]));
    return found.map((row) => ({ ...UNKNOWN, ...row, observedAt: at.get(row.operatorClass) ?? null }));
  }

  return {
    /** Stores a schedule in one write. @param digest identifies the content for `digests` */
    async put(row: ScheduleRow, digest: string) {
      await retryRace(() => schedules.updateOne({ _id: idOf(row) }, { $set: { ...row, digest } }, { upsert: true }));
    },

    /** Removes a schedule. No error if it is not stored. */
    async remove(schedule: ScheduleRef) {
      await schedules.deleteOne({ _id: idOf(schedule) });
    },

    /** Returns what is stored for an operator class: the digests by `namespace/name`. */
    async digests(operatorClass: string): Promise<Map<string, string>> {
      const stored = schedules.find({ operatorClass }, { projection: { namespace: 1, name: 1, digest: 1 } });
      return new Map((await stored.toArray()).map(({ namespace, name, digest }) => [`${namespace}/${name}`, digest]));
    },

    /** Records that the stored schedules of an operator class were those of the cluster at this time. */
    async observed(operatorClass: string, at: Date) {
      await retryRace(() => observers.updateOne({ _id: operatorClass }, { $set: { at } }, { upsert: true }));
    },

    /** Returns the next runs of the schedules of these sites, the soonest first, at most `NEXT_RUNS_MAX`. */
    async nextRuns(organisation: string, sites: readonly string[]): Promise<NextRun[]> {
      const found = schedules.find<NextRun>(
        { organisation, site: { $in: [...sites] }, nextAt: { $ne: null } },
        { projection: { _id: 0, site: 1, optionsKey: 1, nextAt: 1 } },
      );
      return found.sort({ nextAt: 1 }).limit(NEXT_RUNS_MAX).toArray();
    },

    list: (organisation: string, { of, after, limit }: SchedulePage): Promise<ListedSchedule[]> => {
      const { namespace, name } = after ?? {};
      const later: Filter<ScheduleDocument> = after ? { $or: [{ namespace: { $gt: namespace } }, { namespace, name: { $gt: name } }] } : {};
      return read({ $and: [{ organisation, ...of }, later] }, limit);
    },

    async find(organisation: string, { namespace, name }: Pick<ScheduleRef, 'namespace' | 'name'>): Promise<ListedSchedule | null> {
      return (await read({ organisation, namespace, name }, 1))[0] ?? null;
    },
  };
}
export type Schedules = ReturnType<typeof createSchedules>;
