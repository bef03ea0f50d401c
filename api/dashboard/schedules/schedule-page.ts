/** The page of one schedule, and the page that asks before it is deleted. Pure. */
import type { FastifyRequest } from 'fastify';
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { SCHEDULES_PATH, schedulePath, sitePath } from '../../../core/web-paths.ts';
import type { DashboardScheduleRef } from '../../../stores/schedules/dashboard-schedules.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import type { ListedSchedule } from '../../../stores/schedules/schedules.ts';
import { actions, button, code, definitions, externalLink, hiddenField, link, linkButton, notice } from '../../web/components/index.ts';
import { html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import type { ActorNames } from '../actor-names.ts';
import { csrfField } from '../forms.ts';
import { titledPage } from '../titled-page.ts';
import { scanTable } from '../views/scan-list.ts';
import { number } from '../views/scan-words.ts';
import { mayStop, mayWrite, type LiveSchedule } from './manage.ts';
import { outdated, resultOf, runTimes, sourceWords, stateOf, timesOf } from './words.ts';

export interface SchedulePageData {
  request: FastifyRequest;
  ref: DashboardScheduleRef;
  /** What the operator has stored. Null: it has not seen the schedule yet. */
  row: ListedSchedule | null;
  /** As it is in the cluster, if it is one of the dashboard. `down`: the Kubernetes API does not answer. */
  live: LiveSchedule | 'down' | null;
  next: readonly Date[];
  /** The last scans, newest first. */
  runs: readonly ScanRow[];
  names: ActorNames;
  mayWrite: boolean;
  formId: string;
  done?: HtmlValue | null;
  problem?: string;
  now: Date;
}

const TRAIL = [{ text: 'Schedules', href: SCHEDULES_PATH }];

/** What a page shows of a schedule: as it is in the cluster, or as the operator has stored it. */
function shownOf({ row, live }: Pick<SchedulePageData, 'row' | 'live'>) {
  if (live === null || live === 'down') {
    const { schedule, timeZone, suspended, url, maxPages } = row!;
    return { schedule, timeZone: timeZone ?? 'UTC', suspended, url, maxPages };
  }
  const { schedule, timeZone = 'UTC', suspend = false, scanTemplate } = live.schedule.spec;
  return { schedule, timeZone, suspended: suspend, url: scanTemplate.spec.url, maxPages: scanTemplate.spec.maxPages ?? 0 };
}

export function schedulePage(page: SchedulePageData): Html {
  const { request, ref, row, live, runs, names, done, problem, now } = page;
  const { suspended, timeZone } = shownOf(page);
  // A schedule whose scans fail is stalled, and starts them.
  const stopped = suspended || (row !== null && row.stalled !== null && row.nextAt === null);
  const body = html`${problem !== undefined && notice({ kind: 'bad', body: problem, announce: true })}
    ${row !== null && outdated([row], now)} ${readOnly(page)} ${definitions(facts(page))} ${live !== null && live !== 'down' && buttons(page, live)}
    <section aria-labelledby="next-title">
      <h2 id="next-title">Next runs</h2>
      ${stopped ? html`<p>None: it is ${suspended ? 'suspended' : 'stalled'}.</p>` : runTimes(page.next, timeZone)}
    </section>
    <section aria-labelledby="runs-title">
      <h2 id="runs-title">Runs</h2>
      ${runs.length === 0 ? html`<p>No scan of this schedule has started yet.</p>` : scanTable(runs, names)}
    </section>`;
  return titledPage({ request, title: `Schedule ${ref.name}`, active: 'schedules', trail: TRAIL, done, body });
}

function facts(page: SchedulePageData): (readonly [HtmlValue, HtmlValue])[] {
  const { row, live, ref } = page;
  const { schedule, timeZone, url, maxPages } = shownOf(page);
  const source = live === null || live === 'down' ? row!.source : live.source;
  return [
    ['Address', externalLink(url, url)],
    ['Times', timesOf({ schedule, timeZone })],
    ['State', row === null ? html`The operator has not seen it yet. Reload the page in a few seconds.` : stateOf(row)],
    ...(maxPages > 0
      ? [['Each run', `At most ${number(maxPages)} ${maxPages === 1 ? 'page and credit' : 'pages and credits'}`] as const]
      : []),
    ['Last result', row === null ? html`No scan has ended yet` : resultOf(row)],
    ...(row?.lastScan == null ? [] : [['Site', link(row.site, sitePath(row.site, row.optionsKey))] as const]),
    ['Written by', sourceWords(source)],
    ['In the cluster', html`<span translate="no">${ref.namespace}/${ref.name}</span>`],
  ];
}

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
  </div>`;
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
  const trail = [...TRAIL, { text: ref.name, href: path }];
  return titledPage({ request, title: 'Delete this schedule?', active: 'schedules', trail, narrow: true, body });
}
