/** A scan that is in progress: its phases, pages, place in the queue, and the button that cancels it. Pure. */
import { LIVE_PHASES, type LivePhase } from '../../../core/scan/phases.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import { confirmedForm, hiddenField, notice, progress, visuallyHidden } from '../../web/components/index.ts';
import { attributes, html, NOTHING, type Html } from '../../web/html.ts';
import { number, PHASE_WORDS, pagesText, progressText } from './scan-words.ts';

export interface ScanProgressData {
  row: ScanRow;
  /** Undefined if the scan does not wait, or if the place is unknown. */
  position: QueuePosition | undefined;
  /** Whether it is canceled in the cluster only. */
  ofManifest: boolean;
  /** Null if the person may not cancel scans. */
  csrfToken: string | null;
}

export const liveFragment = (id: string): string => `/dashboard/scans/${id}/progress`;
export const eventsPath = (id: string): string => `/dashboard/scans/${id}/events`;

/** The interval between two refreshes while no events arrive, in seconds. */
const REFRESH_SECONDS = 5;

/** The part of the page that refreshes itself until the scan ends. */
export function scanProgress({ row, position, ofManifest, csrfToken }: ScanProgressData): Html {
  const { id, phase, pages } = row;
  return html`<section${attributes({
    id: 'progress',
    class: 'card',
    'aria-labelledby': 'progress-title',
    'data-fragment': liveFragment(id),
    'data-events': eventsPath(id),
    'data-seconds': REFRESH_SECONDS,
    'data-announce': PHASE_WORDS[phase].text,
  })}>
    <h2 id="progress-title">In progress</h2>
    ${steps(phase as LivePhase)} ${phase === 'queued' ? waiting(position) : testing(pages)} ${cancelForm(row, ofManifest, csrfToken)}
  </section>`;
}

/** What replaces the part when the scan has ended: the script then shows the page of the result. */
export const scanEnded = ({ phase }: Pick<ScanRow, 'phase'>): Html =>
  html`<section class="card" id="progress" data-ended="true"><h2>${PHASE_WORDS[phase].text}</h2></section>`;

function steps(current: LivePhase): Html {
  const at = LIVE_PHASES.indexOf(current);
  return html`<ol class="phases">
    ${LIVE_PHASES.map((phase, index) => {
      const state = index < at ? 'over' : index === at ? 'current' : 'ahead';
      return html`<li${attributes({ class: `phase phase-${state}`, 'aria-current': state === 'current' ? 'step' : undefined })}>
        ${PHASE_WORDS[phase].text}${state === 'over' && visuallyHidden(' (over)')}
      </li>`;
    })}
  </ol>`;
}

function waiting(position: QueuePosition | undefined): Html {
  if (position === undefined) return html`<p>The scan starts as soon as there is room for it.</p>`;
  const { position: place, waiting: all } = position;
  const behind =
    place === null ? `The scan waits behind at least 1,000 others` : `The scan is number ${number(place)} of ${number(all)} that wait`;
  return html`<p>${behind} in the queue ${position.name}.</p>`;
}

function testing(pages: ScanRow['pages']): Html {
  const tried = pages.scanned + pages.failed;
  if (pages.total === 0) return progress({ label: 'Pages', value: null, max: 1, text: 'No page was found yet.' });
  return progress({ label: 'Pages', value: tried, max: Math.max(pages.total, tried), text: progressText(pages) });
}

function cancelForm({ id, pages, resource, canceling }: ScanRow, ofManifest: boolean, csrfToken: string | null): Html {
  if (canceling) return html`<p>Canceling: the scan ends when the report of the tested pages is stored, within seconds.</p>`;
  if (csrfToken === null) return NOTHING;
  if (ofManifest)
    return notice({
      body: html`A Kubernetes manifest created this scan. Cancel it in the cluster: delete ${resource.namespace}/${resource.name}, or set spec.cancel to true.`,
    });
  const tested = pages.scanned === 0 ? '' : ` (${pagesText(pages.scanned)} until now)`;
  return confirmedForm({
    id: 'cancel',
    action: `/dashboard/scans/${id}/cancel`,
    fields: hiddenField('_csrf', csrfToken),
    trigger: { text: 'Cancel scan', kind: 'danger' },
    title: 'Cancel this scan?',
    text: `Pages that are tested before the scan ends are charged and have a report${tested}. The other reserved credits are returned.`,
    confirm: 'Cancel scan',
    cancel: 'Keep scanning',
  });
}
