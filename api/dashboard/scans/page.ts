/** The page of one scan: while it is in progress, and when it has ended. Pure. */
import { isTerminal, LIVE_PHASES, type LivePhase } from '../../../core/scan/phases.ts';
import { pageCountsOf } from '../../../report/view/verdict.ts';
import { criteriaPath, scanPath, sitePath } from '../../../core/web-paths.ts';
import { CONVERTED_MAX_BYTES } from '../../../report/schema/export-size.ts';
import type { CsvTable } from '../../../report/schema/objects.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import {
  actions,
  breadcrumb,
  button,
  confirmedForm,
  hiddenField,
  link,
  linkButton,
  notice,
  type NoticeKind,
  progress,
  visuallyHidden,
} from '../../web/components.ts';
import { criteriaCounts } from '../../../report/html/criteria.ts';
import { attributes, html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { causeList, type CausesData } from '../findings/list.ts';
import { pagesOf, pagesSummary } from '../findings/pages.ts';
import { causesHref, type SelectedCauses } from '../findings/select.ts';
import { fixToPassCard } from '../../../report/html/result.ts';
import { differenceLater } from './difference.ts';
import { metadataList, optionList, scanResult } from './result.ts';
import { checkForm, checkNotice } from './check.ts';
import { date, kindBadge, number, pagesText, partsOf, PHASE_WORDS, progressText, scanFacts, siteLink } from './words.ts';
import { trendChart, type TrendPoint } from './trend.ts';
import { tr } from '../../web/texts.ts';

export interface ScanPageData {
  row: ScanRow;
  /** The address of the list of scans that the person comes from. */
  list: string;
  names: ActorNames;
  position: QueuePosition | undefined;
  /** Null: there is none. `unavailable`: the object store is down. */
  view: ReportView | null | 'unavailable';
  /** The root causes of the view that the page shows. */
  causes: SelectedCauses | null;
  /** Oldest first. */
  trend: readonly TrendPoint[];
  /** Whether the person may accept known issues. */
  mayAccept: boolean;
  issues: CausesData['issues'];
  /** Whether it is canceled in the cluster only. */
  ofManifest: boolean;
  /** The newest done check of each root cause. */
  checks: ReadonlyMap<string, ScanRow>;
  /** What the root cause of a check is called. Null: unknown, or it is about none. */
  checkedCause: string | null;
  /** What a person needs to change something. Null: they may only read. */
  write: { csrfToken: string; idempotencyKey: string; credits: number | null } | null;
  /** The result of what the person did. */
  message: { kind: NoticeKind; text: HtmlValue } | null;
}

/** The title of the page: screen readers read it first, and the time tells the tabs of two scans apart. */
export function scanTitle(row: ScanRow): string {
  const { options, phase, passed, createdAt } = row;
  const verdict = passed === null || !isTerminal(phase) ? '' : passed ? ', passed' : ', not passed';
  const state = isTerminal(phase) ? tr(PHASE_WORDS[phase].text).toLowerCase() : 'in progress';
  return `${isCheck(row) ? 'Check' : 'Scan'} of ${partsOf(options.url).host}: ${state}${verdict}, ${date(createdAt)}`;
}

export function scanBody(data: ScanPageData): Html {
  const { row, list, message, position, ofManifest, write } = data;
  const { host, path } = partsOf(row.options.url);
  const ended = isTerminal(row.phase);
  return html`${breadcrumb([{ text: 'Scans', href: list }, { text: host }])}
    ${message !== null && notice({ kind: message.kind, title: message.text, announce: true })}
    <div class="page-head">
      <h1>${isCheck(row) ? 'Check' : 'Scan'} of <span class="address">${host}${path !== '/' && html`<wbr />${path}`}</span></h1>
      ${row.test && html`<p class="badges">${kindBadge(row)}</p>`}
    </div>
    ${isCheck(row) && checkNotice(row, data.checkedCause)} ${scanFacts(row, data.names)}
    <p>${siteLink(row.options.url)}${toSite(row)}</p>
    ${ended ? endedParts(data) : liveParts(scanProgress({ row, position, ofManifest, csrfToken: write?.csrfToken ?? null }), row.id)} ${metadataList(row)} ${optionList(row, data.names)}
    ${ended && write !== null && actions(deleteForm(row, write.csrfToken))}`;
}

/** The page of the site has the trend and the other scans. Scans of test keys and checks are not listed there. */
const toSite = ({ site, optionsKey, phase, test, baseline }: ScanRow): Html | false =>
  isTerminal(phase) && !test && !isCheck({ baseline }) && html` · ${link(`All results of ${site}`, sitePath(site, optionsKey))}`;

const liveParts = (progress: Html, id: string): Html =>
  html`${progress}<noscript><p>${link('Reload this page', `/dashboard/scans/${id}`)} to see the current state.</p></noscript>`;

function endedParts(data: ScanPageData): Html {
  const { row, trend, view, write } = data;
  const pages = view === null || view === 'unavailable' ? undefined : pageCountsOf(view);
  const toPass = view === null || view === 'unavailable' ? NOTHING : fixToPassCard(view, (cause) => causesHref(row.id, { cause }));
  return html`${scanResult(row, pages)} ${toPass} ${downloads(row)} ${write !== null && isRepeatable(row) && againForm(row, write)} ${row.outcome !== null && findings(data)}
    ${row.phase === 'done' && row.reports !== null && !isCheck(row) && differenceLater(row)} ${trendChart(trend, { current: row.id })}`;
}

function downloads({ id, reports }: ScanRow): Html {
  if (reports === null) return NOTHING;
  const csv = (table: CsvTable, text: string): Html => link(text, `${scanPath(id)}/report/${table}.csv`);
  const pdf = linkButton({ text: 'Download PDF', href: `/dashboard/scans/${id}/report` });
  const json = linkButton({ text: 'JSON', hiddenText: 'export', href: `/dashboard/scans/${id}/report/json` });
  if (reports.export.bytes > CONVERTED_MAX_BYTES)
    return html`${actions(pdf, json)}
      <p>The export is too large to make the HTML report and spreadsheets here. Run <code>curbcut report ${id} --html FILE</code>.</p>`;
  return html`${actions(pdf, linkButton({ text: 'HTML', hiddenText: 'report in one file', href: `${scanPath(id)}/report/html` }), json)}
    <details>
      <summary>Spreadsheets and drafts</summary>
      <p>CSV of ${csv('elements', 'elements')}, ${csv('causes', 'root causes')} or ${csv('pages', 'pages')}</p>
      <p>
        Drafts to complete: ${link('accessibility conformance report (OpenACR)', `${scanPath(id)}/report/openacr`)},
        ${link('known barriers for an accessibility statement', `${scanPath(id)}/report/barriers`)}
      </p>
    </details>`;
}

/** A person's scan is no test. */
const isRepeatable = ({ origin, test }: ScanRow): boolean => origin === 'api' && !test;

function againForm({ id, options, baseline }: ScanRow, { csrfToken, idempotencyKey, credits }: NonNullable<ScanPageData['write']>): Html {
  const available = credits === null ? '' : ` ${number(credits)} are available.`;
  return html`<form method="post" action="/dashboard/scans/${id}/again">
    ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}
    ${button({ text: isCheck({ baseline }) ? 'Check again' : 'Scan again', attributes: { 'aria-describedby': 'again-cost' } })}
    <p class="hint" id="again-cost">Reserves ${pagesText(options.maxPages).replace('page', 'credit')}, and charges the pages that it tests.${available}</p>
  </form>`;
}

const deleteForm = ({ id, origin, resource }: ScanRow, csrfToken: string): Html =>
  confirmedForm({
    id: 'delete',
    action: `/dashboard/scans/${id}/delete`,
    fields: hiddenField('_csrf', csrfToken),
    trigger: { text: 'Delete scan', kind: 'danger' },
    title: 'Delete this scan?',
    text: `Its result and its reports are deleted for everyone, and nothing brings them back. Its credits stay charged.${
      origin === 'manifest' ? ` ${resource.namespace}/${resource.name} stays in the cluster until it is deleted there.` : ''
    }`,
    confirm: 'Delete scan',
    cancel: 'Keep scan',
  });

function findings(data: ScanPageData): Html {
  const { row, view, causes, mayAccept, issues, checks, write } = data;
  if (row.reports === null)
    return notice({
      title: 'The reports of this scan are no longer stored',
      body: 'The score, the verdict and the counts are kept longer. Scan again to see the findings.',
    });
  if (view === 'unavailable')
    return notice({
      kind: 'warn',
      title: 'The findings are unavailable at the moment',
      body: html`They could not be read. ${link('Reload this page', `/dashboard/scans/${row.id}`)} in a while.`,
    });
  if (view === null || causes === null)
    return notice({
      title: 'This scan has no findings to show',
      body: 'They are not in the object store. Download the PDF or the JSON export.',
    });
  return html`${causeList({ ...causes, scanId: row.id, view, mayAccept, issues, checks, mayCheck: write !== null })} ${write !== null && checkForm(row.id, write)} ${criteria(row.id, view)} ${pagesSummary(row.id, pagesOf(row, view))}`;
}

/** Nothing for a view that was made before views had criteria. */
const criteria = (id: string, { criteria: all = [] }: ReportView): Html | false =>
  all.length > 0 &&
  html`<details class="card folded" id="criteria">
    <summary><h2>Success criteria</h2></summary>
    ${criteriaCounts(all)}
    <p>${link(`Show all ${all.length} criteria`, criteriaPath(id))}</p>
  </details>`;

interface ScanProgressData {
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
    'data-announce': tr(PHASE_WORDS[phase].text),
  })}>
    <h2 id="progress-title">In progress</h2>
    ${steps(phase as LivePhase)} ${phase === 'queued' ? waiting(position) : testing(pages)} ${cancelForm(row, ofManifest, csrfToken)}
  </section>`;
}

/** What replaces the part when the scan has ended: the script then shows the page of the result. */
export const scanEnded = ({ phase }: Pick<ScanRow, 'phase'>): Html =>
  html`<section class="card" id="progress" data-ended="true"><h2>${tr(PHASE_WORDS[phase].text)}</h2></section>`;

function steps(current: LivePhase): Html {
  const at = LIVE_PHASES.indexOf(current);
  return html`<ol class="phases">
    ${LIVE_PHASES.map((phase, index) => {
      const state = index < at ? 'over' : index === at ? 'current' : 'ahead';
      return html`<li${attributes({ class: `phase phase-${state}`, 'aria-current': state === 'current' ? 'step' : undefined })}>
        ${tr(PHASE_WORDS[phase].text)}${state === 'over' && visuallyHidden(' (over)')}
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
