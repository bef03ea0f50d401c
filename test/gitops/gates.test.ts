/** The gates of examples/: one scan per commit, its URL, and when Flux' expressions open them. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { compile } from '../../local/kube/schemas/cel.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { SCAN_STATES } from '../support/scan-states.ts';
import { manifestsIn, ROOT } from './manifests.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Built {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
}

/** What Argo CD and Flux add to a folder's kustomization. */
interface Overlay {
  path: string;
  namePrefix?: string;
  nameSuffix?: string;
  commonLabels?: Record<string, string>;
  patches?: unknown[];
}

/** Fills in the placeholders of a template, as ApplicationSet and ResourceSet do. */
function fill(template: unknown, values: Readonly<Record<string, string>>): unknown {
  const text = JSON.stringify(template).replace(/(\{\{ \.(\w+) \}\}|<< inputs\.(\w+)( \| trunc 8)? >>)/g, (...found) => {
    const [, , argo, flux, short] = found as string[];
    const value = values[(argo ?? flux)!];
    if (value === undefined) throw new Error(`no value for ${found[0] as string}`);
    return short === undefined ? value : value.slice(0, 8);
  });
  return JSON.parse(text) as unknown;
}

function hasKubectl(): boolean {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Builds a folder of examples/ with an overlay, by the kustomize that is part of kubectl. */
function build({ path, ...overlay }: Overlay): Built[] {
  const folder = mkdtempSync(join(tmpdir(), 'curbcut-kustomize-'));
  try {
    cpSync(join(ROOT, path), folder, { recursive: true });
    const file = join(folder, 'kustomization.yaml');
    writeFileSync(file, stringify({ ...(parse(readFileSync(file, 'utf8')) as object), ...overlay }));
    // Argo CD's commonLabels are deprecated in kustomize, which says so on standard error.
    const text = execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return parseAllDocuments(text).map((document) => document.toJS() as Built);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const scanOf = (objects: readonly Built[]): Built => objects.find(({ kind }) => kind === 'AccessibilityScan')!;
const COMMITS = ['3f2b8c1e6a4d4f0e9b7a1c2d3e4f5a6b7c8d9e0f', '7a1c2d3e4f5a6b7c8d9e0f3f2b8c1e6a4d4f0e9b'];

describe('the preview gate', () => {
  before(function () {
    if (hasKubectl()) return;
    console.log('      (skipped: there is no kubectl on the PATH)');
    this.skip();
  });

  const FILES = { 'Argo CD': 'examples/argocd/preview-gate.yaml', Flux: 'examples/flux/preview-gate.yaml' };

  /** What the tool applies for a commit of pull request 12. */
  function applied(tool: keyof typeof FILES, sha: string): Built[] {
    const values = { number: '12', id: '12', sha, head_sha: sha, head_short_sha: sha.slice(0, 8) };
    const [first, set] = manifestsIn(read(FILES[tool]), FILES[tool]).map(({ object }) => object);
    if (tool === 'Argo CD') {
      const { template } = fill(first!.spec, values) as { template: { spec: { source: { path: string; kustomize: object } } } };
      const { path, kustomize } = template.spec.source;
      const { images: _, ...overlay } = kustomize as { images: string[] };
      return build({ path, ...overlay });
    }
    const { resources } = fill(set!.spec, values) as { resources: { kind: string; spec: Overlay & Record<string, unknown> }[] };
    return resources
      .filter(({ kind }) => kind === 'Kustomization')
      .flatMap(({ spec: { path, namePrefix, nameSuffix, patches } }) =>
        build({ path, ...(namePrefix && { namePrefix }), ...(nameSuffix && { nameSuffix }), ...(patches && { patches }) }),
      );
  }

  for (const tool of Object.keys(FILES) as (keyof typeof FILES)[])
    describe(`with ${tool}`, () => {
      let objects: Built[];
      before(() => {
        objects = applied(tool, COMMITS[0]!);
      });

      it('has one scan for each commit, of the same URL', () => {
        const scans = [objects, applied(tool, COMMITS[1]!)].map(scanOf);
        expect(scans.map(({ metadata }) => metadata.name)).to.deep.equal(['pr-12-scan-3f2b8c1e', 'pr-12-scan-7a1c2d3e']);
        for (const { spec } of scans) expect(spec['url']).to.equal('https://pr-12.preview.example.com');
      });

      it('scans the host of the preview, whose traffic reaches its own pods', () => {
        const specOf = <T>(kind: string): T => objects.find((object) => object.kind === kind)!.spec as T;
        const { rules } = specOf<{ rules: { host: string }[] }>('Ingress');
        expect(scanOf(objects).spec['url']).to.equal(`https://${rules[0]!.host}`);
        const { selector } = specOf<{ selector: Record<string, string> }>('Service');
        const deployment = specOf<{ selector: { matchLabels: object }; template: { metadata: { labels: object } } }>('Deployment');
        expect(Object.values(selector).join()).to.contain('pr-12');
        expect(deployment.template.metadata.labels).to.include(selector);
        expect(deployment.selector.matchLabels).to.deep.equal(selector);
      });

      it('is a plain resource with thresholds and without a TTL, so that a sync never scans again', () => {
        const { metadata, spec } = scanOf(objects);
        expect(Object.keys(metadata.annotations ?? {})).to.deep.equal(['argocd.argoproj.io/sync-wave']);
        expect(spec).to.have.property('thresholds');
        expect(spec).to.not.have.property('ttlSecondsAfterFinished');
      });
    });

  it('waits with Argo CD for the Deployment, and with Flux for the Kustomization of the Deployment', () => {
    const argo = applied('Argo CD', COMMITS[0]!);
    const waves = argo.map(({ metadata }) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0));
    expect(waves.filter((wave) => wave > 0)).to.have.length(1);
    const [, set] = manifestsIn(read(FILES.Flux), FILES.Flux);
    const [, app, gate] = (set!.object.spec as unknown as { resources: { metadata: { name: string }; spec: Record<string, unknown> }[] })
      .resources;
    expect(gate!.spec['dependsOn']).to.deep.equal([{ name: app!.metadata.name }]);
    expect([app!.spec['wait'], gate!.spec['wait']]).to.deep.equal([true, true]);
  });
});

describe('the promotion with Flux', () => {
  const file = 'examples/flux/promotion.yaml';
  const steps = manifestsIn(read(file), file).map(({ object }) => object);
  const spec = (index: number) =>
    steps[index]!.spec as unknown as Overlay & {
      dependsOn?: { name: string }[];
      wait: boolean;
      images?: { newTag: string }[];
      healthCheckExprs?: Record<'inProgress' | 'failed' | 'current', string>[];
    };

  it('goes to production only after the scan of staging, for the same version', () => {
    const names = steps.map(({ metadata }) => metadata.name);
    expect(names).to.deep.equal(['shop-1-staging', 'shop-2-gate', 'shop-3-production']);
    // Flux applies them in this order: a step that changed before the one it depends on could see that one's old result.
    expect(names).to.deep.equal(names.toSorted());
    expect([spec(1).dependsOn, spec(2).dependsOn]).to.deep.equal([[{ name: names[0] }], [{ name: names[1] }]]);
    expect(steps.map((_, index) => spec(index).wait)).to.deep.equal([true, true, true]);
    const version = spec(0).images![0]!.newTag;
    expect(spec(2).images![0]!.newTag).to.equal(version);
    expect(spec(1).nameSuffix).to.equal(`-${version}`);
  });

  // Flux evaluates them in this order: in progress, failed, current.
  function judge(scan: AccessibilityScan): string {
    const [expressions] = spec(1).healthCheckExprs!;
    for (const [verdict, expression] of [
      ['InProgress', expressions!.inProgress],
      ['Failed', expressions!.failed],
      ['Current', expressions!.current],
    ] as const)
      if (compile(expression)(JSON.parse(JSON.stringify(scan)) as Record<string, unknown>) === true) return verdict;
    return 'InProgress';
  }

  for (const [state, { scan, kstatus }] of Object.entries(SCAN_STATES)) {
    if (kstatus === 'Terminating') continue;
    const ended = conditionOf(scan.status?.conditions, 'Complete')?.status === 'True';
    const passed = conditionOf(scan.status?.conditions, 'Passed')?.status === 'True';
    const expected = ended ? (passed ? 'Current' : 'Failed') : 'InProgress';
    it(`is ${expected} by healthCheckExprs for a scan that is ${state}`, () => {
      expect(judge(scan)).to.equal(expected);
    });
  }
});
