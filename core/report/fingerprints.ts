/**
 * Root causes: violations of one rule on one component, over all pages. A component is told by its normalised HTML:
 * structure and the names that its author gave are kept, everything that a server, a build or a visit makes up is not.
 */
import { createHash } from 'node:crypto';
import type { ReportGroup, ReportNode, ReportPage, ReportViolation } from './schema.ts';
import { IMPACTS } from '../scan/impacts.ts';

/** Pages that a group names; how many there are is in `pages`. */
const PAGE_URLS_MAX = 100;

/** Stands for text, and for a text-like attribute that is not empty: whether there is any matters to a rule, which words does not. */
const TEXT = '…';
/** Stands for what is made up: counters, hashes, times. */
const MADE_UP = '*';

/** Never structure: tokens of a visit, copies of other attributes, and whatever scripts hang on elements (`data-*`, `on*`). */
const DROPPED =
  /^(data-.*|on.*|nonce|integrity|crossorigin|srcset|sizes|value|ping|v-.*|ng-.*|_ng.*|x-.*|@.*|:.*|jsaction|jsname|jsmodel)$/;
/** Where the element is in a visit, not what it is: the current page's link is the same component as its neighbours. */
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
/** Words for people. */
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
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr path circle rect line use polygon polyline ellipse'.split(' '),
);

