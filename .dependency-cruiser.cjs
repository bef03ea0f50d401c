/** Which package may import which (docs/architecture.md). Type imports count; there are no exceptions. */
const packages = {
  core: [],
  platform: ['core'],
  stores: ['core', 'platform'],
  api: ['core', 'platform', 'stores'],
  operator: ['core', 'platform', 'stores'],
  'scanner-image': ['core', 'platform'],
  cli: ['core'],
  local: ['core', 'platform'],
};
const tests = '[.]test[.]ts$|^local/tests/';

module.exports = {
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
      to: { path: '^(operator/(?!runtime/)|core/(?!protocol/custom-resources))' },
    },
    {
      name: 'unit-tests-use-test-support',
      severity: 'error',
      comment: 'Unit tests beside the code share helpers through test/support/ only.',
      from: { path: `^(${Object.keys(packages).join('|')})/.*[.]test[.]ts$` },
      to: { path: '^test/(?!support/)' },
    },
    {
      name: 'one-kubernetes-client',
      severity: 'error',
      comment: 'Only the connection loads the Kubernetes client, and only when it opens; types cost nothing.',
      from: { pathNot: `^platform/kubernetes/kubeconfig[.]ts$|${tests}` },
      to: { path: '@kubernetes/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'kubernetes-client-is-loaded-late',
      severity: 'error',
      comment: 'Importing the connection must not load the client: it costs memory and half a second (docs/dependencies.md).',
      from: { pathNot: `^platform/kubernetes/|${tests}` },
      to: { path: '^platform/kubernetes/kubeconfig[.]ts$' },
    },
    {
      name: 'kubernetes-connection-imports-dynamically',
      severity: 'error',
      comment: 'The same within platform/kubernetes/.',
      from: { path: '^platform/kubernetes/', pathNot: tests },
      to: { path: '^platform/kubernetes/kubeconfig[.]ts$', dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'core-scanner-and-cli-without-kubernetes-client',
      severity: 'error',
      comment: 'Neither code nor types of the Kubernetes client may be needed where no Kubernetes API is called.',
      from: { path: '^(core|scanner-image|cli|api/admin)/', pathNot: tests },
      to: { path: '@kubernetes/', reachable: true },
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
      comment: 'Production code must run without development dependencies.',
      from: { path: `^(${Object.keys(packages).join('|')})/`, pathNot: tests },
      to: { dependencyTypes: ['npm-dev'] },
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
