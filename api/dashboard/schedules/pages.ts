/** The list of schedules, the page of one, and the page that asks before it is deleted. Pure. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { schedulePath, SCHEDULES_PATH, sitePath } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import { type ListedSchedule, OUTDATED_AFTER_MS, type ScheduleProblem } from '../../../stores/schedules/schedules.ts';
import {
  badge,
  button,
  code,
  dateAndTime,
  definitions,
  externalLink,
  link,
  linkButton,
  live as refreshed,
  notice,
  siteName,
  table,
  time,
} from '../../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { endForm, postForm, titledPage } from '../forms.ts';
import { scanTable } from '../scans/list.ts';
import { PHASE_WORDS } from '../scans/words.ts';
import { typedTimes } from '../../../core/schedule/recurrence.ts';
import type { ScheduleSource } from '../../../core/schedule/source.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { count, english, forms, m, t, tr } from '../../web/texts.ts';
import { ApiError } from '../../http/errors.ts';
import { type FoundSchedule, type LiveSchedule, mayStop, mayWrite, shownOf } from '../../schedules/management.ts';

export interface SchedulePageData extends FoundSchedule {
  request: FastifyRequest;
  ref: DashboardScheduleRef;
  next: readonly Date[];
  /** The last scans, newest first. */
  runs: readonly ScanRow[];
  names: ActorNames;
  mayWrite: boolean;
  formId: string;
  done?: HtmlValue | null;
  problem?: HtmlValue;
  now: Date;
}

const TRAIL = [{ text: m`Schedules`, href: SCHEDULES_PATH }];

export function schedulePage(page: SchedulePageData): Html {
  const { request, ref, row, live, runs, names, done, problem, now } = page;
  const { suspended, timeZone } = shownOf(page);
  // A schedule whose scans fail is stalled, and starts them.
  const stopped = suspended || (row !== null && row.stalled !== null && row.nextAt === null);
  const times = html`<section aria-labelledby="next-title">
    <h2 id="next-title">${t`Next runs`}</h2>
    ${stopped ? html`<p>${suspended ? t`None: it is suspended` : t`None: it is stalled`}.</p>` : runTimes(page.next, timeZone)}
  </section>`;
  const scans = html`<section aria-labelledby="runs-title">
    <h2 id="runs-title">${t`Runs`}</h2>
    ${runs.length === 0 ? html`<p>${t`No scan of this schedule has started yet.`}</p>` : scanTable(runs, names)}
  </section>`;
  const body = html`${problem !== undefined && notice({ kind: 'bad', body: problem, announce: true })}
    ${row !== null && outdated([row], now)} ${readOnly(page)} ${live !== null && live !== 'down' && buttons(page, live)}
    ${refreshed({
      id: 'schedule',
      // Soon after it was created, changed or run, and while a scan runs.
      url: row === null || row.active > 0 || done ? schedulePath(ref) : null,
      seconds: REFRESH_SECONDS,
      announce: runs.length === 0 ? '' : t`Last run: ${tr(PHASE_WORDS[runs[0]!.phase].text)}`,
      body: html`${definitions(facts(page))} ${times} ${scans}`,
      fallback: html`<p>${t`${link(t`Reload this page`, schedulePath(ref))} to see the current state.`}</p>`,
    })}`;
  return titledPage({ request, title: titleOf(shownOf(page)), active: 'schedules', trail: TRAIL, done, body });
}
const REFRESH_SECONDS = 5;

/** A schedule is called as people named it, or by what it scans: its name in the cluster is for machines. */
export const titleOf = ({ displayName, url }: { displayName?: string | null; url: string }): string =>
  displayName ?? t`Schedule of ${siteName(url)}`;

