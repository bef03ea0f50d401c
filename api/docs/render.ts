/** The pages of `/docs`, and HTML from their Markdown. Templates escape everything; HTML in the Markdown is shown as text. */
import { join, posix } from 'node:path';
import { readFile } from 'node:fs/promises';
import type { Code, Heading, List, Nodes, PhrasingContent, Root, RootContent, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { gfmTable } from 'micromark-extension-gfm-table';
import { code as codeBlock, externalLink, type HeadingLevel, link, linkedHeading, table } from '../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../report/html/html.ts';
import { docPath } from '../../core/web-paths.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs');

/**
 * The pages in the order in which `/docs` lists them: the file names without `.md`, which are also the addresses. docs/contributing/
 * is for people who change Curbcut; no image contains it.
 */
export const DOC_GROUPS = [
  { title: 'Scans and reports', pages: ['scanning', 'signed-in-pages', 'reports', 'baseline'] },
  { title: 'Pipelines and programs', pages: ['api', 'ci', 'cli', 'webhooks', 'reference'] },
  { title: 'In the browser', pages: ['dashboard', 'public-scans'] },
  { title: 'Kubernetes', pages: ['kubernetes', 'gitops'] },
  {
    title: 'Run an installation',
    pages: ['install', 'production', 'chart', 'sign-in-with-a-provider', 'operate', 'sizing', 'security'],
  },
] as const;

export const DOC_NAMES: readonly string[] = DOC_GROUPS.flatMap(({ pages }) => [...pages]);

/** Reads the Markdown of every page. @throws Error if a file is missing: then the image is incomplete, and the API must not start */
export async function readDocs(): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(DOC_NAMES.map(async (name) => [name, await readFile(join(FOLDER, `${name}.md`), 'utf8')] as const)));
}

/** Cells of more characters get a line of their own on narrow screens. */
const SHORT_CELL = 24;

/** A heading of level 2 or 3 with what follows it, up to the next one. */
export interface Section {
  /** Its anchor. Empty: the top of the page. */
  id: string;
  level: 1 | HeadingLevel;
  title: string;
  /** The text without markup. */
  text: string;
}

export interface Outline {
  title: string;
  /** The first sentence. */
  summary: string;
}

export interface DocPage extends Outline {
  /** The content without the heading of the page. */
  body: Html;
  /** The first one is the page's own, up to its first heading. */
  sections: readonly Section[];
}

export function renderDoc(markdown: string): DocPage {
  const [first, ...nodes] = parseMarkdown(markdown).children;
  if (first?.type !== 'heading' || first.depth !== 1) throw new Error('a page of docs/ starts with a heading of level 1');
  const title = phrasesText(first.children);
  const summary = nodes.find((node) => node.type === 'paragraph');
  return { title, summary: firstSentence(summary === undefined ? '' : textOf(summary)), ...render(nodes, title) };
}

function render(nodes: readonly RootContent[], title: string): Pick<DocPage, 'body' | 'sections'> {
  const sections: Section[] = [{ id: '', level: 1, title, text: '' }];
  const numbers = { table: 0, code: 0 };
  const anchorOf = createAnchors();
  const body = nodes.map((node) => {
    if (node.type === 'heading') return heading(node, sections, anchorOf);
    const section = sections.at(-1)!;
    section.text += `${textOf(node)}\n`;
    return block(node, { section, numbers });
  });
  return { body: html`${body}`, sections };
}

/** What the contents show of a page, from its first paragraphs alone: reading all pages takes long. */
export function outlineOf(markdown: string): Outline {
  const { title, summary } = renderDoc(markdown.split('\n\n', 2).join('\n\n'));
  return { title, summary };
}

const firstSentence = (text: string): string => /^.+?[.](?=\s|$)/.exec(text)?.[0] ?? text;

/** A heading of level 4 is a part of the section above it: alone it says too little in a list of results or a caption. */
function heading({ depth, children }: Heading, sections: Section[], anchorOf: (title: string) => string): Html {
  const title = phrasesText(children);
  const level = Math.min(Math.max(depth, 2), 4) as HeadingLevel;
  const id = anchorOf(title);
  if (level === 4) sections.at(-1)!.text += `${title}\n`;
  else sections.push({ id, level, title, text: '' });
  return linkedHeading(level, id, inline(children));
}

interface Place {
  section: Section;
  /** How many tables and blocks of code come before, for their ids. */
  numbers: { table: number; code: number };
}

function block(node: RootContent, place: Place): Html {
  const within = (nodes: readonly RootContent[]): Html[] => nodes.map((one) => block(one, place));
  switch (node.type) {
    case 'paragraph':
      return html`<p>${inline(node.children)}</p>`;
    case 'blockquote':
      return html`<blockquote>${within(node.children)}</blockquote>`;
    case 'thematicBreak':
      return html`<hr />`;
    case 'list':
      return list(node, place);
    case 'code':
      return codeOf(node, place);
    case 'table':
      return tableOf(node, place);
    case 'html':
      return node.value.startsWith('<!--') ? NOTHING : html`<p>${node.value}</p>`;
    default:
      return html`<p>${textOf(node)}</p>`;
  }
}

