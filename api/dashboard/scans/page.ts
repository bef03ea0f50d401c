/** The page of one scan: while it is in progress, and when it has ended. Pure. */
import { isTerminal, LIVE_PHASES, type LivePhase } from '../../../core/scan/phases.ts';
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
import { count, date, kindBadge, partsOf, PHASE_WORDS, progressText, scanFacts, siteLink, verdictWords } from './words.ts';
import { trendChart, type TrendPoint } from './trend.ts';
import { forms, t, tr } from '../../web/texts.ts';

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
  const { options, phase, createdAt } = row;
  const state = isTerminal(phase) ? tr(PHASE_WORDS[phase].text) : t`In progress`;
  const { host } = partsOf(options.url);
  const ended = [state, verdictWords(row)?.text].filter(Boolean).join(', ');
  return isCheck(row) ? t`Check of ${host}: ${ended}, ${date(createdAt)}` : t`Scan of ${host}: ${ended}, ${date(createdAt)}`;
}

export function scanBody(data: ScanPageData): Html {
  const { row, list, message, position, ofManifest, write } = data;
  const { host, path } = partsOf(row.options.url);
  const ended = isTerminal(row.phase);
  const address = html`<span class="address">${host}${path !== '/' && html`<wbr />${path}`}</span>`;
  return html`${breadcrumb([{ text: t`Scans`, href: list }, { text: host }])}
    ${message !== null && notice({ kind: message.kind, title: message.text, announce: true })}
    <div class="page-head">
      <h1>${isCheck(row) ? t`Check of ${address}` : t`Scan of ${address}`}</h1>
      ${row.test && html`<p class="badges">${kindBadge(row)}</p>`}
    </div>
    ${isCheck(row) && checkNotice(row, data.checkedCause)} ${scanFacts(row, data.names)}
    <p>${siteLink(row.options.url)}${toSite(row)}</p>
    ${ended ? endedParts(data) : liveParts(scanProgress({ row, position, ofManifest, csrfToken: write?.csrfToken ?? null }), row.id)} ${metadataList(row)} ${optionList(row, data.names)}
    ${ended && write !== null && actions(deleteForm(row, write.csrfToken))}`;
}

/** The page of the site has the trend and the other scans. Scans of test keys and checks are not listed there. */
const toSite = ({ site, optionsKey, phase, test, baseline }: ScanRow): Html | false =>
  isTerminal(phase) && !test && !isCheck({ baseline }) && html` · ${link(t`All results of ${site}`, sitePath(site, optionsKey))}`;

const liveParts = (progress: Html, id: string): Html =>
  html`${progress}<noscript><p>${t`${link(t`Reload this page`, `/dashboard/scans/${id}`)} to see the current state.`}</p></noscript>`;

function endedParts(data: ScanPageData): Html {
  const { row, trend, write } = data;
  const view = data.view === null || data.view === 'unavailable' ? undefined : data.view;
  const toPass = view && fixToPassCard(view, (cause) => causesHref(row.id, { cause }));
  return html`${scanResult(row, view)} ${toPass} ${downloads(row)} ${write !== null && isRepeatable(row) && againForm(row, write)} ${row.outcome !== null && findings(data)}
    ${row.phase === 'done' && row.reports !== null && !isCheck(row) && differenceLater(row)} ${trendChart(trend, { current: row.id })}`;
}

function downloads({ id, reports }: ScanRow): Html {
  if (reports === null) return NOTHING;
  const csv = (table: CsvTable, text: string): Html => link(text, `${scanPath(id)}/report/${table}.csv`);
  const pdf = linkButton({ text: t`Download PDF`, href: `/dashboard/scans/${id}/report` });
  const json = linkButton({ text: 'JSON', hiddenText: t`export`, href: `/dashboard/scans/${id}/report/json` });
  if (reports.export.bytes > CONVERTED_MAX_BYTES)
    return html`${actions(pdf, json)}
      <p>${t`The export is too large to make the HTML report and spreadsheets here. Run ${html`<code>curbcut report ${id} --html FILE</code>`}.`}</p>`;
  return html`${actions(pdf, linkButton({ text: 'HTML', hiddenText: t`report in one file`, href: `${scanPath(id)}/report/html` }), json)}
    <details>
      <summary>${t`Spreadsheets and drafts`}</summary>
      <p>${t`CSV of ${csv('elements', t`elements`)}, ${csv('causes', t`root causes`)} or ${csv('pages', t`pages`)}`}</p>
      <p>
        ${t`Drafts to complete: ${link(t`accessibility conformance report (OpenACR)`, `${scanPath(id)}/report/openacr`)},
        ${link(t`known barriers for an accessibility statement`, `${scanPath(id)}/report/barriers`)}`}
      </p>
    </details>`;
}

/** A person's scan is no test. */
const isRepeatable = ({ origin, test }: ScanRow): boolean => origin === 'api' && !test;

const RESERVES = forms(
  'Reserves {n} credit, and charges the pages that it tests.',
  'Reserves {n} credits, and charges the pages that it tests.',
);

