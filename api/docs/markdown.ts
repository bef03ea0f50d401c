/** Reads Markdown as GitHub does: CommonMark and tables. */
import type { Nodes, PhrasingContent, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { gfmTable } from 'micromark-extension-gfm-table';

export const parseMarkdown = (text: string): Root =>
  fromMarkdown(text, { extensions: [gfmTable()], mdastExtensions: [gfmTableFromMarkdown()] });

/** The text of a node without markup; each cell and each item ends a line. */
export function textOf(node: Nodes): string {
  if (node.type === 'html') return '';
  // A line break in a paragraph is a space.
  if (node.type === 'text') return node.value.replaceAll('\n', ' ');
  if ('value' in node) return node.value;
  if (node.type === 'break') return ' ';
  if (!('children' in node)) return '';
  const phrasing = ['paragraph', 'heading', 'tableCell', 'emphasis', 'strong', 'link'].includes(node.type);
  return node.children.map(textOf).join(phrasing ? '' : '\n');
}

export const phrasesText = (nodes: readonly PhrasingContent[]): string => nodes.map(textOf).join('');

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
