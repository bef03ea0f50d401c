/** The chart in evaluation mode on a real cluster, with real scanner pods. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import { Report } from '../../report/schema/report.ts';
import { freshFetch } from '../support/fresh-fetch.ts';
import { nightly } from '../support/nightly.ts';
import {
  CHART,
  clusterAndHelm,
  eventually,
  follow,
  helm,
  kubectl,
  sharedEvaluation,
  type Evaluation,
  type StreamEvent,
} from './release.ts';

const IN_A_ROW = nightly(2, 5);

interface Pod {
  metadata: { name: string };
  spec: {
    hostUsers: boolean;
    automountServiceAccountToken: boolean;
    volumes: { name: string; emptyDir?: { medium?: string }; projected?: object }[];
    containers: { image: string; resources: { limits: object }; securityContext: object; volumeMounts: { mountPath: string }[] }[];
  };
}

describe('chart on a cluster', function () {
  this.timeout(300_000);
  let product: Evaluation;
  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    product = await sharedEvaluation();
    console.log(`      helm install to ready: ${(product.readyMs / 1000).toFixed(1)} s`);
  });

  const demo = () => `http://curbcut-demo.${product.namespace}.svc/`;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const balance = async (): Promise<number> => ((await (await product.ask('/v1/billing/credits')).json()) as { balance: number }).balance;
  const submit = async (body: object, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await product.ask('/v1/ci/scans', { method: 'POST', body: JSON.stringify(body), headers });
    const text = await answer.text();
    expect(answer.status, text).to.equal(202);
    return (JSON.parse(text) as { scan_id: string }).scan_id;
  };
  const phaseOf = (id: string): Promise<string> =>
    kubectl(['get', 'a11y', `scan-${id}`, '-n', product.scans, '-o', 'jsonpath={.status.phase}', '--ignore-not-found']);
  const podsOf = async (id: string): Promise<Pod[]> =>
    (JSON.parse(await kubectl(['get', 'pods', '-n', product.scans, '-l', `curbcut.dev/scan-id=${id}`, '-o', 'json'])) as { items: Pod[] })
      .items;
  const ended = async (id: string): Promise<StreamEvent> => (await follow(product.ask, id)).at(-1)!;

  it('runs a submitted scan to verdict, PDF and export, and charges the tested pages', async () => {
    const before = await balance();
    expect(before).to.equal(10_000);
    const id = await submit({ url: demo(), max_pages: 4, fail_on_severity: 'critical' });
    const events = await follow(product.ask, id);
    const last = events.at(-1)!;
    expect(last).to.include({ event: 'complete', status: 'done', passed: false });
    expect(last.violations_critical).to.be.greaterThan(0);
    expect(events.length).to.be.greaterThan(2);

    const download = async (path: string): Promise<Buffer> => {
      const link = (await (await product.ask(path)).json()) as { url: string };
      const file = await fetch(link.url);
      expect(file.status, link.url).to.equal(200);
      return Buffer.from(await file.arrayBuffer());
    };
    expect((await download(`/v1/scans/${id}/report`)).subarray(0, 5).toString()).to.equal('%PDF-');
    const report: unknown = JSON.parse((await download(`/v1/scans/${id}/report/json`)).toString());
    if (!Value.Check(Report, report)) throw new Error(JSON.stringify(Value.Errors(Report, report).slice(0, 5)));
    expect(report.counts.total).to.equal(last.violations_count);
    expect(report.score.pages_tested).to.equal(4);
    expect(before - (await balance())).to.equal(4);
  });

  it('runs scans of one page in a row, and charges one credit each', async () => {
    const before = await balance();
    for (let round = 0; round < IN_A_ROW; round++)
      expect(await ended(await submit({ url: demo(), max_pages: 1 }))).to.include({ status: 'done' });
    expect(before - (await balance())).to.equal(IN_A_ROW);
  });

  it('runs scanner pods without root, token or capabilities, in a user namespace, with limits', async () => {
    const id = await submit({ url: demo(), max_pages: 1 });
    const [pod] = await eventually(
      () => podsOf(id),
      (pods) => pods.length > 0,
    );
    const { spec } = pod!;
    expect(spec).to.deep.include({ hostUsers: false, automountServiceAccountToken: false });
    const [container] = spec.containers;
    expect(container!.securityContext).to.deep.include({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container!.resources.limits).to.have.property('memory');
    expect(spec.volumes.find(({ name }) => name === 'shm')!.emptyDir).to.include({ medium: 'Memory' });
    expect(spec.volumes.some(({ projected }) => projected !== undefined)).to.equal(false);
    expect(await ended(id)).to.include({ status: 'done' });
    expect(await kubectl(['get', 'namespace', product.scans, '-o', 'jsonpath={.metadata.labels}'])).to.contain(
      '"pod-security.kubernetes.io/enforce":"restricted"',
    );
  });

  it('has curbcut-admin in the service image, but no package manager', async () => {
    const exec = (...command: string[]) => kubectl(['exec', 'deployment/curbcut-api', '-n', product.namespace, '--', ...command]);
    expect(await exec('curbcut-admin', 'organisation', 'show', 'demo')).to.match(/demo/);
    const found = await exec('sh', '-c', 'ls /usr/local/bin /usr/local/lib; ls /opt; touch /app/x 2>&1; id -u');
    expect(found).to.not.match(/npm|npx|yarn|corepack/);
    expect(found).to.match(/Read-only file system/);
    expect(found.trim().split('\n').at(-1)).to.equal('65532');
  });

  it('passes helm test', async () => {
    expect(await helm('test', 'curbcut', '--namespace', product.namespace, '--timeout', '5m')).to.match(/Phase:\s+Succeeded/);
  });

  it('prints commands in its notes that work when pasted', async () => {
    const commands = product.notes.split('\n').filter((line) => /^ {2}\S/.test(line));
    expect(commands).to.have.length.at.least(4);
    const { stdout } = await promisify(execFile)('bash', ['-euc', commands.join('\n')]);
    expect(stdout).to.match(/deployment\.apps\/curbcut-api condition met/);
    expect(stdout).to.match(/"scan_id":/);
    expect(stdout).to.match(/accessibilityscan\.curbcut\.dev\/scan-\S+ condition met/);
    expect(stdout).to.match(/PHASE\s+SCORE/);
  });

  it('upgrades during scans: accepts submissions, ends streams with the verdict, charges nothing twice', async () => {
    await eventually(
      () => kubectl(['get', 'deployment', 'curbcut-api', '-n', product.namespace, '-o', 'jsonpath={.status.readyReplicas}']),
      (ready) => ready === '2',
    );
    const before = await balance();
    const long = await submit({ url: demo(), max_pages: 20 });
    await eventually(
      () => phaseOf(long),
      (phase) => phase === 'crawling' || phase === 'scanning',
    );
    const evaluation = await kubectl([
      'get',
      'pods',
      '-n',
      product.namespace,
      '-l',
      'app.kubernetes.io/component=evaluation',
      '-o',
      'name',
    ]);

    let upgraded = false;
    const upgrade = product
      .upgrade({ 'api.podAnnotations': { rolled: 'out' }, 'operator.podAnnotations': { rolled: 'out' } })
      .finally(() => {
        upgraded = true;
      });
    const stream = ended(long);
    const ids: string[] = [];
    let asked = 0;
    try {
      // Sends requests during the upgrade, each over a new connection. Some of them are submissions.
      while (!upgraded) {
        const answer = await freshFetch(`${product.url}/healthz`);
        expect(answer.status).to.equal(200);
        if (asked++ % 20 === 0 && ids.length < 5)
          ids.push(await submit({ url: demo(), max_pages: 1 }, { 'Idempotency-Key': `upgrade-${ids.length}` }));
        await pause(100);
      }
    } finally {
      await upgrade; // Helm refuses the commands of later tests while it runs.
    }
    expect(ids).to.have.length.at.least(2);
    expect(asked).to.be.greaterThan(20);

    expect(await stream).to.include({ status: 'done' });
    for (const id of ids) expect(await ended(id)).to.include({ status: 'done' });
    expect(before - (await balance())).to.equal(20 + ids.length);
    expect(await podsOf(long)).to.have.length(1);
    expect(await kubectl(['get', 'pods', '-n', product.namespace, '-l', 'app.kubernetes.io/component=evaluation', '-o', 'name'])).to.equal(
      evaluation,
    );
  });

  it('leaves only the documented objects after an uninstall, and can be installed again', async () => {
    await kubectl(['delete', 'accessibilityscans', '--all', '-n', product.scans, '--timeout=60s']);
    // Also of definitions that were applied before, as those of earlier charts.
    const takeOver = ['--set', 'crds.enabled=true', '--take-ownership', '--force-conflicts'];
    await helm('upgrade', 'curbcut', CHART, '--namespace', product.namespace, '--reuse-values', '--wait', ...takeOver);
    await helm('uninstall', 'curbcut', '--namespace', product.namespace, '--wait');
    const left = async (): Promise<string[]> => {
      const kinds = 'all,secrets,serviceaccounts,roles,rolebindings,networkpolicies,hpa,pdb,scanqueues,scanschedules,accessibilityscans';
      const line = '{range .items[*]}{.metadata.namespace} {.kind} {.metadata.name}{"\\n"}{end}';
      const lines = await kubectl(['get', kinds, '-A', '-l', 'app.kubernetes.io/instance=curbcut', '-o', `jsonpath=${line}`]);
      return lines.split('\n').filter((each) => each.startsWith(product.namespace));
    };
    // Pods are deleted shortly after their owners.
    await eventually(left, (lines) => lines.length === 0);
    await kubectl(['get', 'scanqueue', 'default', '-n', product.scans]);
    // A new installation would wait for the leader that it names.
    expect(await kubectl(['get', 'leases', '-n', product.scans, '-o', 'name'])).to.equal('');
    await kubectl(['get', 'crd', 'accessibilityscans.curbcut.dev', 'scanqueues.curbcut.dev', 'scanschedules.curbcut.dev']);
    await product.install();
    expect((await freshFetch(`${product.url}/healthz`)).status).to.equal(200);
  });
});
