/** The list of schedules, the page of one, and the page that asks before it is deleted. Pure. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { schedulePath, SCHEDULES_PATH, sitePath } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import { type ListedSchedule, OUTDATED_AFTER_MS, type ScheduleProblem } from '../../../stores/schedules/schedules.ts';
import {
  actions,
  badge,
  button,
  code,
  definitions,
  externalLink,
  hiddenField,
  link,
  linkButton,
  live as refreshed,
  notice,
  siteName,
  table,
  dateAndTime,
  time,
} from '../../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { csrfField, titledPage } from '../forms.ts';
import { scanTable } from '../scans/list.ts';
import { number, PHASE_WORDS } from '../scans/words.ts';
import { timesInWords } from '../../../core/schedule/recurrence.ts';
import type { ScheduleSource } from '../../../core/schedule/source.ts';
import { WORDS } from '../../../report/words/words.ts';
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

const TRAIL = [{ text: 'Schedules', href: SCHEDULES_PATH }];

export function schedulePage(page: SchedulePageData): Html {
  const { request, ref, row, live, runs, names, done, problem, now } = page;
  const { suspended, timeZone } = shownOf(page);
  // A schedule whose scans fail is stalled, and starts them.
  const stopped = suspended || (row !== null && row.stalled !== null && row.nextAt === null);
  const times = html`<section aria-labelledby="next-title">
    <h2 id="next-title">Next runs</h2>
    ${stopped ? html`<p>None: it is ${suspended ? 'suspended' : 'stalled'}.</p>` : runTimes(page.next, timeZone)}
  </section>`;
  const scans = html`<section aria-labelledby="runs-title">
    <h2 id="runs-title">Runs</h2>
    ${runs.length === 0 ? html`<p>No scan of this schedule has started yet.</p>` : scanTable(runs, names)}
  </section>`;
  const body = html`${problem !== undefined && notice({ kind: 'bad', body: problem, announce: true })}
    ${row !== null && outdated([row], now)} ${readOnly(page)} ${live !== null && live !== 'down' && buttons(page, live)}
    ${refreshed({
      id: 'schedule',
      // Soon after it was created, changed or run, and while a scan runs.
      url: row === null || row.active > 0 || done ? schedulePath(ref) : null,
      seconds: REFRESH_SECONDS,
      announce: runs.length === 0 ? '' : `Last run: ${PHASE_WORDS[runs[0]!.phase].text}`,
      body: html`${definitions(facts(page))} ${times} ${scans}`,
      fallback: html`<p>${link('Reload this page', schedulePath(ref))} to see the current state.</p>`,
    })}`;
  return titledPage({ request, title: titleOf(shownOf(page).url), active: 'schedules', trail: TRAIL, done, body });
}
const REFRESH_SECONDS = 5;

/** A schedule is called by what it scans: its name in the cluster is for machines. */
export const titleOf = (url: string): string => `Schedule of ${siteName(url)}`;

function facts(page: SchedulePageData): (readonly [HtmlValue, HtmlValue])[] {
  const { row, ref } = page;
  const { schedule, timeZone, url, maxPages, source } = shownOf(page);
  return [
    ['Address', externalLink(url, url)],
    ['Times', timesOf({ schedule, timeZone })],
    ['State', row === null ? html`Waiting for the operator, which reads it within seconds` : stateOf(row)],
    ...(maxPages > 0
      ? [['Each run', `At most ${number(maxPages)} ${maxPages === 1 ? 'page and credit' : 'pages and credits'}`] as const]
      : []),
    ['Last result', row === null ? html`No scan has ended yet` : resultOf(row)],
    ...(row?.lastScan == null ? [] : [['Site', link(row.site, sitePath(row.site, row.optionsKey))] as const]),
    ['Written by', sourceWords(source)],
    ['In the cluster', inCluster(ref)],
  ];
}

const inCluster = ({ namespace, name }: DashboardScheduleRef): Html =>
  html`<span class="small soft" translate="no">${namespace}/${name}</span>`;