function facts(page: SchedulePageData): (readonly [HtmlValue, HtmlValue])[] {
  const { row, ref } = page;
  const { schedule, timeZone, url, maxPages, source } = shownOf(page);
  return [
    [t`Address`, externalLink(url, url)],
    [t`Times`, timesOf({ schedule, timeZone })],
    [t`State`, row === null ? t`Waiting for the operator, which reads it within seconds` : stateOf(row)],
    ...(maxPages > 0 ? [[t`Each run`, count(PAGES_OF_RUN, maxPages)] as const] : []),
    [t`Last result`, row === null ? t`No scan has ended yet` : resultOf(row)],
    ...(row?.lastScan == null ? [] : [[t`Site`, link(row.site, sitePath(row.site, row.optionsKey))] as const]),
    [t`Written by`, sourceWords(source)],
    [t`In the cluster`, inCluster(ref)],
  ];
}

const PAGES_OF_RUN = forms('At most {n} page and credit', 'At most {n} pages and credits');

const inCluster = ({ namespace, name }: DashboardScheduleRef): Html =>
  html`<span class="small soft" translate="no">${namespace}/${name}</span>`;

/** Why the schedule is not changed here, and where it is. */
function readOnly({ row, live, ref }: SchedulePageData): Html {
  if (live === 'down')
    return notice({
      kind: 'warn',
      body: t`The Kubernetes API does not answer, so the schedule cannot be changed at the moment. Reload the page in a few seconds.`,
    });
  if (live !== null && mayWrite(live)) return NOTHING;
  const source = live?.source ?? row!.source;
  const why =
    source.by === 'dashboard'
      ? t`${html`<code translate="no">${live?.writer}</code>`} has changed this schedule in the cluster, so the dashboard only suspends and deletes it.`
      : source.tool === null
        ? html`${t`A manifest declares this schedule, so it is changed in the cluster.`}${live !== null && html` ${t`The dashboard only suspends and deletes it.`}`}`
        : t`${source.tool} applies the manifest of this schedule, from ${html`<span translate="no">${source.application}</span>`}. Change it there, because the tool would revert changes.`;
  const text = `kubectl get scanschedule ${ref.name} -n ${ref.namespace} -o yaml`;
  return notice({
    title: t`Read-only here`,
    body: html`<p>${why}</p> ${code({ id: 'manifest', label: t`Command that shows the manifest`, text })}`,
  });
}

function buttons({ request, ref, mayWrite: mayCall, formId }: SchedulePageData, live: LiveSchedule): Html {
  if (!mayCall || !mayStop(live)) return NOTHING;
  const path = schedulePath(ref);
  const isOurs = mayWrite(live);
  const suspended = live.schedule.spec.suspend === true;
  const form = (action: string, text: string, kind?: 'primary', fields = {}): Html =>
    postForm(request, `${path}/${action}`, button({ text, kind }), fields);
  return html`<div class="actions">
      ${isOurs && form('run', t`Run now`, 'primary', { form_id: formId })}
      ${isOurs && linkButton({ text: t`Change`, href: `${path}/change` })}
      ${suspended ? isOurs && form('resume', t`Resume`) : form('suspend', t`Suspend`)}
      ${linkButton({ text: t`Delete`, href: `${path}/delete` })}
    </div>
    ${suspended && isOurs && html`<p class="hint">${t`When you resume it, a scan whose time was missed may start at once.`}</p>`}`;
}

export function deleteSchedulePage(request: FastifyRequest, ref: DashboardScheduleRef, { spec }: ScanSchedule): Html {
  const { url } = spec.scanTemplate.spec;
  const path = schedulePath(ref);
  const body = html`${definitions([
    [t`Address`, externalLink(url, url)],
    [t`Times`, timesOf(spec)],
  ])}
    <p>
      ${t`No further scan starts. A scan that runs is canceled without a report: to keep its partial report, suspend the schedule and cancel the
      scan first. The results of its scans that have ended are kept.`}
    </p>
    ${endForm(request, { action: `${path}/delete`, text: t`Delete the schedule`, keep: path })}`;
  const trail = [...TRAIL, { text: titleOf({ displayName: spec.displayName, url }), href: path }];
  return titledPage({ request, title: t`Delete this schedule?`, active: 'schedules', trail, narrow: true, body });
}

