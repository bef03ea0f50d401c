import { expect } from 'chai';
import { DASHBOARD_MANAGER, MANAGED_BY_LABEL } from '../protocol/scan-schedules.ts';
import type { ObjectMeta } from '../protocol/custom-resources.ts';
import { otherWriter, sourceOf } from './source.ts';

const OURS = { [MANAGED_BY_LABEL]: DASHBOARD_MANAGER };
const of = (metadata: Omit<ObjectMeta, 'name'>) => ({ metadata: { name: 'shop', ...metadata } });

describe('the source of a schedule', () => {
  it('is the dashboard only with its record, its label, and no mark of a tool', () => {
    expect(sourceOf(of({ labels: OURS }), true)).to.deep.equal({ by: 'dashboard' });
    for (const [labels, claimed] of [
      [OURS, false],
      [{ [MANAGED_BY_LABEL]: 'Helm' }, true],
      [undefined, true],
    ] as const)
      expect(sourceOf(of({ labels }), claimed)).to.deep.equal({ by: 'manifest', tool: null, application: null });
  });

  const MARKS: [what: string, metadata: Omit<ObjectMeta, 'name'>, tool: string, application: string][] = [
    ['Argo CD', { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:curbcut.dev/ScanSchedule:team/nightly' } }, 'Argo CD', 'shop'],
    ['a label of Argo CD', { labels: { 'argocd.argoproj.io/instance': 'shop' } }, 'Argo CD', 'shop'],
    [
      'a Kustomization of Flux',
      { labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system' } },
      'Flux',
      'flux-system/shop',
    ],
    ['a HelmRelease of Flux', { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } }, 'Flux', 'shop'],
    ['Helm', { annotations: { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'team' } }, 'Helm', 'team/shop'],
  ];
  for (const [what, metadata, tool, application] of MARKS)
    it(`is a manifest of ${what}, also if the label says otherwise`, () => {
      const labelled = { ...metadata, labels: { ...metadata.labels, ...OURS } };
      expect(sourceOf(of(labelled), true)).to.deep.equal({ by: 'manifest', tool, application });
    });
});

describe('another writer of a schedule', () => {
  const written = (manager: string, fieldsV1: object, subresource?: string) => ({ manager, operation: 'Update', fieldsV1, subresource });

  it('is one that has set a field of the spec', () => {
    const own = written(DASHBOARD_MANAGER, { 'f:spec': {} });
    expect(otherWriter(of({}))).to.equal(null);
    expect(otherWriter(of({ managedFields: [own, written('curbcut-operator', { 'f:status': {} }, 'status')] }))).to.equal(null);
    expect(otherWriter(of({ managedFields: [own, written('kubectl-annotate', { 'f:metadata': {} })] }))).to.equal(null);
    expect(otherWriter(of({ managedFields: [own, written('kubectl-edit', { 'f:spec': { 'f:suspend': {} } })] }))).to.equal('kubectl-edit');
  });
});
