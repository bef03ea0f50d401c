/**
 * Recognises addresses that change something when a signed-in user requests them, such as `/users/7/delete`. Pure.
 *
 * A word counts where it is a whole word of a path segment, of a parameter or of its value: `/deleteUser`, `?do=unsubscribe`.
 */
import { createRequire } from 'node:module';
import { LOCALES } from '../../core/scan/locales.ts';
import { addressGlob, type AddressParts } from './address.ts';

/**
 * Words of addresses that change something when they are requested: to delete, cancel, remove, clear, pay, buy, unsubscribe and
 * sign out, in the languages of Curbcut (`report/words/LOCALE/destructive.json`). Accents and umlauts are ignored in addresses.
 *
 * An entry is the source of a regular expression. A space in it is any separator of an address, or none. Take care that a certain
 * word means nothing else in another language: the Dutch "wissen" is certain only with what it clears, because "Wissen" is German
 * for knowledge.
 */
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

const LANGUAGES: readonly Words[] = [...LOCALES.map((locale) => require(`../../report/words/${locale}/destructive.json`) as Words), OTHERS];

const DESTRUCTIVE_WORDS: Words = {
  signOut: LANGUAGES.flatMap(({ signOut }) => signOut),
  certain: LANGUAGES.flatMap(({ certain }) => certain),
  ambiguous: LANGUAGES.flatMap(({ ambiguous }) => ambiguous),
  company: LANGUAGES.flatMap(({ company }) => company),
};

/** Parameters that say what to do. An ambiguous word counts in their values only: `?action=clear`, not `?colour=clear`. */
const ACTION_NAMES: ReadonlySet<string> = new Set([
  ...['action', 'aktion', 'actie', 'akcja', 'cmd', 'command', 'do', 'event', 'func', 'function', 'method', 'op', 'operation', 'route'],
  ...['submit', 'task'],
]);

/** Parameters with a text to search for, or with another address. Their names do not count, and their values only if they are paths. */
const TEXT_NAMES: ReadonlySet<string> = new Set([
  ...['k', 'keyword', 'keywords', 'q', 'query', 's', 'search', 'term', 'terms', 'text', 'uri', 'url'],
  ...['recherche', 'suche', 'szukaj', 'zoeken'],
]);

/** A word of an address that says what a request of it does. */
export interface DestructiveWord {
  word: string;
  signsOut: boolean;
}

/** A segment with more words is the title of a text, such as `/how-do-i-cancel-my-order`. Only its first word counts. */
const ACTION_WORDS_MAX = 4;
/** A shorter word of `company` is not recognised within a word: `deleteall`, but not `kupa`. */
const JOINED_MIN = 3;
/** What stands for digits in the words of a text. */
const DIGITS = '0';

const LETTERS: Readonly<Record<string, string>> = { ł: 'l', ß: 'ss', œ: 'oe', æ: 'ae', ø: 'o' };
/** Lower-case letters without accents. */
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[łßœæø]/g, (letter) => LETTERS[letter]!);
const withoutUmlauts = (text: string): string => text.replace(/[äöü]/g, (letter) => ({ ä: 'ae', ö: 'oe', ü: 'ue' })[letter]!);
const spellings = (words: readonly string[]): string[] => [...new Set(words.flatMap((word) => [plain(word), plain(withoutUmlauts(word))]))];

const SIGN_OUT = spellings(DESTRUCTIVE_WORDS.signOut);
const CERTAIN = spellings(DESTRUCTIVE_WORDS.certain);
const AMBIGUOUS = spellings(DESTRUCTIVE_WORDS.ambiguous);
const ALL = [...SIGN_OUT, ...CERTAIN, ...AMBIGUOUS];
const COMPANY = new Set([...spellings(DESTRUCTIVE_WORDS.company), DIGITS]);

/** Returns the source of an expression for any of the words, with an expression for the separators between their parts. */
const anyOf = (words: readonly string[], separator: string): string => words.join('|').replaceAll(' ', separator);

/** What all addresses with such a word match. Most match nothing, so their words are not read. Its time is bounded by the numbers. */
const ANYWHERE = new RegExp(anyOf(ALL, '(?:[^a-z]{0,9}|/[^/]{0,40}/)'));
/** Words of several parts. Between them may be a segment, as in `/orders/9/confirm`. */
const SEVERAL = new RegExp(
  `(?<!\\p{L})(?:${anyOf(
    ALL.filter((word) => word.includes(' ')),
    '(?: |/(?:[^/]{0,40}/)?)',
  )})(?!\\p{L})`,
  'gu',
);
const JOINED = `(?:${[...COMPANY].filter((word) => word.length >= JOINED_MIN).join('|')})?`;
/** A word for an action, perhaps joined with what it is about: `deleteuser`, `warenkorbleeren`. */
const ACTION = new RegExp(
  `^${JOINED}(?:(?<signOut>${anyOf(SIGN_OUT, '\\+?')})|(?<certain>${anyOf(CERTAIN, '\\+?')})|(?<ambiguous>${anyOf(AMBIGUOUS, '\\+?')}))${JOINED}$`,
);