export const scheduleTable = (schedules: readonly ListedSchedule[]): Html =>
  table({
    id: 'schedules',
    caption: t`Schedules by namespace and name`,
    captionHidden: true,
    columns: [
      { text: t`Schedule` },
      { text: t`State`, wide: true },
      { text: t`Times` },
      { text: t`Next run` },
      { text: t`Last result`, wide: true },
      { text: t`Written by` },
    ],
    rows: schedules.map((schedule) => [
      link(
        html`<span class="address">${schedule.displayName ?? siteName(schedule.url)}</span> ${inCluster(schedule)}`,
        schedulePath(schedule),
      ),
      stateOf(schedule),
      timesOf(schedule),
      nextOf(schedule),
      resultOf(schedule),
      sourceWords(schedule.source),
    ]),
  });

/** Says so if no operator has confirmed the schedules for a while: then scheduled scans do not start either. */
export function outdated(schedules: readonly ListedSchedule[], now: Date): Html | null {
  const times = schedules.map(({ observedAt }) => observedAt?.getTime() ?? 0);
  const oldest = Math.min(...times);
  if (schedules.length === 0 || now.getTime() - oldest <= OUTDATED_AFTER_MS) return null;
  const at = dateAndTime(new Date(oldest));
  const since = oldest > 0 ? t`The operator has not confirmed this since ${at}.` : t`The operator has not confirmed this.`;
  return notice({
    kind: 'warn',
    title: t`What is shown may be out of date`,
    body: html`${since} ${t`While the operator is down, no scheduled scan starts; the last missed one starts when it is back.`}`,
  });
}

function stateOf({ suspended, active, stalled, regressed }: ListedSchedule): Html {
  const badges = [
    stalled && badge('bad', t`Stalled`),
    regressed && badge('warn', t`Regressed`),
    suspended && badge('plain', t`Suspended`),
    active > 0 && badge('note', count(ACTIVE, active)),
  ].filter((one) => one !== null && one !== false);
  return html`${badges.length === 0 ? badge('good', t`Active`) : badges.map((one) => html`${one} `)} ${problem(stalled)} ${problem(regressed)}`;
}

const ACTIVE = forms('{n} scan runs', '{n} scans run');

const problem = (one: ScheduleProblem | null): Html | null =>
  one && html`<p class="hint">${english(one.message)} ${t`Since ${dateAndTime(one.since)}.`}</p>`;

/** The name of a day of the week: 0 is Sunday. */
export const weekdayName = (day: number): string =>
  new Intl.DateTimeFormat(currentLocale(), { weekday: 'long', timeZone: 'UTC' }).format(new Date(Date.UTC(2023, 0, 1 + day)));

/** A cron expression in words; null if it has no simple ones. */
export function timesInWords(schedule: string): string | null {
  const { frequency, time, minute, weekday, day } = typedTimes(schedule);
  switch (frequency) {
    case 'cron':
      return null;
    case 'hour':
      return minute === '0' ? t`Every hour` : t`Every hour at minute ${minute}`;
    case 'day':
      return t`Every day at ${time}`;
    case 'weekdays':
      return t`Monday to Friday at ${time}`;
    case 'week':
      return t`Every ${weekdayName(Number(weekday))} at ${time}`;
    case 'month':
      return t`Every month on day ${day} at ${time}`;
  }
}

/** The times in words, if there are any, and the cron expression. */
function timesOf({ schedule, timeZone }: { schedule: string; timeZone?: string | null }): Html {
  const words = timesInWords(schedule);
  const cron = html`<code translate="no">${schedule}</code>`;
  return html`${words ?? cron}<br /><span class="soft">${timeZone ?? 'UTC'}${words !== null && html`, ${cron}`}</span>`;
}

