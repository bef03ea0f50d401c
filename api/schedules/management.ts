/**
 * Creates, changes, runs and deletes the schedules of REST and the dashboard for the caller of a request, and records it. Those of
 * manifests are only read. The record of a schedule says whose it is: it is stored before the resource, and removed after it. The
 * Kubernetes API decides everything else.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { auditName } from '../../core/accounts.ts';
import { metadataOf } from '../../core/protocol/custom-resources.ts';
import { type ScanSchedule, type ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { requestedRun } from '../../core/schedule/requested-run.ts';
import { parseSchedule } from '../../core/schedule/times.ts';
import { otherWriter, type ScheduleSource, sourceOf } from '../../core/schedule/source.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { siteOf } from '../../core/scan/site.ts';
import type { DashboardScheduleRef } from '../../stores/schedules/dashboard-schedules.ts';
import { scheduleSpecOf, type WantedSchedule, type WrittenSchedule } from '../../stores/schedules/schedule-resources.ts';
import type { ListedSchedule } from '../../stores/schedules/schedules.ts';
import { recordChange, storesOf } from '../accounts/scoped-stores.ts';
import { ApiError, ValidationFailure } from '../http/errors.ts';
import { DependencyDown } from '../http/dependency-outages.ts';
import { decodeCursor, pageOf } from '../http/pagination.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { errorOf } from '../scans/submission/submission.ts';

export const isReadOnly = (error: unknown): error is ApiError => error instanceof ApiError && error.code === 'schedule_read_only';

/** For forms of schedules that are read-only: the page of the schedule says why. @throws any other error */
export function nullIfReadOnly(error: unknown): null {
  if (isReadOnly(error)) return null;
  throw error;
}

/** A schedule of the organisation in the cluster, and why it is not changed here. */
export interface LiveSchedule {
  schedule: ScanSchedule;
  source: ScheduleSource;
  /** A program that has changed it. Null: none has. */
  writer: string | null;
}

/** What is known of a schedule: at least one of both. */
export interface FoundSchedule {
  /** What the operator has stored. Null: it has not seen the schedule yet. */
  row: ListedSchedule | null;
  /** As it is in the cluster, if it was made here. `down`: the Kubernetes API does not answer. */
  live: LiveSchedule | 'down' | null;
}

/** What changes: what is undefined stays. `options` come with their baseline and metadata: what they lack is removed. */
export type ScheduleChange = Partial<WantedSchedule>;

/** How often a change is written again because the operator has written the status at the same time. */
const ATTEMPTS = 5;
/** A record without a resource that is older than this is left over. Requests are shorter. */
const LEFTOVER_AFTER_MS = 10 * 60_000;
const HOST_MAX = 40;

/** The version of a schedule, as forms and ETags have it. Status and annotations do not count. */
export const versionOf = ({ metadata: { uid, generation } }: ScanSchedule): string => `${uid}.${generation}`;

/** A name that says what is scanned, and that depends on the ID of the request, so that sending it twice creates one schedule. */
export function nameOf(url: string, id: string): string {
  const host = siteOf(url)
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, HOST_MAX)
    .replaceAll(/^-+|-+$/g, '');
  return `${host === '' ? 'schedule' : host}-${createHash('sha256').update(id).digest('hex').slice(0, 8)}`;
}

