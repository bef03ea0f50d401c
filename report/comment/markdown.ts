/** Markdown of comments on pull requests. What a page can choose is only ever in code spans and encoded addresses. Pure. */
import { uriOf } from '../formats/shared.ts';

/** Control characters, line breaks and invisible ones, which could reverse or hide text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/**
 * Text of a page as a code span, in which nothing has a meaning: no HTML, link, mention or command of the system.
 * @param max the longest text in characters; the rest is cut off
 */
export function code(text: string, max: number): string {
  const line = text.toWellFormed().replace(INVISIBLE, ' ').trim();
  const shown = line.length <= max ? line : `${line.slice(0, max).toWellFormed()}…`;
  if (shown === '') return '–';
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const space = /^`|`$/.test(shown) ? ' ' : '';
  return `${fence}${space}${shown}${space}${fence}`;
}

/** Text of our own catalogues: its characters, such as those of `<html>`, have no meaning. It must not quote a page. */
export const plain = (text: string): string => text.replace(/[\\`*_[\]~|#$&<>]/g, (character) => ENTITIES[character] ?? `\\${character}`);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Longer addresses are not linked. In characters. */
const ADDRESS_MAX = 2_000;

/**
 * A link, or only its label if the address is no http or https URL.
 * @param label Markdown
 */
export function link(label: string, address: string): string {
  const url = URL.parse(address.toWellFormed());
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') return label;
  const uri = uriOf(url.href).replace(/[()*'!@~$]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
  return uri.length > ADDRESS_MAX ? label : `[${label}](${uri})`;
}

/** A comment of HTML that identifies the comment of a site. It is the first line, and invisible. */
export const markerOf = (name: string): string => `<!-- curbcut:${encodeURIComponent(name.toWellFormed()).replaceAll('-', '%2D')} -->`;