function nextOf({ nextAt, suspended, stalled }: Pick<ListedSchedule, 'nextAt' | 'suspended' | 'stalled'>): HtmlValue {
  if (nextAt !== null) return time(nextAt);
  if (stalled !== null) return t`None: it is stalled`;
  return suspended ? t`None: it is suspended` : t`Not known yet`;
}

const ENDS = { done: m`Completed`, failed: m`Failed`, canceled: m`Canceled` } as const;

function resultOf({ lastScan, lastPassedAt }: Pick<ListedSchedule, 'lastScan' | 'lastPassedAt'>): HtmlValue {
  if (lastScan === null) return t`No scan has ended yet`;
  const { phase, passed, scanId, endedAt } = lastScan;
  const { texts } = wordsIn(currentLocale(), 'report');
  const verdict =
    passed === null
      ? badge('plain', tr(ENDS[phase]))
      : passed
        ? badge('good', texts.passed)
        : badge('bad', phase === 'done' ? texts.notPassed : tr(ENDS[phase]));
  return html`${verdict} ${link(t`Scan of ${dateAndTime(endedAt)}`, `/dashboard/scans/${scanId}`)}
  ${passed === false && lastPassedAt !== null && html`<p class="hint">${t`Last passed ${dateAndTime(lastPassedAt)}.`}</p>`}`;
}

/** Who writes a schedule. */
function sourceWords(source: ScheduleSource): HtmlValue {
  if (source.by === 'dashboard') return t`Dashboard`;
  const { tool, application } = source;
  return tool === null ? t`Manifest` : html`${tool}<br /><span class="soft" translate="no">${application}</span>`;
}

function zonedTime(at: Date, timeZone: string): Html {
  const locale = currentLocale();
  const words = new Intl.DateTimeFormat(locale === 'en' ? 'en-GB' : locale, { dateStyle: 'full', timeStyle: 'short', timeZone }).format(at);
  return html`<time datetime="${at.toISOString()}">${words.replace(' at ', ', ')}</time>`;
}

/** The next runs of a schedule. */
export const runTimes = (times: readonly Date[], timeZone: string): Html =>
  times.length === 0
    ? html`<p>${t`It has no next run.`}</p>`
    : html`<ul>
          ${times.map((at) => html`<li>${zonedTime(at, timeZone)}</li>`)}
        </ul>
        <p class="hint">${t`In the time zone ${timeZone}.`}</p>`;

export const WRITE = { config: { permission: 'schedules:write' } } as const;

export const ONE = `${SCHEDULES_PATH}/:namespace/:name`;

export type One = { Params: DashboardScheduleRef };

/** The number of next runs that pages show. */
export const NEXT_RUNS = 5;

export const DONE = {
  created: m`The schedule was created.`,
  changed: m`The changes were saved. They apply to runs that start from now on.`,
  suspend: m`The schedule is suspended: no scan starts at its times.`,
  resume: m`The schedule is active again.`,
  run: m`A run was requested. Its scan appears below within seconds; if a scan of this schedule still runs, when that has ended.`,
  deleted: m`The schedule was deleted.`,
};

/** Leads to the page of a schedule, which says what was done. */
export const backTo = (reply: FastifyReply, ref: DashboardScheduleRef, done: keyof typeof DONE): FastifyReply =>
  reply.redirect(`${schedulePath(ref)}?done=${done}`, 303);

const NAMESPACE = /^[a-z0-9-]{1,63}$/;

const NAME = /^[a-z0-9.-]{1,253}$/;

/** Names are DNS labels and subdomains, which need no encoding. @throws ApiError if they are none: such a schedule does not exist */
export function refOf({ namespace, name }: DashboardScheduleRef): DashboardScheduleRef {
  if (!NAMESPACE.test(namespace) || !NAME.test(name)) throw new ApiError('schedule_not_found');
  return { namespace, name };
}
