/** Normalises the HTML of an element, so that two uses of one component become equal. */
import { Tokenizer } from 'htmlparser2';
import { steadyClasses, steadyName } from './generated.ts';

/**
 * What a rule is about, apart from the component. `looks`: the tag and its classes, whatever is in it. `aria`: the ARIA
 * attributes too, also those of state. `spacing`: the inline style too.
 */
export type About = 'component' | 'looks' | 'aria' | 'spacing';

/** Elements without content: those of HTML, and the shapes of SVG, whose closing tags are ignored. */
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr path circle rect line use polygon polyline ellipse'.split(' '),
);

/** The normalised tree. Equal siblings are merged, so that a list of five equals a list of seven. */
class NormalisedTree {
  #open: { tag: string; start: string; children: string[] }[] = [{ tag: '', start: '', children: [] }];

  append(child: string): void {
    const { children } = this.#open.at(-1)!;
    if (children.at(-1) !== child) children.push(child);
  }

  /** The number of open elements. */
  get depth(): number {
    return this.#open.length - 1;
  }

  /** Whether an open element has a name by which developers know it. */
  get isNamed(): boolean {
    return this.#open.some(({ start }) => isNamed(start));
  }

  open(tag: string, start: string): void {
    this.#open.push({ tag, start, children: [] });
  }

  /** Closes the innermost element of this name and everything in it. Does nothing if there is no such element. */
  close(tag: string): void {
    if (!this.#open.some((element) => element.tag === tag)) return;
    while (this.#open.at(-1)!.tag !== tag) this.#closeInnermost();
    this.#closeInnermost();
  }

  end(): string {
    while (this.#open.length > 1) this.#closeInnermost();
    return this.#open[0]!.children.join('');
  }

  #closeInnermost(): void {
    const { tag, start, children } = this.#open.pop()!;
    this.append(`${start}${children.join('')}</${tag}>`);
  }
}

export interface NormalisedHtml {
  html: string;
  /** The first element. Its `kind` is its tag with its role; `children` has the kinds of its children. */
  element: { tag: string; role: string | null; kind: string; startTag: string; children: Set<string> } | null;
}

/** Whether a normalised start tag has a name. */
const isNamed = (start: string): boolean => / (?:class|id)="/.test(start);

/** Elements of which one component has several, told apart by their ID and the name of the field. */
const FIELDS = new Set('input select textarea button iframe form summary'.split(' '));
/** Elements of the page, which have the classes of a page. Only their language matters. */
const ROOTS = new Set(['html', 'body']);

/** @param inNamed whether an element around it has a name */
function startTag(tag: string, attributes: ReadonlyMap<string, string>, about: About, inNamed: boolean): string {
  const kept = new Map<string, string>();
  const isRoot = ROOTS.has(tag);
  for (const [name, value] of attributes) {
    if (isRoot ? !/^(xml:)?lang$/.test(name) : about === 'looks' && !LOOKS.has(name)) continue;
    const normalised = normaliseAttribute(name, value, about);
    if (normalised !== null) kept.set(name, normalised);
  }
  // The IDs of headings are made from their text.
  if (/^h[1-6]$/.test(tag) || (kept.has('class') && !FIELDS.has(tag) && !kept.has('role'))) kept.delete('id');
  for (const name of ADDRESSES) {
    if (!kept.delete(name)) continue;
    const address = attributes.get(name)!;
    // An icon of a sprite says which component it is. The target of a named element is content: pictures of ten cards are one component.
    if (tag === 'use') kept.set('href', `href="#${steadyName(address.replace(/^[^#]*#/, ''))}"`);
    else if (!inNamed && !kept.has('class') && !kept.has('id')) kept.set(name, `${name}="${addressed(tag, address)}"`);
  }
  const sorted = [...kept.keys()].sort().map((name) => ` ${kept.get(name)}`);
  return `<${tag}${sorted.join('')}>`;
}

/**
 * Removes what differs between two uses of one component: white space, comments, words, state, generated parts of names, names of
 * linked files, inline styles, `data-*`, handlers, nonces. Keeps elements and their nesting, attribute names, classes, roles, types,
 * the words of IDs, and the folders of files in elements without a name. Idempotent. HTML that is cut off anywhere is accepted.
 * Uses the tokenizer and not the parser of htmlparser2, because the parser closes elements that HTML does not allow to nest, but
 * scripts can nest them.
 */
export function normaliseHtml(text: string, about: About = 'component'): NormalisedHtml {
  // The start of a tag that was cut off is not text.
  const html = text.replace(/<\/?$/, '');
  const tree = new NormalisedTree();
  let element: NormalisedHtml['element'] = null;
  let tag = '';
  let attributes = new Map<string, string>();
  let name = '';
  let value = '';
  const finishTag = (selfClosing: boolean): void => {
    const start = startTag(tag, attributes, about, tree.isNamed);
    const role = attributes.get('role')?.trim().split(/\s+/)[0]!.toLowerCase() ?? null;
    const kind = role === null ? tag : `${tag} ${role}`;
    if (element === null) element = { tag, role, kind, startTag: start, children: new Set() };
    else if (tree.depth === 1) element.children.add(kind);
    if (selfClosing || VOID.has(tag)) tree.append(start);
    else tree.open(tag, start);
  };
  const ignore = (): void => {};
  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: false, recognizeSelfClosing: true },
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase();
        attributes = new Map();
      },
      onattribname(start, end) {
        name = html.slice(start, end).toLowerCase();
        value = '';
      },
      onattribdata: (start, end) => void (value += html.slice(start, end)),
      onattribend: () => void (attributes.has(name) || attributes.set(name, value)),
      onopentagend: () => finishTag(false),
      onselfclosingtag: () => finishTag(true),
      onclosetag: (start, end) => tree.close(html.slice(start, end).toLowerCase()),
      ontext(start, end) {
        if (html.slice(start, end).trim() !== '') tree.append(TEXT);
      },
      onattribentity: ignore,
      ontextentity: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return { html: tree.end(), element };
}

