/** Every manifest that people copy is accepted by an API server with strict validation of fields. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { GROUP } from '../../core/protocol/custom-resources.ts';
import { startKube } from '../../local/kube/kube.ts';
import { CRDS } from '../../local/stack.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { filesOfModules } from '../support/go-modules.ts';
import { FOREIGN_DEFINITIONS } from './foreign-definitions.ts';
import { allManifests, groupKindOf, kindsOf, versionOf, type Kind, type Manifest } from './manifests.ts';

const core = (group: string, plural: string, namespaced = true) => ({ type: { group, version: 'v1', plural }, namespaced });
/** Kinds of Kubernetes itself. The embedded API server has only the first three. */
const CORE: Readonly<Record<string, Kind>> = {
  '/ConfigMap': core('', 'configmaps'),
  '/Namespace': core('', 'namespaces', false),
  '/Secret': core('', 'secrets'),
  '/Service': core('', 'services'),
  'apps/Deployment': core('apps', 'deployments'),
  'networking.k8s.io/Ingress': core('networking.k8s.io', 'ingresses'),
};
const EMBEDDED = ['/ConfigMap', '/Namespace', '/Secret'];

/** Kinds whose definitions are in no package: every field that the examples may use, as the project documents it. */
const BY_HAND: Readonly<Record<string, readonly string[]>> = {
  'notification.toolkit.fluxcd.io/Provider': ['type', 'address', 'secretRef'],
  'mongodbcommunity.mongodb.com/MongoDBCommunity': ['members', 'type', 'version', 'security', 'users'],
  'notification.toolkit.fluxcd.io/Alert': ['providerRef', 'eventSources', 'eventSeverity'],
};

const NAMESPACES = core('', 'namespaces', false).type;

describe('manifests of examples/ and docs/', function () {
  this.timeout(300_000);
  const all = allManifests();
  const own = kindsOf(CRDS);
  const ownKindOf = ({ object }: Manifest): Kind => own.get(groupKindOf(object))!(versionOf(object));
  const ofOwnKinds = all.filter(({ object }) => object.apiVersion.startsWith(`${GROUP}/`));
  const ofCore = all.filter(({ object }) => groupKindOf(object) in CORE);
  const others = all.filter((manifest) => !ofOwnKinds.includes(manifest) && !ofCore.includes(manifest));
  const onCluster = Boolean(process.env['KUBECONFIG']);

  const closers: (() => unknown)[] = [];
  after(async () => {
    for (const close of closers.reverse()) await close();
  });

  /** An embedded API server with these definitions. */
  async function embedded(definitions: string[]): Promise<KubernetesConnection> {
    const folder = mkdtempSync(join(tmpdir(), 'curbcut-gitops-'));
    closers.push(() => rmSync(folder, { recursive: true }));
    const kubeconfig = join(folder, 'kubeconfig');
    const kube = await startKube({ kubeconfigPath: kubeconfig, crds: definitions });
    closers.push(() => kube.close());
    const connection = connectKubernetes({ kubeconfig });
    closers.push(() => connection.close());
    return connection;
  }

  /** Sends the manifest as `kubectl create --dry-run=server --validate=strict`, in a namespace that exists. */
  async function check(connection: KubernetesConnection, { object }: Manifest, kind: Kind, namespace: string): Promise<void> {
    const at = kind.namespaced ? namespace : undefined;
    const body = { ...object, metadata: { ...object.metadata, ...(at !== undefined && { namespace: at }) } };
    const query = { fieldValidation: 'Strict', dryRun: 'All' };
    await connection.request('POST', connection.path(kind.type, at), { body, query });
  }

  /** Checks all. @returns every refusal, with the file */
  async function checkAll(
    connection: KubernetesConnection,
    manifests: readonly Manifest[],
    kindOf: (one: Manifest) => Kind,
  ): Promise<string[]> {
    const namespace = `curbcut-manifests-${randomUUID().slice(0, 8)}`;
    await connection.request('POST', connection.path(NAMESPACES), {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    });
    const refused: string[] = [];
    for (const manifest of manifests)
      await check(connection, manifest, kindOf(manifest), namespace).catch((error: unknown) =>
        refused.push(`${manifest.from} ${manifest.object.kind}/${manifest.object.metadata.name}: ${String(error)}`),
      );
    await connection.request('DELETE', connection.path(NAMESPACES, undefined, namespace));
    return refused;
  }

  it("of Curbcut's own kinds are accepted, every field of them", async () => {
    const kinds = new Set(ofOwnKinds.map(({ object }) => object.kind));
    expect([...kinds].sort()).to.deep.equal(['AccessibilityScan', 'KnownIssues', 'Organisation', 'ScanQueue', 'ScanSchedule']);
    const connection = onCluster ? connectKubernetes({ kubeconfig: process.env['KUBECONFIG']! }) : await embedded(CRDS);
    if (onCluster) closers.push(() => connection.close());
    expect(await checkAll(connection, ofOwnKinds, ownKindOf)).to.deep.equal([]);
    const core = ofCore.filter(({ object }) => onCluster || EMBEDDED.includes(groupKindOf(object)));
    expect(await checkAll(connection, core, ({ object }) => CORE[groupKindOf(object)]!)).to.deep.equal([]);
  });

  it('of Flux and Argo CD are accepted by their own definitions', async function () {
    const foreign = await filesOfModules(FOREIGN_DEFINITIONS);
    if (!foreign.ok) {
      console.log(`      (skipped: ${foreign.reason})`);
      return this.skip();
    }
    const kinds = kindsOf(foreign.files);
    const used = others.filter(({ object }) => !(groupKindOf(object) in BY_HAND));
    const unknown = used.filter(({ object }) => !kinds.has(groupKindOf(object))).map(({ from, object }) => `${from} ${object.kind}`);
    expect(unknown).to.deep.equal([]);
    const kindOf = ({ object }: Manifest): Kind => kinds.get(groupKindOf(object))!(versionOf(object));
    expect(await checkAll(await embedded(foreign.files), used, kindOf)).to.deep.equal([]);
  });

  it('of others whose definitions are in no package have only documented fields', () => {
    const byHand = others.filter(({ object }) => groupKindOf(object) in BY_HAND);
    expect(byHand.length).to.be.greaterThan(0);
    for (const { from, object } of byHand)
      expect(BY_HAND[groupKindOf(object)], `${from} ${object.kind}`).to.include.members(Object.keys(object.spec!));
  });
});
