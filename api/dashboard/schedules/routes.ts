/** The pages of schedules: the list, one with its runs, and the forms that create, change, run, suspend and delete it. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { metadataOf } from '../../../core/protocol/custom-resources.ts';
import { DEFAULT_TIMES, FREQUENCIES, nextTimes, readTimes, typedTimes, type ReadTimes } from '../../../core/schedule/recurrence.ts';
import { timeZoneOf } from '../../../core/schedule/cron/time-zone.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { WantedSchedule } from '../../../stores/schedules/schedule-resources.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { DependencyDown } from '../../http/dependency-outages.ts';
import { ApiError, statusOf, ValidationFailure } from '../../http/errors.ts';
import { INVALID_CURSOR } from '../../http/pagination.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import type { FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../actor-names.ts';
import { formIdOf } from '../form-ids.ts';
import { doneOf } from '../forms.ts';
import { admit, type ScanPageDeps } from '../routes/deps.ts';
import { explained, SCAN_FORM_LIMIT_BYTES, textOf } from '../routes/scan-actions.ts';
import { createScanForm } from '../scan-form.ts';
import { scheduleFormPage, type ScheduleFormPage, type TypedSchedule } from './form-page.ts';
import { createScheduleManagement, mayWrite, ScheduleRefusal, versionOf, type ManageDeps } from './manage.ts';
import { schedulesPage } from './page.ts';
import { deleteSchedulePage, schedulePage, type SchedulePageData } from './schedule-page.ts';

const PER_PAGE = 25;
const NEXT_RUNS = 5;
const RUNS = 10;
const READ = { config: { permission: 'scans:read' } } as const;
const WRITE = { config: { permission: 'scans:write' } } as const;
const ONE = `${SCHEDULES_PATH}/:namespace/:name`;
const DONE = {
  created: 'The schedule was created.',
  changed: 'The changes were saved. They apply to runs that start from now on.',
  suspend: 'The schedule is suspended: no scan starts at its times.',
  resume: 'The schedule continues.',
  run: 'A run was requested. Its scan appears below within seconds; if a scan of this schedule still runs, when that has ended.',
  deleted: 'The schedule was deleted.',
};
type One = { Params: DashboardScheduleRef };

export type SchedulePageDeps = Omit<ManageDeps, 'submissions'> & { scans: ScanPageDeps };

export const schedulePages: FastifyPluginAsync<SchedulePageDeps> = async (scope, { scans: deps, now, ...others }) => {
  const management = createScheduleManagement({ ...others, now, submissions: deps.submissions });
  const form = createScanForm(deps.maxPagesLimit);
  const back = (reply: FastifyReply, ref: DashboardScheduleRef, done: keyof typeof DONE) =>
    reply.redirect(`${schedulePath(ref)}?done=${done}`, 303);

  scope.get<{ Querystring: { cursor?: string } }>(SCHEDULES_PATH, READ, async (request, reply) => {
    const { cursor } = request.query;
    const found = await storesOf(request).schedules.list({ after: placeOf(cursor), limit: PER_PAGE + 1 });
    const schedules = found.slice(0, PER_PAGE);
    const { namespace, name } = schedules.at(-1) ?? {};
    const nextCursor = found.length > PER_PAGE ? `${namespace}/${name}` : null;
    const mayCreate = mayCall(callerOf(request), 'scans:write');
    const done = doneOf(request, DONE);
    return reply.page(schedulesPage({ request, schedules, first: cursor === undefined, nextCursor, mayCreate, done, now: now() }));
  });

  /** Sends a form with what was typed and what is wrong. */
  async function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Pick<ScheduleFormPage, 'typed' | 'change'> & Partial<Pick<ScheduleFormPage, 'errors' | 'preview' | 'formId'>>,
    status?: number,
  ): Promise<FastifyReply> {
    const account = await storesOf(request).credits.account().catch(() => null); // prettier-ignore
    const shown = { errors: [], preview: null, formId: randomUUID(), credits: account?.balance ?? null, ...page };
    return reply.page(scheduleFormPage({ request, form, allowPrepareSteps: deps.allowPrepareSteps, ...shown }), { status });
  }

  /** What a form asks for, or what is wrong with it. */
  function checked({
    scan,
    times,
    timeZone,
  }: TypedSchedule): { ok: true; wanted: Omit<WantedSchedule, 'suspend'> } | { ok: false; errors: FormError[] } {
    const { read, errors: wrongTimes } = checkedTimes({ times, timeZone });
    const options = form.check(scan);
    const errors = [...wrongTimes, ...(options.ok ? [] : options.errors)];
    if (!read.ok || !options.ok || errors.length > 0) return { ok: false, errors };
    const { baseline, metadata } = options;
    return { ok: true, wanted: { schedule: read.schedule, timeZone, options: options.options, ...(baseline && { baseline }), metadata } };
  }

  /** Handles a form that creates or changes a schedule. @param act does it, and returns the schedule */
  async function handleForm(
    request: FastifyRequest,
    reply: FastifyReply,
    change: ScheduleFormPage['change'],
    act: (wanted: Omit<WantedSchedule, 'suspend'>, formId: string) => Promise<DashboardScheduleRef>,
  ): Promise<FastifyReply> {
    const sent = formOf(request.body);
    const typed = typedOf(request, form);
    const formId = formIdOf(sent);
    const page = { typed, change, formId };
    if (sent.text('preview') !== '') {
      const { read, errors } = checkedTimes(typed);
      if (!read.ok || errors.length > 0) return sendForm(request, reply, { ...page, errors }, 422);
      return sendForm(request, reply, { ...page, preview: nextTimes(read.schedule, typed.timeZone, now(), NEXT_RUNS) });
    }
    const read = checked(typed);
    if (!read.ok) return sendForm(request, reply, { ...page, errors: read.errors }, 422);
    try {
      await admit(request, reply, deps, 'submissions');
      return await back(reply, await act(read.wanted, formId), change === null ? 'created' : 'changed');
    } catch (error) {
      if (error instanceof ScheduleRefusal && error.reason === 'changed' && change !== null)
        return sendStale(request, reply, typed, change.ref);
      const { errors, status } = refusedForm(error, reply);
      return sendForm(request, reply, { ...page, errors }, status);
    }
  }

  /** The form with what was typed, and with the current version: whoever sends it again has been told. */
  async function sendStale(
    request: FastifyRequest,
    reply: FastifyReply,
    typed: TypedSchedule,
    ref: DashboardScheduleRef,
  ): Promise<FastifyReply> {
    const live = await management.find(request, ref);
    if (live === null) throw new ApiError('not_found');
    const text =
      'The schedule was changed meanwhile, and nothing was stored. The form has what you typed: look at the schedule in another tab, and save again to replace it.';
    return sendForm(request, reply, { typed, change: { ref, version: versionOf(live.schedule) }, errors: [{ field: null, text }] }, 409);
  }

  /** The errors of a form that was refused. @throws what no form explains */
  function refusedForm(error: unknown, reply: FastifyReply): { errors: FormError[]; status: number } {
    if (error instanceof ScheduleRefusal) return { errors: [{ field: null, text: error.message }], status: 409 };
    const refusal = explained(error, reply);
    const errors = refusal instanceof ValidationFailure ? form.errorsOf(refusal.items) : [{ field: null, text: textOf(refusal) }];
    return { errors, status: statusOf(refusal) };
  }

  scope.get<{ Querystring: { url?: unknown } }>(`${SCHEDULES_PATH}/new`, WRITE, async (request, reply) => {
    const { url } = request.query;
    const [newest] = await storesOf(request).schedules.list({ limit: 1 });
    const scan = { ...form.empty, ...(typeof url === 'string' && { url }) };
    return sendForm(request, reply, { typed: { scan, times: DEFAULT_TIMES, timeZone: newest?.timeZone ?? 'UTC' }, change: null });
  });

  scope.post(`${SCHEDULES_PATH}/new`, { ...WRITE, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) =>
    handleForm(request, reply, null, (wanted, formId) => management.create(request, { ...wanted, suspend: false }, formId)),
  );

  /** @throws ApiError if the organisation has no such schedule */
  async function pageData(request: FastifyRequest, ref: DashboardScheduleRef): Promise<Omit<SchedulePageData, 'formId'>> {
    const stores = storesOf(request);
    const [row, live, { rows: runs }] = await Promise.all([
      stores.schedules.find(ref),
      management.find(request, ref).catch((error: unknown) => {
        if (error instanceof DependencyDown && error.dependency === 'kubernetes') return 'down' as const;
        throw error;
      }),
      stores.scans.search({ schedule: ref, limit: RUNS }),
    ]);
    if (row === null && (live === null || live === 'down'))
      throw live === 'down' ? new ApiError('service_unavailable') : new ApiError('not_found');
    const { schedule, timeZone } = live === null || live === 'down' ? row! : live.schedule.spec;
    const names = await actorNames(stores, runs.map(({ submittedBy }) => submittedBy)); // prettier-ignore
    const next = nextTimes(schedule, timeZone ?? undefined, now(), NEXT_RUNS);
    return { request, ref, row, live, next, runs, names, mayWrite: mayCall(callerOf(request), 'scans:write'), now: now() };
  }

  scope.get<One>(ONE, READ, async (request, reply) => {
    const data = await pageData(request, refOf(request.params));
    return reply.page(schedulePage({ ...data, formId: randomUUID(), done: doneOf(request, DONE) }));
  });

  scope.get<One>(`${ONE}/change`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const live = await management.find(request, ref);
    // Its page says why it is not changed here, or that there is none.
    if (live === null || !mayWrite(live)) return reply.redirect(schedulePath(ref), 303);
    const { schedule, timeZone = 'UTC', scanTemplate } = live.schedule.spec;
    const metadata = metadataOf({
      ...live.schedule,
      metadata: { ...live.schedule.metadata, ...scanTemplate.metadata, annotations: scanTemplate.metadata?.annotations },
    });
    const { baseline } = scanTemplate.spec;
    const scan = form.valuesFor({ options: withDefaults(scanTemplate.spec), ...(baseline && { baseline }), metadata });
    return sendForm(request, reply, {
      typed: { scan, times: typedTimes(schedule), timeZone },
      change: { ref, version: versionOf(live.schedule) },
    });
  });

  scope.post<One>(`${ONE}/change`, { ...WRITE, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) => {
    const ref = refOf(request.params);
    const version = formOf(request.body).text('version');
    return handleForm(request, reply, { ref, version }, async (wanted) => {
      await management.change(request, ref, wanted, version);
      return ref;
    });
  });

  /** A button of the page of a schedule. @param act does what it says */
  const action = (name: 'run' | 'suspend' | 'resume', act: (request: FastifyRequest, ref: DashboardScheduleRef) => Promise<void>) =>
    scope.post<One>(`${ONE}/${name}`, WRITE, async (request, reply) => {
      const ref = refOf(request.params);
      try {
        if (name === 'run') await admit(request, reply, deps, 'submissions');
        await act(request, ref);
      } catch (error) {
        const isRefusal = error instanceof ScheduleRefusal;
        const refusal = isRefusal ? null : explained(error, reply);
        if (refusal instanceof ApiError && refusal.code === 'not_found') throw error;
        const data = await pageData(request, ref);
        const problem = refusal === null ? (error as Error).message : textOf(refusal);
        // The same form again requests the same run.
        const formId = formIdOf(formOf(request.body));
        return reply.page(schedulePage({ ...data, formId, problem }), { status: refusal === null ? 409 : statusOf(refusal) });
      }
      return back(reply, ref, name);
    });
  action('run', (request, ref) => management.run(request, ref, formIdOf(formOf(request.body))));
  action('suspend', (request, ref) => management.setSuspended(request, ref, true));
  action('resume', (request, ref) => management.setSuspended(request, ref, false));

  scope.get<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const live = await management.find(request, ref);
    if (live === null || !mayWrite(live)) return reply.redirect(schedulePath(ref), 303);
    return reply.page(deleteSchedulePage(request, ref, live));
  });

  scope.post<One>(`${ONE}/delete`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    try {
      await management.remove(request, ref);
    } catch (error) {
      if (!(error instanceof ScheduleRefusal)) throw error;
      return reply.page(schedulePage({ ...(await pageData(request, ref)), formId: randomUUID(), problem: error.message }), { status: 409 });
    }
    return reply.redirect(`${SCHEDULES_PATH}?done=deleted`, 303);
  });
};