/** Replaces text, also in attributes. Rules depend on whether there is text, not on its words. */
const TEXT = '…';

/** Attributes that are removed: tokens of a visit, copies of other attributes, those of scripts (`data-*`, `on*`), and how to load. */
const DROPPED =
  /^(data-.*|on.*|nonce|integrity|crossorigin|srcset|sizes|value|ping|ng-(reflect|version).*|_ng.*|x-cloak|jsaction|jsname|jsmodel)$/;
const LOADING =
  /^(rel|target|download|loading|decoding|fetchpriority|referrerpolicy|hreflang|draggable|width|height|item(prop|type|scope|id))$/;
/** Directives of Alpine, AngularJS, Livewire and Vue. Their values are code, except for the names of models. */
const DIRECTIVE = /^(?:x-|ng-|v-|wire:|@|:)/;
/** Attributes that a rule about looks depends on. */
const LOOKS = new Set(['class', 'type', 'role']);
/** Attributes that hold state. They are removed, so that the link to the current page equals the links beside it. */
const STATES = /^(aria-(current|expanded|selected|pressed|checked|busy)|checked|selected|open)$/;
/** Their values. A rule about ARIA attributes may find another value wrong. */
const STATE_VALUE = /^(true|false|mixed|undefined|page|step|location|date|time)?$/;
/** Attributes that hold text for users. */
const TEXTS = /^(alt|title|aria-label|aria-description|aria-roledescription|placeholder|content|summary|label)$/;
const ADDRESSES = ['href', 'src', 'poster', 'data', 'cite', 'xlink:href'];

/** Returns the folder of a file, and of a frame the host. The way to it differs between pages at different depths. */
function addressed(tag: string, value: string): string {
  const scheme = /^\s*(?!https?:)[a-z][a-z\d+.-]*:|^\s*#/i.exec(value);
  if (scheme !== null) return scheme[0].trim().toLowerCase();
  const [, host = '', path = ''] = /^\s*(?:(?:https?:)?\/\/([^/?#]*))?([^?#]*)/i.exec(value)!;
  const folder = path
    .split('/')
    .slice(0, -1)
    .map((part) => part.trim());
  const last = folder.findLast((part) => part !== '' && part !== '.' && part !== '..');
  return `${tag === 'iframe' && host !== '' ? `//${host}/` : ''}${last === undefined ? '' : `${steadyName(last)}/`}`;
}

/** Returns the normalised attribute, or null if it is removed. @param name in lower case */
function normaliseAttribute(name: string, raw: string, about: About): string | null {
  const value = raw.replace(/\s+/g, ' ').replaceAll('"', "'").trim();
  if (STATES.test(name)) {
    if (about !== 'aria' || !name.startsWith('aria-')) return null;
    return STATE_VALUE.test(value) ? name : `${name}="${steadyName(value)}"`;
  }
  if (DROPPED.test(name) || LOADING.test(name)) return null;
  if (DIRECTIVE.test(name) && !name.includes('model')) return name;
  if (name === 'class') {
    const classes = steadyClasses(value);
    return classes === '' ? null : `class="${classes}"`;
  }
  if (name === 'style') {
    const properties = about === 'spacing' ? value.toLowerCase().match(/[a-z-]+(?=\s*:)/g) : null;
    return properties === null ? null : `style="${[...new Set(properties)].sort().join(':')}:"`;
  }
  if (TEXTS.test(name)) return `${name}="${value === '' ? '' : TEXT}"`;
  if (name === 'action' || name === 'formaction') return `${name}="${steadyName(value.replace(/[?#].*$|\/+$/g, '').replace(/^.*\//, ''))}"`;
  if (name === 'd' || name === 'points' || name === 'viewbox' || name === 'transform') return `${name}="${value}"`;
  return `${name}="${steadyName(value)}"`;
}
