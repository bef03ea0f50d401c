/** Each image installs exactly the packages that its programs import, in the versions that the tests use. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect } from 'chai';
import { SCANNER_PROGRAM } from '../../core/protocol/scanner-program.ts';

const ROOT = join(import.meta.dirname, '..', '..');

interface Package {
  version: string;
  license?: string;
  engines?: object;
  type?: string;
  dependencies: Record<string, string>;
  devDependencies?: Record<string, string>;
}
interface Lock {
  packages: Record<string, { version?: string; integrity?: string; resolved?: string; dev?: boolean }>;
}
const read = <T>(path: string): T => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T;

/** The entry points of each image: it needs what they import, directly or indirectly. */
const IMAGES: Readonly<Record<string, readonly string[]>> = {
  service: ['api/**/*.ts', 'operator/**/*.ts', 'stores/**/*.ts', 'core/**/*.ts'],
  evaluation: ['local/evaluation/main.ts', 'api/admin/main.ts'],
  scanner: ['scanner-image/main.ts'],
};

const root = read<Package>('package.json');
/** The project's versions: those of the root package and of the workspace package `local`. */
const versions = { ...root.dependencies, ...read<Package>('local/package.json').dependencies };
const packageOf = (name: string): string => /^(@[^/]+\/)?[^/]+/.exec(name)![0];

/** Every file and package that the given files import, directly or indirectly. */
function reached(globs: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    // Type-only imports do not exist at run time.
    const source = readFileSync(path, 'utf8').replace(/^(import|export) type [^;]*;/gm, '');
    const imported = source.matchAll(
      /^(?:import|export)\b[^;'"`]*?from '([^']+)';|\bimport\('([^']+)'\)|^import '([^']+)';|createRequire\(import\.meta\.url\)\('([^']+)'\)/gm,
    );
    // Scripts and fonts are read as files: package name and path.
    const asFile = source.matchAll(/'((?:@[a-z0-9-]+\/)?[a-z0-9-]+\/[\w./-]+\.(?:ttf|js|json))'/g);
    for (const match of imported) {
      const name = match.slice(1).find((group) => group !== undefined)!;
      if (name.startsWith('.')) visit(join(dirname(path), name));
      else if (!name.startsWith('node:')) packages.add(packageOf(name));
    }
    for (const [, name] of asFile) if (packageOf(name!) in versions) packages.add(packageOf(name!));
  };
  for (const path of globSync([...globs], { cwd: ROOT, exclude: (name) => name.endsWith('.test.ts') })) visit(join(ROOT, path));
  return { files, packages };
}

describe('the scanner image', () => {
  it('starts the program with the options of every other start, also to fill the compile cache', () => {
    const dockerfile = readFileSync(join(ROOT, 'scanner-image/Dockerfile'), 'utf8');
    expect(dockerfile).to.include(`CMD ${JSON.stringify(['node', ...SCANNER_PROGRAM]).replaceAll(',', ', ')}\n`);
    expect(dockerfile).to.include(`NODE_COMPILE_CACHE=/app/compiled node ${SCANNER_PROGRAM.join(' ')} `);
  });
});

for (const [image, globs] of Object.entries(IMAGES)) {
  describe(`the ${image} image`, () => {
    const folder = image === 'scanner' ? 'scanner-image' : `images/${image}`;
    const own = read<Package>(`${folder}/package.json`);
    const { files, packages } = reached(globs);

    it('installs exactly the packages that its programs import', () => {
      expect(Object.keys(own.dependencies).sort()).to.deep.equal([...packages].sort());
    });

    it('installs them and their dependencies in the versions of the project', () => {
      for (const [name, version] of Object.entries(own.dependencies)) expect(version, name).to.equal(versions[name]);
      expect(own).to.deep.include({ version: root.version, license: root.license, engines: root.engines, type: root.type });
      expect(own.devDependencies).to.equal(undefined);
      const locked = read<Lock>(`${folder}/package-lock.json`).packages;
      const project = read<Lock>('package-lock.json').packages;
      expect(locked['']).to.deep.include({ version: root.version, dependencies: own.dependencies });
      for (const [path, { version, integrity, resolved, dev }] of Object.entries(locked)) {
        if (path === '') continue;
        expect({ version, integrity }, path).to.deep.equal({ version: project[path]?.version, integrity: project[path]?.integrity });
        expect({ resolved, dev }, path).to.deep.equal({ resolved: undefined, dev: undefined });
      }
    });

    it('contains every file that its programs import', () => {
      const dockerfile = readFileSync(join(ROOT, `${folder}/Dockerfile`), 'utf8');
      const copied = [...dockerfile.matchAll(/^COPY (?!--|images\/|tools\/|\S+-image\/)(\S+) /gm)].map((match) => match[1]!);
      const holds = (path: string): boolean =>
        copied.some((from) => (from.includes('*') ? dirname(path) === dirname(from) : path.startsWith(`${from}/`)));
      expect([...files].map((path) => relative(ROOT, path)).filter((path) => !holds(path))).to.deep.equal([]);
      for (const from of copied.filter((path) => !path.includes('*'))) expect(existsSync(join(ROOT, from)), from).to.equal(true);
    });

    it('runs as an unprivileged user, and has an SBOM and labels', () => {
      const dockerfile = readFileSync(join(ROOT, `${folder}/Dockerfile`), 'utf8');
      expect(dockerfile).to.match(/^USER 65532:65532$/m);
      expect(dockerfile).to.match(/npm ci --omit=dev --ignore-scripts/);
      expect(dockerfile).to.match(/npm sbom --omit=dev/);
      expect(dockerfile).to.contain(`org.opencontainers.image.version="${root.version}"`);
      expect(dockerfile.split('FROM scratch')).to.have.length(2);
    });
  });
}
