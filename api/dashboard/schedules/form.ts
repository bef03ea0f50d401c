/** The forms that create and change a schedule. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import {
  DEFAULT_TIMES,
  FREQUENCIES,
  type Frequency,
  nextTimes,
  readTimes,
  type ReadTimes,
  typedTimes,
  type TypedTimes,
} from '../../../core/schedule/recurrence.ts';
import { timeZoneOf } from '../../../core/schedule/cron/time-zone.ts';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { WantedSchedule } from '../../../stores/schedules/schedule-resources.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, statusOf, ValidationFailure } from '../../http/errors.ts';
import { actions, button, foldedCard, type FormError, hiddenField, notice, selectField, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, errorOf, formIdOf, idOfForm, titledPage } from '../forms.ts';
import { admit } from '../scans/deps.ts';
import { explained, SCAN_FORM_LIMIT_BYTES, textOf } from '../scans/actions.ts';
import { createScanForm, scanFields, type ScanForm, type ScanFormValues } from '../scans/scan-form.ts';
import {
  DASHBOARD_SCHEDULES_MAX,
  SCHEDULE_DISPLAY_NAME_MAX,
  SCHEDULE_TEXT_MAX,
  type ScanSchedule,
} from '../../../core/protocol/scan-schedules.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { type LiveSchedule, nullIfReadOnly, type ScheduleManagement, versionOf, wantedOf } from '../../schedules/management.ts';
import { backTo, NEXT_RUNS, ONE, type One, refOf, runTimes, titleOf, weekdayName, WRITE } from './pages.ts';
import { count, english, forms, m, t, tr } from '../../web/texts.ts';

export const scheduleForms: FastifyPluginAsync<{ management: ScheduleManagement }> = async (scope, { management }) => {
  const { maxPagesLimit, allowPrepareSteps } = scope.settings;
  const form = createScanForm(maxPagesLimit);

  /** Sends a form with what was typed and what is wrong. */
  async function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Pick<ScheduleFormPage, 'typed' | 'change'> & Partial<Pick<ScheduleFormPage, 'errors' | 'preview' | 'formId'>>,
    status?: number,
  ): Promise<FastifyReply> {
    const account = await storesOf(request).credits.account().catch(() => null); // prettier-ignore
    const shown = { errors: [], preview: null, formId: randomUUID(), credits: account?.balance ?? null, ...page };
    return reply.page(scheduleFormPage({ request, form, allowPrepareSteps, ...shown }), { status });
  }

  /** What a form asks for, or what is wrong with it. */
  function checked({
    name,
    scan,
    times,
    timeZone,
  }: TypedSchedule): { ok: true; wanted: Omit<WantedSchedule, 'suspend'> } | { ok: false; errors: FormError[] } {
    const { read, errors: wrongTimes } = checkedTimes({ times, timeZone });
    const options = form.check(scan);
    const long = { field: 'name', text: t`Use at most ${SCHEDULE_DISPLAY_NAME_MAX} characters.` };
    const errors = [...(name.length > SCHEDULE_DISPLAY_NAME_MAX ? [long] : []), ...wrongTimes, ...(options.ok ? [] : options.errors)];
    if (!read.ok || !options.ok || errors.length > 0) return { ok: false, errors };
    const { baseline, metadata } = options;
    const scanned = { options: options.options, ...(baseline && { baseline }), metadata };
    return { ok: true, wanted: { displayName: name === '' ? null : name, schedule: read.schedule, timeZone, ...scanned } };
  }

  /** Handles a form that creates or changes a schedule. @param act does it, and returns the schedule */
  async function handleForm(
    request: FastifyRequest,
    reply: FastifyReply,
    change: ScheduleFormPage['change'],
    act: (wanted: Omit<WantedSchedule, 'suspend'>, id: string) => Promise<LiveSchedule>,
  ): Promise<FastifyReply> {
    const sent = formOf(request.body);
    const typed = typedOf(request, form);
    const formId = formIdOf(sent);
    const page = { typed, change, formId };
    if (sent.text('preview') !== '') {
      const { read, errors } = checkedTimes(typed);
      if (!read.ok || errors.length > 0) return sendForm(request, reply, { ...page, errors }, 422);
      return sendForm(request, reply, { ...page, preview: nextTimes(read.schedule, typed.timeZone, scope.now(), NEXT_RUNS) });
    }
    const read = checked(typed);
    if (!read.ok) return sendForm(request, reply, { ...page, errors: read.errors }, 422);
    try {
      await admit(request, reply, 'submissions');
      const { schedule } = await act(read.wanted, idOfForm(request, formId));
      return await backTo(reply, refOf(schedule.metadata as DashboardScheduleRef), change === null ? 'created' : 'changed');
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === 'schedule_changed' && change !== null) return sendStale(request, reply, typed, change.ref);
      // The ID belongs to the values that were sent before.
      if (code === 'schedule_changed')
        return sendForm(request, reply, { ...page, formId: randomUUID(), errors: [{ field: null, text: tr(SENT_BEFORE) }] }, 409);
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
    const live = await management.writable(request, ref);
    const text = t`The schedule was changed meanwhile, and nothing was stored. The form has what you typed: look at the schedule in another tab, and save again to replace it.`;
    return sendForm(request, reply, { typed, change: { ref, version: versionOf(live) }, errors: [{ field: null, text }] }, 409);
  }

  /** The errors of a form that was refused. @throws what no form explains */
  function refusedForm(error: unknown, reply: FastifyReply): { errors: FormError[]; status: number } {
    const refusal = explained(error, reply);
    const items = refusal instanceof ValidationFailure ? refusal.items.map(({ loc, ...item }) => ({ ...item, loc: loc.slice(1) })) : null;
    const errors = items !== null ? form.errorsOf(items) : [{ field: null, text: textOf(refusal as ApiError) }];
    return { errors, status: statusOf(refusal) };
  }

  scope.get<{ Querystring: { url?: unknown } }>(`${SCHEDULES_PATH}/new`, WRITE, async (request, reply) => {
    const { url } = request.query;
    const [newest] = await storesOf(request).schedules.list({ limit: 1 });
    const { locale, timeZone } = signedInOf(request).user;
    const scan = { ...form.empty, ...(locale && { locale }), ...(typeof url === 'string' && { url }) };
    return sendForm(request, reply, {
      typed: { name: '', scan, times: DEFAULT_TIMES, timeZone: timeZone ?? newest?.timeZone ?? 'UTC' },
      change: null,
    });
  });

  scope.post(`${SCHEDULES_PATH}/new`, { ...WRITE, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) =>
    handleForm(request, reply, null, (wanted, id) => management.create(request, { ...wanted, suspend: false }, id)),
  );

  scope.get<One>(`${ONE}/change`, WRITE, async (request, reply) => {
    const ref = refOf(request.params);
    const live = await management.writable(request, ref).catch(nullIfReadOnly);
    if (live === null) return reply.redirect(schedulePath(ref), 303);
    const { displayName, schedule, timeZone, ...scan } = wantedOf(live);
    return sendForm(request, reply, {
      typed: { name: displayName ?? '', scan: form.valuesFor(scan), times: typedTimes(schedule), timeZone },
      change: { ref, version: versionOf(live) },
    });
  });

  scope.post<One>(`${ONE}/change`, { ...WRITE, bodyLimit: SCAN_FORM_LIMIT_BYTES }, async (request, reply) => {
    const ref = refOf(request.params);
    // Before the form is checked: what is wrong with it does not matter then.
    if ((await management.requireOwn(request, ref).catch(nullIfReadOnly)) === null) return reply.redirect(schedulePath(ref), 303);
    const version = formOf(request.body).text('version');
    const expect = (read: ScanSchedule) => {
      if (versionOf(read) !== version) throw new ApiError('schedule_changed');
    };
    return handleForm(request, reply, { ref, version }, (wanted) => management.change(request, ref, wanted, expect));
  });
};

