/** The files for people who contribute: what they name exists, and Renovate finds what it is to update. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Renovate {
  customManagers: { description: string; managerFilePatterns: string[]; matchStrings: string[] }[];
}

describe('the files for contributors', () => {
  for (const page of ['SECURITY.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md'])
    it(`${page} links to existing files`, () => {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(([, link]) => link!);
      expect(links.filter((link) => !existsSync(join(root, link)))).to.deep.equal([]);
    });

  for (const path of globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: root }).filter((name) => !name.endsWith('config.yml')))
    it(`${path} is a form with at least one required field`, () => {
      const form = parse(read(path)) as { name?: string; description?: string; body: { validations?: { required?: boolean } }[] };
      expect(form.name).to.match(/\S/);
      expect(form.description).to.match(/\S/);
      expect(form.body.some(({ validations }) => validations?.required) || path.endsWith('idea.yml')).to.equal(true);
    });

  it('the development container runs a program that exists', () => {
    const { postCreateCommand } = JSON.parse(read('.devcontainer/devcontainer.json')) as { postCreateCommand: string };
    expect(existsSync(join(root, postCreateCommand.split(' ')[0]!))).to.equal(true);
  });
});

describe('renovate.json', () => {
  const { customManagers } = JSON.parse(read('renovate.json')) as Renovate;
  for (const { description, managerFilePatterns, matchStrings } of customManagers)
    it(`finds ${description}`, () => {
      const files = globSync(['images/*', '.github/workflows/*'], { cwd: root });
      const patterns = managerFilePatterns.map((pattern) => new RegExp(pattern.slice(1, -1)));
      const matching = files.filter((path) => patterns.some((pattern) => pattern.test(path)));
      expect(matching).to.have.length.above(0);
      for (const path of matching) {
        const found = matchStrings.flatMap((one) => [...read(path).matchAll(new RegExp(one, 'g'))]);
        expect(found, path).to.have.length.above(0);
        for (const { groups } of found) expect(groups).to.include.keys('depName', 'currentValue');
      }
    });
});