export function createScheduleManagement({ stores: { scheduleResources: resources }, submissions, logger, now }: FastifyInstance) {
  const { namespace } = resources;
  const isHere = (schedule: DashboardScheduleRef): boolean => schedule.namespace === namespace;
  const subjectOf = ({ metadata: { name }, spec }: Pick<ScanSchedule, 'metadata' | 'spec'>): string =>
    `${siteOf(spec.scanTemplate.spec.url)} ${namespace}/${name}`;

  /** Refuses times that no schedule has, and what could not be submitted as a scan either. */
  async function check(request: FastifyRequest, { schedule, timeZone, options, baseline, metadata }: ScheduleChange): Promise<void> {
    if (schedule !== undefined || timeZone !== undefined) checkTimes(schedule, timeZone);
    if (options === undefined) return;
    const { organisation, actor } = callerOf(request);
    const submission = { organisation: organisation.id, submittedBy: auditName(actor), options, metadata, partial: false };
    const refusal = await submissions.check({ ...submission, ...(baseline && { baseline }), idempotency: null });
    if (refusal !== null) throw inScan(errorOf(refusal, options.maxPages));
  }

  /** Asks only the stores. @throws ApiError if the organisation has no such schedule, or if a manifest declares it */
  async function requireOwn(request: FastifyRequest, ref: DashboardScheduleRef): Promise<DashboardScheduleRef> {
    const { dashboardSchedules, schedules } = storesOf(request);
    if (isHere(ref) && (await dashboardSchedules.has(ref))) return ref;
    const row = await schedules.find(ref);
    throw row === null ? new ApiError('schedule_not_found') : readOnly(row);
  }

  /** @param may whether it may be written. @throws ApiError if there is none, or if it may not; DependencyDown if Kubernetes does not answer */
  async function writable(request: FastifyRequest, ref: DashboardScheduleRef, may = mayWrite): Promise<ScanSchedule> {
    await requireOwn(request, ref);
    const schedule = await resources.find(ref.name);
    if (schedule === null) throw new ApiError('schedule_not_found');
    const live = liveOf(schedule);
    if (!may(live)) throw readOnly(live);
    return schedule;
  }

  /** Writes a spec to the version that `expect` lets pass. @param force also fields that another program has set */
  async function write(
    request: FastifyRequest,
    ref: DashboardScheduleRef,
    { expect, force }: { expect: (read: ScanSchedule) => void; force: boolean },
    specOf: (read: ScanSchedule) => ScanScheduleSpec,
  ): Promise<ScanSchedule> {
    for (let attempt = 1; ; attempt += 1) {
      const read = await writable(request, ref, force ? mayStop : mayWrite);
      expect(read);
      const written = await resources.replace(read, specOf(read), force);
      if (!written.ok && written.reason === 'changed' && attempt < ATTEMPTS) continue;
      return scheduleOf(request, written);
    }
  }

  /** Returns the schedule if it is recorded as the organisation's and exists. @throws DependencyDown if Kubernetes does not answer */
  async function find(request: FastifyRequest, ref: DashboardScheduleRef): Promise<LiveSchedule | null> {
    if (!isHere(ref) || !(await storesOf(request).dashboardSchedules.has(ref))) return null;
    const schedule = await resources.find(ref.name);
    return schedule && liveOf(schedule);
  }

  return {
    /** The schedules of the organisation by namespace and name, as the operator has stored them. @throws ValidationFailure if the cursor is wrong */
    async list(request: FastifyRequest, { limit, cursor }: { limit: number; cursor: string | undefined }) {
      const position = decodeCursor(cursor);
      const [ofNamespace = '', name = ''] = position?.id.split('/') ?? [];
      const after = position && { namespace: ofNamespace, name };
      const found = await storesOf(request).schedules.list({ after, limit: limit + 1 });
      // Names alone order them.
      return pageOf(found, limit, (row) => ({ at: new Date(0), id: `${row.namespace}/${row.name}` }));
    },

    requireOwn,
    writable,
    stoppable: (request: FastifyRequest, ref: DashboardScheduleRef) => writable(request, ref, mayStop),

    /** @throws ApiError if the organisation has no such schedule, or if it was deleted and the operator has not seen that yet */
    async read(request: FastifyRequest, ref: DashboardScheduleRef): Promise<FoundSchedule> {
      const [row, live] = await Promise.all([
        storesOf(request).schedules.find(ref),
        find(request, ref).catch((error: unknown) => {
          if (error instanceof DependencyDown && error.dependency === 'kubernetes') return 'down' as const;
          throw error;
        }),
      ]);
      const isDeleted = live === null && row !== null && row.source.by === 'dashboard' && isHere(row);
      if (isDeleted || (row === null && live === null)) throw new ApiError('schedule_not_found');
      if (row === null && live === 'down') throw new ApiError('service_unavailable');
      return { row, live };
    },

    /** @param id a repeated call with the same one creates nothing. @throws ApiError, ValidationFailure or DependencyDown if it is refused */
    async create(request: FastifyRequest, wanted: WantedSchedule, id: string): Promise<LiveSchedule> {
      await check(request, wanted);
      const name = nameOf(wanted.options.url, id);
      const ref = { namespace, name };
      const { dashboardSchedules } = storesOf(request);
      const values = createHash('sha256').update(JSON.stringify(scheduleSpecOf(wanted, ''))).digest('hex'); // prettier-ignore
      const add = () => dashboardSchedules.add({ ...ref, createdAt: now(), values });
      const recorded = (await add()) ?? ((await removeLeftovers(request)) ? await add() : null);
      if (recorded === null) throw new ApiError('too_many_schedules');
      // A request that was sent before has created it. Only `change` changes it.
      const existing = await resources.find(name);
      // One without a record of the organisation is someone else's, such as of an organisation that was purged.
      if (existing !== null && recorded.added) {
        await dashboardSchedules.remove(ref);
        throw new ApiError('schedule_changed');
      }
      // Two requests may find nothing at the same time. Only that whose values are recorded creates it, because the other would replace them.
      if (existing === null ? recorded.values !== values : !isSame(existing, wanted)) throw new ApiError('schedule_changed');
      const written: WrittenSchedule = existing === null ? await resources.create(name, wanted) : { ok: true, schedule: existing };
      // Keep the record if the schedule exists: without a record, nobody could stop the schedule here.
      if (!written.ok && written.reason === 'refused' && (await resources.find(name)) === null) await dashboardSchedules.remove(ref);
      const schedule = scheduleOf(request, written);
      await recordChange(request, logger, { action: 'schedule.add', subject: subjectOf(schedule), once: `${namespace}/${name}` });
      return liveOf(schedule);
    },

    /**
     * A change that only suspends it also replaces what another program has set.
     * @param expect throws if the schedule is not the version that the change was made for. Default: any. @throws as `create`
     */
    async change(
      request: FastifyRequest,
      ref: DashboardScheduleRef,
      change: ScheduleChange,
      expect: (read: ScanSchedule) => void = () => undefined,
    ): Promise<LiveSchedule> {
      await check(request, change);
      const { suspend, ...others } = change;
      const isMore = Object.values(others).some((value) => value !== undefined);
      const force = suspend === true && !isMore;
      const schedule = await write(request, ref, { expect, force }, ({ spec }) => changedSpec(spec, change));
      const subject = subjectOf(schedule);
      if (isMore) await recordChange(request, logger, { action: 'schedule.change', subject });
      if (suspend !== undefined) await recordChange(request, logger, { action: suspend ? 'schedule.suspend' : 'schedule.resume', subject });
      return liveOf(schedule);
    },

    /** Requests a run. @param id a repeated call with the same one requests one. @throws ApiError also while another requested run waits */
    async run(request: FastifyRequest, ref: DashboardScheduleRef, id: string): Promise<LiveSchedule> {
      const read = await writable(request, ref);
      const requested = requestedRun(read);
      if (requested === id) return liveOf(read);
      if (requested !== null && requested !== read.status?.lastRunRequest) throw new ApiError('schedule_run_requested');
      const schedule = scheduleOf(request, await resources.run(read, id));
      await recordChange(request, logger, { action: 'schedule.run', subject: subjectOf(schedule), once: id });
      return liveOf(schedule);
    },

    async remove(request: FastifyRequest, ref: DashboardScheduleRef): Promise<void> {
      const read = await writable(request, ref, mayStop);
      await resources.remove(read);
      const { dashboardSchedules, schedules } = storesOf(request);
      // The operator may be down, and the list leads to the schedule.
      await schedules.remove(ref);
      await dashboardSchedules.remove(ref);
      await recordChange(request, logger, { action: 'schedule.delete', subject: subjectOf(read), once: read.metadata.uid });
    },
  };

  /** Removes records whose schedule does not exist: its creation has failed, or it was deleted in the cluster. @returns whether there were any */
  async function removeLeftovers(request: FastifyRequest): Promise<boolean> {
    const { dashboardSchedules } = storesOf(request);
    const before = now().getTime() - LEFTOVER_AFTER_MS;
    const old = (await dashboardSchedules.list()).filter((one) => isHere(one) && one.createdAt.getTime() < before);
    let removed = false;
    for (const one of old) {
      if ((await resources.find(one.name)) !== null) continue;
      await dashboardSchedules.remove(one);
      removed = true;
    }
    return removed;
  }
}
export type ScheduleManagement = ReturnType<typeof createScheduleManagement>;

