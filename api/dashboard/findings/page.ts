/** The list of the pages of a scan, and one of them: what was found on it, where, and with which pictures. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { ruleText } from '../../../report/rule-texts/rule-texts.ts';
import type { PageCause, PageCauses } from '../../../report/view/findings.ts';
import type { CauseLine, ReportView, ViewPage } from '../../../report/view/schema.ts';
import { pagePath, pagesPath, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { pagePictureName, pictureName } from '../../scans/scan-views.ts';
import { definitions, elementPicture, link, notice, pagination, severityBadge } from '../../web/components.ts';
import { html, type Html, NOTHING } from '../../../report/html/html.ts';
import { count, ELEMENTS, number, partsOf, shown, siteLink, violations } from '../scans/words.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { ApiError } from '../../http/errors.ts';
import { scanOf } from '../scans/routes.ts';
import { titledPage } from '../forms.ts';
import { knownBadge, newBadge, picturePath, titleOf } from './cause.ts';
import { pageList, readPageListQuery, testedBadge } from './pages.ts';
import { type Mark, pageMap, type PageMap, placeText } from './map.ts';
import { type CauseList, causesHref, findingsReader, readPageFindings } from './select.ts';

const VIEW_TIMEOUT_MS = 4_000;

const config = { permission: 'scans:read' } as const;

export const findingPages: FastifyPluginAsync = async (scope) => {
  /** The scan of the path with its view. @throws ApiError if it has none */
  async function viewed(request: FastifyRequest): Promise<{ row: ScanRow; view: ReportView }> {
    const row = await scanOf(request);
    const view = row.reports !== null ? await withTimeLimit(scope.scanViews.readView(row), VIEW_TIMEOUT_MS, 'reading a view') : null;
    if (view === null) throw new ApiError('report_not_found');
    return { row, view };
  }

  const trailTo = ({ id, options }: ScanRow) => [
    { text: 'Scans', href: SCANS_PATH },
    { text: partsOf(options.url).host, href: scanPath(id) },
  ];

  scope.get(pagesPath(':id'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const body = pageList(row.id, view, readPageListQuery(request.query as Record<string, unknown>));
    return reply.page(titledPage({ request, title: 'Pages of the scan', active: 'scans', trail: trailTo(row), body }));
  });

  scope.get<{ Params: { page: string } }>(pagePath(':id', ':page'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const at = /^[1-9]\d{0,5}$/.test(request.params.page) ? Number(request.params.page) : 0;
    const page = view.pages[at - 1];
    // What was not tested has no findings: the list says why.
    if (!page?.tested) throw new ApiError('not_found');
    const findings = await readPageFindings(page.findings, findingsReader(request, row));
    const data = { scanId: row.id, view, at, page, findings };
    const trail = [...trailTo(row), { text: 'Pages', href: pagesPath(row.id) }];
    return reply.page(titledPage({ request, title: pageTitle(data), active: 'scans', trail, body: pageBody(data) }));
  });
};

/** Root causes on one page; the rest is in the JSON export and in the list of root causes. */
const CAUSES_MAX = 50;
/** Elements that are shown at once. */
const ELEMENTS_AT_ONCE = 3;

export interface ScanPageOfSite {
  scanId: string;
  view: Pick<ReportView, 'pages' | 'causes' | 'cause_rules' | 'pictures' | 'page_pictures'>;
  /** The number of the page in the scan, from 1. */
  at: number;
  page: Extract<ViewPage, { tested: true }>;
  /** Null: it could not be read, or the page has none. */
  findings: PageCauses | null;
}

export const pageTitle = ({ at, page, view }: Pick<ScanPageOfSite, 'at' | 'page' | 'view'>): string =>
  `Page ${number(at)} of ${number(view.pages.length)}: ${shown(page.title === '' ? page.url : page.title, 150)}`;

export function pageBody(data: ScanPageOfSite): Html {
  const { scanId, view, at, page, findings } = data;
  return html`<p>${siteLink(page.url)}</p>
    ${neighbours(scanId, view.pages, at)}
    <section class="card" aria-labelledby="facts-title">
      <h2 id="facts-title">Result of this page</h2>
      ${definitions([
        ['Score', `${number(page.score)} of 100`],
        ['Violations', violations(page.counts)],
        ['Test', testedBadge(page)],
      ])}
    </section>
    ${findings === null ? withoutFindings(data) : foundParts(data, findings)}`;
}

/** The tested pages before and after this one in the order of the scan. */
function neighbours(scanId: string, pages: readonly ViewPage[], at: number): Html {
  const path = (index: number): string | null => (index === -1 ? null : pagePath(scanId, index + 1));
  const before = pages.findLastIndex(({ tested }, index) => tested && index < at - 1);
  return pagination({ previous: path(before), next: path(pages.findIndex(({ tested }, index) => tested && index > at - 1)) });
}

const withoutFindings = ({ page: { findings } }: ScanPageOfSite): Html =>
  findings === undefined
    ? notice({
        kind: 'good',
        title: 'The automated tests found no violation on this page, and nothing that needs review.',
        body: 'Advice is listed for the whole scan. What only people can judge has not been tested.',
      })
    : notice({ kind: 'warn', title: 'The findings of this page are unavailable at the moment', body: 'Reload the page in a while.' });

