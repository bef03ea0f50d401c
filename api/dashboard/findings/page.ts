/** The list of the pages of a scan, and one of them: what was found on it, where, and with which pictures. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { type Caller, mayCall } from '../../../core/accounts.ts';
import { issueLink, type TicketAbout, ticketOf, trackerOf } from '../../../report/formats/ticket.ts';
import type { RootCause } from '../../../report/schema/root-cause.ts';
import type { PageCauses } from '../../../report/view/findings.ts';
import type { ReportView, ViewPage } from '../../../report/view/schema.ts';
import { criteriaPath, docPath, pagePath, pagesPath, scanPath, SCANS_PATH, ticketPath, TRACKER_PATH } from '../../../core/web-paths.ts';
import { pagePictureName, pictureName } from '../../scans/scan-views.ts';
import { actions, code, definitions, link, linkButton, notice, pagination, shown } from '../../web/components.ts';
import { criteriaCounts, criteriaTable } from '../../../report/html/criteria.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { pageFindings } from '../../../report/html/page-findings.ts';
import { pageName, pageStates, testedBadge } from '../../../report/html/pages.ts';
import { checkButton, checkForm, checkLink, newestOfPage } from '../scans/check.ts';
import { partsOf, siteLink, violations } from '../scans/words.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { scanOf } from '../scans/routes.ts';
import { titledPage } from '../forms.ts';
import { picturePath } from './list.ts';
import { pageList, pagesOf, readPageListQuery } from './pages.ts';
import { causesHref, detailsOf, findCause, findingsReader, readPageFindings } from './select.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { t } from '../../web/texts.ts';

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
    { text: t`Scans`, href: SCANS_PATH },
    { text: partsOf(options.url).host, href: scanPath(id) },
  ];

  scope.get(pagesPath(':id'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const body = pageList(row.id, pagesOf(row, view), readPageListQuery(request.query as Record<string, unknown>));
    return reply.page(titledPage({ request, title: t`Pages of the scan`, active: 'scans', trail: trailTo(row), body }));
  });

  scope.get(criteriaPath(':id'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const body =
      view.criteria === undefined
        ? notice({ title: t`This scan was stored by an earlier version`, body: t`Only its JSON export has the success criteria.` })
        : html`${criteriaCounts(view.criteria)} ${criteriaTable(view.criteria)}`;
    return reply.page(
      titledPage({
        request,
        title: wordsIn(currentLocale(), 'report').texts.byCriterion.heading,
        active: 'scans',
        trail: trailTo(row),
        body,
      }),
    );
  });

  scope.get<{ Params: { cause: string } }>(ticketPath(':id', ':cause'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const line = findCause(view, 'violations', request.params.cause);
    const cause = line && (await detailsOf(view, 'violations', line, findingsReader(request, row)));
    if (!cause) throw new ApiError('not_found');
    const causeUrl = scope.settings.publicBaseUrl + causesHref(row.id, { cause: cause.fingerprint });
    const about = { locale: row.options.locale, scanId: row.id, causeUrl, element: line.element };
    return reply.page(titledPage({ request, title: t`Issue for a tracker`, active: 'scans', trail: trailTo(row), body: ticketBody(cause, about, row, callerOf(request)) })); // prettier-ignore
  });

  scope.get<{ Params: { page: string } }>(pagePath(':id', ':page'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const at = /^[1-9]\d{0,5}$/.test(request.params.page) ? Number(request.params.page) : 0;
    const page = view.pages[at - 1];
    // What was not tested has no findings: the list says why.
    if (!page?.tested) throw new ApiError('not_found');
    const findings = await readPageFindings(page.findings, findingsReader(request, row));
    const checked = newestOfPage(await storesOf(request).scans.checksOf(row.id), page.url);
    const { csrfToken } = request.viewer!;
    const write = mayCall(callerOf(request), 'scans:write') ? { csrfToken, idempotencyKey: randomUUID() } : null;
    const data = { scanId: row.id, view, at, page, findings, write, checked };
    const trail = [...trailTo(row), { text: t`Pages`, href: pagesPath(row.id) }];
    return reply.page(titledPage({ request, title: pageTitle(data), active: 'scans', trail, body: pageBody(data) }));
  });
};

/** The issue as text, which can be selected without scripts, and a link to the organisation's tracker, else that of the scan's repository. */
function ticketBody(cause: RootCause, about: TicketAbout, { id, metadata = {} }: ScanRow, caller: Caller): Html {
  const tracker = caller.organisation.tracker ?? trackerOf(metadata['repository'] ?? '');
  const { title, body } = ticketOf(cause, about);
  const create =
    tracker === null
      ? html`<p class="soft">${t`A link to a new issue is here once an owner has set the tracker of the organisation, and for scans with the ${link(t`metadata`, `${docPath('cli')}#metadata`)} ${html`<code>repository</code>`} of a project on GitHub or GitLab.`}</p>`
      : actions(linkButton({ text: t`Create issue in ${shown(tracker.url.slice('https://'.length))}`, href: issueLink(tracker, cause, about), kind: 'primary', attributes: { rel: 'noopener' } })); // prettier-ignore
  return html`${create} ${mayCall(caller, 'members:write') && html`<p>${link(t`Tracker of the organisation`, TRACKER_PATH)}</p>`}
    <h2>${t`Title`}</h2>
    ${code({ id: 'ticket-title', label: t`the title`, text: title, inline: true, lang: about.locale })}
    <h2>${t`Text in Markdown`}</h2>
    ${code({ id: 'ticket-text', label: t`the text in Markdown`, text: body, lang: about.locale })}
    <p>${link(t`Back to the root cause`, causesHref(id, { cause: cause.fingerprint }))}</p>`;
}

