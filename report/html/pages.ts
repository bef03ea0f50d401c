/** The pages of a scan as rows of a table: tested with their scores, or not tested with the reason. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { isAttempted } from '../results/score.ts';
import { isIncomplete } from '../view/gaps.ts';
import type { ViewPage } from '../view/schema.ts';
import { wordsIn } from '../words/words.ts';
import type { ReportDiscovery } from '../schema/report.ts';
import { type Column, foldedCard, table } from './blocks.ts';
import { badge, link, noValue, shown, siteLink, violations } from './elements.ts';
import { attributes, html, type Html, type HtmlValue, NOTHING } from './html.ts';

type TestedPage = Extract<ViewPage, { tested: true }>;

/** The columns of the rows. */
export function pageColumns(locale: Locale = currentLocale()): Column[] {
  const { texts } = wordsIn(locale, 'report');
  return [
    { text: texts.page },
    { text: wordsIn(locale, 'findings').texts.test },
    { text: texts.score, numeric: true },
    { text: texts.violations },
  ];
}

/** What people call a page. */
export const pageName = ({ title, url }: TestedPage): string => shown(title === '' ? url : title, 150);

/** A page. @param href where its findings are; null: nowhere */
export function pageRow(page: ViewPage, href: string | null, locale: Locale = currentLocale()): HtmlValue[] {
  const { texts, number } = wordsIn(locale, 'report');
  if (!page.tested) {
    const reason = html`${badge(isAttempted(page.reason) ? 'warn' : 'plain', texts.reasons[page.reason] ?? '–')}<span${attributes({ class: 'small soft address', lang: foreign(locale) })}>${shown(page.message)}</span>${page.same_as !== undefined && html`<span class="small">${siteLink(page.same_as)}</span>`}${linkedFrom(page.linked_from ?? [], locale)}`;
    return [siteLink(page.url), reason, noValue(locale), noValue(locale)];
  }
  const title = html`<span class="address">${pageName(page)}</span>`;
  const name = html`${href === null ? title : link(title, href)}<br />${siteLink(page.url)}`;
  return [name, testedBadge(page, locale), number(page.score), violations(page.counts, locale)];
}

/** The language of what the scanner says, if the page has another one. */
const foreign = (locale: Locale): string | undefined => (locale === 'en' ? undefined : 'en');

/** Whether a page was tested completely, or what may have been missed on it. */
export function testedBadge(page: TestedPage, locale: Locale = currentLocale()): Html {
  const { texts } = wordsIn(locale, 'findings');
  return isIncomplete(page) ? html`${badge('warn', texts.testedInPart)}${gaps(page, locale)}` : badge('good', texts.tested);
}

/** The pages or the sitemap in which the link to an untested page can be corrected. */
const linkedFrom = (urls: readonly string[], locale: Locale): Html =>
  urls.length === 0
    ? NOTHING
    : html`<span class="small soft">${wordsIn(locale, 'findings').texts.linkedFrom}</span>${urls.map((url) => html`<span class="small">${siteLink(url)}</span>`)}`;

/** More would make the HTML report too large. */
const DOCUMENTS_SHOWN = 20;

/** The first documents that a report lists, apart from its pages. */
export function documentsCard({ documents = [], documents_total: total = 0 }: ReportDiscovery, locale: Locale = currentLocale()): Html {
  const { texts, count, format, number } = wordsIn(locale, 'report');
  const listed = documents.slice(0, DOCUMENTS_SHOWN);
  const left = total - listed.length;
  const columns = [texts.documents.heading, texts.documents.type, wordsIn(locale, 'findings').texts.linkedFrom].map((text) => ({ text }));
  const rows = listed.map(({ url, type, linked_from: from }) => [
    siteLink(url),
    type.toUpperCase(),
    html`${from.map((page) => html`<span class="small">${siteLink(page)}</span>`)}`,
  ]);
  return total === 0
    ? NOTHING
    : foldedCard({
        id: 'documents',
        title: `${texts.documents.heading} (${number(total)})`,
        body: html`<p>${format(texts.documents.linked, { n: number(total) })}</p>
          ${table({ id: 'document-table', caption: texts.documents.heading, captionHidden: true, columns, rows })}
          ${left > 0 && html`<p>${count(texts.leftOutRows, left)}</p>`}`,
      });
}

/** What may have been missed on a page. In English the scanner's own words say more. */
function gaps({ frames_untested: frames, frames_total: total, caveats }: TestedPage, locale: Locale): Html {
  const { texts, count } = wordsIn(locale, 'report');
  const said = (known: string | undefined, message: string): string => (locale === 'en' ? shown(message) : (known ?? shown(message)));
  return html`<ul class="small soft gaps">
    ${caveats.map(({ kind, message }) => html`<li>${said(texts.caveats[kind], message)}</li>`)}
    ${total > 0 && html`<li>${count(texts.framesUntested, total)}</li>`}
    ${frames.map(({ path, url, reason, message }) => html`<li class="address">${shown(path.join(' >>> '), 100)} (${shown(url, 150)}): ${said(texts.frameReasons[reason], message)}</li>`)}
  </ul>`;
}

/** What came of the states of a page. Null if it was tested in none. */
export function pageStates({ states = [] }: Pick<TestedPage, 'states'>, locale: Locale = currentLocale()): Html | null {
  const { texts, format, number } = wordsIn(locale, 'findings');
  if (states.length === 0) return null;
  const lines = states.map(({ kind, result, reason, left, opened, unopened = [] }) => {
    const details = [
      ...(reason === undefined ? [] : [texts.stateSkips[reason]]),
      ...(left === undefined ? [] : [format(texts.statesLeft, { n: number(left) })]),
      ...(opened === undefined ? [] : [format(texts.openedControls, { n: number(opened) })]),
      ...unopened.map((one) => format(texts.unopened[one.reason], { n: number(one.count) })),
    ];
    return `${texts.pageStates[kind]}: ${texts.stateResults[result]}${details.length === 0 ? '' : ` (${details.join('; ')})`}`;
  });
  return html`<ul class="small soft gaps">
    ${lines.map((line) => html`<li>${line}</li>`)}
  </ul>`;
}
