/** A root cause as a line that opens: what fails where, why it matters, and how to fix it. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { standardsInReports } from '../rules/rules.ts';
import { standardsText } from '../rules/success-criteria.ts';
import { elementPath } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { type CauseLine, type ReportView, ruleOf } from '../view/schema.ts';
import { inStates, knownMark } from '../view/sentences.ts';
import { wordsIn } from '../words/words.ts';
import { code, elementPicture } from './blocks.ts';
import { badge, contrast, externalLink, severityBadge, shown, siteLink, withPart } from './elements.ts';
import { attributes, type Attributes, html, type Html, type HtmlValue, NOTHING } from './html.ts';

/** A line that is shown. */
export interface ShownCause {
  line: CauseLine;
  /** Null: it could not be read. */
  cause: RootCause | null;
}

/** What a rule asks for, in the language if this version knows the rule. */
export const titleOf = (view: Pick<ReportView, 'cause_rules'>, rule: string, locale: Locale = currentLocale()): string =>
  shown(ruleText(rule, locale)?.help ?? ruleOf(view, rule).help);

export interface CauseOptions {
  view: Pick<ReportView, 'cause_rules' | 'pictures'>;
  locale?: Locale;
  open: boolean;
  /** The address of the picture of the cause, if it has one. Null: it is not shown. */
  pictureSrc(fingerprint: string): string | null;
  /** What a person can do about it. */
  action?: HtmlValue;
  /** The id of the line. Default: `cause-`, and the fingerprint. */
  id?: string;
  /** More attributes of the line. */
  attributes?: Attributes;
}

/** One line, which opens without scripts. */
export function causeItem(cause: ShownCause, options: CauseOptions): Html {
  const { fingerprint, rule, impact, element } = cause.line;
  const { locale = currentLocale(), view, open, id = `cause-${fingerprint}` } = options;
  return html`<li${attributes({ class: 'cause', id, ...options.attributes })}>
    <details${attributes({ open })}>
      <summary>
        <h3>${severityBadge(impact, locale)} ${titleOf(view, rule, locale)} <code>${shown(element, 100)}</code></h3>
        <span class="cause-facts"><span>${extentOf(cause.line, locale)}</span>${marksOf(cause.line, locale)}</span>
      </summary>
      <div class="cause-body">${body(cause, id, options)}</div>
    </details>
  </li>`;
}

const marksOf = (line: CauseLine, locale: Locale): Html =>
  html`${newBadge(line, locale)}${knownBadge(line, locale)}${stateBadge(line, locale)}`;

/** How many elements on how many pages. */
export function extentOf({ elements, pages }: Pick<CauseLine, 'elements' | 'pages'>, locale: Locale = currentLocale()): string {
  const { texts, count } = wordsIn(locale, 'report');
  return `${count(texts.elements, elements)} ${count(texts.onPages, pages)}`;
}

export function newBadge({ new_elements: added = 0, elements }: CauseLine, locale: Locale = currentLocale()): Html | false {
  const { texts, format } = wordsIn(locale, 'findings');
  return added > 0 && badge('bad', added === elements ? texts.isNew : format(texts.someNew, { n: added }));
}

export function knownBadge({ known_elements: known = 0, elements }: CauseLine, locale: Locale = currentLocale()): Html | false {
  const { texts, format } = wordsIn(locale, 'findings');
  return known > 0 && badge('plain', known === elements ? texts.isKnown : format(texts.someKnown, { n: known }));
}

/** The states in which a root cause was found. */
export function stateBadge(cause: Pick<CauseLine, 'states' | 'at_rest'>, locale: Locale = currentLocale()): Html | false {
  const text = inStates(cause, locale);
  return text !== null && badge('note', text);
}

function body({ cause }: ShownCause, id: string, options: CauseOptions): Html {
  const { view, locale = currentLocale(), pictureSrc, action } = options;
  const { texts } = wordsIn(locale, 'findings');
  if (cause === null) return html`<p>${texts.unread}</p>`;
  const { rule, fingerprint, example, known = [] } = cause;
  const { why = '', fix = '' } = ruleText(rule, locale) ?? {};
  const picture = view.pictures.find((one) => one.fingerprint === fingerprint);
  const src = picture === undefined ? null : pictureSrc(fingerprint);
  const { texts: words, format } = wordsIn(locale, 'publicPages');
  const alt = format(words.result.pictureAlt, { help: titleOf(view, rule, locale) });
  const markup = code({ id: `${id}-html`, label: texts.htmlLabel, text: shown(example.html, HTML_SHOWN_MAX), copy: false });
  return html`${known.map((mark) => html`<p>${knownMark(mark, wordsIn(locale, 'report'))}</p>`)}
    ${fix !== '' ? labelled(wordsIn(locale, 'report').texts.howToFix, fix) : html`<p>${shown(ruleOf(view, rule).description)}</p>`}
    ${example.contrast !== undefined && contrast(example.contrast, locale)}
    ${src === null ? markup : elementPicture({ src, alt, picture: picture! })} ${action}
    <details>
      <summary>${texts.more}</summary>
      ${src !== null && markup} ${more(cause, { id, why, locale })}
    </details>`;
}

/** A text with what it is about. */
export const labelled = (label: string, text: string): Html => html`<p><strong>${label}:</strong> ${text}</p>`;

const HTML_SHOWN_MAX = 1_000;
const SELECTOR_SHOWN_MAX = 1_000;

function more(cause: RootCause, { id, why, locale }: { id: string; why: string; locale: Locale }): Html {
  const { example, rule, wcag, help_url } = cause;
  const { texts, format } = wordsIn(locale, 'report');
  const label = wordsIn(locale, 'findings').texts.selectorLabel;
  return html`${why !== '' && labelled(texts.whyItMatters, why)}
    ${code({ id: `${id}-selector`, label, text: shown(elementPath(example), SELECTOR_SHOWN_MAX), inline: true, locale })}
    <p class="soft">${standardsText(wcag, standardsInReports(rule), locale).join(' · ')} <code>${shown(rule, 100)}</code></p>
    ${related(cause, locale)} ${affectedPages(cause, locale)}
    ${/^https:\/\//.test(help_url) && html`<p>${externalLink(format(texts.aboutRule, { rule: shown(rule, 100) }), help_url)}</p>`}`;
}

/** The other elements that explain the finding. */
function related({ example: { related: others = [] } }: RootCause, locale: Locale): Html {
  if (others.length === 0) return NOTHING;
  const { texts, count } = wordsIn(locale, 'findings');
  return html`<p>${count(texts.related, others.length)}:</p>
    <ul>
      ${others.map((other) => html`<li><code>${shown(other.selector)}</code><br /><code>${shown(other.html)}</code></li>`)}
    </ul>`;
}

function affectedPages({ page_urls: urls, pages }: RootCause, locale: Locale): Html {
  const { texts, count } = wordsIn(locale, 'findings');
  if (urls.length === 0) return NOTHING;
  if (urls.length === 1) return html`<p>${withPart(texts.foundOn, 'page', siteLink(urls[0]!))}</p>`;
  return html`<p>${count(texts.affected, pages)}:</p>
    <ul>
      ${urls.map((url) => html`<li>${siteLink(url)}</li>`)} ${urls.length < pages && html`<li>${count(texts.morePages, pages - urls.length)}</li>`}
    </ul>`;
}
