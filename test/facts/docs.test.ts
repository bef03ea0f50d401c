import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import type { Nodes } from 'mdast';
import { DOC_NAMES, parseMarkdown } from '../../api/docs/render.ts';

const root = join(import.meta.dirname, '..', '..');

describe('documentation', () => {
  for (const file of ['README.md', ...globSync('{docs,examples}/**/*.md', { cwd: root })]) {
    it(`${file} links to existing files`, () => {
      const text = readFileSync(join(root, file), 'utf8').replaceAll(/```[^]*?```|`[^`\n]*`/g, '');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g)].map((match) => match[1]!);
      expect(links.filter((link) => !existsSync(join(root, dirname(file), link)))).to.deep.equal([]);
    });
  }

  it('is served at /docs, except the pages for contributors, which no image contains', () => {
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
    const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
    expect(DOC_NAMES.map((name) => `${name}.md`).sort()).to.deep.equal(pages.sort());
    expect(ignored).to.include('docs/contributing');
    expect(readFileSync(join(root, 'images', 'service', 'Dockerfile'), 'utf8')).to.match(/^COPY docs docs$/m);
    expect(ignored).to.not.include('docs');
  });

  for (const name of DOC_NAMES) {
    it(`docs/${name}.md has only Markdown that /docs shows`, () => {
      const known = new Set(
        'root heading paragraph list listItem code table tableRow tableCell text inlineCode emphasis strong link break blockquote'.split(
          ' ',
        ),
      );
      const other: string[] = [];
      const visit = (node: Nodes): void => {
        const comment = node.type === 'html' && node.value.startsWith('<!--');
        if (!known.has(node.type) && !comment) other.push(`${node.type} in line ${node.position?.start.line}`);
        if ('children' in node) node.children.forEach(visit);
      };
      visit(parseMarkdown(readFileSync(join(root, 'docs', `${name}.md`), 'utf8')));
      expect(other).to.deep.equal([]);
    });
  }
});
