/**
 * Which organisation is charged for each schedule of the dashboard. The schedules of all organisations are in the namespace of the
 * API's scans, so the namespace does not say it, and authors can change labels. A record is stored before its schedule is created and
 * removed after its schedule is deleted. Its organisation never changes.
 */
import type { Db } from 'mongodb';
import { DASHBOARD_SCHEDULES_MAX } from '../../core/protocol/scan-schedules.ts';
import { retryRace } from '../mongo-retry.ts';
import { freeSlots } from '../slots.ts';
import type { ScheduleRef } from './schedules.ts';

/** The name of a schedule. Its namespace is always that of the API's scans, but several installations may share a database. */
export type DashboardScheduleRef = Pick<ScheduleRef, 'namespace' | 'name'>;

export interface DashboardSchedule extends DashboardScheduleRef {
  organisation: string;
  createdAt: Date;
  /** Identifies what the form said that created it. */
  values: string;
  /** See `KeyCreator`. */
  rootCreator?: string;
}

type Document = DashboardSchedule & { _id: string; slot: string };

const idOf = ({ namespace, name }: DashboardScheduleRef): string => `${namespace}/${name}`;

export function createDashboardSchedules(db: Db) {
  const schedules = db.collection<Document>('dashboardSchedules');
  return {
    /**
     * Records a schedule in one of the organisation's places, unless it is recorded.
     * @returns the record, and whether this call made it; null if there is no free place
     */
    add: (schedule: DashboardSchedule): Promise<(DashboardSchedule & { added: boolean }) | null> =>
      retryRace(async () => {
        const { organisation } = schedule;
        const _id = idOf(schedule);
        const all = await schedules.find({ organisation }).toArray();
        const recorded = all.find((one) => one._id === _id);
        if (recorded !== undefined) return { ...recorded, added: false };
        const taken = all.map((one) => one.slot);
        const [slot] = freeSlots(organisation, DASHBOARD_SCHEDULES_MAX, taken);
        if (slot === undefined) return null;
        await schedules.insertOne({ ...schedule, _id, slot });
        return { ...schedule, added: true };
      }),

    /** Returns the organisations of those schedules that are recorded, by `namespace/name`. */
    async owners(wanted: readonly DashboardScheduleRef[]): Promise<Map<string, string>> {
      if (wanted.length === 0) return new Map();
      const found = await schedules.find({ _id: { $in: wanted.map(idOf) } }, { projection: { organisation: 1 } }).toArray();
      return new Map(found.map(({ _id, organisation }) => [_id, organisation]));
    },

    async list(organisation: string): Promise<DashboardSchedule[]> {
      const found = await schedules.find({ organisation }, { projection: { _id: 0, slot: 0 } }).toArray();
      return found.toSorted((a, b) => a.name.localeCompare(b.name));
    },

    /** Returns the schedules that a person created, or that keys of the person created. */
    createdBy: (organisation: string, rootCreator: string): Promise<DashboardScheduleRef[]> =>
      schedules.find({ organisation, rootCreator }, { projection: { _id: 0, namespace: 1, name: 1 } }).toArray(),

    /** Removes a record. No error if there is none. */
    async remove(organisation: string, schedule: DashboardScheduleRef) {
      await schedules.deleteOne({ _id: idOf(schedule), organisation });
    },
  };
}
export type DashboardSchedules = ReturnType<typeof createDashboardSchedules>;
