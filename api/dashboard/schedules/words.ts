/** How pages show schedules. Pure. */
import { timesInWords } from '../../../core/schedule/recurrence.ts';
import type { ScheduleSource } from '../../../core/schedule/source.ts';
import { schedulePath } from '../../../core/web-paths.ts';
import { WORDS } from '../../../report/words/words.ts';
import { OUTDATED_AFTER_MS, type ListedSchedule, type ScheduleProblem } from '../../../stores/schedules/schedules.ts';
import { badge, externalLink, link, notice, table, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';

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
      html`<span translate="no">${link(`${schedule.namespace}/${schedule.name}`, schedulePath(schedule))}</span><br />${externalLink(schedule.url, schedule.url)}`,
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
    body: html`The operator has not confirmed this${oldest > 0 && html` since ${time(new Date(oldest))}`}. While the operator is down, no
    scheduled scan starts; the last missed one starts when it is back.`,
  });
}

export function stateOf({ suspended, active, stalled, regressed }: ListedSchedule): Html {
  const badges = [
    stalled && badge('bad', 'Stalled'),
    regressed && badge('warn', 'Regressed'),
    suspended && badge('plain', 'Suspended'),
    active > 0 && badge('note', active === 1 ? '1 scan runs' : `${active} scans run`),
  ].filter((one) => one !== null && one !== false);
  return html`${badges.length === 0 ? badge('good', 'Active') : badges} ${problem(stalled)} ${problem(regressed)}`;
}

const problem = (one: ScheduleProblem | null): Html | null => one && html`<p class="hint">${one.message} Since ${time(one.since)}.</p>`;

/** The times in words, if there are any, and the cron expression. */
export function timesOf({ schedule, timeZone }: { schedule: string; timeZone?: string | null }): Html {
  const words = timesInWords(schedule);
  const cron = html`<code translate="no">${schedule}</code>`;
  return html`${words ?? cron}<br /><span class="soft">${timeZone ?? 'UTC'}${words !== null && html`, ${cron}`}</span>`;
}

export function nextOf({ nextAt, suspended, stalled }: Pick<ListedSchedule, 'nextAt' | 'suspended' | 'stalled'>): Html {
  if (nextAt !== null) return time(nextAt);
  if (stalled !== null) return html`None: it is stalled`;
  return suspended ? html`None: it is suspended` : html`Not known yet`;
}

const ENDS = { done: 'Completed', failed: 'Failed', canceled: 'Canceled' } as const;

export function resultOf({ lastScan, lastPassedAt }: Pick<ListedSchedule, 'lastScan' | 'lastPassedAt'>): Html {
  if (lastScan === null) return html`No scan has ended yet`;
  const { phase, passed, scanId, endedAt } = lastScan;
  const verdict =
    passed === null
      ? badge('plain', ENDS[phase])
      : passed
        ? badge('good', WORDS.en.report.passed)
        : badge('bad', phase === 'done' ? WORDS.en.report.notPassed : ENDS[phase]);
  return html`${verdict} ${link(html`Scan of ${time(endedAt)}`, `/dashboard/scans/${scanId}`)}
  ${passed === false && lastPassedAt !== null && html`<p class="hint">Last passed ${time(lastPassedAt)}.</p>`}`;
}

/** Who writes a schedule. */
export function sourceWords(source: ScheduleSource): Html {
  if (source.by === 'dashboard') return html`Dashboard`;
  const { tool, application } = source;
  return tool === null ? html`Manifest` : html`${tool}<br /><span class="soft" translate="no">${application}</span>`;
}

export function zonedTime(at: Date, timeZone: string): Html {
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
