/** The pages of a scan: tested with their scores, or not tested with the reason. Pure. */
import type { PageFailureReason } from '../../../core/report/schema.ts';
import type { ReportView, ViewPage } from '../../../core/report/view-schema.ts';
import { badge, table } from '../../web/components/index.ts';
import { html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import { nothingYet, number, pagesText, shown, siteLink, violations } from './scan-words.ts';

const REASONS: Readonly<Record<PageFailureReason, string>> = {
  navigation_failed: 'Not reachable',
  timeout: 'Too slow',
  http_error: 'HTTP error',
  not_html: 'Not HTML',
  crashed: 'Crashed the browser',
  refused: 'Not allowed',
  redirected_away: 'Redirects to another site',
  robots_disallowed: 'Disallowed by robots.txt',
  sign_in_page: 'Sign-in page',
  bot_wall: 'Bot protection',
  download: 'Download',
  test_failed: 'Test failed',
  rate_limited: 'Rate limited',
  sign_in_lost: 'Sign-in lost',
  excluded: 'Excluded',
  same_as: 'Same as another page',
};

export function pageList({ pages, pages_total: total }: Pick<ReportView, 'pages' | 'pages_total'>): Html {
  if (pages.length === 0) return NOTHING;
  const untested = pages.filter(({ tested }) => !tested).length;
  return html`<section class="card" id="pages" aria-labelledby="pages-title">
    <h2 id="pages-title">Pages</h2>
    ${untested > 0 && html`<p>${pagesText(untested)} could not be tested, or did not have to be. Pages that were not tested cost nothing.</p>`}
    ${table({
      id: 'page-table',
      caption: 'Pages of this scan',
      captionHidden: true,
      columns: [{ text: 'Page' }, { text: 'Tested' }, { text: 'Score', numeric: true }, { text: 'Violations' }],
      rows: pages.map(pageRow),
    })}
    ${pages.length < total && html`<p>The first ${number(pages.length)} of ${pagesText(total)} are shown. The JSON export has all of them.</p>`}
  </section>`;
}

function pageRow(page: ViewPage): HtmlValue[] {
  if (!page.tested) {
    const reason = html`${badge('warn', REASONS[page.reason] ?? 'Not tested')}<span class="small soft address">${shown(page.message)}</span>`;
    return [siteLink(page.url), reason, nothingYet, nothingYet];
  }
  const name = html`${page.title !== '' && html`<span class="address">${shown(page.title, 150)}</span><br />`}${siteLink(page.url)}`;
  return [name, badge('good', 'Tested'), number(page.score), violations(page.counts)];
}
