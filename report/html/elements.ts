/** Small parts of pages: buttons, links, badges, headings, dates, colours. A button does something; a link goes somewhere. */
import { attributes, type Attributes, html, type Html, type HtmlValue, raw } from './html.ts';
import type { Counts } from '../../core/scan/counts.ts';
import { type Impact, IMPACTS } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { wordsIn } from '../words/words.ts';
import type { ReportNode } from '../schema/page.ts';
import { contrastText, isDrawable } from '../view/sentences.ts';

export type ButtonKind = 'primary' | 'secondary' | 'danger' | 'quiet';

interface ButtonOptions {
  text: HtmlValue;
  /** Default: secondary. A page has one primary button. */
  kind?: ButtonKind;
  /** Default: submit. */
  type?: 'submit' | 'button';
  name?: string;
  value?: string;
  disabled?: boolean;
  /** Read by screen readers after the text, such as the name of a row. */
  hiddenText?: string;
  attributes?: Attributes;
}

export function button({
  text,
  kind = 'secondary',
  type = 'submit',
  name,
  value,
  disabled,
  hiddenText,
  attributes: more,
}: ButtonOptions): Html {
  return html`<button${attributes({ class: `button button-${kind}`, type, name, value, disabled, ...more })}>${text}${hidden(hiddenText)}</button>`;
}

interface LinkButtonOptions {
  text: HtmlValue;
  href: string;
  kind?: ButtonKind;
  hiddenText?: string;
  attributes?: Attributes;
}

export function linkButton({ text, href, kind = 'secondary', hiddenText, attributes: more }: LinkButtonOptions): Html {
  return html`<a${attributes({ class: `button button-${kind}`, href: safeHref(href), ...more })}>${text}${hidden(hiddenText)}</a>`;
}

/** A text that only screen readers read. */
export const visuallyHidden = (text: HtmlValue): Html => html`<span class="visually-hidden">${text}</span>`;

const hidden = (text: string | undefined): HtmlValue => text !== undefined && html` ${visuallyHidden(text)}`;

/** Actions beside each other. */
export const actions = (...items: HtmlValue[]): Html => html`<div class="actions">${items}</div>`;

const SAFE_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:']);

/**
 * An address for a link. Schemes other than http, https and mailto, such as javascript:, become '#'. The scheme is read as
 * browsers read it: they ignore tabs, line breaks and leading control characters.
 */
export function safeHref(href: string): string {
  const url = URL.parse(href, 'https://own.invalid');
  return url !== null && SAFE_SCHEMES.has(url.protocol) ? href : '#';
}

export function link(text: HtmlValue, href: string, more: Attributes = {}): Html {
  return html`<a${attributes({ href: safeHref(href), ...more })}>${text}</a>`;
}

/** A link to another site, such as a tested page. It sends no referrer. */
export function externalLink(text: HtmlValue, href: string, more: Attributes = {}): Html {
  return link(text, href, { rel: 'noreferrer noopener external', ...more });
}

export type BadgeKind = 'good' | 'bad' | 'warn' | 'note' | 'plain';

/** A word with a colour. The word alone says everything. */
export const badge = (kind: BadgeKind, text: HtmlValue): Html => html`<span class="badge badge-${kind}">${text}</span>`;

/** A shape for each severity: octagon, triangle, diamond, circle. */
const SHAPES: Readonly<Record<Impact, Html>> = {
  critical: html`<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" />`,
  serious: html`<path d="M8 1.5 15.5 15H.5z" />`,
  moderate: html`<path d="M8 .5 15.5 8 8 15.5.5 8z" />`,
  minor: html`<circle cx="8" cy="8" r="6.5" />`,
};

/** The shape of a severity, without a name: write its word beside it. */
export const severityIcon = (impact: Impact): Html =>
  html`<svg class="severity-icon severity-${impact}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    ${SHAPES[impact]}
  </svg>`;

export const severityBadge = (impact: Impact, locale: Locale = currentLocale()): Html =>
  html`<span class="severity severity-${impact}">${severityIcon(impact)}${wordsIn(locale, 'report').texts.severities[impact]}</span>`;

/** The number of violations of each severity, worst first. */
export function severityCounts(counts: Readonly<Record<Impact, number>>, locale: Locale = currentLocale()): Html {
  const { number, texts } = wordsIn(locale, 'report');
  const items = IMPACTS.map(
    (impact) =>
      html`<div class="severity-count severity-${impact}">
        <dt>${severityIcon(impact)}${texts.severities[impact]}</dt>
        <dd>${number(counts[impact])}</dd>
      </div>`,
  );
  return html`<dl class="severity-counts">${items}</dl>`;
}