const liveOf = (schedule: ScanSchedule): LiveSchedule => ({ schedule, source: sourceOf(schedule, true), writer: otherWriter(schedule) });

export const mayWrite = ({ source, writer }: LiveSchedule): boolean => source.by === 'dashboard' && writer === null;

/** Whether the paying organisation may suspend and delete a schedule: a GitOps tool that applies it would revert that. */
export const mayStop = ({ source }: LiveSchedule): boolean => source.by === 'dashboard' || source.tool === null;

/** Whether a schedule has what a form says. The API server has added defaults. */
function isSame({ spec }: ScanSchedule, wanted: WantedSchedule): boolean {
  const said = ({ displayName = '', schedule, timeZone, scanTemplate }: ScanScheduleSpec) => {
    const { baseline, class: _, ...options } = scanTemplate.spec;
    const { optional = false, count = 'elements', ...against } = baseline ?? {};
    return [displayName, schedule, timeZone, withDefaults(options), optional, count, against, scanTemplate.metadata?.annotations ?? {}];
  };
  return isDeepStrictEqual(said(spec), said(scheduleSpecOf(wanted, '')));
}

/** @throws ValidationFailure if no schedule has these times */
function checkTimes(schedule = '@daily', timeZone?: string): void {
  const parsed = parseSchedule(schedule, timeZone);
  if (parsed.ok) return;
  const { reason, message: msg } = parsed;
  const [field, type] =
    reason === 'invalid_schedule' ? (['schedule', 'schedule.times'] as const) : (['time_zone', 'schedule.time_zone'] as const);
  throw new ValidationFailure([{ loc: ['body', field], msg, type }]);
}

