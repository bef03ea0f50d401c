/**
 * Creates, changes, runs and deletes the schedules of the dashboard for the caller of a request, and records it. The record of a
 * schedule says whose it is: it is stored before the resource, and removed after it. The Kubernetes API decides everything else.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { auditName } from '../../../core/accounts.ts';
import { DASHBOARD_SCHEDULES_MAX, type ScanSchedule, type ScanScheduleSpec } from '../../../core/protocol/scan-schedules.ts';
import { requestedRun } from '../../../core/schedule/requested-run.ts';
import { otherWriter, type ScheduleSource, sourceOf } from '../../../core/schedule/source.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { siteOf } from '../../../core/scan/site.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import { scheduleSpecOf, type WantedSchedule, type WrittenSchedule } from '../../../stores/schedules/schedule-resources.ts';
import type { ListedSchedule } from '../../../stores/schedules/schedules.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { errorOf } from '../../scans/submission/submission.ts';
import { idOfForm } from '../forms.ts';

const REFUSALS = {
  too_many: `Your organisation has ${DASHBOARD_SCHEDULES_MAX} schedules of the dashboard, which is the limit. Delete one, then create the new one.`,
  read_only: 'A manifest or another program in the cluster writes this schedule, so it is changed there. Nothing was changed here.',
  changed: 'The schedule was changed meanwhile. Nothing was stored.',
  exists:
    'This form was sent before, with other values. Nothing was changed. Create this one too, or change the other one, which is in the list if it was created.',
  requested: 'A run was requested already and has not started yet. Nothing more was requested.',
  refused:
    'The cluster does not accept this schedule. Nothing was stored. Change what you typed, or ask your administrator: the reason is in the log of the API.',
} as const;

/** Why the dashboard does not do what was asked, as a conflict with the state of things. */
export class ScheduleRefusal extends Error {
  readonly reason: keyof typeof REFUSALS;
  constructor(reason: keyof typeof REFUSALS) {
    super(REFUSALS[reason]);
    this.name = 'ScheduleRefusal';
    this.reason = reason;
  }
}

/** For forms of schedules that are read-only: the page of the schedule says why. @returns null @throws any other error */
export function readOnly(error: unknown): null {
  if (error instanceof ScheduleRefusal) return null;
  throw error;
}

/** A schedule of the organisation in the cluster, and why the dashboard does not change it. */
export interface LiveSchedule {
  schedule: ScanSchedule;
  source: ScheduleSource;
  /** A program that has changed it. Null: none has. */
  writer: string | null;
}

/** How often a change is written again because the operator has written the status at the same time. */
const ATTEMPTS = 5;
/** A record without a resource that is older than this is left over. Requests are shorter. */
const LEFTOVER_AFTER_MS = 10 * 60_000;
const HOST_MAX = 40;

/** The version of a schedule that a form shows. Status and annotations do not count. */
export const versionOf = ({ metadata: { uid, generation } }: ScanSchedule): string => `${uid}.${generation}`;

