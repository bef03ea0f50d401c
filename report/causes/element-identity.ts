/** What identifies an element in another scan of its page: its HTML, its anchor and its name. */
import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';
import { isGenerated } from './normalise-attribute.ts';

/** The identity of an element by its HTML. Elements with the same HTML have the same identity. */
export interface HtmlIdentity {
  /** Digest of the HTML as it is. */
  html: string;
  tag: string;
  /** Digest of tag and anchor attribute; null if it has no such attribute, or only a generated one. */
  anchor: string | null;
  /** Digest of role and name; null if it has no name. */
  name: string | null;
  /** Digest of the HTML without the hashes that a build puts into classes and names of files. */
  shape: string;
}

/** Attributes that name one element of a page, best first. */
const ANCHORS = ['data-testid', 'data-test', 'data-cy', 'id', 'name', 'href', 'src', 'for', 'action'];
/** Their values are addresses, in which numbers are not counters. */
const ADDRESSES = new Set(['href', 'src', 'action']);
/** Attributes that name an element for users, best first. Without any of them, its text does. */
const NAMES = ['aria-label', 'alt', 'title', 'placeholder', 'value'];

/** The last part of the name of a file, which may be a hash. Wider than what fingerprints leave out, because it only decides what is left. */
const FILE_HASH = /[-._][\w-]{8,64}(?=\.[a-z\d]{2,5}["?#])/gi;
/** In classes: what follows the prefix of a tool, and words of five characters or more with a digit, or with a capital inside after `__`. */
const CLASS_HASH =
  /(?<=(?:^|\s)(?:css|sc|jsx|svelte)-)[\w-]+|(?<![a-z\d])(?=[a-z]*\d)[a-z\d]{5,}|(?<=__)(?=[a-z\d]*[a-z][A-Z])[A-Za-z\d]{5,}/g;

/** The HTML without what a build may change although nobody changed the component. */
const withoutBuild = (html: string): string =>
  html.replace(/ class="([^"]*)"/g, (_, classes: string) => ` class="${classes.replace(CLASS_HASH, '*')}"`).replace(FILE_HASH, '');

/** The first 16 characters of SHA-256 in base64url, 96 bits. */
export function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 16);
}

/** Reads the start tag and the text of an element's HTML, which may be cut off. */
export function identifyHtml(html: string): HtmlIdentity {
  let tag = '';
  let attributes: Record<string, string> = {};
  let text = '';
  const parser = new Parser({
    onopentag(name, found) {
      if (tag === '') [tag, attributes] = [name, found];
      else if (name === 'img') text += ` ${found.alt ?? ''} `;
    },
    ontext: (data) => void (text += data),
  });
  parser.write(html);
  parser.end();
  const anchor = ANCHORS.find((name) => isAnchor(name, attributes[name]));
  const name = [...NAMES.map((attribute) => attributes[attribute] ?? ''), text].map(words).find((value) => value !== '');
  return {
    html: digest(html),
    tag,
    anchor: anchor === undefined ? null : digest(tag, anchor, attributes[anchor]!),
    name: name === undefined ? null : digest(attributes.role ?? tag, attributes.type ?? '', name),
    shape: digest(withoutBuild(html)),
  };
}

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

function isAnchor(name: string, value: string | undefined): boolean {
  if (value === undefined || value === '' || value === '#') return false;
  return ADDRESSES.has(name) ? !value.startsWith('data:') : !isGenerated(value);
}
