/** Rendering without a cluster, as Argo CD and Flux's build commands do it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { CHART, EVALUATION, helm, needsHelm, PLAIN, render, ROOT, settings, text, type Rendered } from './rendered.ts';

/** Where an Application and a HelmRelease have the chart's values. */
interface ReleaseSpec {
  source?: { helm: { valuesObject: Record<string, unknown> } };
  values?: Record<string, unknown>;
}

/** Every value that turns a template on. */
const EVERYTHING = {
  ...PLAIN,
  'scans.extraNamespaces': ['team-a'],
  'scans.clusterWide': true,
  'metrics.serviceMonitor.enabled': true,
  'metrics.rules.enabled': true,
  'metrics.dashboard.enabled': true,
  'api.ingress': { enabled: true, hosts: [{ host: 'scan.example.com' }] },
  'api.autoscaling.enabled': true,
  'api.trustedProxies': ['10.244.0.0/16'],
};

describe('chart rendered without a cluster', () => {
  needsHelm();

  it('is the same text each time, so that no tool sees a difference', () => {
    for (const values of [EVALUATION, EVERYTHING])
      expect(helm('template', 'curbcut', CHART, '--namespace', 'prod', ...settings(values))).to.equal(text(values));
  });

  it('does not depend on the APIs or the version that the tool states', () => {
    const versions = ['--api-versions', 'monitoring.coreos.com/v1', '--api-versions', 'autoscaling/v2', '--kube-version', '1.30.0'];
    expect(text(EVERYTHING, ...versions)).to.equal(text(EVERYTHING));
  });

  it('contains every custom resource definition as in its file, which stays after an uninstall, or none', () => {
    const definitions = (values: Readonly<Record<string, unknown>>) =>
      render({ ...PLAIN, ...values }).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const files = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => parse(readFileSync(join(ROOT, path), 'utf8')) as Rendered);
    const byName = (list: readonly Rendered[]) => list.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name));
    const specs = (list: readonly Rendered[]) => byName(list).map((one) => ({ ...one, metadata: one.metadata.name }));
    expect(specs(definitions({}))).to.deep.equal(specs(files));
    for (const { metadata } of definitions({})) expect(metadata.labels).to.include({ 'app.kubernetes.io/managed-by': 'Helm' });
    const policies = (values: object) =>
      definitions({ ...values }).map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']);
    expect(new Set(policies({}))).to.deep.equal(new Set(['keep']));
    expect(new Set(policies({ 'crds.keep': false }))).to.deep.equal(new Set([undefined]));
    expect(definitions({ 'crds.enabled': false })).to.deep.equal([]);
  });

  it('has no hook but the test, which Argo CD and Flux do not run on a sync', () => {
    const hooks = render(EVERYTHING).flatMap(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? []);
    expect(hooks).to.deep.equal(['test']);
  });

  it('fits into the annotation of kubectl apply, each definition and dashboard', () => {
    for (const object of render(EVERYTHING))
      expect(JSON.stringify(object).length, `${object.kind}/${object.metadata.name}`).to.be.lessThan(256 * 1024);
  });

  for (const [path, valuesOf] of Object.entries({
    'examples/argocd/curbcut.yaml': (spec: ReleaseSpec) => spec.source!.helm.valuesObject,
    'examples/flux/curbcut.yaml': (spec: ReleaseSpec) => spec.values!,
  }))
    it(`accepts the values in ${path}`, () => {
      const objects = parseAllDocuments(readFileSync(join(ROOT, path), 'utf8')).map((one) => one.toJS() as { spec?: ReleaseSpec });
      const values = valuesOf(objects.find(({ spec }) => spec?.values !== undefined || spec?.source !== undefined)!.spec!);
      const rendered = render(values);
      const namespaces = rendered.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'curbcut-operator');
      // The namespace of the API's scans, and those of the Organisation in examples/platform.
      expect(namespaces.map(({ metadata }) => metadata.namespace)).to.deep.equal([
        'prod-scans',
        ...(parse(readFileSync(join(ROOT, 'examples/platform/organisation-shop.yaml'), 'utf8')) as { spec: { namespaces: string[] } }).spec
          .namespaces,
      ]);
    });
});
