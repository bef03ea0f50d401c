/**
 * Words of addresses that change something when they are requested: to delete, cancel, remove, clear, pay, buy, unsubscribe and
 * sign out, in the languages of Curbcut (`report/words/LOCALE/harmful.json`). Accents and umlauts are ignored in addresses.
 *
 * An entry is the source of a regular expression. A space in it is any separator of an address, or none. Take care that a certain
 * word means nothing else in another language: the Dutch "wissen" is certain only with what it clears, because "Wissen" is German
 * for knowledge.
 */
import { createRequire } from 'node:module';
import { LOCALES } from '../../core/scan/locales.ts';

interface Words {
  signOut: readonly string[];
  /** Words that mean nothing else. */
  certain: readonly string[];
  /** Words that have other meanings too. They count only alone, or with words of `company`: `/cart/clear`, not `/clear-skin`. */
  ambiguous: readonly string[];
  /** What is deleted, cancelled or paid, and other words of actions. */
  company: readonly string[];
}

const require = createRequire(import.meta.url);

/** Languages of which only the words to sign out are known. */
const OTHERS: Words = { signOut: ['cerrar sesión', 'desconectar', 'esci', 'disconnetti'], certain: [], ambiguous: [], company: [] };

const LANGUAGES: readonly Words[] = [...LOCALES.map((locale) => require(`../../report/words/${locale}/harmful.json`) as Words), OTHERS];

export const HARMFUL_WORDS: Words = {
  signOut: LANGUAGES.flatMap(({ signOut }) => signOut),
  certain: LANGUAGES.flatMap(({ certain }) => certain),
  ambiguous: LANGUAGES.flatMap(({ ambiguous }) => ambiguous),
  company: LANGUAGES.flatMap(({ company }) => company),
};

/** Parameters that say what to do. An ambiguous word counts in their values only: `?action=clear`, not `?colour=clear`. */
export const ACTION_NAMES: ReadonlySet<string> = new Set([
  ...['action', 'aktion', 'actie', 'akcja', 'cmd', 'command', 'do', 'event', 'func', 'function', 'method', 'op', 'operation', 'route'],
  ...['submit', 'task'],
]);

/** Parameters with a text to search for, or with another address. Their names do not count, and their values only if they are paths. */
export const TEXT_NAMES: ReadonlySet<string> = new Set([
  ...['k', 'keyword', 'keywords', 'q', 'query', 's', 'search', 'term', 'terms', 'text', 'uri', 'url'],
  ...['recherche', 'suche', 'szukaj', 'zoeken'],
]);