/** What a schedule of the cluster asks for. */
export function wantedOf(read: ScanSchedule): WantedSchedule {
  const { displayName = null, schedule, timeZone = 'UTC', suspend = false, scanTemplate } = read.spec;
  const { baseline } = scanTemplate.spec;
  const metadata = { ...read.metadata, annotations: scanTemplate.metadata?.annotations };
  const scan = { options: withDefaults(scanTemplate.spec), ...(baseline && { baseline }) };
  return { displayName, schedule, timeZone, suspend, ...scan, metadata: metadataOf({ ...read, metadata }) };
}

/** What is shown of a schedule: as it is in the cluster, or as the operator has stored it. */
export function shownOf({ row, live }: FoundSchedule) {
  if (live === null || live === 'down') {
    const { displayName, schedule, timeZone, suspended, url, maxPages, source } = row!;
    return { displayName, schedule, timeZone: timeZone ?? 'UTC', suspended, url, maxPages, source, writer: null };
  }
  const { suspend: suspended, options, displayName, schedule, timeZone } = wantedOf(live.schedule);
  const { url, maxPages } = options;
  return { displayName, schedule, timeZone, suspended, url, maxPages, source: live.source, writer: live.writer };
}

/** The error of a scan as that of the schedule that has it. */
function inScan(error: ApiError | ValidationFailure): ApiError | ValidationFailure {
  if (error instanceof ApiError) return error;
  return new ValidationFailure(error.items.map((item) => ({ ...item, loc: ['body', 'scan', ...item.loc.slice(1)] })));
}

function changedSpec(spec: ScanScheduleSpec, change: ScheduleChange): ScanScheduleSpec {
  const { schedule = spec.schedule, timeZone = spec.timeZone ?? 'UTC', suspend = spec.suspend === true, options, ...scan } = change;
  const { displayName = spec.displayName ?? null } = change;
  const times = { schedule, timeZone, suspend, displayName };
  return options === undefined
    ? { ...spec, ...times, displayName: displayName ?? undefined }
    : scheduleSpecOf({ ...scan, options, ...times }, spec.scanTemplate.spec.class!);
}

/** The source of a schedule as REST names it. @param writer null also if it is not known */
export const toSource = (source: ScheduleSource, writer: string | null) => {
  const by = source.by === 'dashboard' ? ('api' as const) : source.by;
  return { tool: null, application: null, ...source, by, writer };
};

/** The error of a schedule that is written elsewhere: where. */
const readOnly = ({ source, writer = null }: { source: ScheduleSource; writer?: string | null }): ApiError =>
  new ApiError('schedule_read_only', { fields: { source: toSource(source, writer) } });

/** @throws ApiError if it was not written */
function scheduleOf({ log }: FastifyRequest, written: WrittenSchedule): ScanSchedule {
  if (written.ok) return written.schedule;
  const { reason, message } = written;
  switch (reason) {
    case 'changed':
      throw new ApiError('schedule_changed');
    case 'conflict':
      throw new ApiError('schedule_read_only');
    case 'refused':
      // What the API server says names fields and policies that people do not know.
      log.warn({ reason: message }, 'schedule refused by the Kubernetes API');
      throw new ApiError('schedule_refused');
  }
}
