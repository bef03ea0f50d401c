/** The forms that create and change a schedule. Pure. */
import type { FastifyRequest } from 'fastify';
import { FREQUENCIES, WEEKDAYS, type Frequency, type TypedTimes } from '../../../core/schedule/recurrence.ts';
import { DASHBOARD_SCHEDULES_MAX } from '../../../core/protocol/scan-schedules.ts';
import { schedulePath, SCHEDULES_PATH } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import { actions, button, hiddenField, notice, selectField, textField, type FormError } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField, errorOf } from '../forms.ts';
import type { ScanForm, ScanFormValues } from '../scan-form.ts';
import { titledPage } from '../titled-page.ts';
import { scanFields } from '../views/new-scan.ts';
import { number } from '../views/scan-words.ts';
import { runTimes } from './words.ts';

export interface TypedSchedule {
  scan: ScanFormValues;
  times: TypedTimes;
  timeZone: string;
}

export interface ScheduleFormPage {
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
export const NOT_SCHEDULED = ['fail_on_truncation'] as const;

const FREQUENCY_WORDS: Readonly<Record<Frequency, string>> = {
  hour: 'Every hour',
  day: 'Every day',
  weekdays: 'Monday to Friday',
  week: 'Every week',
  month: 'Every month',
  cron: 'Other times, as a cron expression',
};

export function scheduleFormPage(page: ScheduleFormPage): Html {
  const { request, form, typed, errors, change, formId, credits, allowPrepareSteps } = page;
  const fields = { form, values: typed.scan, errors, allowPrepareSteps, without: NOT_SCHEDULED };
  const list = { text: 'Schedules', href: SCHEDULES_PATH };
  const body = html`${preview(page)}
    <p>
      Each run reserves one credit per page, and charges the pages that it tests. A run for which there are not enough credits
      fails.${credits !== null && ` ${number(credits)} credits are available.`}
    </p>
    <form method="post" action="${change === null ? `${SCHEDULES_PATH}/new` : `${schedulePath(change.ref)}/change`}" novalidate>
      ${csrfField(request)}${hiddenField('form_id', formId)}${change !== null && hiddenField('version', change.version)}
      ${timeFields(page)} ${scanFields(fields)}
      ${button({ text: change === null ? 'Create schedule' : 'Save changes', kind: 'primary' })}
    </form>
    ${change === null && html`<p class="hint">Your organisation can have ${String(DASHBOARD_SCHEDULES_MAX)} schedules of the dashboard.</p>`}`;
  return titledPage({
    request,
    title: change === null ? 'New schedule' : 'Change the schedule',
    active: 'schedules',
    trail: change === null ? [list] : [list, { text: change.ref.name, href: schedulePath(change.ref) }],
    errors,
    narrow: true,
    body,
  });
}

const preview = ({ preview: times, typed }: ScheduleFormPage): Html | false =>
  times !== null &&
  notice({
    title: times.length === 1 ? 'The next run' : 'The next runs',
    body: html`${runTimes(times, typed.timeZone)} <p>Nothing is stored yet.</p>`,
    announce: true,
    id: 'preview',
  });

function timeFields({ typed: { times, timeZone }, errors }: ScheduleFormPage): Html {
  const only = (frequencies: readonly Frequency[], field: Html): Html =>
    html`<div class="when-field ${frequencies.map((one) => `when-${one}`).join(' ')}">${field}</div>`;
  return html`<fieldset class="when">
    <legend>When</legend>
    ${selectField({
      name: 'frequency',
      label: 'How often',
      required: true,
      value: times.frequency,
      choices: FREQUENCIES.map((value) => ({ value, text: FREQUENCY_WORDS[value] })),
    })}
    ${only(
      ['week'],
      selectField({
        name: 'weekday',
        label: 'Day of the week',
        hint: 'For every week.',
        required: true,
        value: times.weekday,
        // Weeks begin on Monday, as in the calendars of most countries.
        choices: [...WEEKDAYS.slice(1), WEEKDAYS[0]].map((text) => ({ value: String(WEEKDAYS.indexOf(text)), text })),
        error: errorOf(errors, 'weekday'),
      }),
    )}
    ${only(
      ['month'],
      textField({
        name: 'day',
        label: 'Day of the month',
        hint: 'For every month: 1 to 31. Months without this day are skipped.',
        required: true,
        width: 'short',
        inputmode: 'numeric',
        value: times.day,
        error: errorOf(errors, 'day'),
      }),
    )}
    ${only(
      ['day', 'weekdays', 'week', 'month'],
      textField({
        name: 'time',
        label: 'Time',
        hint: 'For all but every hour and other times: hours and minutes, such as 08:30.',
        required: true,
        width: 'medium',
        type: 'time',
        value: times.time,
        error: errorOf(errors, 'time'),
      }),
    )}
    ${only(
      ['hour'],
      textField({
        name: 'minute',
        label: 'Minute of the hour',
        hint: 'For every hour: 0 to 59.',
        required: true,
        width: 'short',
        inputmode: 'numeric',
        value: times.minute,
        error: errorOf(errors, 'minute'),
      }),
    )}
    ${only(
      ['cron'],
      textField({
        name: 'cron',
        label: 'Cron expression',
        hint: html`For other times: minute, hour, day of the month, month, day of the week. <code>0 8,20 * * 1-5</code> is 08:00 and 20:00 on working days.`,
        required: true,
        maxlength: 256,
        autocomplete: 'off',
        spellcheck: false,
        value: times.cron,
        error: errorOf(errors, 'cron'),
      }),
    )}
    ${selectField({
      name: 'time_zone',
      label: 'Time zone',
      required: true,
      value: timeZone,
      choices: timeZones(timeZone).map((value) => ({ value, text: value.replaceAll('_', ' ') })),
      error: errorOf(errors, 'time_zone'),
    })}
    ${actions(button({ text: 'Show the next runs', attributes: { name: 'preview', value: 'yes' } }))}
  </fieldset>`;
}

const KNOWN_ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

/** Every time zone that this service knows, and that of the schedule. */
const timeZones = (current: string): readonly string[] => (KNOWN_ZONES.includes(current) ? KNOWN_ZONES : [current, ...KNOWN_ZONES]);