function foundParts(
  data: ScanPageOfSite,
  { causes, causes_total: total, needs_review: review, needs_review_total: reviews }: PageCauses,
): Html {
  const { scanId, at, page } = data;
  const marks = [...marksOf(data, causes, 'violations'), ...marksOf(data, review, 'review')];
  return html`<div class="page-findings">
    ${pageMap({ size: page.size, marks, picture: pictureOf(data) })}
    <div><section class="card" aria-labelledby="found-title">
      <h2 id="found-title">Violations (${count(CAUSES, total)})</h2>
      ${total === 0 ? html`<p>No violation was found on this page.</p>` : html`<p>${link('Filter the root causes of the scan by this page', causesHref(scanId, { page: at }))}</p>`}
      ${list(data, causes, 'violations')} ${moreThan(causes, total)}
    </section>
    ${reviews > 0 && html`<details class="card folded"><summary><h2>Needs review (${count(CAUSES, reviews)})</h2></summary>${list(data, review, 'review')}${moreThan(review, reviews)}</details>`}
    </div></div>`;
}

const CAUSES = { one: '{n} root cause', other: '{n} root causes' };

const moreThan = (causes: readonly PageCause[], total: number): Html | false =>
  Math.min(causes.length, CAUSES_MAX) < total &&
  html`<p>The first ${number(Math.min(causes.length, CAUSES_MAX))} are shown. The JSON export has all of them.</p>`;

type ListOfPage = Exclude<CauseList, 'advice'>;

const list = (data: ScanPageOfSite, causes: readonly PageCause[], name: ListOfPage): Html =>
  html`<ul class="causes">${causes.slice(0, CAUSES_MAX).map((cause, index) => causeOnPage(data, cause, name, index + 1))}</ul>`;

function pictureOf({ scanId, view, at, page }: ScanPageOfSite): PageMap['picture'] {
  const picture = view.page_pictures.find(({ page_url }) => page_url === page.url);
  return picture === undefined ? null : { src: picturePath(scanId, pagePictureName(at)), width: picture.width, height: picture.height };
}

/** What the map calls a finding of a list. */
const labelOf = (name: ListOfPage, at: number): string => `${name === 'review' ? 'R' : ''}${at}`;
const labelBadge = (label: string): Html => html`<span class="map-badge">${label}</span>`;

const marksOf = ({ view }: ScanPageOfSite, causes: readonly PageCause[], name: ListOfPage): Mark[] =>
  causes.slice(0, CAUSES_MAX).map((cause, index) => ({
    label: labelOf(name, index + 1),
    title: titleOf(view, cause.rule),
    href: `#${name}-${index + 1}`,
    kind: name === 'review' ? 'review' : 'violation',
    boxes: cause.shown.map(({ box }) => box),
  }));

function causeOnPage(data: ScanPageOfSite, cause: PageCause, name: ListOfPage, at: number): Html {
  const { fingerprint, impact, elements, shown: listed } = cause;
  // The cause may be a violation on one page and need review on another.
  const line = name === 'violations' ? data.view.causes.find((one) => one.fingerprint === fingerprint) : undefined;
  // Each cause has one picture per scan, which may show another page.
  const picture = data.view.pictures.find((one) => one.fingerprint === fingerprint && one.page_url === data.page.url);
  const title = titleOf(data.view, cause.rule);
  const { fix = '' } = ruleText(cause.rule, 'en') ?? {};
  const others = listed.slice(ELEMENTS_AT_ONCE);
  return html`<li class="cause" id="${name}-${at}">
    <h3>${labelBadge(labelOf(name, at))} ${severityBadge(impact)} ${title} ${line !== undefined && html`<code>${line.element}</code>`}</h3>
    <p class="cause-facts">
      <span>${count(ELEMENTS, elements)} on this page</span>
      ${line !== undefined && html`${marksOfAll(line)} ${link(html`About this cause<span class="visually-hidden">: ${title} ${line.element}</span>`, causesHref(data.scanId, { cause: fingerprint }))}`}
    </p>
    ${picture !== undefined && elementPicture({ src: picturePath(data.scanId, pictureName(fingerprint)), alt: `Picture of the page: an element with this cause is outlined. ${title}`, picture })}
    ${fix !== '' && html`<p><strong>How to fix it:</strong> ${fix}</p>`}
    ${places(listed.slice(0, ELEMENTS_AT_ONCE))}
    ${others.length > 0 && html`<details><summary>Show ${count(ELEMENTS, others.length)} more</summary>${places(others)}</details>`}
    ${listed.length < elements && html`<p class="soft">${count(ELEMENTS, elements - listed.length)} more on this page: the JSON export has all of them.</p>`}
  </li>`;
}

/** Marks that hold for each element of the scan, and so for those on the page. They are not counted for each page. */
const marksOfAll = (line: CauseLine): Html =>
  html`${line.new_elements === line.elements && newBadge(line)}${line.known_elements === line.elements && knownBadge(line)}`;

const places = (elements: PageCause['shown']): Html =>
  elements.length === 0
    ? NOTHING
    : html`<ul class="examples">
        ${elements.map(({ selector, html: markup, box }) => html`<li><code class="address">${shown(selector, 500)}</code><br /><code class="address">${shown(markup)}</code><br /><span class="soft">${placeText(box)}</span></li>`)}
      </ul>`;