function checkedTimes({ times, timeZone }: Pick<TypedSchedule, 'times' | 'timeZone'>): { read: ReadTimes; errors: FormError[] } {
  const read = readTimes(times);
  const errors: FormError[] = read.ok ? [] : [{ field: read.field, text: read.message }];
  if (timeZoneOf(timeZone) === null) errors.push({ field: 'time_zone', text: 'Choose a time zone.' });
  return { read, errors };
}

/** What was typed into a form. Values that no form sends are the default. */
function typedOf(request: FastifyRequest, form: ReturnType<typeof createScanForm>): TypedSchedule {
  const sent = formOf(request.body);
  const frequency = FREQUENCIES.find((one) => one === sent.text('frequency')) ?? DEFAULT_TIMES.frequency;
  const text = (name: 'time' | 'minute' | 'weekday' | 'day' | 'cron') => sent.text(name);
  return {
    // Runs start with credits for all pages.
    scan: { ...form.read(sent), fail_on_truncation: 'on' },
    times: { frequency, time: text('time'), minute: text('minute'), weekday: text('weekday'), day: text('day'), cron: text('cron') },
    timeZone: sent.text('time_zone'),
  };
}

const NAMESPACE = /^[a-z0-9-]{1,63}$/;
const NAME = /^[a-z0-9.-]{1,253}$/;

/** Names are DNS labels and subdomains, which need no encoding. @throws ApiError if they are none: such a schedule does not exist */
function refOf({ namespace, name }: DashboardScheduleRef): DashboardScheduleRef {
  if (!NAMESPACE.test(namespace) || !NAME.test(name)) throw new ApiError('not_found');
  return { namespace, name };
}

/** The cursor is the last schedule of the part before. */
function placeOf(cursor: string | undefined): DashboardScheduleRef | null {
  if (cursor === undefined) return null;
  const [namespace = '', name = '', ...others] = cursor.split('/');
  if (!NAMESPACE.test(namespace) || !NAME.test(name) || others.length > 0) throw new ValidationFailure([INVALID_CURSOR]);
  return { namespace, name };
}
