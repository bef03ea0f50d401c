/** The page of one scan. Pure. */
import { isTerminal } from '../../../core/scan/phases.ts';
import { pageCountsOf } from '../../../report/view/score-sentence.ts';
import { sitePath } from '../../../core/web-paths.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import { actions, breadcrumb, button, hiddenField, link, linkButton, notice, type NoticeKind } from '../../web/components/index.ts';
import { html, NOTHING, type Html } from '../../web/html.ts';
import type { ActorNames } from '../actor-names.ts';
import { causeList } from '../findings/list.ts';
import { pagesSummary } from '../findings/pages.ts';
import type { SelectedCauses } from '../findings/select.ts';
import { differenceLater } from './difference.ts';
import { scanProgress } from './scan-progress.ts';
import { metadataList, optionList, scanResult } from './scan-result.ts';
import { number, pagesText, partsOf, PHASE_WORDS, siteLink, testBadge, verdictBadge } from './scan-words.ts';
import { trendChart } from './trend-chart.ts';
import type { TrendPoint } from './trend-drawing.ts';

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
  /** Whether it is canceled in the cluster only. */
  ofManifest: boolean;
  /** What a person needs to change something. Null: they may only read. */
  write: { csrfToken: string; idempotencyKey: string; credits: number | null } | null;
  /** The result of what the person did. */
  message: { kind: NoticeKind; text: string } | null;
}

/** The title of the page: screen readers read it first. */
export function scanTitle({ options, phase, passed }: ScanRow): string {
  const verdict = passed === null || !isTerminal(phase) ? '' : passed ? ', passed' : ', not passed';
  return `Scan of ${partsOf(options.url).host}: ${isTerminal(phase) ? PHASE_WORDS[phase].text.toLowerCase() : 'in progress'}${verdict}`;
}

export function scanBody(data: ScanPageData): Html {
  const { row, list, message, position, ofManifest, write } = data;
  const { host, path } = partsOf(row.options.url);
  const ended = isTerminal(row.phase);
  return html`${breadcrumb([{ text: 'Scans', href: list }, { text: host }])}
    ${message !== null && notice({ kind: message.kind, title: message.text, announce: true })}
    <div class="page-head">
      <h1>Scan of <span class="address">${host}${path !== '/' && html`<wbr />${path}`}</span></h1>
      ${(row.test || isUnjudged(row)) && html`<p class="badges">${testBadge(row)} ${isUnjudged(row) && verdictBadge(row)}</p>`}
    </div>
    <p>${siteLink(row.options.url)}${toSite(row)}</p>
    ${ended ? endedParts(data) : liveParts(scanProgress({ row, position, ofManifest, csrfToken: write?.csrfToken ?? null }), row.id)} ${metadataList(row)} ${optionList(row, data.names)}`;
}

/** The page of the site has the trend and the other scans. Scans of test keys are not listed there. */
const toSite = ({ site, optionsKey, phase, test }: ScanRow): Html | false =>
  isTerminal(phase) && !test && html` · ${link(`All results of ${site}`, sitePath(site, optionsKey))}`;

/** Whether no sentence says how the scan ended. */
const isUnjudged = ({ phase, passed }: ScanRow): boolean => phase === 'done' && passed === null;

const liveParts = (progress: Html, id: string): Html =>
  html`${progress}<noscript><p>${link('Reload this page', `/dashboard/scans/${id}`)} to see the current state.</p></noscript>`;

function endedParts(data: ScanPageData): Html {
  const { row, trend, view, write } = data;
  const pages = view === null || view === 'unavailable' ? undefined : pageCountsOf(view);
  return html`${scanResult(row, pages)} ${downloads(row)} ${write !== null && isRepeatable(row) && againForm(row, write)} ${row.outcome !== null && findings(data)}
    ${row.phase === 'done' && row.reports !== null && differenceLater(row)} ${trendChart(trend, row.id)}`;
}

function downloads({ id, reports }: ScanRow): Html {
  if (reports === null) return NOTHING;
  return actions(
    linkButton({ text: 'Download PDF', href: `/dashboard/scans/${id}/report` }),
    linkButton({ text: 'JSON', hiddenText: 'export', href: `/dashboard/scans/${id}/report/json` }),
  );
}

/** A person's scan is no test. */
const isRepeatable = ({ origin, test }: ScanRow): boolean => origin === 'api' && !test;

function againForm({ id, options }: ScanRow, { csrfToken, idempotencyKey, credits }: NonNullable<ScanPageData['write']>): Html {
  const available = credits === null ? '' : ` ${number(credits)} are available.`;
  return html`<form method="post" action="/dashboard/scans/${id}/again">
    ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}
    ${button({ text: 'Scan again', attributes: { 'aria-describedby': 'again-cost' } })}
    <p class="hint" id="again-cost">Reserves ${pagesText(options.maxPages).replace('page', 'credit')}, and charges the pages that it tests.${available}</p>
  </form>`;
}

function findings(data: ScanPageData): Html {
  const { row, view, causes, mayAccept } = data;
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
      body: 'It was made by an earlier version. Download the PDF or the JSON export.',
    });
  return html`${causeList({ ...causes, scanId: row.id, view, mayAccept })} ${pagesSummary(row.id, view)}`;
}
