/** ScanSchedules in tests: an operator whose clock is ahead of the API server's, and controls for a schedule and its scans. */
import { randomUUID } from 'node:crypto';
import { API_VERSION, type AccessibilityScan, type Condition } from '../../core/protocol/custom-resources.ts';
import { RUN_ANNOTATION, SCHEDULE_LABEL, type ScanSchedule, type ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { systemClock, type Clock } from '../../platform/clock.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { SCANS, SCHEDULES } from '../../operator/scan/kube-types.ts';
import { EVENTS } from '../../operator/runtime/events.ts';
import { until } from '../runtime/cluster.ts';
import { NOWHERE, TARGET, type OperatorContext } from './context.ts';
import { getIfThere, type Scan } from './simulated-scan.ts';

const MERGE = 'application/merge-patch+json';
const WAIT_MS = 60_000;
export const MINUTE_MS = 60_000;

/** The system clock, set forward. The API server's timestamps do not follow it, so tests never set it back. */
export const clockAhead = (ms: number): Clock => ({ ...systemClock, now: () => new Date(Date.now() + ms) });

/** A clock on which it is `time`, which must not have passed. */
export const clockAt = (time: Date): Clock => clockAhead(Math.max(0, time.getTime() - Date.now()));

/** Waiting scans and pods must outlive the clock's jumps. */
export const PATIENT = { timeouts: { queueMs: 1e9, pendingMs: 1e9, stuckMs: 1e9 } };

/** A cron expression that is due once a year, and its next two times: between 10 and 20 minutes from now, a minute apart. */
export function twoMinutes(): { schedule: string; first: Date; second: Date } {
  const first = new Date(Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS + 10 * MINUTE_MS);
  // Both minutes must be in one hour.
  if (first.getUTCMinutes() === 59) first.setTime(first.getTime() + MINUTE_MS);
  const second = new Date(first.getTime() + MINUTE_MS);
  const schedule = `${first.getUTCMinutes()},${second.getUTCMinutes()} ${first.getUTCHours()} ${first.getUTCDate()} ${first.getUTCMonth() + 1} *`;
  return { schedule, first, second };
}

/** A schedule that is not due during a test. */
export const NOT_DUE = '0 0 29 2 *';

/** The scheduled minute as the name of a scan holds it. */
export const minuteOf = (time: Date): number => time.getTime() / MINUTE_MS;

export interface Schedule {
  name: string;
  uid: string;
  namespace: string;
  read(): Promise<ScanSchedule | null>;
  /** Waits until `is` accepts the schedule. @param what completes "the schedule is …" in the error */
  reaches(what: string, is: (schedule: ScanSchedule) => unknown): Promise<ScanSchedule>;
  patch(body: object): Promise<ScanSchedule>;
  /** Requests a run. @returns its token */
  run(token?: string): Promise<string>;
  remove(): Promise<void>;
  /** Its scans, by name. */
  scans(): Promise<AccessibilityScan[]>;
  /** Waits until it has exactly these scans, without its own name in front. */
  has(...suffixes: (string | number)[]): Promise<AccessibilityScan[]>;
  /** Waits for the scan of this name, without its own name in front, and simulates its pod. */
  scan(suffix: string | number): Promise<Scan>;
  /** Waits for a run that was requested with the token. */
  requested(token: string): Promise<Scan>;
  /** The Events about it, oldest first. */
  events(): Promise<{ reason: string; message: string; count?: number }[]>;
  /** Waits for an Event. */
  recorded(reason: string, message?: RegExp): Promise<void>;
}

export async function applySchedule(
  context: OperatorContext,
  spec: Omit<Partial<ScanScheduleSpec>, 'scanTemplate'> & { scanTemplate?: object } = {},
  {
    name = `s-${randomUUID().slice(0, 8)}`,
    namespace = context.team,
    annotations = {},
    labels = {},
  }: { name?: string; namespace?: string; annotations?: Record<string, string>; labels?: Record<string, string> } = {},
): Promise<Schedule> {
  const { connection } = context;
  const template = { spec: { url: TARGET, podTemplate: NOWHERE } };
  const created = await connection.request<ScanSchedule>('POST', connection.path(SCHEDULES, namespace), {
    body: {
      apiVersion: API_VERSION,
      kind: 'ScanSchedule',
      metadata: { name, namespace, annotations, labels },
      spec: { schedule: NOT_DUE, scanTemplate: template, ...spec },
    },
  });
  return scheduleAt(context, created);
}

/** Controls for a schedule that exists. */
export function scheduleAt(context: OperatorContext, created: ScanSchedule): Schedule {
  const { connection } = context;
  const { name } = created.metadata;
  const namespace = created.metadata.namespace!;
  const path = connection.path(SCHEDULES, namespace, name);

  const schedule: Schedule = {
    name,
    namespace,
    uid: created.metadata.uid!,
    read: () => getIfThere<ScanSchedule>(connection, SCHEDULES, namespace, name),
    async reaches(what, is) {
      let last: ScanSchedule | null = null;
      const look = async () => {
        last = await schedule.read();
        return last !== null && is(last) ? last : null;
      };
      return until(`the schedule is ${what}`, look, WAIT_MS).catch((error: Error) => {
        throw new Error(`${error.message}; its status is ${JSON.stringify(last?.status)}`);
      });
    },
    patch: (body) => connection.request('PATCH', path, { contentType: MERGE, body }),
    async run(token = randomUUID()) {
      await schedule.patch({ metadata: { annotations: { [RUN_ANNOTATION]: token } } });
      return token;
    },
    remove: async () => void (await connection.request('DELETE', path, { body: { propagationPolicy: 'Background' } })),
    async scans() {
      const query = { labelSelector: `${SCHEDULE_LABEL}=${name}` };
      const { items } = await connection.request<{ items: AccessibilityScan[] }>('GET', connection.path(SCANS, namespace), { query });
      return items.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
    },
    async has(...suffixes) {
      const wanted = suffixes.map((suffix) => `${name}-${suffix}`).toSorted();
      let names: string[] = [];
      const look = async () => {
        const scans = await schedule.scans();
        names = scans.map(({ metadata }) => metadata.name);
        return JSON.stringify(names) === JSON.stringify(wanted) ? scans : null;
      };
      return until(`the schedule has the scans ${wanted.join(', ')}`, look, WAIT_MS).catch((error: Error) => {
        throw new Error(`${error.message}; it has ${names.join(', ')}`);
      });
    },
    async scan(suffix) {
      const wanted = `${name}-${suffix}`;
      const find = async () => (await schedule.scans()).find(({ metadata }) => metadata.name === wanted);
      return context.simulate(await until(`there is a scan ${wanted}`, find, WAIT_MS));
    },
    async requested(token) {
      const find = async () => (await schedule.scans()).find(({ metadata }) => metadata.annotations?.[RUN_ANNOTATION] === token);
      return context.simulate(await until(`there is a scan for the request ${token}`, find, WAIT_MS));
    },
    async events() {
      const query = { fieldSelector: `involvedObject.uid=${created.metadata.uid}` };
      interface Recorded {
        reason: string;
        message: string;
        count?: number;
        firstTimestamp?: string;
      }
      const { items } = await connection.request<{ items: Recorded[] }>('GET', connection.path(EVENTS, namespace), { query });
      return items.toSorted((a, b) => (a.firstTimestamp ?? '').localeCompare(b.firstTimestamp ?? ''));
    },
    async recorded(reason, message = /./) {
      const find = async () => (await schedule.events()).some((event) => event.reason === reason && message.test(event.message));
      await until(`there is an Event ${reason} ${message}`, find, WAIT_MS);
    },
  };
  return schedule;
}

export function scheduleCondition({ status }: ScanSchedule, type: string): Condition | undefined {
  return conditionOf(status?.conditions, type);
}
