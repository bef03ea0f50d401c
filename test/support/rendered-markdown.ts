import { Parser } from 'htmlparser2';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';

interface Piece {
  tag: string;
  text: string;
}

/** What a system with GitHub's Markdown shows: elements with their attributes, and the texts with the innermost element around each. */
export function rendered(markdown: string) {
  const html = micromark(markdown, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });
  const elements: { tag: string; attributes: Record<string, string> }[] = [];
  const comments: string[] = [];
  const texts: Piece[] = [];
  const open: string[] = [];
  const parser = new Parser({
    onopentag(tag, attributes) {
      elements.push({ tag, attributes });
      open.push(tag);
    },
    onclosetag: () => void open.pop(),
    oncomment: (text) => void comments.push(text.trim()),
    ontext: (text) => void texts.push({ tag: open.includes('code') ? 'code' : (open.at(-1) ?? ''), text }),
  });
  parser.end(html);
  return { elements, comments, texts, shown: texts.map(({ text }) => text).join('') };
}
