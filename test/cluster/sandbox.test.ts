/** The seccomp profile for Chromium's own sandbox, installed on the node as docs/chart.md describes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { CHART, SERVICE_IMAGE, clusterAndHelm, eventually, kubectl, startEvaluation, type Evaluation } from './release.ts';

const FILES = join(CHART, 'files', 'seccomp');
const NAMESPACE = 'curbcut-nodes';

/** Finds the kubelet's folder in a pod's mounts, or returns the default. */
async function kubeletFolder(pod: string, namespace: string): Promise<string> {
  const mounts = await kubectl(['exec', pod, '-n', namespace, '--', 'cat', '/proc/self/mountinfo']);
  return /^\d+ \d+ \S+ (\/\S+)\/pods\/[0-9a-f-]{36}\//m.exec(mounts)?.[1] ?? '/var/lib/kubelet';
}

describe("Chromium's own sandbox", function () {
  this.timeout(300_000);
  let product: Evaluation;
  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    product = await startEvaluation({ 'scanner.seccompProfile': 'profiles/curbcut-scanner.json' });
  });
  after(async () => {
    await product?.close();
    await kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait']);
  });

  it('is on if the node has the profile; without it, a scan waits with a condition that names the missing file', async () => {
    const answer = await product.ask('/v1/ci/scans', {
      method: 'POST',
      body: JSON.stringify({ url: `http://curbcut-demo.${product.namespace}.svc/`, max_pages: 1 }),
    });
    expect(answer.status).to.equal(202);
    const { scan_id: id } = (await answer.json()) as { scan_id: string };
    const scan = (path: string) => kubectl(['get', 'a11y', `scan-${id}`, '-n', product.scans, '-o', `jsonpath=${path}`]);
    // The node may have the profile from an earlier run; then the scan is done at once.
    const seen = await eventually(
      async () => `${await scan('{.status.phase}')} ${await scan('{.status.conditions[*].message}')}`,
      (text) => /curbcut-scanner\.json|^done /.test(text),
    );
    console.log(`      ${seen.slice(0, 200)}`);

    const api = (await kubectl(['get', 'pods', '-n', product.namespace, '-l', 'app.kubernetes.io/component=api', '-o', 'name'])).split(
      '\n',
    )[0]!;
    const folder = process.env.KUBELET_ROOT ?? (await kubeletFolder(api, product.namespace));
    const manifest = readFileSync(join(FILES, 'nodes.yaml'), 'utf8')
      .replace('/var/lib/kubelet', folder)
      .replace(/image: .*/, `image: ${SERVICE_IMAGE}`);
    await kubectl(['apply', '-f', '-'], manifest);
    await kubectl(['create', 'configmap', 'seccomp-profile', '-n', NAMESPACE, `--from-file=${join(FILES, 'curbcut-scanner.json')}`]);
    await kubectl(['rollout', 'status', 'daemonset/seccomp-profile', '-n', NAMESPACE, '--timeout=120s']);

    await kubectl(['wait', `a11y/scan-${id}`, '-n', product.scans, '--for=condition=Succeeded', '--timeout=120s']);
    const log = await kubectl(['logs', '-n', product.scans, '-l', `curbcut.dev/scan-id=${id}`, '--tail=-1']);
    expect(log).to.contain('browser started with its own sandbox');
  });

  it('allows only the namespaces that Chromium needs', async () => {
    const probe = `
apiVersion: v1
kind: Pod
metadata: { name: probe, namespace: ${product.scans} }
spec:
  hostUsers: false
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: Localhost, localhostProfile: profiles/curbcut-scanner.json } }
  containers:
    - name: probe
      image: ${SERVICE_IMAGE}
      imagePullPolicy: IfNotPresent
      command: [sh, -c, 'for kind in U Um Un Ui Uu UC; do unshare -$kind true 2>/dev/null && echo "$kind may" || echo "$kind may not"; done']
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
`;
    await kubectl(['apply', '-f', '-'], probe);
    await kubectl(['wait', 'pod/probe', '-n', product.scans, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s']);
    const said = (await kubectl(['logs', 'probe', '-n', product.scans])).trim().split('\n');
    expect(said).to.deep.equal(['U may', 'Um may not', 'Un may not', 'Ui may not', 'Uu may not', 'UC may not']);
  });
});