const SENT_BEFORE = m`This form was sent before, with other values. Nothing was changed. Create this one too, or change the other one, which is in the list if it was created.`;

/** What is wrong with a cron expression is said in English. */
const shownProblem = ({ field, message }: Exclude<ReadTimes, { ok: true }>) => (field === 'cron' ? english(message) : tr(message));

function checkedTimes({ times, timeZone }: Pick<TypedSchedule, 'times' | 'timeZone'>): { read: ReadTimes; errors: FormError[] } {
  const read = readTimes(times);
  const errors: FormError[] = read.ok ? [] : [{ field: read.field, text: shownProblem(read) }];
  if (timeZoneOf(timeZone) === null) errors.push({ field: 'time_zone', text: t`Choose a time zone.` });
  return { read, errors };
}

/** What was typed into a form. Values that no form sends are the default. */
function typedOf(request: FastifyRequest, form: ReturnType<typeof createScanForm>): TypedSchedule {
  const sent = formOf(request.body);
  const frequency = FREQUENCIES.find((one) => one === sent.text('frequency')) ?? DEFAULT_TIMES.frequency;
  const text = (name: 'time' | 'minute' | 'weekday' | 'day' | 'cron') => sent.text(name);
  return {
    name: sent.text('name'),
    // Runs start with credits for all pages.
    scan: { ...form.read(sent), fail_on_truncation: 'on' },
    times: { frequency, time: text('time'), minute: text('minute'), weekday: text('weekday'), day: text('day'), cron: text('cron') },
    timeZone: sent.text('time_zone'),
  };
}

