/** Masks secrets in everything that leaves the pod: findings, pages, messages, log lines. Pure. */
import type { Logger } from '../../platform/logger.ts';
import type { ReportPage } from '../../report/schema/page.ts';

/** What stands in place of a secret. It may occur in every part of a URL, in HTML and in selectors. */
export const MASK = '***';
/** Shorter values occur everywhere by chance, so they are not masked. */
export const SECRET_MIN_LENGTH = 4;
/** A longer secret is also recognised by this many first characters, because long texts of a page are shortened in the report. */
const PREFIX_LENGTH = 16;

/** The number of learned values that are masked. */
const LEARNED_MAX = 60;

/** Fields that are never from a page: axe-core's texts, and enumerations of the report. */
const NOT_FROM_PAGES: ReadonlySet<string> = new Set([
  ...['rule', 'impact', 'wcag', 'help', 'description', 'help_url', 'checks', 'landmark', 'contrast', 'fingerprint', 'reason', 'kind'],
  ...['helpUrl', 'tags', 'id'],
]);
const URLS: ReadonlySet<string> = new Set<keyof Extract<ReportPage, { tested: false }>>(['url', 'final_url', 'same_as', 'linked_from']);

export function createRedactor(secrets: readonly string[] = []) {
  const known = new Set<string>();
  /** The latest of the values that were learned. Older ones are no longer valid, and many would make masking slow. */
  const learned: string[] = [];
  let variants: readonly string[] = [];
  let pattern: RegExp | null = null;
  function learn(values: readonly string[]): void {
    const fresh = [...new Set(values)].filter((value) => !known.has(value));
    if (fresh.length === 0) return;
    for (const value of fresh) known.add(value);
    learned.push(...fresh);
    for (const old of learned.splice(0, Math.max(0, learned.length - LEARNED_MAX))) known.delete(old);
    compile();
  }
  function compile(): void {
    if (known.size === 0) return;
    variants = [...new Set([...known].flatMap(encodingsOf))].sort((a, b) => b.length - a.length);
    pattern = new RegExp(variants.map((variant) => escapePattern(variant.slice(0, prefixLengthOf(variant)))).join('|'), 'g');
  }
  for (const secret of secrets) if (secret.length >= SECRET_MIN_LENGTH) known.add(secret);
  compile();

  const text = (given: string): string => (pattern === null ? given : maskAll(given, pattern, variants));
  function url(given: string): string {
    const origin = /^[a-z]+:\/\/[^/?#]*/i.exec(given)?.[0] ?? '';
    return origin + text(given.slice(origin.length));
  }
  function walk(value: unknown, name: string): unknown {
    if (typeof value === 'string') return URLS.has(name) ? url(value) : text(value);
    if (Array.isArray(value)) return value.map((item) => walk(item, name));
    if (value instanceof Error) return maskError(value, text);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, NOT_FROM_PAGES.has(key) ? inner : walk(inner, key)]));
  }
  return {
    text,
    /** Keeps scheme, host and port of a URL. */
    url,
    /** Masks these tokens too from now on. Of very many, the latest count. */
    learn,
    /** Masks the strings of a value, except the fields that no page controls. */
    deep: <T>(value: T): T => (pattern === null ? value : (walk(value, '') as T)),
    /** The values that are masked, without their encodings. */
    values: (): readonly string[] => [...known],
  };
}

export type Redactor = ReturnType<typeof createRedactor>;

/** A logger that masks secrets in fields and messages. */
export function redactingLogger(log: Logger, redactor: Redactor): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: object, message: string): void =>
      log[level](redactor.deep(fields), redactor.text(message));
  return {
    ...{ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    child: (fields) => redactingLogger(log.child(redactor.deep(fields)), redactor),
  };
}

function maskError(error: Error, text: Redactor['text']): Error {
  const masked = new Error(text(error.message));
  masked.name = error.name;
  masked.stack = text(error.stack ?? '');
  return masked;
}

const prefixLengthOf = (variant: string): number => (variant.length > PREFIX_LENGTH * 1.5 ? PREFIX_LENGTH : variant.length);

function maskAll(given: string, pattern: RegExp, variants: readonly string[]): string {
  let masked = '';
  let at = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(given); match !== null; match = pattern.exec(given)) {
    masked += given.slice(at, match.index) + MASK;
    at = match.index + Math.max(...variants.map((variant) => commonLength(given, match.index, variant)));
    pattern.lastIndex = at;
  }
  return masked + given.slice(at);
}

/** The number of characters of a variant that stand at a position; 0 if they are fewer than the variant's prefix. */
function commonLength(given: string, at: number, variant: string): number {
  let length = 0;
  while (length < variant.length && given[at + length] === variant[length]) length += 1;
  return length >= prefixLengthOf(variant) ? length : 0;
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** As `CSS.escape` (CSSOM, "serialize an identifier"), for values without control characters. */
function cssEscape(value: string): string {
  return value.replace(/[^-\w\u0080-\uffff]/g, '\\$&').replace(/^-?[0-9]/, (start) => `${start.slice(0, -1)}\\3${start.at(-1)} `);
}

/** A value as it is written in URLs, forms, HTML, JSON, CSS selectors and basic authentication. */
function encodingsOf(value: string): string[] {
  const percent = encodeURIComponent(value.toWellFormed());
  const html = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return [
    value,
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    new URLSearchParams([['', value]]).toString().slice(1),
    encodeURI(value.toWellFormed()),
    html,
    html.replaceAll('"', '&quot;'),
    html.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    JSON.stringify(value).slice(1, -1),
    cssEscape(value),
    value.replace(/["\\]/g, '\\$&'),
    Buffer.from(value).toString('base64').replace(/=+$/, ''),
    // The address of a page in a parameter of another.
    encodeURIComponent(percent),
    // Sites show e-mail addresses in lower case.
    ...(value.includes('@') && value !== value.toLowerCase() ? [value.toLowerCase(), percent.toLowerCase()] : []),
  ].filter((variant) => variant.length >= SECRET_MIN_LENGTH);
}
