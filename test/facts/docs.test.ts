import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { pages } from '../../tools/docs.ts';

const root = join(import.meta.dirname, '..', '..');

describe('documentation', () => {
  for (const [name, text] of Object.entries(pages())) {
    it(`${name} matches the code (run make docs)`, () => {
      expect(readFileSync(join(root, 'docs', name), 'utf8')).to.equal(text);
    });
  }

  for (const file of [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ]) {
    it(`${file} links to existing files`, () => {
      const links = [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g)].map((match) => match[1]!);
      expect(links.filter((link) => !existsSync(join(root, dirname(file), link)))).to.deep.equal([]);
    });
  }
});
