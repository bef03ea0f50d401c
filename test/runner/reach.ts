/** Which test files a change can reach, for `make test SINCE=REF`. */
import { dirname, matchesGlob } from 'node:path';

/** The imports of each module, by paths relative to the repository. */
export type Graph = ReadonlyMap<string, readonly string[]>;

const PACKAGES = '{core,report,demo-site,platform,stores,api,operator,scanner-image,cli,local}';

/** Which tests start programs from these files, or read them by their path. */
const READERS: readonly [files: string, tests: string][] = [
  [`${PACKAGES}/**`, 'test/{bundle,journey,facts}/**'],
  ['cli/**', 'test/cli/**'],
  ['scanner-image/**', 'test/cli/local.test.ts'],
  ['bin/**', 'test/{cli,journey}/**'],
  ['tools/**', '{test/{runner,facts,bundle},tools}/**'],
  ['docs/**', 'test/{facts,chart,gitops}/**'],
  ['docs/gitops.md', 'test/operator/platform-page.test.ts'],
  ['docs/contributing/act.md', 'test/scanner/act.test.ts'],
  ['*.md', 'test/facts/**'],
  ['crds/**', '**'],
  ['helm/**', 'test/{chart,facts,gitops}/**'],
  ['examples/**', '{test/{chart,facts,gitops}/**,test/operator/platform-page.test.ts}'],
  ['images/**', '{test/chart/**,test/runner/**}'],
  ['bench/**', '{bench,test/facts}/**'],
];

const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** The modules of the folder of a file, or of the nearest folder above it that has any. */
function neighboursOf(path: string, modules: readonly string[]): string[] {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
    const there = modules.filter((other) => dirname(other) === folder);
    if (there.length > 0) return there;
  }
  return [];
}

/** The paths, and all that one can get to from them. */
function closureOf(paths: readonly string[], next: ReadonlyMap<string, readonly string[]>): Set<string> {
  const closure = new Set(paths);
  // A set's iteration includes what is added meanwhile.
  for (const path of closure) for (const other of next.get(path) ?? []) closure.add(other);
  return closure;
}

/**
 * The modules that import each one. A module that nothing imports is a program or a script: it counts as imported by the
 * modules of its folder that tests import.
 */
function importersOf(graph: Graph): Map<string, string[]> {
  const modules = [...graph.keys()];
  const importers = new Map(modules.map((path): [string, string[]] => [path, []]));
  for (const [path, imports] of graph) for (const imported of imports) importers.get(imported)?.push(path);
  const tested = closureOf(modules.filter(isTest), graph);
  const testedModules = modules.filter((path) => tested.has(path) && !isTest(path));
  for (const [path, by] of importers) if (by.length === 0 && !isTest(path)) by.push(...neighboursOf(path, testedModules));
  return importers;
}

/**
 * The test files that the changed files can reach: through imports, by a program that a test starts, or because a test
 * reads them. A change that reaches no test by these rules, for instance of package-lock.json, reaches all.
 */
export function testsReachedBy(changed: readonly string[], graph: Graph, tests: readonly string[]): Set<string> {
  const importers = importersOf(graph);
  const reachedBy = (path: string): string[] => {
    const seen = closureOf(graph.has(path) ? [path] : neighboursOf(path, [...graph.keys()]), importers);
    const readers = READERS.filter(([files]) => matchesGlob(path, files)).map(([, pattern]) => pattern);
    const reached = tests.filter((test) => seen.has(test) || readers.some((pattern) => matchesGlob(test, pattern)));
    return reached.length > 0 ? reached : [...tests];
  };
  return new Set(changed.flatMap(reachedBy));
}