function againForm({ id, options, baseline }: ScanRow, { csrfToken, idempotencyKey, credits }: NonNullable<ScanPageData['write']>): Html {
  const available = credits === null ? '' : t` ${credits} are available.`;
  return html`<form method="post" action="/dashboard/scans/${id}/again">
    ${hiddenField('_csrf', csrfToken)}${hiddenField('idempotency_key', idempotencyKey)}
    ${button({ text: isCheck({ baseline }) ? t`Check again` : t`Scan again`, attributes: { 'aria-describedby': 'again-cost' } })}
    <p class="hint" id="again-cost">${count(RESERVES, options.maxPages)}${available}</p>
  </form>`;
}

const deleteForm = ({ id, origin, resource }: ScanRow, csrfToken: string): Html =>
  confirmedForm({
    id: 'delete',
    action: `/dashboard/scans/${id}/delete`,
    fields: hiddenField('_csrf', csrfToken),
    trigger: { text: t`Delete scan`, kind: 'danger' },
    title: t`Delete this scan?`,
    text: html`${t`Its result and its reports are deleted for everyone, and nothing brings them back. Its credits stay charged.`}${
      origin === 'manifest' && t` ${`${resource.namespace}/${resource.name}`} stays in the cluster until it is deleted there.`
    }`,
    confirm: t`Delete scan`,
    cancel: t`Keep scan`,
  });

function findings(data: ScanPageData): Html {
  const { row, view, causes, mayAccept, issues, checks, write } = data;
  if (row.reports === null)
    return notice({
      title: t`The reports of this scan are no longer stored`,
      body: t`The score, the verdict and the counts are kept longer. Scan again to see the findings.`,
    });
  if (view === 'unavailable')
    return notice({
      kind: 'warn',
      title: t`The findings are unavailable at the moment`,
      body: t`They could not be read. ${link(t`Reload this page`, `/dashboard/scans/${row.id}`)} in a while.`,
    });
  if (view === null || causes === null)
    return notice({
      title: t`This scan has no findings to show`,
      body: t`They are not in the object store. Download the PDF or the JSON export.`,
    });
  return html`${causeList({ ...causes, scanId: row.id, view, mayAccept, issues, checks, mayCheck: write !== null })} ${write !== null && checkForm(row.id, write)} ${criteria(row.id, view)} ${pagesSummary(row.id, pagesOf(row, view))}`;
}

/** Nothing for a view that was made before views had criteria. */
const criteria = (id: string, { criteria: all = [] }: ReportView): Html | false =>
  all.length > 0 &&
  html`<details class="card folded" id="criteria">
    <summary><h2>${t`Success criteria`}</h2></summary>
    ${criteriaCounts(all)}
    <p>${link(t`Show all ${all.length} criteria`, criteriaPath(id))}</p>
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
    <h2 id="progress-title">${t`In progress`}</h2>
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
        ${tr(PHASE_WORDS[phase].text)}${state === 'over' && visuallyHidden(t` (over)`)}
      </li>`;
    })}
  </ol>`;
}

function waiting(position: QueuePosition | undefined): Html {
  if (position === undefined) return html`<p>${t`The scan starts as soon as there is room for it.`}</p>`;
  const { position: place, waiting: all, name } = position;
  const text =
    place === null
      ? t`The scan waits behind at least ${1000} others in the queue ${name}.`
      : t`The scan is number ${place} of ${all} that wait in the queue ${name}.`;
  return html`<p>${text}</p>`;
}

function testing(pages: ScanRow['pages']): Html {
  const tried = pages.scanned + pages.failed;
  if (pages.total === 0) return progress({ label: t`Pages`, value: null, max: 1, text: t`No page was found yet.` });
  return progress({ label: t`Pages`, value: tried, max: Math.max(pages.total, tried), text: progressText(pages) });
}

const TESTED = forms('Until now: {n} page.', 'Until now: {n} pages.');

function cancelForm({ id, pages, resource, canceling }: ScanRow, ofManifest: boolean, csrfToken: string | null): Html {
  if (canceling) return html`<p>${t`Canceling: the scan ends when the report of the tested pages is stored, within seconds.`}</p>`;
  if (csrfToken === null) return NOTHING;
  if (ofManifest)
    return notice({
      body: t`A Kubernetes manifest created this scan. Cancel it in the cluster: delete ${resource.namespace}/${resource.name}, or set spec.cancel to true.`,
    });
  return confirmedForm({
    id: 'cancel',
    action: `/dashboard/scans/${id}/cancel`,
    fields: hiddenField('_csrf', csrfToken),
    trigger: { text: t`Cancel scan`, kind: 'danger' },
    title: t`Cancel this scan?`,
    text: html`${t`Pages that are tested before the scan ends are charged and have a report.`}
      ${pages.scanned > 0 && count(TESTED, pages.scanned)} ${t`The other reserved credits are returned.`}`,
    confirm: t`Cancel scan`,
    cancel: t`Keep scanning`,
  });
}
