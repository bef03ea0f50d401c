/** Sets the version everywhere: node tools/release/version.ts X.Y.Z */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cutRelease } from './changelog.ts';

/** Semantic Versioning 2.0.0 without build metadata, which tags of images cannot hold. The ending of a package's file is not part of it. */
const VERSION = /(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z]+(?:[.-](?!tgz\b)[0-9A-Za-z]+)*)?/;

interface Place {
  files: readonly string[];
  /** What stands before the version. */
  before: RegExp;
}

/** Every file that states the version, besides package.json of the root, which owns it. */
const PLACES: readonly Place[] = [
  { files: ['package.json', '*/package.json', '*/*/package.json'], before: /^ {2}"version": "|"@curbcut\/[\w-]+": "/ },
  { files: ['helm/Chart.yaml'], before: /^version: |^appVersion: / },
  { files: ['{crds,helm/files/crds}/*.yaml'], before: /^ {4}app\.kubernetes\.io\/version: / },
  {
    files: ['action.yml', 'README.md', '{docs,examples,helm,templates}/**/*.{md,yml,yaml}', 'examples/**/Jenkinsfile'],
    before:
      /\bcurbcut[\w.-]*\/(?:service|scanner|cli|evaluation|try):|\bcurbcut(?:\.dev)?, tag: |\bTAG=|\bcurbcut-(?:npm-)?(?=\d[\w.-]*\.tgz)/,
  },
];

const EXCLUDED = ['**/node_modules/**', 'tools/node/**'];

export interface Statement {
  /** The file and, if it is a text, the line. */
  where: string;
  version: string;
}

/** The version of the project at a folder. */
export const versionOf = (root: string): string =>
  (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;

/** Every place that states the version, and what it states. */
export function statedVersions(root: string): Statement[] {
  const texts = PLACES.flatMap(({ files, before }) =>
    filesOf(root, files).flatMap((path) =>
      readFileSync(join(root, path), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          [...line.matchAll(stated(before))].map((match) => ({ where: `${path}:${index + 1}`, version: match[2]! })),
        ),
    ),
  );
  return [...texts, ...lockStatements(readLock(root))];
}

/**
 * Sets the version in every place, and turns the unreleased changes of CHANGELOG.md into the release of that day.
 * @param isTagged whether the version was released
 */
export function setVersion(root: string, version: string, date: string, isTagged: boolean): void {
  if (new RegExp(`^${VERSION.source}$`).exec(version) === null) throw new Error(`${version} is no version: use X.Y.Z or X.Y.Z-rc.1`);
  const changelog = join(root, 'CHANGELOG.md');
  const cut = cutRelease(readFileSync(changelog, 'utf8'), version, date, isTagged);
  for (const { files, before } of PLACES) {
    for (const path of filesOf(root, files)) {
      const text = readFileSync(join(root, path), 'utf8');
      const lines = text.split('\n').map((line) => line.replace(stated(before), `$1${version}`));
      if (lines.join('\n') !== text) writeFileSync(join(root, path), lines.join('\n'));
    }
  }
  const lock = readLock(root);
  lock.version = version;
  for (const own of ownPackages(lock)) {
    own.version = version;
    for (const name of Object.keys(own.dependencies ?? {})) if (isOwn(name)) own.dependencies![name] = version;
  }
  writeFileSync(join(root, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  writeFileSync(changelog, cut);
}

const stated = (before: RegExp): RegExp => new RegExp(`(${before.source})(${VERSION.source})`, 'g');

const filesOf = (root: string, files: readonly string[]): string[] => globSync([...files], { cwd: root, exclude: EXCLUDED }).sort();

interface LockedPackage {
  version?: string;
  dependencies?: Record<string, string>;
}

interface Lock {
  version: string;
  packages: Record<string, LockedPackage>;
}

const readLock = (root: string): Lock => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
const isOwn = (name: string): boolean => name.startsWith('@curbcut/');
const ownPackages = ({ packages }: Lock): LockedPackage[] =>
  Object.entries(packages).flatMap(([path, one]) => (path.includes('node_modules/') ? [] : [one]));

function lockStatements(lock: Lock): Statement[] {
  const versions = ownPackages(lock).flatMap(({ version, dependencies = {} }) => [
    version ?? '',
    ...Object.entries(dependencies).flatMap(([name, range]) => (isOwn(name) ? [range] : [])),
  ]);
  return [lock.version, ...versions].map((version) => ({ where: 'package-lock.json', version }));
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..', '..');
  const [version, ...more] = process.argv.slice(2);
  if (version === undefined || more.length > 0) {
    console.error('Usage: node tools/release/version.ts X.Y.Z');
    process.exit(2);
  }
  try {
    const tags = execFileSync('git', ['tag', '--list', `v${version}`], { cwd: root, encoding: 'utf8' });
    setVersion(root, version, new Date().toISOString().slice(0, 10), tags !== '');
    console.log(`Every place states ${version}. Look at the difference, and commit it: docs/contributing/releasing.md`);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
