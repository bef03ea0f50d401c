/** The pages of docs/ name existing files, docs/contributing/architecture.md every package, and all settings and error codes are documented. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Environment as ApiEnvironment } from '../../api/config.ts';
import { ERROR_CODES, VALIDATION_TYPES } from '../../api/http/errors.ts';
import { Environment as OperatorEnvironment } from '../../operator/config.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('the pages of docs/', () => {
  const TOP = /^(core|report|demo-site|platform|stores|api|operator|scanner-image|cli|local|helm|images|test|tools|docs|bench)\//;

  it('name files and folders that exist', () => {
    const pages = globSync('docs/**/*.md', { cwd: root });
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/`([^`\s]+)`/g)].map(([, path]) => path!).filter((path) => TOP.test(path)),
    );
    expect(named.length).to.be.greaterThan(100);
    // <package> is a placeholder.
    expect(named.filter((path) => !path.includes('<') && globSync(path, { cwd: root }).length === 0)).to.deep.equal([]);
  });
});

describe('docs/contributing/architecture.md', () => {
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
  const rows = new Map(
    [...read('docs/contributing/architecture.md').matchAll(/^\| `([^`]+)\/` \| (.*) \| (.*) \|$/gm)].map(([, name, contents, imports]) => [
      name!,
      { contents: contents!, imports: imports! },
    ]),
  );

  it('lists every package and its folders', () => {
    const folders = (top: string): string[] => {
      const files = globSync(`${top}/*/**/*.*`, { cwd: root, exclude: ['**/node_modules/**'] });
      return [...new Set(files.map((path) => path.split('/')[1]!))];
    };
    const tops = [...new Set(workspaces.map((path) => path.split('/')[0]!))];
    const missing = tops.flatMap((top) =>
      folders(top)
        .filter((name) => !rows.get(top)?.contents.includes(`\`${name}/\``))
        .map((name) => `${top}/${name}`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('leads through a scan by at most 60 files', () => {
    const [walk] = /^## Follow one scan$[^]*?(?=^## )/m.exec(read('docs/contributing/architecture.md'))!;
    const files = new Set([...walk.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => path));
    expect(files.size).to.be.within(20, 60);
  });

  it('states which packages each may import, as its package.json does', () => {
    const packageOf = (path: string) => JSON.parse(read(`${path}/package.json`)) as { name: string; dependencies?: Record<string, string> };
    const topOf = new Map(workspaces.map((path) => [packageOf(path).name, path.split('/')[0]!]));
    for (const [top, { imports }] of rows) {
      const own = workspaces.filter((path) => path.split('/')[0] === top);
      const named = own.flatMap((path) => Object.keys(packageOf(path).dependencies ?? {}).flatMap((name) => topOf.get(name) ?? []));
      const stated = imports.split(', ').filter((name) => name !== '–');
      if (own.length > 0) expect(new Set(stated), top).to.deep.equal(new Set(named.filter((name) => name !== top)));
    }
  });
});

describe('settings', () => {
  it('are in docs/contributing/configuration.md', () => {
    const page = read('docs/contributing/configuration.md');
    const names = [ApiEnvironment, OperatorEnvironment].flatMap(({ properties }) => Object.keys(properties));
    expect(names.filter((name) => !page.includes(`| \`${name}\` `))).to.deep.equal([]);
  });
});

describe('error codes', () => {
  it('are in docs/reference.md', () => {
    const page = read('docs/reference.md');
    expect([...ERROR_CODES, ...VALIDATION_TYPES].filter((code) => !page.includes(`\`${code}\``))).to.deep.equal([]);
  });
});
