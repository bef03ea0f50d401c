import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { generatedFiles } from '../../tools/docs.ts';

const root = join(import.meta.dirname, '..', '..');

describe('documentation', () => {
  for (const [path, text] of Object.entries(generatedFiles())) {
    it(`${path} matches the code (run make docs)`, () => {
      expect(readFileSync(join(root, path), 'utf8')).to.equal(text);
    });
  }

  for (const file of [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
    ...globSync('examples/**/*.md', { cwd: root }),
  ]) {
    it(`${file} links to existing files`, () => {
      const links = [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g)].map((match) => match[1]!);
      expect(links.filter((link) => !existsSync(join(root, dirname(file), link)))).to.deep.equal([]);
    });
  }
});
