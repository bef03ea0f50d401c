/**
 * The texts of the dashboard in the language of the reader. English stands in the code: t`Join ${name}`. The other languages are in
 * `texts/`, by the English text with its values as {0}, {1}. `test/facts/dashboard-texts.test.ts` names what is missing or not used.
 */
import { DEFAULT_LOCALE, type Locale } from '../../core/scan/locales.ts';
import { html, type Html, type HtmlValue } from '../../report/html/html.ts';
import { currentLocale } from '../../report/words/current.ts';
import type { Plural } from '../../report/words/translated.ts';
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

/** A sentence that is English in every language, such as a message of the API: marked where the reader's language is another. */
export const english = (text: string): HtmlValue => (currentLocale() === DEFAULT_LOCALE ? text : html`<span lang="en">${text}</span>`);

/** Choices whose texts and hints are marked. */
export const trChoices = <C extends { text: HtmlValue; hint?: HtmlValue }>(choices: readonly C[]): C[] =>
  choices.map((one) => ({ ...one, text: shownOf(one.text), ...(one.hint !== undefined && { hint: shownOf(one.hint) }) }));
const shownOf = (text: HtmlValue): HtmlValue => (typeof text === 'string' ? tr(text) : text);

type TextOf<Value> = [Value] extends [string | number] ? (Extract<Value, Html> extends never ? string : Html) : Html;

/** A text with its values in the language of the reader: HTML if a value is HTML. Numbers are formatted for the language. */
export function t<V extends readonly HtmlValue[]>(parts: TemplateStringsArray, ...values: V): TextOf<V[number]>;
export function t(parts: TemplateStringsArray, ...values: HtmlValue[]): string | Html {
  const { number } = wordsIn(currentLocale(), 'site');
  const shown = values.map((value) => (typeof value === 'number' ? number(value) : value));
  // Odd parts are the numbers of values.
  const pieces = tr(keyOf(parts))
    .split(/\{(\d+)\}/)
    .map((piece, at) => (at % 2 === 0 ? piece : shown[Number(piece)]));
  return shown.every((value) => typeof value === 'string') ? pieces.join('') : html`${pieces}`;
}

/** The forms of a text with a number as {n}, for `count`. The catalogues have those of their language by `other`. */
export const forms = (one: string, other: string): Plural => ({ one, other });

/** A text for a number, in the form of the language. @param given those of `forms`, or of a catalogue of reports in the language */
export function count(given: Plural, n: number, values?: Readonly<Record<string, string | number>>): string {
  const locale = currentLocale();
  const found = locale === DEFAULT_LOCALE ? given : CATALOGUES[locale as keyof typeof CATALOGUES][given.other];
  return wordsIn(locale, 'site').count(typeof found === 'object' ? (found as Plural) : given, n, values);
}
