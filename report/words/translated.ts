/** The types of catalogues: English is the pattern of the other languages. */
import type { Plural, PluralOf } from '../../core/i18n.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type * as english from './en/index.ts';

/** The sections of a catalogue. */
export type Section = keyof typeof english;

/** A section in any language. */
export type Words<S extends Section> = WithPlurals<(typeof english)[S], Plural>;

/** A section in one language: each text of the English one, each plural with all forms of the language. */
export type Translated<S extends Section, L extends Locale> = WithPlurals<(typeof english)[S], PluralOf<L>>;

type WithPlurals<Texts, Forms> = Texts extends string
  ? string
  : Texts extends { other: string }
    ? Forms
    : { readonly [Key in keyof Texts]: WithPlurals<Texts[Key], Forms> };