function list({ ordered, start, spread, children }: List, place: Place): Html {
  const items = children.map((item) => {
    // The items of a list without empty lines are not paragraphs.
    const content = item.children.map((node) =>
      node.type === 'paragraph' && spread !== true ? inline(node.children) : block(node, place),
    );
    return html`<li>${content}</li>`;
  });
  return ordered ? html`<ol start="${start ?? 1}">${items}</ol>` : html`<ul>${items}</ul>`;
}

function codeOf({ value }: Code, { section, numbers }: Place): Html {
  numbers.code += 1;
  return codeBlock({ id: `code-${numbers.code}`, text: value, label: `Example ${numbers.code}: ${section.title}` });
}

function tableOf({ children: [head, ...rows], align }: Table, { section, numbers }: Place): Html {
  numbers.table += 1;
  const heads = head?.children ?? [];
  const columns = heads.map((cell, at) => {
    const text = textOf(cell);
    const longest = Math.max(...rows.map(({ children }) => (children[at] === undefined ? 0 : textOf(children[at]).length)));
    const named = text === '' ? { text: at === 0 ? 'Name' : 'Value', hidden: true } : { text };
    return { ...named, numeric: align?.[at] === 'right', wide: longest > SHORT_CELL };
  });
  let above: readonly PhrasingContent[] = [];
  const cells = rows.map(({ children }) =>
    columns.map((_, at) => {
      const content = children[at]?.children ?? [];
      if (at > 0) return inline(content);
      // An empty first cell stands for the one above. Each row has a header, so that it can be read alone.
      above = content.length > 0 ? content : above;
      return inline(above);
    }),
  );
  const caption = `Table ${numbers.table}: ${section.title}`;
  return table({ id: `table-${numbers.table}`, caption, captionHidden: true, columns, rows: cells });
}

const inline = (nodes: readonly PhrasingContent[]): HtmlValue => nodes.map(phrase);

function phrase(node: PhrasingContent): HtmlValue {
  switch (node.type) {
    case 'text':
      return node.value;
    case 'inlineCode':
      return html`<code translate="no">${node.value}</code>`;
    case 'emphasis':
      return html`<em>${inline(node.children)}</em>`;
    case 'strong':
      return html`<strong>${inline(node.children)}</strong>`;
    case 'break':
      return html`<br />`;
    case 'link':
      return linkOf(node.url, node.children);
    default:
      return 'value' in node ? node.value : textOf(node);
  }
}

function linkOf(url: string, children: readonly PhrasingContent[]): HtmlValue {
  const target = targetOf(url);
  // The names of pages are file names in the Markdown.
  const shown = children.map((child) => (child.type === 'text' ? child.value.replace(/^([\w-]+)\.md$/, '$1') : phrase(child)));
  if (target.kind === 'here') return link(shown, target.href);
  if (target.kind === 'outside') return externalLink(inline(children), target.href);
  const path = html`<code translate="no">${target.path}</code>`;
  return phrasesText(children).includes('/') ? path : html`${inline(children)} (${path})`;
}

/** Reads Markdown as GitHub does: CommonMark and tables. */
export const parseMarkdown = (text: string): Root =>
  fromMarkdown(text, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });

/** The text of a node without markup; each cell and each item ends a line. */
function textOf(node: Nodes): string {
  if (node.type === 'html') return '';
  // A line break in a paragraph is a space.
  if (node.type === 'text') return node.value.replaceAll('\n', ' ');
  if ('value' in node) return node.value;
  if (node.type === 'break') return ' ';
  if (!('children' in node)) return '';
  const phrasing = ['paragraph', 'heading', 'tableCell', 'emphasis', 'strong', 'link'].includes(node.type);
  return node.children.map(textOf).join(phrasing ? '' : '\n');
}

const phrasesText = (nodes: readonly PhrasingContent[]): string => nodes.map(textOf).join('');

/** Names headings as GitHub does, so that the same links work there and here. */
export function createAnchors(): (heading: string) => string {
  const used = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      .replaceAll(' ', '-');
    const before = used.get(anchor) ?? 0;
    used.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}

/** Where a link of a page of docs/ leads on `/docs`. */
type Target =
  | { kind: 'here'; href: string }
  | { kind: 'outside'; href: string }
  /** A file of the repository that this installation does not serve. */
  | { kind: 'file'; path: string };

/** @param address as it is in the Markdown, relative to docs/ */
function targetOf(address: string): Target {
  if (/^[a-z][a-z0-9+.-]*:/i.test(address)) return { kind: 'outside', href: address };
  if (/^[#/]/.test(address)) return { kind: 'here', href: address };
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(address) ?? [];
  const name = /^([^/]+)\.md$/.exec(path)?.[1];
  if (name !== undefined && DOC_NAMES.includes(name)) return { kind: 'here', href: docPath(name) + anchor };
  return { kind: 'file', path: posix.join('docs', path) };
}
