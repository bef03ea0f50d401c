/** Each image has the files and packages that its programs import, in the versions that the tests use. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect } from 'chai';
import { SCANNER_PROGRAM } from '../../core/protocol/scanner-program.ts';

const ROOT = join(import.meta.dirname, '..', '..');

interface Package {
  version: string;
  workspaces: string[];
}
const read = <T>(path: string): T => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T;

/** The entry points of each image: it needs what they import, directly or indirectly. */
const IMAGES: Readonly<Record<string, readonly string[]>> = {
  service: ['api/**/*.ts', 'operator/**/*.ts', 'stores/**/*.ts', 'core/**/*.ts'],
  evaluation: ['local/evaluation/main.ts', 'api/admin/main.ts'],
  scanner: ['scanner-image/main.ts', 'cli/main.ts'],
  cli: ['cli/main.ts'],
  try: ['local/main.ts', 'api/**/*.ts', 'operator/**/*.ts', 'stores/**/*.ts', 'core/**/*.ts', 'scanner-image/main.ts', 'cli/main.ts'],
};

/** The part of a Dockerfile that makes an image: scanner and try share a file, because they share the layers of the browser. */
function dockerfileOf(image: string): string {
  if (image !== 'scanner' && image !== 'try') return readFileSync(join(ROOT, `images/${image}/Dockerfile`), 'utf8');
  const [scanner = '', own = ''] = readFileSync(join(ROOT, 'scanner-image/Dockerfile'), 'utf8').split('\n# --- try');
  return image === 'scanner' ? scanner : own;
}

const root = read<Package>('package.json');
/** The longest first: one package may be in a folder of another. */
const workspaces = root.workspaces.toSorted((left, right) => right.length - left.length);

/** Every file that the given files import, directly or indirectly. */
function reached(globs: readonly string[]): Set<string> {
  const files = new Set<string>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    // Type-only imports do not exist at run time.
    const source = readFileSync(path, 'utf8').replace(/^(import|export) type [^;]*;/gm, '');
    for (const match of source.matchAll(/^(?:import|export)\b[^;'"`]*?from '(\.[^']+)';|\bimport\('(\.[^']+)'\)|^import '(\.[^']+)';/gm))
      visit(
        join(
          dirname(path),
          match.slice(1).find((group) => group !== undefined)!,
        ),
      );
  };
  for (const path of globSync([...globs], { cwd: ROOT, exclude: (name) => name.endsWith('.test.ts') })) visit(join(ROOT, path));
  return files;
}

it('every package of the project has the same version of each package that it installs', () => {
  const { packages } = read<{ packages: object }>('package-lock.json');
  expect(Object.keys(packages).filter((path) => workspaces.some((folder) => path.startsWith(`${folder}/node_modules/`)))).to.deep.equal([]);
});

describe('the scanner image', () => {
  it('starts the program with the options of every other start, also to fill the compile cache', () => {
    const dockerfile = readFileSync(join(ROOT, 'scanner-image/Dockerfile'), 'utf8');
    expect(dockerfile).to.include(`CMD ${JSON.stringify(['node', ...SCANNER_PROGRAM]).replaceAll(',', ', ')}\n`);
    expect(dockerfile).to.include(`NODE_COMPILE_CACHE=/app/compiled node ${SCANNER_PROGRAM.join(' ')} `);
  });
});

for (const [image, globs] of Object.entries(IMAGES)) {
  describe(`the ${image} image`, () => {
    const dockerfile = dockerfileOf(image);
    const files = [...reached(globs)].map((path) => relative(ROOT, path));

    it('installs the packages of every folder that its programs import', () => {
      const described = [...dockerfile.matchAll(/^COPY (\S+)\/package\.json \1\/$/gm)].map((match) => match[1]!);
      const imported = new Set(files.map((path) => workspaces.find((name) => path.startsWith(`${name}/`))!));
      expect([...imported].filter((name) => !described.includes(name))).to.deep.equal([]);
    });

    it('contains every file that its programs import', () => {
      const copied = [...dockerfile.matchAll(/^COPY (?!--|images\/|tools\/|\S*package\.json)(\S+) /gm)].map((match) => match[1]!);
      const holds = (path: string): boolean =>
        copied.some((from) => (from.includes('*') ? dirname(path) === dirname(from) : path === from || path.startsWith(`${from}/`)));
      expect(files.filter((path) => !holds(path))).to.deep.equal([]);
      for (const from of copied.filter((path) => !path.includes('*'))) expect(existsSync(join(ROOT, from)), from).to.equal(true);
    });

    it('runs as an unprivileged user on the pinned base', () => {
      const base = image === 'try' ? /^FROM scanner AS try$/m : /^FROM scratch(?: AS \w+)?\nCOPY --from=os \/ \/$/m;
      expect(dockerfile).to.match(base);
      if (image !== 'try') {
        expect(dockerfile).to.match(/^USER 65532:65532$/m);
        const [reference = ''] = readFileSync(join(ROOT, 'images/node-image'), 'utf8').trim().split('@');
        expect(dockerfile).to.include(`ARG NODE_IMAGE=${reference}\n`).and.include(`image.base.name="${reference}"`);
      }
      expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, from]) => from!).filter((from) => /[:/@]/.test(from))).to.deep.equal([]);
      expect(dockerfile).to.match(/ \/install-packages [a-z-]+/);
    });
  });
}