interface TypedSchedule {
  name: string;
  scan: ScanFormValues;
  times: TypedTimes;
  timeZone: string;
}

interface ScheduleFormPage {
  request: FastifyRequest;
  form: ScanForm;
  typed: TypedSchedule;
  errors: readonly FormError[];
  /** The next runs, if the form asked for them. */
  preview: readonly Date[] | null;
  /** The schedule to change, and its version. Null: a new one. */
  change: { ref: DashboardScheduleRef; version: string } | null;
  formId: string;
  /** Null: unknown at the moment. */
  credits: number | null;
  allowPrepareSteps: boolean;
}

/** The fields of a scan that a schedule does not have: its runs start with credits for all pages, or not at all. */
const NOT_SCHEDULED = ['fail_on_truncation', 'auth'] as const;

const FREQUENCY_WORDS: Readonly<Record<Frequency, string>> = {
  hour: m`Every hour`,
  day: m`Every day`,
  weekdays: m`Monday to Friday`,
  week: m`Every week`,
  month: m`Every month`,
  cron: m`Other times, as a cron expression`,
};

const CREDITS = forms('{n} credit is available.', '{n} credits are available.');

function scheduleFormPage(page: ScheduleFormPage): Html {
  const { request, form, typed, errors, change, formId, credits, allowPrepareSteps } = page;
  const { first, more } = scanFields({ form, values: typed.scan, errors, allowPrepareSteps, without: NOT_SCHEDULED });
  const hint = t`What people call it. Without a name, it is called by its site.`;
  const nameField = { name: 'name', label: t`Name`, hint, width: 'medium', autocomplete: 'off' } as const;
  const text = change === null ? t`Create schedule` : t`Save changes`;
  const list = { text: t`Schedules`, href: SCHEDULES_PATH };
  const body = html`${preview(page)}
    <p>
      ${t`Each run reserves one credit per page, and charges the pages that it tests. A run for which there are not enough credits
      fails.`}${credits !== null && ` ${count(CREDITS, credits)}`}
    </p>
    <form method="post" action="${change === null ? `${SCHEDULES_PATH}/new` : `${schedulePath(change.ref)}/change`}" novalidate>
      ${csrfField(request)}${hiddenField('form_id', formId)}${change !== null && hiddenField('version', change.version)}
      ${first} ${textField({ ...nameField, value: typed.name, error: errorOf(errors, 'name') })}
      ${timeFields(page)} ${actions(button({ text, kind: 'primary' }))}
      ${foldedCard({ ...more, body: html`${more.body} ${button({ text })}` })}
    </form>
    ${change === null && html`<p class="hint">${t`Your organisation can have ${String(DASHBOARD_SCHEDULES_MAX)} schedules of the dashboard.`}</p>`}`;
  return titledPage({
    request,
    title: change === null ? t`New schedule` : t`Change the schedule`,
    active: 'schedules',
    trail:
      change === null
        ? [list]
        : [list, { text: titleOf({ displayName: typed.name || null, url: typed.scan.url }), href: schedulePath(change.ref) }],
    errors,
    narrow: true,
    body,
  });
}