export type HeadingLevel = 2 | 3 | 4 | 5;

/** A heading whose level depends on where it is. */
export const heading = (level: HeadingLevel, more: Attributes, content: HtmlValue): Html =>
  html`${raw(`<h${level}`)}${attributes(more)}>${content}${raw(`</h${level}>`)}`;

/** A heading that is a link to itself, so that its address can be copied. */
export const linkedHeading = (level: HeadingLevel, id: string, text: HtmlValue): Html =>
  heading(level, { id }, html`<a class="anchor" href="#${id}">${text}</a>`);

/** A text with HTML in place of a placeholder. */
export function withPart(text: string, name: string, part: HtmlValue): Html {
  const [before = '', after = ''] = text.split(`{${name}}`);
  return html`${before}${part}${after}`;
}

/** A short date and time with "UTC". On pages, the script `times.js` shows it in the reader's time zone, near ones as "5 minutes ago". */
export const time = (at: Date | string, locale?: Locale): Html => timeElement(at, raw('data-local'), locale);

/** The same for sentences, which read badly with "now" or "yesterday": always a date and a time. */
export const dateAndTime = (at: Date | string, locale?: Locale): Html => timeElement(at, raw('data-local="absolute"'), locale);

function timeElement(at: Date | string, local: Html, locale: Locale = currentLocale()): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}" ${local}>${wordsIn(locale, 'site').shortDate(iso)}</time>`;
}

/** The ratio, the required one, and both colours, each drawn beside its name. The drawings have no names of their own. */
export function contrast(measured: NonNullable<ReportNode['contrast']>, locale: Locale = currentLocale()): Html {
  const { ratio, colors, size } = contrastText(measured, wordsIn(locale, 'report'));
  return html`<ul class="contrast">
    <li><strong>${ratio}</strong></li>
    ${colors.map(({ name, color }) => html`<li>${isDrawable(color) && swatch(color)}${name}</li>`)}
    ${size !== undefined && html`<li>${size}</li>`}
  </ul>`;
}

/** A drawing, because its colour is an attribute: the pages allow no styles in their HTML. */
const swatch = (color: string): Html =>
  html`<svg class="contrast-color" viewBox="0 0 18 18" width="18" height="18" aria-hidden="true" focusable="false">
    <rect width="18" height="18" fill="${color}" />
  </svg>`;

/** A cell without a value. */
export const noValue = (locale: Locale = currentLocale()): Html =>
  html`<span aria-hidden="true">–</span>${visuallyHidden(wordsIn(locale, 'findings').texts.noValue)}`;

/** The violations of each severity that has any, worst first. */
export function violations(counts: Counts, locale: Locale = currentLocale()): Html {
  const { texts, number } = wordsIn(locale, 'report');
  if (counts.total === 0) return html`${wordsIn(locale, 'findings').texts.none}`;
  const present = IMPACTS.filter((impact) => counts[impact] > 0);
  return html`<ul class="severity-list">
    ${present.map(
      (impact) =>
        html`<li class="severity severity-${impact}">
          ${severityIcon(impact)}${number(counts[impact])} ${visuallyHidden(texts.severities[impact].toLowerCase())}
        </li>`,
    )}
  </ul>`;
}

/** Longer addresses and texts of tested sites are cut off. */
const SHOWN_MAX = 300;
export const shown = (text: string, max = SHOWN_MAX): string => (text.length > max ? `${text.slice(0, max)}…` : text);

/** A link to a tested page if its address is one of the web, else its text. */
export function siteLink(url: string): Html {
  const text = html`<span class="address">${shown(url)}</span>`;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return text;
  return externalLink(text, url, { rel: 'noopener noreferrer nofollow' });
}

/** How a page is named in titles: its host, and its path if it has one. */
export function siteName(url: string): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname } = new URL(url);
  return pathname === '/' ? host : `${host}${pathname}`;
}

/** The mark: a kerb with a ramp down to the street, and the yellow domes that people feel with their feet. */
export const logo: Html = html`<svg class="logo" viewBox="0 0 40 32" width="40" height="32" aria-hidden="true" focusable="false">
  <path class="logo-kerb" d="M0 6h15l16 16h9v8H0z" />
  <circle class="logo-dome" cx="20.2" cy="8.2" r="2.6" /><circle class="logo-dome" cx="25" cy="13" r="2.6" />
  <circle class="logo-dome" cx="29.8" cy="17.8" r="2.6" />
</svg>`;