export interface ScanPageOfSite {
  scanId: string;
  view: Pick<ReportView, 'pages' | 'causes' | 'cause_rules' | 'pictures' | 'page_pictures'>;
  /** The number of the page in the scan, from 1. */
  at: number;
  page: Extract<ViewPage, { tested: true }>;
  /** Null: it could not be read, or the page has none. */
  findings: PageCauses | null;
  /** Null if the person may not start scans. */
  write: Parameters<typeof checkForm>[1] | null;
  /** The newest done check of the page. */
  checked: ScanRow | undefined;
}

export const pageTitle = ({ at, page, view }: Pick<ScanPageOfSite, 'at' | 'page' | 'view'>): string =>
  t`Page ${at} of ${view.pages.length}: ${pageName(page)}`;

export function pageBody(data: ScanPageOfSite): Html {
  const { scanId, view, at, page, findings, write, checked } = data;
  const { texts, format } = wordsIn(currentLocale(), 'findings');
  return html`<p>${siteLink(page.url)}</p>
    ${neighbours(scanId, view.pages, at)}
    <section class="card" aria-labelledby="facts-title">
      <h2 id="facts-title">${texts.pageResult}</h2>
      ${definitions([
        [t`Score`, format(texts.ofHundred, { n: page.score })],
        [t`Violations`, violations(page.counts)],
        [texts.test, testedBadge(page)],
        ...(page.states === undefined ? [] : [[t`States`, pageStates(page)] as [string, Html | null]]),
      ])}
      ${checkLink(checked)} ${write !== null && html`${checkForm(scanId, write)}<p>${checkButton({ url: page.url })}</p>`}
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
        title: wordsIn(currentLocale(), 'findings').texts.noFindings,
        body: t`Advice is listed for the whole scan. What only people can judge has not been tested.`,
      })
    : notice({ kind: 'warn', title: t`The findings of this page are unavailable at the moment`, body: t`Reload the page in a while.` });

function foundParts({ scanId, view, at, page }: ScanPageOfSite, findings: PageCauses): Html {
  return pageFindings({
    view,
    page,
    findings,
    pagePictureSrc: picturePath(scanId, pagePictureName(at)),
    pictureSrc: (fingerprint) => picturePath(scanId, pictureName(fingerprint)),
    causeHref: (cause) => causesHref(scanId, { cause }),
    intro: html`<p>${link(t`Filter the root causes of the scan by this page`, causesHref(scanId, { page: at }))}</p>`,
  });
}
