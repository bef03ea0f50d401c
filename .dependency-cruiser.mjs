/** A package may import those that its package.json names (docs/contributing/architecture.md). Type imports count; there are no exceptions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (...path) => JSON.parse(readFileSync(join(import.meta.dirname, ...path, 'package.json'), 'utf8'));
const { workspaces } = read();
const folderOf = Object.fromEntries(workspaces.map((folder) => [read(folder).name, folder.split('/')[0]]));
/** For each top-level folder, those that its packages name. */
const packages = {};
for (const folder of workspaces) {
  const named = Object.keys(read(folder).dependencies ?? {}).flatMap((name) => folderOf[name] ?? []);
  (packages[folder.split('/')[0]] ??= []).push(...named);
}
const tests = '[.]test[.]ts$|^local/tests/';

export default {
  forbidden: [
    ...Object.entries(packages).map(([name, allowed]) => ({
      name: `${name}-imports`,
      severity: 'error',
      comment: `${name}/ may import ${allowed.length ? allowed.join(', ') : 'no other package'}.`,
      from: { path: `^${name}/`, pathNot: tests },
      to: { path: `^(${Object.keys(packages).join('|')}|test|bench)/`, pathNot: `^(${[name, ...allowed].join('|')})/` },
    })),
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Files that import each other, directly or through others, cannot be understood or tested alone.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'runtime-knows-no-scans',
      severity: 'error',
      comment: 'The controller runtime must not depend on scans: it serves any resource.',
      from: { path: '^operator/runtime/', pathNot: tests },
      to: { path: '^(operator/(?!runtime/)|core/(?!protocol/custom-resources)|report/)' },
    },
    {
      name: 'unit-tests-use-test-support',
      severity: 'error',
      comment: 'Unit tests beside the code share helpers through test/support/ only.',
      from: { path: `^(${Object.keys(packages).join('|')})/.*[.]test[.]ts$` },
      to: { path: '^test/(?!support/)' },
    },
    {
      name: 'one-metrics-module',
      severity: 'error',
      comment: 'Only metrics modules import the metrics library.',
      from: { pathNot: '^(api|operator)/metrics[.]ts$|(^|/)[^/]*metrics[.]ts$' },
      to: { path: '@prometheus-io/' },
    },
    {
      name: 'no-dev-dependencies',
      severity: 'error',
      comment: 'Production code must run without development dependencies. Types do not exist at run time.',
      from: { path: `^(${Object.keys(packages).join('|')})/`, pathNot: tests },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
