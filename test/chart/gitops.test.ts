/** Rendering without a cluster, as Argo CD and Flux's build commands do it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { CHART, EVALUATION, hasHelm, helm, PLAIN, ROOT, SECRETS } from './rendered.ts';

interface Document {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
}
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
  before(function () {
    if (hasHelm()) return;
    console.log('      (skipped: helm is not installed)');
    this.skip();
  });

  const text = (values: Readonly<Record<string, unknown>>, ...args: string[]): string =>
    helm(
      'template',
      'curbcut',
      CHART,
      '--namespace',
      'prod',
      ...Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]),
      ...args,
    );
  const objectsOf = (manifests: string): Document[] =>
    parseAllDocuments(manifests).flatMap((document) => {
      const [problem] = document.errors;
      if (problem) throw problem;
      return (document.toJS() as Document | null) ?? [];
    });

  for (const [name, values] of Object.entries({
    evaluation: EVALUATION,
    'plain values': PLAIN,
    'existing Secrets': SECRETS,
    'everything on': EVERYTHING,
  })) {
    it(`is the same text each time with ${name}, so that no tool sees a difference`, () => {
      expect(text(values)).to.equal(text(values));
    });
  }

  it('does not depend on the APIs or the version that the tool states', () => {
    const versions = ['--api-versions', 'monitoring.coreos.com/v1', '--api-versions', 'autoscaling/v2', '--kube-version', '1.30.0'];
    expect(text(EVERYTHING, ...versions)).to.equal(text(EVERYTHING));
  });

  it('contains every custom resource definition as in its file, which stays after an uninstall, or none', () => {
    const definitions = (values: Readonly<Record<string, unknown>>) =>
      objectsOf(text({ ...PLAIN, ...values })).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const files = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => parse(readFileSync(join(ROOT, path), 'utf8')) as Document);
    const byName = (list: readonly Document[]) => list.toSorted((one, other) => one.metadata.name.localeCompare(other.metadata.name));
    const specs = (list: readonly Document[]) => byName(list).map((one) => ({ ...one, metadata: one.metadata.name }));
    expect(specs(definitions({}))).to.deep.equal(specs(files));
    for (const { metadata } of definitions({})) expect(metadata.labels).to.include({ 'app.kubernetes.io/managed-by': 'Helm' });
    const policies = (values: object) =>
      definitions({ ...values }).map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']);
    expect(new Set(policies({}))).to.deep.equal(new Set(['keep']));
    expect(new Set(policies({ 'crds.keep': false }))).to.deep.equal(new Set([undefined]));
    expect(definitions({ 'crds.enabled': false })).to.deep.equal([]);
  });

  it('contains no custom resource, which Helm could not create in one step with its definition', () => {
    const own = objectsOf(text(EVERYTHING)).filter((object) =>
      (object as unknown as { apiVersion: string }).apiVersion.startsWith('curbcut.dev/'),
    );
    expect(own).to.deep.equal([]);
  });

  it('has no hook but the test, which Argo CD and Flux do not run on a sync', () => {
    const hooks = objectsOf(text(EVERYTHING)).flatMap(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? []);
    expect(hooks).to.deep.equal(['test']);
  });

  it('leaves the number of API replicas to the autoscaler', () => {
    const api = objectsOf(text(EVERYTHING)).find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'curbcut-api')!;
    expect((api as unknown as { spec: object }).spec).to.not.have.property('replicas');
  });

  it('fits into the annotation of kubectl apply, each definition and dashboard', () => {
    for (const object of objectsOf(text(EVERYTHING)))
      expect(JSON.stringify(object).length, `${object.kind}/${object.metadata.name}`).to.be.lessThan(256 * 1024);
  });

  for (const [path, valuesOf] of Object.entries({
    'examples/argocd/curbcut.yaml': (spec: ReleaseSpec) => spec.source!.helm.valuesObject,
    'examples/flux/curbcut.yaml': (spec: ReleaseSpec) => spec.values!,
  }))
    it(`accepts the values in ${path}`, () => {
      const objects = parseAllDocuments(readFileSync(join(ROOT, path), 'utf8')).map((one) => one.toJS() as { spec?: ReleaseSpec });
      const values = valuesOf(objects.find(({ spec }) => spec?.values !== undefined || spec?.source !== undefined)!.spec!);
      const rendered = objectsOf(text(values));
      const namespaces = rendered.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'curbcut-operator');
      // The namespace of the API's scans, and those of the Organisation in examples/platform.
      expect(namespaces.map(({ metadata }) => metadata.namespace)).to.deep.equal([
        'prod-scans',
        ...(parse(readFileSync(join(ROOT, 'examples/platform/organisation-shop.yaml'), 'utf8')) as { spec: { namespaces: string[] } }).spec
          .namespaces,
      ]);
    });
});
