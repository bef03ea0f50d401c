/** docs/contributing/dependencies.md has a line for each package that a package.json names, and for no other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  workspaces?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

describe('docs/contributing/dependencies.md', () => {
  const manifestOf = (folder: string) => JSON.parse(read(join(folder, 'package.json'))) as Manifest;
  const folders = ['.', ...manifestOf('.').workspaces!];
  const used = new Set(
    folders
      .flatMap((folder) => {
        const { dependencies, devDependencies, optionalDependencies } = manifestOf(folder);
        return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
      })
      .filter((name) => !name.startsWith('@curbcut/') && !name.startsWith('@types/')),
  );
  const rows = read('docs/contributing/dependencies.md').matchAll(/^\| (`[^|]*) \|/gm);
  const listed = [...rows].flatMap(([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));

  it('lists every package', () => {
    expect(used.size).to.be.greaterThan(50);
    expect([...used].filter((name) => !listed.includes(name)).sort()).to.deep.equal([]);
  });

  it('lists no package that is not used', () => {
    // Not from package.json files of the project: Python, Go, tools/node, a part of a package, and folders.
    const elsewhere = [
      'openapi-python-client',
      'tools/python/requirements.txt',
      'sigs.k8s.io/cli-utils',
      'hono/html',
      '@types/*',
      'bench/peers/',
    ];
    const others = listed.filter((name) => !used.has(name) && !elsewhere.includes(name) && !name.startsWith('node-linux-'));
    expect(others.sort()).to.deep.equal([]);
  });
});
