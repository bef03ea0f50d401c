/** Normalises the HTML of an element, so that two uses of one component become equal. */
import { Tokenizer } from 'htmlparser2';
import { TEXT, normaliseAttribute } from './normalise-attribute.ts';

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
