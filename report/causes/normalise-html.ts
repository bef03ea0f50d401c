/** Normalises the HTML of an element, so that two uses of one component become equal. */
import { Tokenizer } from 'htmlparser2';

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

function startTag(tag: string, attributes: ReadonlyMap<string, string>): string {
  const kept = new Map<string, string>();
  for (const [name, value] of attributes) {
    const normalised = normaliseAttribute(name, value);
    if (normalised !== null) kept.set(name, normalised);
  }
  // The target of a named element is content: the "Read more" links of ten cards are one component.
  if (kept.has('class') || kept.has('id')) kept.delete('href');
  const sorted = [...kept.keys()].sort().map((name) => ` ${kept.get(name)}`);
  return `<${tag}${sorted.join('')}>`;
}

/**
 * Removes what differs between two uses of one component: white space, comments, words, state,
 * counters and hashes in names, folders and queries of links, computed lengths, `data-*`, handlers, nonces. Keeps elements
 * and their nesting, attribute names, classes, roles, types, the words of IDs, the names of linked files, colours.
 * Idempotent. HTML that is cut off anywhere is accepted. Uses the tokenizer and not the parser of htmlparser2, because the parser closes
 * elements that HTML does not allow to nest, but scripts can nest them.
 * @returns `element`: the first element, with its `role` as written; null if the HTML has none
 */
export function normaliseHtml(text: string): { html: string; element: { tag: string; role: string | null; startTag: string } | null } {
  // The start of a tag that was cut off is not text.
  const html = text.replace(/<\/?$/, '');
  const tree = new NormalisedTree();
  let element: ReturnType<typeof normaliseHtml>['element'] = null;
  let tag = '';
  let attributes = new Map<string, string>();
  let name = '';
  let value = '';
  const finishTag = (selfClosing: boolean): void => {
    const start = startTag(tag, attributes);
    element ??= { tag, role: attributes.get('role') ?? null, startTag: start };
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
/** Replaces generated parts: counters, hashes, times. */
const GENERATED = '*';

/** Attributes that are removed: tokens of a visit, copies of other attributes, and those of scripts (`data-*`, `on*`). */
const DROPPED =
  /^(data-.*|on.*|nonce|integrity|crossorigin|srcset|sizes|value|ping|v-.*|ng-.*|_ng.*|x-.*|@.*|:.*|jsaction|jsname|jsmodel)$/;
/** Attributes that hold state. They are removed, so that the link to the current page equals the links beside it. */
const STATES = new Set([
  'aria-current',
  'aria-expanded',
  'aria-selected',
  'aria-pressed',
  'aria-checked',
  'aria-busy',
  'checked',
  'selected',
  'open',
]);
const STATE_CLASS =
  /^(active|current|selected|open|opened|closed|visited|hover|focus|focus-visible|first|last|odd|even|(is|has|js|ng)-.*|.*--(active|current|selected|open))$/;
/** Attributes that hold text for users. */
const TEXTS = new Set([
  'alt',
  'title',
  'aria-label',
  'aria-description',
  'aria-roledescription',
  'placeholder',
  'content',
  'summary',
  'label',
]);
const LINKS = new Set(['href', 'src', 'action', 'formaction', 'poster', 'data', 'cite', 'xlink:href']);
/** Whether a word was generated: hexadecimal of six digits or more, or letters in both cases mixed with digits. */
const looksGenerated = (word: string): boolean =>
  /^(?=.*\d)[0-9a-f]{6,}$/i.test(word) || (word.length >= 5 && /\d/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word));

/** Replaces generated words and counters in a name. */
const named = (value: string): string =>
  value
    .split(/([^0-9A-Za-z]+)/)
    .map((word) => (looksGenerated(word) ? GENERATED : word.replace(/\d[0-9A-Za-z]*$/, GENERATED)))
    .join('');

/** Whether a name has a generated part, so that another visit may see another name. */
export const isGenerated = (name: string): boolean => named(name) !== name;

const classNames = (value: string): string =>
  [
    ...new Set(
      value
        .split(/\s+/)
        .filter((name) => name !== '' && !STATE_CLASS.test(name))
        // A build's suffix (`Card_title__x7Yp2`) changes with every release. The numbers of utility classes (`p-4`) stay.
        .map((name) =>
          name
            .split(/([_-]+)/)
            .map((word) => (looksGenerated(word) ? GENERATED : word))
            .join(''),
        ),
    ),
  ]
    .sort()
    .join(' ');

/** Returns the file name of a link. Its folder differs between pages at different depths, and its query between visits. */
const linked = (value: string): string => {
  if (/^data:/i.test(value)) return 'data:';
  const path = value.replace(/[?#][\s\S]*$/, '');
  const last = path
    .split('/')
    .map((segment) => segment.trim())
    .findLast((segment) => segment !== '' && segment !== '.' && segment !== '..');
  // Numbered files (`cover-7.svg`) come from the same template.
  return named(last ?? '');
};

/** Replaces lengths and angles, which are often computed, and keeps colours, which determine contrast. */
const styled = (value: string): string =>
  value
    .toLowerCase()
    .split(';')
    .map((declaration) =>
      declaration
        .replace(/\s*:\s*/, ':')
        .trim()
        .replace(/url\([^)]*\)/g, `url(${GENERATED})`)
        .replace(/(#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]*\))|-?(?:\d*\.)?\d+/g, (_, colour: string | undefined) => colour ?? GENERATED),
    )
    .filter((declaration) => declaration !== '')
    .sort()
    .join(';');

/** Returns the normalised attribute, or null if it is removed. @param name in lower case */
function normaliseAttribute(name: string, raw: string): string | null {
  if (DROPPED.test(name) || STATES.has(name)) return null;
  const value = raw.replace(/\s+/g, ' ').replaceAll('"', "'").trim();
  if (name === 'class') {
    const classes = classNames(value);
    return classes === '' ? null : `class="${classes}"`;
  }
  if (name === 'style') return `style="${styled(value)}"`;
  if (TEXTS.has(name)) return `${name}="${value === '' ? '' : TEXT}"`;
  if (LINKS.has(name)) return `${name}="${linked(value)}"`;
  if (name === 'd' || name === 'points' || name === 'viewbox' || name === 'transform') return `${name}="${value}"`;
  return `${name}="${named(value)}"`;
}
