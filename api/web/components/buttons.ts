/** Buttons and links that look like buttons. A button does something; a link goes somewhere. */
import { attributes, html, type Attributes, type Html, type HtmlValue } from '../html.ts';

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