/** Returns what an address says it does; nothing for most addresses. */
export function destructiveWordsOf({ pathname, search, hash }: AddressParts): DestructiveWord[] {
  const address = pathname + search + hash;
  if (!ANYWHERE.test(/[^\x20-\x24\x26-\x7e]/.test(address) ? plain(decoded(address)) : address.toLowerCase())) return [];
  const [, route = '', query = ''] = /^#(?:\/|!)([^?]*)(.*)$/s.exec(hash) ?? [];
  const words = [...inPath(decoded(pathname)), ...inPath(decoded(route)), ...[search, query].flatMap(inQuery)];
  return words.map((destructive) => ({ ...destructive, word: asWritten(destructive.word, address) }));
}

/**
 * Returns a function that finds what an address does although no glob allows it. A glob allows the words of its own text: the
 * wildcards of `/orders/**` allow nothing.
 */
export function destructiveRule(include: readonly string[]): (url: AddressParts) => DestructiveWord | null {
  const globs = include.map((text) => ({ matches: addressGlob(text), words: new Set(destructiveWordsOf(partsOf(text)).map(wordOf)) }));
  return (url) =>
    destructiveWordsOf(url).find((destructive) => !globs.some(({ matches, words }) => words.has(wordOf(destructive)) && matches(url))) ??
    null;
}

const wordOf = ({ word }: DestructiveWord): string => plain(word).replaceAll(' ', '');

/** Returns a word with the accents that it has in the address. */
function asWritten(word: string, address: string): string {
  return (
    decoded(address)
      .match(/\p{L}+/gu)
      ?.find((text) => plain(text) === word) ?? word
  );
}

function partsOf(glob: string): AddressParts {
  const [, pathname = '', search = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(glob) ?? [];
  return { pathname, search, hash };
}

/** Decodes UTF-8, and ISO 8859-1 where it is not UTF-8. */
function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    }
  });
}

/** Returns the words of each segment of a path. Words of several parts are joined by `+`. */
function wordsOf(path: string): string[][] {
  const segments = path
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split('/')
    .map((segment) =>
      plain(segment)
        .replace(/\d+/g, ` ${DIGITS} `)
        .replace(/[^\p{L}0]+/gu, ' ')
        .trim(),
    );
  return segments
    .join('/')
    .replace(SEVERAL, (words) => words.replace(/\/(?:[^/]*\/)?| /g, '+'))
    .split('/')
    .map((segment) => segment.split(' ').filter((word) => word !== ''));
}

function inPath(path: string): DestructiveWord[] {
  const segments = wordsOf(path);
  // `/buy/houses` lists houses, and `/buy/7` buys one.
  const last = segments.findLastIndex((words) => !words.includes(DIGITS) && !words.every((word) => COMPANY.has(word)));
  return segments.flatMap((words, at) => inWords(words, at >= last));
}

function inQuery(query: string): DestructiveWord[] {
  return query.split(/[?&;]/).flatMap((parameter) => {
    // Not by `URLSearchParams`, which reads UTF-8 only.
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(decoded(parameter.replaceAll('+', ' '))) ?? [];
    const names = wordsOf(name).flat();
    const isPath = value.includes('/') && !/\s/.test(value);
    if (names.some((word) => TEXT_NAMES.has(word))) return isPath ? inPath(value) : [];
    const isAction = names.some((word) => ACTION_NAMES.has(word));
    return [...inWords(names, true), ...(isPath ? inPath(value) : inWords(wordsOf(value).flat(), isAction))];
  });
}

/** @param isAction whether an ambiguous word may count */
function inWords(words: readonly string[], isAction: boolean): DestructiveWord[] {
  const first = words.findIndex((word) => word !== DIGITS);
  const isTitle = words.filter((word) => word !== DIGITS).length > ACTION_WORDS_MAX;
  return words.flatMap((text, at) => {
    if (isTitle && at !== first) return [];
    const groups = ACTION.exec(text)?.groups;
    if (groups === undefined) return [];
    const { signOut, certain, ambiguous } = groups;
    if (ambiguous !== undefined && !(isAction && words.every((word, other) => other === at || COMPANY.has(word)))) return [];
    return [{ word: (signOut ?? certain ?? ambiguous ?? '').replaceAll('+', ' '), signsOut: signOut !== undefined }];
  });
}
