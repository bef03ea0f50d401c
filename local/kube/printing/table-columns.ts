/** The columns and cells of the built-in kinds, as on the real server without `-o wide`; its Events are whole. */
import type { Column, Json, KubeObject } from '../types.ts';

/** Ages in kubectl's format. `90s`, `5m30s`, `3h`, `2d4h`, as `kubectl get` shows an age. @param ms below -1 s yields `<invalid>` */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`;
  return `${years}y`;
}

/** The age of a time; `<unknown>` if it is missing. */
export function age(time: string | null | undefined, now: Date): string {
  return time === undefined || time === null || time === '' ? '<unknown>' : humanDuration(now.getTime() - Date.parse(time));
}

type Cells = (object: KubeObject, now: Date) => Json[];
interface Printed {
  columns: Column[];
  cells: Cells;
}

export const NAME_COLUMN: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  priority: 0,
};
const text = (name: string, description: string, priority = 0): Column => ({ name, type: 'string', format: '', description, priority });
const AGE_COLUMN = text('Age', 'The time since the object was created.');
const ageOf = (object: KubeObject, now: Date): string => age(object.metadata.creationTimestamp, now);
interface Status {
  phase?: string;
  reason?: string;
  conditions?: { type: string; status: string; reason?: string }[];
  containerStatuses?: ContainerStatus[];
  startTime?: string;
  completionTime?: string;
  succeeded?: number;
}
interface ContainerStatus {
  ready: boolean;
  restartCount: number;
  state?: { running?: object; waiting?: { reason?: string }; terminated?: { reason?: string; signal?: number; exitCode: number } };
}
const statusOf = (object: KubeObject): Status => object['status'] ?? {};
const holds = (object: KubeObject, type: string): boolean =>
  statusOf(object).conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;

/** As kubectl itself prints a kind that it does not know. */
export const DEFAULT: Printed = {
  columns: [NAME_COLUMN, AGE_COLUMN],
  cells: (object, now) => [object.metadata.name, ageOf(object, now)],
};

interface StoredEvent {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
  involvedObject: { kind?: string; name?: string; fieldPath?: string };
}
export const EVENT: Printed = {
  columns: [
    text('Last Seen', 'When it last occurred.'),
    text('Type', 'Normal or Warning.'),
    text('Reason', 'The reason, as one word.'),
    text('Object', 'The involved object.'),
    text('Subobject', 'The part of the object.', 1),
    text('Source', 'The component that reports it.', 1),
    text('Message', 'What happened.'),
    text('First Seen', 'When it first occurred.', 1),
    text('Count', 'How often it occurred.', 1),
    { ...NAME_COLUMN, priority: 1 },
  ],
  cells(object, now) {
    const event = object as unknown as StoredEvent;
    const first = age(event.firstTimestamp ?? event.eventTime, now);
    const last = age(event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp, now);
    const { kind = '', name = '', fieldPath = '' } = event.involvedObject;
    const component = event.source?.component ?? event.reportingComponent ?? '';
    const host = event.source?.host ?? event.reportingInstance ?? '';
    const about = `${kind.toLowerCase()}/${name}`;
    const source = host === '' ? component : `${component}, ${host}`;
    const count = event.count ?? 1;
    return [
      last,
      event.type ?? '',
      event.reason ?? '',
      about,
      fieldPath,
      source,
      (event.message ?? '').trim(),
      first,
      count,
      object.metadata.name,
    ];
  },
};

export const JOB: Printed = {
  columns: [
    NAME_COLUMN,
    text('Status', 'Status of the job.'),
    text('Completions', 'Succeeded pods of the desired number.'),
    text('Duration', 'The time from start to completion.'),
    AGE_COLUMN,
  ],
  cells(object, now) {
    const spec = object['spec'] as { completions: number };
    const status = statusOf(object);
    const word =
      ['Complete', 'Failed'].find((type) => holds(object, type)) ??
      (object.metadata.deletionTimestamp === undefined ? undefined : 'Terminating');
    const state =
      word ??
      (holds(object, 'Suspended')
        ? 'Suspended'
        : (['FailureTarget', 'SuccessCriteriaMet'].find((type) => holds(object, type)) ?? 'Running'));
    const end = status.completionTime === undefined ? now.getTime() : Date.parse(status.completionTime);
    const took = status.startTime === undefined ? '' : humanDuration(end - Date.parse(status.startTime));
    return [object.metadata.name, state, `${status.succeeded ?? 0}/${spec.completions}`, took, ageOf(object, now)];
  },
};

export const POD: Printed = {
  columns: [
    NAME_COLUMN,
    text('Ready', 'Ready containers of all containers.'),
    text('Status', 'The aggregate status of the containers.'),
    text('Restarts', 'The number of container restarts.'),
    AGE_COLUMN,
  ],
  cells(object, now) {
    const spec = object['spec'] as { containers: object[] };
    const containers = statusOf(object).containerStatuses ?? [];
    return [
      object.metadata.name,
      `${containers.filter((container) => container.ready && container.state?.running !== undefined).length}/${spec.containers.length}`,
      podStatus(object),
      String(containers.reduce((sum, container) => sum + container.restartCount, 0)),
      ageOf(object, now),
    ];
  },
};

/** The one word that `kubectl get pods` shows. */
function podStatus(object: KubeObject): string {
  const status = statusOf(object);
  let word = status.reason ?? status.phase ?? '';
  for (const { state } of [...(status.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated } = state ?? {};
    if (waiting?.reason !== undefined && waiting.reason !== '') word = waiting.reason;
    else if (terminated?.reason !== undefined && terminated.reason !== '') word = terminated.reason;
    else if (terminated !== undefined)
      word = (terminated.signal ?? 0) !== 0 ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
  }
  if (object.metadata.deletionTimestamp === undefined) return word;
  if (status.reason === 'NodeLost') return 'Unknown';
  return status.phase === 'Failed' || status.phase === 'Succeeded' ? word : 'Terminating';
}
