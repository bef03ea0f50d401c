/** The pages of a scan: tested with their scores, or not tested with the reason. Pure. */
import { isAttempted } from '../../../report/results/coverage.ts';
import { scanNotes } from '../../../report/view/gaps.ts';
import type { ReportView, ViewGaps, ViewPage } from '../../../report/view/schema.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { badge, table } from '../../web/components/index.ts';
import { html, NOTHING, type Html, type HtmlValue } from '../../web/html.ts';
import { count, nothingYet, number, pagesText, shown, siteLink, violations } from './scan-words.ts';

const { texts: words } = wordsIn('en', 'report');

const INCOMPLETE = {
  one: '{n} page was not tested completely: the list says what may have been missed.',
  other: '{n} pages were not tested completely: the list says what may have been missed.',
};
const FRAMES = { one: '{n} frame was not tested', other: '{n} frames were not tested' };

type Listed = Pick<ReportView, 'pages' | 'pages_total' | 'pages_with_gaps' | 'addresses_left' | 'consent'>;

export function pageList({ pages, pages_total: total, pages_with_gaps: incomplete, ...view }: Listed): Html {
  if (pages.length === 0) return NOTHING;
  const untested = pages.filter(({ tested }) => !tested).length;
  return html`<section class="card" id="pages" aria-labelledby="pages-title">
    <h2 id="pages-title">Pages</h2>
    ${untested > 0 && html`<p>${pagesText(untested)} could not be tested, or did not have to be. Pages that were not tested cost nothing.</p>`}
    ${incomplete > 0 && html`<p>${count(INCOMPLETE, incomplete)}</p>`} ${scanNotes(view).map(({ message }) => html`<p>${message}</p>`)}
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
    const reason = html`${badge(isAttempted(page.reason) ? 'warn' : 'plain', words.reasons[page.reason] ?? 'Not tested')}<span class="small soft address">${shown(page.message)}</span>${page.same_as !== undefined && html`<span class="small">${siteLink(page.same_as)}</span>`}${linkedFrom(page.linked_from ?? [])}`;
    return [siteLink(page.url), reason, nothingYet, nothingYet];
  }
  const name = html`${page.title !== '' && html`<span class="address">${shown(page.title, 150)}</span><br />`}${siteLink(page.url)}`;
  const tested = page.gaps === undefined ? badge('good', 'Tested') : html`${badge('warn', 'Tested in part')}${gaps(page.gaps)}`;
  return [name, tested, number(page.score), violations(page.counts)];
}

/** The pages or the sitemap in which the link to an untested page can be corrected. */
const linkedFrom = (urls: readonly string[]): Html =>
  urls.length === 0
    ? NOTHING
    : html`<span class="small soft">Linked from</span>${urls.map((url) => html`<span class="small">${siteLink(url)}</span>`)}`;

/** What may have been missed on a page. */
function gaps({ frames, frames_total: total, caveats }: ViewGaps): Html {
  return html`<ul class="small soft gaps">
    ${caveats.map(({ message }) => html`<li>${shown(message)}</li>`)}
    ${total > 0 && html`<li>${count(FRAMES, total)}</li>`}
    ${frames.map(({ path, url, message }) => html`<li class="address">${shown(path, 100)} (${shown(url, 150)}): ${shown(message)}</li>`)}
  </ul>`;
}
