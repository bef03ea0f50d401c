/** Which pages probably have the same template, judged by their addresses. Pure. */
import type { AddressParts } from './address.ts';

/** A locale as the first segment of a path, such as `de` or `pt-br`. */
const LOCALE = /^[a-z]{2}(?:[-_][a-z]{2})?$/i;
/** A first segment longer than this names one document, in characters. */
const LONG_NAME = 24;
/** A number, or more than two words. */
const VARIABLE = /\d|(?:[-_+]|%20).*(?:[-_+]|%20)/;
const EXTENSION = /\.[a-z][a-z0-9]{0,4}$/i;

/**
 * Returns the key of a page's template: the shape of its path, the names of its query parameters, and the shape of its hash
 * route. Segments that name one document are `*`: IDs, dates, slugs, locales, and the last segment below a folder.
 * For example, `/products/17/reviews/4?page=2` has the key `/products/{}/reviews/{}?page`, with an asterisk for each `{}`.
 */
export function templateOf({ pathname, search, hash }: AddressParts): string {
  const parameters = namesOf(search);
  const route = hash === '' ? undefined : /^#!?(\/.*)$/.exec(hash)?.[1];
  return `${shapeOf(pathname)}${parameters === '' ? '' : `?${parameters}`}${route === undefined ? '' : `#${shapeOf(route)}`}`;
}

/** The names of query parameters, sorted. */
const namesOf = (search: string): string => [...new Set([...new URLSearchParams(search).keys()].map(encodeURIComponent))].sort().join('&');

function shapeOf(path: string): string {
  const segments = path.split('/');
  const last = segments.findLastIndex((segment) => segment !== '');
  let shape = '';
  let count = 0;
  for (let at = 0; at <= last; at += 1) {
    const segment = segments[at]!;
    if (segment === '') continue;
    shape += isVariable(segment, count, at === last) ? `/*${extensionOf(segment)}` : `/${segment}`;
    count += 1;
  }
  return shape === '' ? '/' : shape;
}

function isVariable(segment: string, at: number, isLast: boolean): boolean {
  if (at > 0 && isLast) return true;
  if (at === 0 && segment.length < 6 && LOCALE.test(segment)) return true;
  return segment.length > LONG_NAME || VARIABLE.test(segment);
}

const extensionOf = (segment: string): string => (segment.includes('.') ? (EXTENSION.exec(segment)?.[0].toLowerCase() ?? '') : '');
