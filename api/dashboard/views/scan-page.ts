/** The page of one scan. Pure. */
import { isTerminal } from '../../../core/scan/phases.ts';
import type { Impact } from '../../../core/scan/impacts.ts';
import { pageCountsOf } from '../../../report/view/score-sentence.ts';
import { SCANS_PATH } from '../../../core/web-paths.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import { actions, breadcrumb, button, hiddenField, link, linkButton, notice, type NoticeKind } from '../../web/components/index.ts';
import { html, NOTHING, type Html } from '../../web/html.ts';
import type { ActorNames } from '../actor-names.ts';
import { differenceLater } from './difference.ts';
import { pageList } from './page-list.ts';
import { advice, needsReview, rootCauses } from './root-causes.ts';
import { scanProgress } from './scan-progress.ts';
import { metadataList, optionList, scanResult } from './scan-result.ts';
import { number, pagesText, partsOf, PHASE_WORDS, siteLink, stateBadge, testBadge, verdictBadge, verdictWords } from './scan-words.ts';
import { trendChart } from './trend-chart.ts';
import type { TrendPoint } from './trend-drawing.ts';

export interface ScanPageData {
  row: ScanRow;
  names: ActorNames;
  position: QueuePosition | undefined;
  /** Null: there is none. `unavailable`: the object store is down. */
  view: ReportView | null | 'unavailable';
  /** Oldest first. */
  trend: readonly TrendPoint[];
  severity: Impact | null;
  /** Whether the person may accept known issues. */
  mayAccept: boolean;
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
  const { row, message, position, write } = data;
  const { host, path } = partsOf(row.options.url);
  const ended = isTerminal(row.phase);
  return html`${breadcrumb([{ text: 'Scans', href: SCANS_PATH }, { text: host }])}
    ${message !== null && notice({ kind: message.kind, title: message.text, announce: true })}
    <div class="page-head">
      <h1>Scan of <span class="address">${host}${path === '/' ? '' : path}</span></h1>
      ${(ended || row.test) && html`<p class="badges">${testBadge(row)} ${ended && stateBadge(row.phase)} ${ended && verdictWords(row) !== null && verdictBadge(row)}</p>`}
    </div>
    <p>${siteLink(row.options.url)}</p>
    ${ended ? endedParts(data) : liveParts(scanProgress({ row, position, csrfToken: write?.csrfToken ?? null }), row.id)} ${metadataList(row)} ${optionList(row, data.names)}`;
}

const liveParts = (progress: Html, id: string): Html =>
  html`${progress}<noscript><p>${link('Reload this page', `/dashboard/scans/${id}`)} to see the current state.</p></noscript>`;

function endedParts(data: ScanPageData): Html {
  const { row, trend, view } = data;
  const pages = view === null || view === 'unavailable' ? undefined : pageCountsOf(view);
  return html`${scanResult(row, pages)} ${downloads(data)} ${trendChart(trend, row.id)} ${row.phase === 'done' && findings(data)}`;
}

function downloads({ row, write }: ScanPageData): Html {
  const files =
    row.reports !== null &&
    html`${linkButton({ text: 'Download PDF', href: `/dashboard/scans/${row.id}/report` })}
    ${linkButton({ text: 'Download JSON', href: `/dashboard/scans/${row.id}/report/json` })}`;
  // A person's scan is no test.
  const again = write !== null && row.origin === 'api' && !row.test && againForm(row, write);
  if (files === false && again === false) return NOTHING;
  return html`<section class="card" aria-labelledby="actions-title">
    <h2 id="actions-title">Reports and next scan</h2>
    ${files !== false && actions(files)} ${again}
  </section>`;
}

function againForm({ id, options }: ScanRow, { csrfToken, idempotencyKey, credits }: NonNullable<ScanPageData['write']>): Html {
  const available = credits === null ? '' : ` ${number(credits)} are available.`;
  return html`<form method="post" action="/dashboard/scans/${id}/again">
    ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}
    <p id="again-cost">A new scan with the same options reserves ${pagesText(options.maxPages).replace('page', 'credit')}, and charges the pages that it tests.${available}</p>
    ${button({ text: 'Scan again', attributes: { 'aria-describedby': 'again-cost' } })}
  </form>`;
}

function findings(data: ScanPageData): Html {
  const { row, view, severity, mayAccept } = data;
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
  if (view === null)
    return html`${differenceLater(row)} ${notice({ title: 'This scan has no findings to show', body: 'It was made by an earlier version. Download the PDF or the JSON export.' })}`;
  return html`${differenceLater(row)}
    ${rootCauses({ scanId: row.id, groups: view.groups, leading: view.leading, total: view.groups_total, severity, mayAccept })}
    ${needsReview({ scanId: row.id, groups: view.needs_review, total: view.needs_review_total, elements: view.needs_review_elements })}
    ${advice({ scanId: row.id, groups: view.advice ?? [], total: view.advice_total ?? 0, elements: view.advice_elements ?? 0 })} ${pageList(view)}`;
}