/** Why the schedule is not changed here, and where it is. */
function readOnly({ row, live, ref }: SchedulePageData): Html {
  if (live === 'down')
    return notice({
      kind: 'warn',
      body: 'The Kubernetes API does not answer, so the schedule cannot be changed at the moment. Reload the page in a few seconds.',
    });
  if (live !== null && mayWrite(live)) return NOTHING;
  const source = live?.source ?? row!.source;
  const why =
    source.by === 'dashboard'
      ? html`<code translate="no">${live?.writer}</code> has changed this schedule in the cluster, so the dashboard only suspends and deletes it.`
      : source.tool === null
        ? `A manifest declares this schedule, so it is changed in the cluster.${live === null ? '' : ' The dashboard only suspends and deletes it.'}`
        : html`${source.tool} applies the manifest of this schedule, from <span translate="no">${source.application}</span>. Change it there, because the tool would revert changes.`;
  const text = `kubectl get scanschedule ${ref.name} -n ${ref.namespace} -o yaml`;
  return notice({
    title: 'Read-only here',
    body: html`<p>${why}</p> ${code({ id: 'manifest', label: 'Command that shows the manifest', text })}`,
  });
}

function buttons({ request, ref, mayWrite: mayCall, formId }: SchedulePageData, live: LiveSchedule): Html {
  if (!mayCall || !mayStop(live)) return NOTHING;
  const path = schedulePath(ref);
  const isOurs = mayWrite(live);
  const suspended = live.schedule.spec.suspend === true;
  const form = (action: string, text: string, kind: 'primary' | 'secondary', fields: HtmlValue = NOTHING): Html =>
    html`<form method="post" action="${path}/${action}">${csrfField(request)}${fields} ${button({ text, kind })}</form>`;
  return html`<div class="actions">
      ${isOurs && form('run', 'Run now', 'primary', hiddenField('form_id', formId))}
      ${isOurs && linkButton({ text: 'Change', href: `${path}/change` })}
      ${suspended ? isOurs && form('resume', 'Resume', 'secondary') : form('suspend', 'Suspend', 'secondary')}
      ${linkButton({ text: 'Delete', href: `${path}/delete` })}
    </div>
    ${suspended && isOurs && html`<p class="hint">When you resume it, a scan whose time was missed may start at once.</p>`}`;
}

export function deleteSchedulePage(request: FastifyRequest, ref: DashboardScheduleRef, { spec }: ScanSchedule): Html {
  const { url } = spec.scanTemplate.spec;
  const path = schedulePath(ref);
  const body = html`${definitions([
    ['Address', externalLink(url, url)],
    ['Times', timesOf(spec)],
  ])}
    <p>
      No further scan starts. A scan that runs is canceled without a report: to keep its partial report, suspend the schedule and cancel the
      scan first. The results of its scans that have ended are kept.
    </p>
    <form method="post" action="${path}/delete">
      ${csrfField(request)}
      ${actions(button({ text: 'Delete the schedule', kind: 'danger' }), linkButton({ text: 'Keep it', href: path, kind: 'quiet' }))}
    </form>`;
  const trail = [...TRAIL, { text: titleOf(url), href: path }];
  return titledPage({ request, title: 'Delete this schedule?', active: 'schedules', trail, narrow: true, body });
}