/** A name that says what is scanned, and that depends on the form, so that sending it twice creates one schedule. */
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

  /** Refuses what could not be submitted as a scan either. */
  async function check(request: FastifyRequest, { options, baseline, metadata }: WantedSchedule): Promise<void> {
    const { organisation, actor } = callerOf(request);
    const submission = { organisation: organisation.id, submittedBy: auditName(actor), options, metadata, partial: false };
    const refusal = await submissions.check({ ...submission, ...(baseline && { baseline }), idempotency: null });
    if (refusal !== null) throw errorOf(refusal, options.maxPages);
  }

  /** Asks only the stores. @throws ApiError if the organisation has no such schedule; ScheduleRefusal if a manifest declares it */
  async function requireOwn(request: FastifyRequest, ref: DashboardScheduleRef): Promise<DashboardScheduleRef> {
    const { dashboardSchedules, schedules } = storesOf(request);
    if (isHere(ref) && (await dashboardSchedules.has(ref))) return ref;
    if ((await schedules.find(ref)) === null) throw new ApiError('not_found');
    throw new ScheduleRefusal('read_only');
  }

  /**
   * @param may which schedules
   * @throws ApiError if there is none; ScheduleRefusal if it may not; DependencyDown if Kubernetes does not answer
   */
  async function writable(request: FastifyRequest, ref: DashboardScheduleRef, may = mayWrite): Promise<ScanSchedule> {
    await requireOwn(request, ref);
    const schedule = await resources.find(ref.name);
    if (schedule === null) throw new ApiError('not_found');
    if (!may(liveOf(schedule))) throw new ScheduleRefusal('read_only');
    return schedule;
  }

  /** Writes a spec unless it has changed since `version`. @param force also fields that another program has set */
  async function write(
    request: FastifyRequest,
    ref: DashboardScheduleRef,
    { version = null, force = false }: { version?: string | null; force?: boolean },
    specOf: (read: ScanSchedule) => ScanScheduleSpec,
  ): Promise<ScanSchedule> {
    for (let attempt = 1; ; attempt += 1) {
      const read = await writable(request, ref, force ? mayStop : mayWrite);
      if (version !== null && versionOf(read) !== version) throw new ScheduleRefusal('changed');
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
    find,
    requireOwn,
    writable,
    stoppable: (request: FastifyRequest, ref: DashboardScheduleRef) => writable(request, ref, mayStop),
    /** Whether it was deleted, although the operator has not seen that yet. @param live what `find` returned */
    isDeleted: (row: ListedSchedule | null, live: LiveSchedule | 'down' | null): boolean =>
      live === null && row !== null && row.source.by === 'dashboard' && isHere(row),

    /** @throws ScheduleRefusal, ApiError, ValidationFailure or DependencyDown if it is refused */
    async create(request: FastifyRequest, wanted: WantedSchedule, formId: string): Promise<DashboardScheduleRef> {
      await check(request, wanted);
      const name = nameOf(wanted.options.url, idOfForm(request, formId));
      const ref = { namespace, name };
      const { dashboardSchedules } = storesOf(request);
      const values = createHash('sha256').update(JSON.stringify(scheduleSpecOf(wanted, ''))).digest('hex'); // prettier-ignore
      const add = () => dashboardSchedules.add({ ...ref, createdAt: now(), values });
      const recorded = (await add()) ?? ((await removeLeftovers(request)) ? await add() : null);
      if (recorded === null) throw new ScheduleRefusal('too_many');
      // A form that was sent before has created it. Only its page changes it, with its version.
      const existing = await resources.find(name);
      // One without a record of the organisation is someone else's, such as of an organisation that was purged.
      if (existing !== null && recorded.added) {
        await dashboardSchedules.remove(ref);
        throw new ScheduleRefusal('exists');
      }
      // Two requests may find nothing at the same time. Only that whose values are recorded creates it, because the other would replace them.
      if (existing === null ? recorded.values !== values : !isSame(existing, wanted)) throw new ScheduleRefusal('exists');
      const written: WrittenSchedule = existing === null ? await resources.create(name, wanted) : { ok: true, schedule: existing };
      // Keep the record if the schedule exists: without a record, nobody could stop the schedule here.
      if (!written.ok && written.reason === 'refused' && (await resources.find(name)) === null) await dashboardSchedules.remove(ref);
      const schedule = scheduleOf(request, written);
      await recordChange(request, logger, { action: 'schedule.add', subject: subjectOf(schedule), once: `${namespace}/${name}` });
      return ref;
    },

    /** @param version that of the form. @throws as `create` */
    async change(
      request: FastifyRequest,
      ref: DashboardScheduleRef,
      wanted: Omit<WantedSchedule, 'suspend'>,
      version: string,
    ): Promise<void> {
      await check(request, { ...wanted, suspend: false });
      const schedule = await write(request, ref, { version }, ({ spec }) =>
        scheduleSpecOf({ ...wanted, suspend: spec.suspend === true }, spec.scanTemplate.spec.class!),
      );
      await recordChange(request, logger, { action: 'schedule.change', subject: subjectOf(schedule) });
    },

    async setSuspended(request: FastifyRequest, ref: DashboardScheduleRef, suspend: boolean): Promise<void> {
      const schedule = await write(request, ref, { force: suspend }, ({ spec }) => ({ ...spec, suspend }));
      await recordChange(request, logger, { action: suspend ? 'schedule.suspend' : 'schedule.resume', subject: subjectOf(schedule) });
    },

    /** Requests a run. A form that is sent twice requests one. @throws ScheduleRefusal also while another requested run waits */
    async run(request: FastifyRequest, ref: DashboardScheduleRef, formId: string): Promise<void> {
      const read = await writable(request, ref);
      const token = idOfForm(request, formId);
      const requested = requestedRun(read);
      if (requested === token) return;
      if (requested !== null && requested !== read.status?.lastRunRequest) throw new ScheduleRefusal('requested');
      const schedule = scheduleOf(request, await resources.run(read, token));
      await recordChange(request, logger, { action: 'schedule.run', subject: subjectOf(schedule), once: token });
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
  const said = ({ schedule, timeZone, scanTemplate }: ScanScheduleSpec) => {
    const { baseline, class: _, ...options } = scanTemplate.spec;
    const { optional = false, count = 'elements', ...against } = baseline ?? {};
    return [schedule, timeZone, withDefaults(options), optional, count, against, scanTemplate.metadata?.annotations ?? {}];
  };
  return isDeepStrictEqual(said(spec), said(scheduleSpecOf(wanted, '')));
}

/** @throws ScheduleRefusal if it was not written */
function scheduleOf({ log }: FastifyRequest, written: WrittenSchedule): ScanSchedule {
  if (written.ok) return written.schedule;
  const { reason, message } = written;
  switch (reason) {
    case 'changed':
      throw new ScheduleRefusal('changed');
    case 'conflict':
      throw new ScheduleRefusal('read_only');
    case 'refused':
      // What the API server says names fields and policies that people do not know.
      log.warn({ reason: message }, 'schedule refused by the Kubernetes API');
      throw new ScheduleRefusal('refused');
  }
}
