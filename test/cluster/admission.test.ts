/**
 * The chart's admission policy on a real API server, for two releases. The policies apply to the whole cluster, so they get a
 * copy of the definition in a group and with names of its own: other tests use ScanQueues in namespaces of theirs, and
 * `kubectl get scanqueue` names no group.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHART, clusterAndHelm, eventually, helm, kubectl, settings } from './release.ts';

const GROUP = `admission-${process.pid}.curbcut.test`;
const namespaceOf = (name: string): string => `curbcut-admission-${process.pid}-${name}`;
const [OWN, OTHER, STRANGER] = [namespaceOf('own'), namespaceOf('other'), namespaceOf('stranger')];
const LABEL = 'curbcut.dev/scan-queues';

const RESOURCE = `probes.${GROUP}`;

const definition = (): string =>
  readFileSync(join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', 'scanqueues.yaml'), 'utf8')
    .replace('name: scanqueues.curbcut.dev', `name: ${RESOURCE}`)
    .replace('group: curbcut.dev', `group: ${GROUP}`)
    .replace(/(?<=^ +names:\n)(?: {4}.*\n)+/m, '    { kind: Probe, plural: probes }\n');

/** The policy of a release whose API has its scans in this namespace. */
async function policyOf(scans: string): Promise<string> {
  const values = settings({ 'evaluation.enabled': true, 'scans.namespace': scans });
  const shown = ['--show-only', 'templates/admission.yaml', '--namespace', scans];
  const text = await helm('template', 'curbcut', CHART, ...shown, ...values);
  return text.replaceAll('apiGroups: [curbcut.dev]', `apiGroups: [${GROUP}]`).replaceAll('[scanqueues]', '[probes]');
}

describe('the admission policy of the chart', () => {
  let policies: string[] = [];

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    for (const name of [OWN, OTHER, STRANGER]) await kubectl(['create', 'namespace', name]);
    await kubectl(['apply', '-f', '-'], definition());
    await kubectl(['wait', '--for=condition=established', `crd/${RESOURCE}`]);
    policies = [await policyOf(OWN), await policyOf(OTHER)];
    await kubectl(['apply', '-f', '-'], policies[0]);
    await eventually(
      () => refusalOf(STRANGER),
      (refusal) => refusal !== null,
    );
  });
  after(async () => {
    if (!process.env.KUBECONFIG) return;
    if (policies.length > 0) await kubectl(['delete', '--ignore-not-found', '-f', '-'], policies.join('\n---\n'));
    await kubectl(['delete', '--ignore-not-found', 'crd', RESOURCE]);
    await kubectl(['delete', '--ignore-not-found', 'namespace', OWN, OTHER, STRANGER, '--wait=false']);
  });

  /** Creates a queue in a dry run. @returns what the API server says against it */
  const refusalOf = (namespace: string): Promise<string | null> =>
    kubectl(['create', '--dry-run=server', '-f', '-'], queueIn(namespace)).then(
      () => null,
      (error: { stderr: string }) => error.stderr,
    );
  const queueIn = (namespace: string): string =>
    JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: 'Probe', metadata: { name: 'nightly', namespace }, spec: {} });

  it('refuses a queue in a namespace in which no release reads it, and names the right one', async () => {
    expect(await refusalOf(STRANGER))
      .to.match(/forbidden/)
      .and.include(`only in the namespace of the API's scans, ${OWN}.`)
      .and.include(LABEL);
    expect(await refusalOf('default')).to.match(/forbidden/);
  });

  it('accepts one in the namespace of the release, which needs no label', async () => {
    expect(await refusalOf(OWN)).to.equal(null);
  });

  it('accepts those of other releases, whose namespaces have a label', async () => {
    expect(await refusalOf(OTHER)).to.match(/forbidden/);
    await kubectl(['label', 'namespace', OWN, OTHER, `${LABEL}=true`]);
    await kubectl(['apply', '-f', '-'], policies[1]);
    await eventually(
      () => refusalOf(STRANGER),
      (refusal) => refusal !== null,
    );
    for (const namespace of [OWN, OTHER]) expect(await refusalOf(namespace), namespace).to.equal(null);
  });

  it('lets queues that exist be changed and deleted', async () => {
    await kubectl(['create', '-f', '-'], queueIn(OTHER));
    await kubectl(['label', 'namespace', OTHER, `${LABEL}-`]);
    await kubectl(['delete', '-f', '-'], policies[1]);
    await eventually(
      () => refusalOf(OTHER),
      (refusal) => refusal !== null,
    );
    const queue = ['-n', OTHER, RESOURCE, 'nightly'];
    await kubectl(['patch', ...queue, '--type=merge', '-p', '{"spec":{"paused":true}}']);
    await kubectl(['delete', ...queue]);
  });
});