export const scheduleTable = (schedules: readonly ListedSchedule[]): Html =>
  table({
    id: 'schedules',
    caption: 'Schedules by namespace and name',
    captionHidden: true,
    columns: [
      { text: 'Schedule' },
      { text: 'State', wide: true },
      { text: 'Times' },
      { text: 'Next run' },
      { text: 'Last result', wide: true },
      { text: 'Written by' },
    ],
    rows: schedules.map((schedule) => [
      html`${link(html`<span class="address">${siteName(schedule.url)}</span> ${inCluster(schedule)}`, schedulePath(schedule))}`,
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
  return notice({
    kind: 'warn',
    title: 'What is shown may be out of date',
    body: html`The operator has not confirmed this${oldest > 0 && html` since ${dateAndTime(new Date(oldest))}`}. While the operator is down, no
    scheduled scan starts; the last missed one starts when it is back.`,
  });
}

function stateOf({ suspended, active, stalled, regressed }: ListedSchedule): Html {
  const badges = [
    stalled && badge('bad', 'Stalled'),
    regressed && badge('warn', 'Regressed'),
    suspended && badge('plain', 'Suspended'),
    active > 0 && badge('note', active === 1 ? '1 scan runs' : `${active} scans run`),
  ].filter((one) => one !== null && one !== false);
  return html`${badges.length === 0 ? badge('good', 'Active') : badges} ${problem(stalled)} ${problem(regressed)}`;
}

const problem = (one: ScheduleProblem | null): Html | null =>
  one && html`<p class="hint">${one.message} Since ${dateAndTime(one.since)}.</p>`;

/** The times in words, if there are any, and the cron expression. */
function timesOf({ schedule, timeZone }: { schedule: string; timeZone?: string | null }): Html {
  const words = timesInWords(schedule);
  const cron = html`<code translate="no">${schedule}</code>`;
  return html`${words ?? cron}<br /><span class="soft">${timeZone ?? 'UTC'}${words !== null && html`, ${cron}`}</span>`;
}

function nextOf({ nextAt, suspended, stalled }: Pick<ListedSchedule, 'nextAt' | 'suspended' | 'stalled'>): Html {
  if (nextAt !== null) return time(nextAt);
  if (stalled !== null) return html`None: it is stalled`;
  return suspended ? html`None: it is suspended` : html`Not known yet`;
}

const ENDS = { done: 'Completed', failed: 'Failed', canceled: 'Canceled' } as const;

function resultOf({ lastScan, lastPassedAt }: Pick<ListedSchedule, 'lastScan' | 'lastPassedAt'>): Html {
  if (lastScan === null) return html`No scan has ended yet`;
  const { phase, passed, scanId, endedAt } = lastScan;
  const verdict =
    passed === null
      ? badge('plain', ENDS[phase])
      : passed
        ? badge('good', WORDS.en.report.passed)
        : badge('bad', phase === 'done' ? WORDS.en.report.notPassed : ENDS[phase]);
  return html`${verdict} ${link(html`Scan of ${dateAndTime(endedAt)}`, `/dashboard/scans/${scanId}`)}
  ${passed === false && lastPassedAt !== null && html`<p class="hint">Last passed ${dateAndTime(lastPassedAt)}.</p>`}`;
}

/** Who writes a schedule. */
function sourceWords(source: ScheduleSource): Html {
  if (source.by === 'dashboard') return html`Dashboard`;
  const { tool, application } = source;
  return tool === null ? html`Manifest` : html`${tool}<br /><span class="soft" translate="no">${application}</span>`;
}

function zonedTime(at: Date, timeZone: string): Html {
  const words = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone }).format(at);
  return html`<time datetime="${at.toISOString()}">${words.replace(' at ', ', ')}</time>`;
}

/** The next runs of a schedule. */
export const runTimes = (times: readonly Date[], timeZone: string): Html =>
  times.length === 0
    ? html`<p>It has no next run.</p>`
    : html`<ul>
          ${times.map((at) => html`<li>${zonedTime(at, timeZone)}</li>`)}
        </ul>
        <p class="hint">In the time zone ${timeZone}.</p>`;

export const WRITE = { config: { permission: 'schedules:write' } } as const;

export const ONE = `${SCHEDULES_PATH}/:namespace/:name`;

export type One = { Params: DashboardScheduleRef };

/** The number of next runs that pages show. */
export const NEXT_RUNS = 5;

export const DONE = {
  created: 'The schedule was created.',
  changed: 'The changes were saved. They apply to runs that start from now on.',
  suspend: 'The schedule is suspended: no scan starts at its times.',
  resume: 'The schedule is active again.',
  run: 'A run was requested. Its scan appears below within seconds; if a scan of this schedule still runs, when that has ended.',
  deleted: 'The schedule was deleted.',
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
