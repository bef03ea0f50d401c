/** The page of the schedules, which Kubernetes manifests define. */
import type { FastifyRequest } from 'fastify';
import { docPath } from '../../../core/web-paths.ts';
import { WORDS } from '../../../report/words/words.ts';
import { OUTDATED_AFTER_MS, type ListedSchedule, type ScheduleProblem } from '../../../stores/schedules/schedules.ts';
import { badge, card, code, emptyState, externalLink, link, notice, pagination, table, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { titledPage } from '../titled-page.ts';

export const SCHEDULES_PATH = '/dashboard/schedules';

export interface SchedulesPage {
  request: FastifyRequest;
  schedules: readonly ListedSchedule[];
  /** Whether this is the first part of the list. */
  first: boolean;
  nextCursor: string | null;
  now: Date;
}

export function schedulesPage({ request, schedules, first, nextCursor, now }: SchedulesPage): Html {
  const body = html`<p class="lead">Scans at fixed times. They are Kubernetes resources of the kind ScanSchedule, and are changed in the cluster.</p>
    ${schedules.length > 0 && outdated(schedules, now)}
    ${schedules.length === 0 ? noSchedules(first) : scheduleTable(schedules)}
    ${pagination({ previous: first ? null : SCHEDULES_PATH, next: nextCursor === null ? null : `${SCHEDULES_PATH}?cursor=${nextCursor}` })}
    ${howTo()}`;
  return titledPage({ request, title: 'Schedules', active: 'schedules', body });
}

function noSchedules(first: boolean): Html {
  if (!first) return emptyState({ title: 'There are no more schedules', text: 'The list ended with the part before.' });
  return emptyState({
    title: 'There is no schedule',
    text: 'Apply one to a namespace that is charged to your organisation. It appears here within seconds.',
  });
}

/** Says so if no operator has confirmed the list for a while: then scheduled scans do not start either. */
function outdated(schedules: readonly ListedSchedule[], now: Date): Html | null {
  const times = schedules.map(({ observedAt }) => observedAt?.getTime() ?? 0);
  const oldest = Math.min(...times);
  if (now.getTime() - oldest <= OUTDATED_AFTER_MS) return null;
  return notice({
    kind: 'warn',
    title: 'This list may be out of date',
    body: html`The operator has not confirmed it${oldest > 0 && html` since ${time(new Date(oldest))}`}. While the operator is down, no
    scheduled scan starts; the last missed one starts when it is back.`,
  });
}

/** The table of schedules. */
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
    ],
    rows: schedules.map((schedule) => [nameOf(schedule), stateOf(schedule), timesOf(schedule), nextOf(schedule), resultOf(schedule)]),
  });

const nameOf = ({ namespace, name, url }: ListedSchedule): Html =>
  html`<span translate="no">${namespace}/${name}</span><br />${externalLink(url, url)}`;

function stateOf({ suspended, active, stalled, regressed }: ListedSchedule): Html {
  const badges = [
    stalled && badge('bad', 'Stalled'),
    regressed && badge('warn', 'Regressed'),
    suspended && badge('plain', 'Suspended'),
    active > 0 && badge('note', active === 1 ? '1 scan runs' : `${active} scans run`),
  ].filter((one) => one !== null && one !== false);
  return html`${badges.length === 0 ? badge('good', 'Active') : badges} ${problem(stalled)} ${problem(regressed)}`;
}

const problem = (one: ScheduleProblem | null): Html | null => one && html`<p class="hint">${one.message} Since ${time(one.since)}.</p>`;

const timesOf = ({ schedule, timeZone }: ListedSchedule): Html =>
  html`<code translate="no">${schedule}</code><br /><span class="soft">${timeZone ?? 'UTC'}</span>`;

function nextOf({ nextAt, suspended, stalled }: ListedSchedule): Html {
  if (nextAt !== null) return time(nextAt);
  if (stalled !== null) return html`None: it is stalled`;
  return suspended ? html`None: it is suspended` : html`Not known yet`;
}

const ENDS = { done: 'Completed', failed: 'Failed', canceled: 'Canceled' } as const;

function resultOf({ lastScan, lastPassedAt }: ListedSchedule): Html {
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

const EXAMPLE = `apiVersion: curbcut.dev/v1
kind: ScanSchedule
metadata:
  name: shop-nightly
  namespace: team-a
spec:
  schedule: 30 2 * * *
  timeZone: Europe/Berlin
  scanTemplate:
    spec:
      url: https://shop.example.com/
      maxPages: 50
      thresholds:
        minScore: 90`;

const howTo = (): Html =>
  card({
    title: 'Create or change a schedule',
    body: html`<p>
        Save a manifest, apply it with <code translate="no">kubectl apply -f shop-nightly.yaml</code>, or commit it to the repository that
        Argo CD or Flux applies. The namespace must be charged to your organisation.
      </p>
      ${code({ id: 'example', label: 'Manifest of a schedule', text: EXAMPLE })}
      <p>Run it now, suspend it, or remove it:</p>
      ${code({
        id: 'commands',
        label: 'Commands for a schedule',
        text: `kubectl annotate scanschedule shop-nightly -n team-a curbcut.dev/run="$(date +%s)" --overwrite
kubectl patch scanschedule shop-nightly -n team-a --type=merge -p '{"spec":{"suspend":true}}'
kubectl delete scanschedule shop-nightly -n team-a`,
      })}
      <p>${link('For platform teams', docPath('gitops'))} and ${link('Scans as Kubernetes resources', docPath('kubernetes'))} describe every field.</p>`,
  });
