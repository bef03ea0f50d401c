/** What was found on one page of a scan, where, and with which pictures: the map and the lists that its marks lead to. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import type { PageCause, PageCauses } from '../view/findings.ts';
import type { CauseLine, ReportView, ViewPage } from '../view/schema.ts';
import { wordsIn } from '../words/words.ts';
import { elementPicture } from './blocks.ts';
import { knownBadge, labelled, newBadge, stateBadge, titleOf } from './cause.ts';
import { heading, type HeadingLevel, link, severityBadge, shown, visuallyHidden } from './elements.ts';
import { html, type Html, type HtmlValue, NOTHING } from './html.ts';
import { type Mark, pageMap, placeText } from './map.ts';

/** Root causes on one page; the rest is in the JSON export and in the list of root causes. */
const CAUSES_MAX = 50;
/** Elements that are shown at once. */
const ELEMENTS_AT_ONCE = 3;

export interface PageFindingsOptions {
  view: Pick<ReportView, 'causes' | 'cause_rules' | 'pictures' | 'page_pictures'>;
  page: Extract<ViewPage, { tested: true }>;
  findings: PageCauses;
  locale?: Locale;
  /** The level of its headings, and what ids begin with: of several pages in a document, each has a heading with the id `…title`. */
  level?: 2 | 4;
  prefix?: string;
  /** The address of the picture of the page, if it has one, and of a root cause. Null: it is not shown. */
  pagePictureSrc: string | null;
  pictureSrc(fingerprint: string): string | null;
  /** Where a root cause of the scan is. */
  causeHref(fingerprint: string): string | null;
  /** Above the list of violations. */
  intro?: HtmlValue;
  /** Whether the causes are described elsewhere in the document. */
  brief?: boolean;
}

/** A list of the page, and the options with their defaults. */
interface Context extends PageFindingsOptions {
  locale: Locale;
  level: 2 | 4;
  prefix: string;
}
type ListOfPage = 'violations' | 'review';

export function pageFindings(options: PageFindingsOptions): Html {
  const context = { locale: currentLocale(), level: 2 as const, prefix: '', ...options };
  const { locale, level, prefix, view, page, pagePictureSrc: src } = context;
  const { causes, causes_total: total, needs_review: review, needs_review_total: reviews } = context.findings;
  const { texts, count } = wordsIn(locale, 'findings');
  const { violations, needsReview } = wordsIn(locale, 'report').texts;
  const found = view.page_pictures.find(({ page_url }) => page_url === page.url);
  const picture = found === undefined || src === null ? null : { src, width: found.width, height: found.height };
  const marks = [...marksOf(context, causes, 'violations'), ...marksOf(context, review, 'review')];
  const id = `${prefix}found-title`;
  const mapId = `${prefix}map-title`;
  // Where there are several pages, each has a title that tells its parts from those of the others.
  const named = (own: string): string => (prefix === '' ? own : `${own} ${prefix}title`);
  return html`<div class="page-findings">
    ${pageMap({ size: page.size, marks, picture, locale, level, id: mapId, labelledBy: named(mapId) })}
    <div><section class="card" aria-labelledby="${named(id)}">
      ${heading(level, { id }, `${violations} (${count(texts.causes, total)})`)}
      ${total === 0 ? html`<p>${texts.noneOnPage}</p>` : context.intro}
      ${list(context, causes, 'violations')} ${moreThan(causes, total, locale)}
    </section>
    ${reviews > 0 && html`<details class="card folded"><summary>${heading(level, {}, `${needsReview} (${count(texts.causes, reviews)})`)}</summary>${list(context, review, 'review')}${moreThan(review, reviews, locale)}</details>`}
    </div></div>`;
}

function moreThan({ length }: readonly PageCause[], total: number, locale: Locale): Html | false {
  const { texts, count } = wordsIn(locale, 'findings');
  const listed = Math.min(length, CAUSES_MAX);
  return listed < total && html`<p>${count(texts.firstShown, listed)}</p>`;
}

