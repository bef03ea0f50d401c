/**
 * The texts of the dashboard in the language of the reader. English stands in the code: t`Join ${name}`. The other languages are in
 * `texts/`, by the English text with its values as {0}, {1}. `test/facts/dashboard-texts.test.ts` names what is missing or not used.
 */
import { DEFAULT_LOCALE, type Locale } from '../../core/scan/locales.ts';
import { html, type Html, type HtmlValue } from '../../report/html/html.ts';
import { currentLocale } from '../../report/words/current.ts';
import { wordsIn } from '../../report/words/words.ts';
import de from './texts/de.json' with { type: 'json' };
import fr from './texts/fr.json' with { type: 'json' };
import nl from './texts/nl.json' with { type: 'json' };
import pl from './texts/pl.json' with { type: 'json' };

/** A text, or its forms by plural category with the number as {n}. */
export type Catalogue = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export const CATALOGUES: Readonly<Record<Exclude<Locale, 'en'>, Catalogue>> = { de, fr, nl, pl };

/** An English text that is translated where it is shown. */
export type Marked = string & { readonly marked?: never };

/** Marks a text of a constant, for `tr`. */
export const m = ([text]: TemplateStringsArray): Marked => text!;

/** The English text of a template, by which catalogues have it. */
export const keyOf = (parts: readonly string[]): string =>
  parts
    .map((part, at) => (at === 0 ? part : `{${at - 1}}${part}`))
    .join('')
    .replace(/\s+/g, ' ');

/** A marked text in the language of the reader. */
export function tr(text: Marked): string {
  const locale = currentLocale();
  const found = locale === DEFAULT_LOCALE ? undefined : CATALOGUES[locale as keyof typeof CATALOGUES][text];
  return typeof found === 'string' ? found : text;
}

/** A text with its values in the language of the reader: HTML if a value is HTML. Numbers are formatted for the language. */
export function t(parts: TemplateStringsArray, ...values: (string | number)[]): string;
export function t(parts: TemplateStringsArray, ...values: HtmlValue[]): Html;
export function t(parts: TemplateStringsArray, ...values: HtmlValue[]): string | Html {
  const { number } = wordsIn(currentLocale(), 'site');
  const shown = values.map((value) => (typeof value === 'number' ? number(value) : value));
  // Odd parts are the numbers of values.
  const pieces = tr(keyOf(parts))
    .split(/\{(\d+)\}/)
    .map((piece, at) => (at % 2 === 0 ? piece : shown[Number(piece)]));
  return shown.every((value) => typeof value === 'string') ? pieces.join('') : html`${pieces}`;
}

/** For `count`. The catalogues have the forms of their language by `other`. */
export interface Forms {
  one: string;
  other: string;
}

/** The forms of a text with a number. */
export const forms = (one: string, other: string): Forms => ({ one, other });

/** A text for a number, in the form of the language. @param forms with the number as {n} */
export function count(forms: Forms, n: number): string {
  const locale = currentLocale();
  const found = locale === DEFAULT_LOCALE ? forms : CATALOGUES[locale as keyof typeof CATALOGUES][forms.other];
  return wordsIn(locale, 'site').count(typeof found === 'object' ? (found as Forms) : forms, n);
}