const TAG = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-zA-Z][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*?)(\/?)>|<[^>]*$/g;
const ATTRIBUTE = /([^\s=/"'<>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;

/** A word that no person wrote: eight or more letters and digits mixed, hexadecimal or in changing case. */
const looksMadeUp = (word: string): boolean =>
  /^(?=.*\d)[0-9a-f]{6,}$/i.test(word) || (word.length >= 5 && /\d/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word));

/** Replaces made-up words, and counters, in a name. */
const named = (value: string): string =>
  value
    .split(/([^0-9A-Za-z]+)/)
    .map((word) => (looksMadeUp(word) ? MADE_UP : word.replace(/\d[0-9A-Za-z]*$/, MADE_UP)))
    .join('');

const classNames = (value: string): string =>
  [
    ...new Set(
      value
        .split(/\s+/)
        .filter((name) => name !== '' && !STATE_CLASS.test(name))
        // A build's suffix (`Card_title__x7Yp2`) changes with every release; utility classes (`p-4`) keep their numbers.
        .map((name) =>
          name
            .split(/([_-]+)/)
            .map((word) => (looksMadeUp(word) ? MADE_UP : word))
            .join(''),
        ),
    ),
  ]
    .sort()
    .join(' ');

/** The file that a link names: pages at different depths spell its folder differently, and a query is of the visit. */
const linked = (value: string): string => {
  if (/^data:/i.test(value)) return 'data:';
  const path = value.replace(/[?#][\s\S]*$/, '');
  const last = path
    .split('/')
    .map((segment) => segment.trim())
    .findLast((segment) => segment !== '' && segment !== '.' && segment !== '..');
  // Numbered files (`cover-7.svg`) come from one template.
  return named(last ?? '');
};

/** Lengths and angles are often computed; colours are what contrast hangs on. */
const styled = (value: string): string =>
  value
    .toLowerCase()
    .split(';')
    .map((declaration) =>
      declaration
        .replace(/\s*:\s*/, ':')
        .trim()
        .replace(/url\([^)]*\)/g, `url(${MADE_UP})`)
        .replace(/(#[0-9a-f]{3,8}\b|(?:rgb|hsl)a?\([^)]*\))|-?(?:\d*\.)?\d+/g, (_, colour: string | undefined) => colour ?? MADE_UP),
    )
    .filter((declaration) => declaration !== '')
    .sort()
    .join(';');

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

function openTag(tag: string, attributes: string): string {
  const kept = new Map<string, string>();
  for (const [, rawName = '', double, single, bare] of attributes.matchAll(ATTRIBUTE)) {
    const name = rawName.toLowerCase();
    const normalised = normaliseAttribute(name, double ?? single ?? bare ?? '');
    if (normalised !== null && !kept.has(name)) kept.set(name, normalised);
  }
  // Where an author named the element, its target is content: ten cards' "Read more" are one component.
  if (kept.has('class') || kept.has('id')) kept.delete('href');
  const sorted = [...kept.keys()].sort().map((name) => ` ${kept.get(name)}`);
  return `<${tag}${sorted.join('')}>`;
}

/** Neighbours that are alike count once: a list of five and a list of seven are the same component. */
function appendUnlessRepeated(children: string[], child: string): void {
  if (child !== '' && children.at(-1) !== child) children.push(child);
}

/**
 * Strips from a piece of HTML what differs between two uses of one component: white space, comments, words, state,
 * counters and hashes in names, folders and queries of links, computed lengths, `data-*`, handlers, nonces. What is kept:
 * elements and their nesting, attribute names, classes, roles, types, ids' words, linked files' names, colours.
 * Idempotent. Tolerates HTML that is cut off in the middle.
 */
export function normaliseHtml(html: string): string {
  const open: { tag: string; start: string; children: string[] }[] = [{ tag: '', start: '', children: [] }];
  const top = () => open[open.length - 1]!;
  const close = (): void => {
    const { tag, start, children } = open.pop()!;
    appendUnlessRepeated(top().children, `${start}${children.join('')}</${tag}>`);
  };
  let at = 0;
  const text = (until: number): void => {
    if (html.slice(at, until).trim() !== '') appendUnlessRepeated(top().children, TEXT);
  };
  for (const match of html.matchAll(TAG)) {
    text(match.index);
    at = match.index + match[0].length;
    const tag = match[2]?.toLowerCase();
    if (tag === undefined) continue;
    if (match[1] === '/') {
      if (open.some((frame) => frame.tag === tag)) {
        while (top().tag !== tag) close();
        close();
      }
      continue;
    }
    const start = openTag(tag, match[3] ?? '');
    if (VOID.has(tag) || match[4] === '/') appendUnlessRepeated(top().children, start);
    else open.push({ tag, start, children: [] });
  }
  text(html.length);
  while (open.length > 1) close();
  return top().children.join('');
}

/** The name of a root cause, stable over scans: the first 16 hexadecimal digits of SHA-256 of rule and normalised HTML. */
export function rootCauseFingerprint(rule: string, html: string): string {
  return createHash('sha256')
    .update(`${rule}\n${normaliseHtml(html)}`)
    .digest('hex')
    .slice(0, 16);
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

interface Gathering {
  violation: ReportViolation;
  example: ReportNode;
  impact: number;
  elements: number;
  pages: number;
  pageUrls: string[];
  lastPage: number;
}

/**
 * Folds the violations of all tested pages into root causes, worst first: by impact, then pages touched, then elements,
 * then rule and fingerprint (so that the order is the same in every run). The example is the first element in the scan's order.
 */
export function groupViolations(pages: readonly ReportPage[]): ReportGroup[] {
  const groups = new Map<string, Gathering>();
  for (const [index, page] of pages.entries()) {
    if (!page.tested) continue;
    for (const violation of page.violations) {
      const impact = IMPACTS.indexOf(violation.impact);
      for (const node of violation.nodes) {
        const fingerprint = rootCauseFingerprint(violation.rule, node.html);
        let group = groups.get(fingerprint);
        if (group === undefined) {
          group = { violation, example: node, impact, elements: 0, pages: 0, pageUrls: [], lastPage: -1 };
          groups.set(fingerprint, group);
        }
        group.elements += 1;
        group.impact = Math.min(group.impact, impact);
        if (group.lastPage !== index) {
          group.lastPage = index;
          group.pages += 1;
          if (group.pageUrls.length < PAGE_URLS_MAX) group.pageUrls.push(page.url);
        }
      }
    }
  }
  return [...groups]
    .sort(
      ([a, left], [b, right]) =>
        left.impact - right.impact ||
        right.pages - left.pages ||
        right.elements - left.elements ||
        compare(left.violation.rule, right.violation.rule) ||
        compare(a, b),
    )
    .map(([fingerprint, group]) => ({
      fingerprint,
      rule: group.violation.rule,
      impact: IMPACTS[group.impact]!,
      wcag: group.violation.wcag,
      help: group.violation.help,
      help_url: group.violation.help_url,
      pages: group.pages,
      elements: group.elements,
      example: group.example,
      page_urls: group.pageUrls,
    }));
}
