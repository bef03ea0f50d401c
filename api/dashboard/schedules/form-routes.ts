/** The forms that create and change a schedule. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { metadataOf } from '../../../core/protocol/custom-resources.ts';
import { DEFAULT_TIMES, FREQUENCIES, nextTimes, readTimes, typedTimes, type ReadTimes } from '../../../core/schedule/recurrence.ts';
import { timeZoneOf } from '../../../core/schedule/cron/time-zone.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { WantedSchedule } from '../../../stores/schedules/schedule-resources.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, statusOf, ValidationFailure } from '../../http/errors.ts';
import type { FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { formIdOf } from '../form-ids.ts';
import { admit, type ScanPageDeps } from '../routes/deps.ts';
import { explained, SCAN_FORM_LIMIT_BYTES, textOf } from '../routes/scan-actions.ts';
import { createScanForm } from '../scan-form.ts';
import { scheduleFormPage, type ScheduleFormPage, type TypedSchedule } from './form-page.ts';
import { readOnly, ScheduleRefusal, versionOf, type ScheduleManagement } from './manage.ts';
import { backTo, NEXT_RUNS, ONE, refOf, WRITE, type One } from './paths.ts';

export interface ScheduleFormDeps {
  management: ScheduleManagement;
  scans: ScanPageDeps;
  now: () => Date;
}

export const scheduleForms: FastifyPluginAsync<ScheduleFormDeps> = async (scope, { management, scans: deps, now }) => {
  const form = createScanForm(deps.maxPagesLimit);

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
      return await backTo(reply, await act(read.wanted, formId), change === null ? 'created' : 'changed');
    } catch (error) {
      if (error instanceof ScheduleRefusal && error.reason === 'changed' && change !== null)
        return sendStale(request, reply, typed, change.ref);
      // The ID belongs to the values that were sent before.
      if (error instanceof ScheduleRefusal && error.reason === 'exists') page.formId = randomUUID();
      const { errors, status } = refusedForm(error, reply);
      return sendForm(request, reply, { ...page, errors }, status);
    }
  }

  /** The form with what was typed and the current version: its notice says what changed, so sending it again is a decision. */
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

  scope.get<One>(`${ONE}/change`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const live = await management.writable(request, ref).catch(readOnly);
    if (live === null) return reply.redirect(schedulePath(ref), 303);
    const { schedule, timeZone = 'UTC', scanTemplate } = live.spec;
    const metadata = metadataOf({
      ...live,
      metadata: { ...live.metadata, ...scanTemplate.metadata, annotations: scanTemplate.metadata?.annotations },
    });
    const { baseline } = scanTemplate.spec;
    const scan = form.valuesFor({ options: withDefaults(scanTemplate.spec), ...(baseline && { baseline }), metadata });
    return sendForm(request, reply, {
      typed: { scan, times: typedTimes(schedule), timeZone },
      change: { ref, version: versionOf(live) },
    });
  });

  scope.post<One>(`${ONE}/change`, { ...WRITE, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) => {
    const ref = refOf(request.params);
    // Before the form is checked: what is wrong with it does not matter then.
    if ((await management.requireOwn(request, ref).catch(readOnly)) === null) return reply.redirect(schedulePath(ref), 303);
    const version = formOf(request.body).text('version');
    return handleForm(request, reply, { ref, version }, async (wanted) => {
      await management.change(request, ref, wanted, version);
      return ref;
    });
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
