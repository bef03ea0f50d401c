/** Which pages probably have the same template, judged by their addresses. Pure. */
import { PLAIN_QUERY } from './address.ts';

/** A locale as the first segment of a path, such as `de` or `pt-br`. */
const LOCALE = /^[a-z]{2}(?:[-_][a-z]{2})?$/i;
/** A first segment longer than this names one document, in characters. */
const LONG_NAME = 24;
const EXTENSION = /\.[a-z][a-z0-9]{0,4}$/i;

/**
 * Returns the key of a page's template: the shape of its path, the names of its query parameters, and the shape of its hash
 * route. Segments that name one document are `*`: IDs, dates, slugs, locales, and the last segment below a folder.
 * For example, `/products/17/reviews/4?page=2` has the key `/products/{}/reviews/{}?page`, with an asterisk for each `{}`.
 */
export function templateOf(url: URL): string {
  const parameters = url.search === '' ? '' : namesOf(url);
  const route = /^#!?(\/.*)$/.exec(url.hash)?.[1];
  return `${shapeOf(url.pathname)}${parameters === '' ? '' : `?${parameters}`}${route === undefined ? '' : `#${shapeOf(route)}`}`;
}

/** The names of query parameters, sorted. */
function namesOf(url: URL): string {
  const { search } = url;
  const names = PLAIN_QUERY.test(search)
    ? search
        .slice(1)
        .split('&')
        .map((parameter) => parameter.slice(0, parameter.indexOf('=')))
    : [...url.searchParams.keys()].map(encodeURIComponent);
  return [...new Set(names)].sort().join('&');
}

function shapeOf(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return `/${segments.map((segment, at) => (isVariable(segment, at, segments.length) ? `*${extensionOf(segment)}` : segment)).join('/')}`;
}

function isVariable(segment: string, at: number, count: number): boolean {
  if (at === 0 && LOCALE.test(segment)) return true;
  if (at > 0 && at === count - 1) return true;
  return /\d/.test(segment) || segment.length > LONG_NAME || segment.split(/[-_+]|%20/).length > 2;
}

const extensionOf = (segment: string): string => EXTENSION.exec(segment)?.[0].toLowerCase() ?? '';