const list = (context: Context, causes: readonly PageCause[], name: ListOfPage): Html =>
  html`<ul class="causes">${causes.slice(0, CAUSES_MAX).map((cause, index) => causeOnPage(context, cause, name, index + 1))}</ul>`;

/** What the map calls a finding of a list. */
const labelOf = (name: ListOfPage, at: number): string => `${name === 'review' ? 'R' : ''}${at}`;
const labelBadge = (label: string): Html => html`<span class="map-badge">${label}</span>`;

const marksOf = ({ view, locale, prefix }: Context, causes: readonly PageCause[], name: ListOfPage): Mark[] =>
  causes.slice(0, CAUSES_MAX).map((cause, index) => ({
    label: labelOf(name, index + 1),
    title: titleOf(view, cause.rule, locale),
    href: `#${prefix}${name}-${index + 1}`,
    kind: name === 'review' ? 'review' : 'violation',
    boxes: cause.shown.map(({ box }) => box),
  }));

function causeOnPage(context: Context, cause: PageCause, name: ListOfPage, at: number): Html {
  const { view, page, locale, level, prefix } = context;
  const { fingerprint, impact, elements, shown: listed } = cause;
  const { texts, count } = wordsIn(locale, 'findings');
  // The cause may be a violation on one page and need review on another.
  const line = name === 'violations' ? view.causes.find((one) => one.fingerprint === fingerprint) : undefined;
  // Each cause has one picture per scan, which may show another page.
  const picture = view.pictures.find((one) => one.fingerprint === fingerprint && one.page_url === page.url);
  const src = picture === undefined ? null : context.pictureSrc(fingerprint);
  const title = titleOf(view, cause.rule, locale);
  const { texts: words, format } = wordsIn(locale, 'publicPages');
  const { fix = '' } = ruleText(cause.rule, locale) ?? {};
  const others = listed.slice(ELEMENTS_AT_ONCE);
  const named = html`${labelBadge(labelOf(name, at))} ${severityBadge(impact, locale)} ${title} ${line !== undefined && html`<code>${line.element}</code>`}`;
  return html`<li class="cause" id="${prefix}${name}-${at}">
    ${heading((level + 1) as HeadingLevel, {}, named)}
    <p class="cause-facts"><span>${count(texts.elementsOnPage, elements)}</span> ${stateBadge(cause, locale)} ${line !== undefined && aboutCause(context, line, title)}</p>
    ${src !== null && elementPicture({ src, alt: format(words.result.pictureAlt, { help: title }), picture: picture! })}
    ${fix !== '' && !context.brief && labelled(wordsIn(locale, 'report').texts.howToFix, fix)}
    ${places(listed.slice(0, ELEMENTS_AT_ONCE), locale)}
    ${others.length > 0 && html`<details><summary>${count(texts.showMore, others.length)}</summary>${places(others, locale)}</details>`}
    ${listed.length < elements && html`<p class="soft">${count(texts.moreOnPage, elements - listed.length)}</p>`}
  </li>`;
}

/** Marks that hold for each element of the scan, and so for those on the page. They are not counted for each page. */
function aboutCause({ causeHref, locale }: Context, line: CauseLine, title: string): Html {
  const href = causeHref(line.fingerprint);
  const { aboutCause: about } = wordsIn(locale, 'findings').texts;
  return html`${line.new_elements === line.elements && newBadge(line, locale)}${line.known_elements === line.elements && knownBadge(line, locale)}
  ${href !== null && link(html`${about}${visuallyHidden(`: ${title} ${line.element}`)}`, href)}`;
}

const places = (elements: PageCause['shown'], locale: Locale): Html =>
  elements.length === 0
    ? NOTHING
    : html`<ul class="examples">
        ${elements.map(({ selector, html: markup, box, state }) => html`<li><code class="address">${shown(selector, 500)}</code><br /><code class="address">${shown(markup)}</code><br /><span class="soft">${placeText(box, locale, state)}</span></li>`)}
      </ul>`;