const preview = ({ preview: times, typed }: ScheduleFormPage): Html | false =>
  times !== null &&
  notice({
    title: times.length === 1 ? t`The next run` : t`The next runs`,
    body: html`${runTimes(times, typed.timeZone)} <p>${t`Nothing is stored yet.`}</p>`,
    announce: true,
    id: 'preview',
  });

function timeFields({ typed: { times, timeZone }, errors }: ScheduleFormPage): Html {
  const only = (frequencies: readonly Frequency[], field: Html): Html =>
    html`<div class="when-field ${frequencies.map((one) => `when-${one}`).join(' ')}">${field}</div>`;
  const field = (name: Exclude<keyof TypedTimes, 'frequency'>) =>
    ({ name, required: true, value: times[name], error: errorOf(errors, name) }) as const;
  return html`<fieldset class="when">
    <legend>${t`When`}</legend>
    ${selectField({
      name: 'frequency',
      label: t`How often`,
      required: true,
      value: times.frequency,
      choices: FREQUENCIES.map((value) => ({ value, text: tr(FREQUENCY_WORDS[value]) })),
    })}
    ${only(
      ['week'],
      selectField({
        ...field('weekday'),
        label: t`Day of the week`,
        hint: t`Only for runs every week.`,
        // Weeks begin on Monday, as in the calendars of most countries.
        choices: [1, 2, 3, 4, 5, 6, 0].map((day) => ({ value: String(day), text: weekdayName(day) })),
      }),
    )}
    ${only(
      ['month'],
      textField({
        ...field('day'),
        label: t`Day of the month`,
        hint: t`Only for runs every month: 1 to 31. Months without this day are skipped.`,
        width: 'short',
        inputmode: 'numeric',
      }),
    )}
    ${only(
      ['day', 'weekdays', 'week', 'month'],
      textField({
        ...field('time'),
        label: t`Time`,
        hint: t`Hours and minutes, such as 08:30. Not for runs every hour or by a cron expression.`,
        width: 'medium',
        type: 'time',
      }),
    )}
    ${only(
      ['hour'],
      textField({
        ...field('minute'),
        label: t`Minute of the hour`,
        hint: t`Only for runs every hour: 0 to 59.`,
        width: 'short',
        inputmode: 'numeric',
      }),
    )}
    ${only(
      ['cron'],
      textField({
        ...field('cron'),
        label: t`Cron expression`,
        hint: t`Only for other times: minute, hour, day of the month, month, day of the week. ${html`<code>0 8,20 * * 1-5</code>`} is 08:00 and 20:00 on working days.`,
        maxlength: SCHEDULE_TEXT_MAX,
        autocomplete: 'off',
        spellcheck: false,
      }),
    )}
    ${selectField(zoneField(timeZone, errorOf(errors, 'time_zone')))}
    ${actions(button({ text: t`Show the next runs`, attributes: { name: 'preview', value: 'yes' } }))}
  </fieldset>`;
}

const KNOWN_ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

/** A field with every time zone that this service knows, and the present one. */
export function zoneField(value: string, error?: HtmlValue) {
  const zones = KNOWN_ZONES.includes(value) ? KNOWN_ZONES : [value, ...KNOWN_ZONES];
  const choices = zones.map((zone) => ({ value: zone, text: zone.replaceAll('_', ' ') }));
  return { name: 'time_zone', label: t`Time zone`, required: true, value, choices, error };
}
