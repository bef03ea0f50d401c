/** Tests of quotas and RBAC, which only a real cluster enforces. They need KUBECONFIG; the second one also needs helm. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { PODS } from '../../operator/scan/kube-types.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { openContext, until, type OperatorContext } from './context.ts';

const QUOTAS: ResourceType = { group: '', version: 'v1', plural: 'resourcequotas' };
const ACCOUNTS: ResourceType = { group: '', version: 'v1', plural: 'serviceaccounts' };
const KUBECONFIG = process.env['KUBECONFIG'];

describe('operator: on a real cluster', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  before(async function () {
    if (!KUBECONFIG) return this.skip();
    context = await openContext();
    await context.grant(100);
  });
  after(() => context?.close());

  it('takes the place of a scan back while a quota is exceeded, says so, and starts it when there is room', async () => {
    const spec = { hard: { pods: '0' } };
    await context.connection.request('POST', context.connection.path(QUOTAS, context.team), {
      body: { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec },
    });
    // The quota is enforced only after its controller has computed the usage.
    await until('the quota is counted', async () => {
      const { status } = await context.connection.request<{ status?: { hard?: object } }>(
        'GET',
        context.connection.path(QUOTAS, context.team, 'none'),
      );
      return status?.hard;
    });
    const operator = context.start({ timeouts: { launchMs: 2_000 } });
    const scan = await context.apply(context.team);
    const waiting = await scan.reaches(
      'back in its queue',
      ({ status }) => status?.requeueState !== undefined && status.jobName === undefined,
    );
    expect(waiting.status).to.include({ phase: 'queued' });
    expect(waiting.status?.message).to.match(/waits in its queue and is tried again: .*exceeded quota: none/);
    await context.connection.request('DELETE', context.connection.path(QUOTAS, context.team, 'none'));
    await until('its pod exists', async () => {
      const { items } = await context.connection.request<{ items: object[] }>('GET', context.connection.path(PODS, context.team));
      return items.length > 0;
    });
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
    await operator.stop();
  });

  it('needs only the permissions that the chart grants', async () => {
    const { connection, namespace, team } = context;
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'curbcut-operator' } };
    await connection.request('POST', connection.path(ACCOUNTS, namespace), { body: account });
    const release = [
      'template',
      'curbcut',
      join(import.meta.dirname, '../../helm'),
      '--namespace',
      namespace,
      '--show-only',
      'templates/rbac.yaml',
    ];
    const values = ['evaluation.enabled=true', `scans.namespace=${namespace}`, `scans.extraNamespaces={${team}}`].flatMap((value) => [
      '--set',
      value,
    ]);
    for (const document of parseAllDocuments(execFileSync('helm', [...release, ...values], { encoding: 'utf8' }))) {
      const body = document.toJS() as KubernetesObject | null;
      if (body === null) continue;
      const type = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: `${body.kind.toLowerCase()}s` };
      await connection.request('POST', connection.path(type, body.metadata.namespace), { body });
    }
    const { status } = await connection.request<{ status: { token: string } }>(
      'POST',
      connection.path(ACCOUNTS, namespace, 'curbcut-operator', 'token'),
      {
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
      },
    );
    const config = parse(readFileSync(KUBECONFIG!, 'utf8')) as { users: { user: object }[] };
    for (const user of config.users) user.user = { token: status.token };
    const path = join(tmpdir(), `curbcut-rights-${randomUUID()}`);
    writeFileSync(path, stringify(config), { mode: 0o600 });
    const own = connectKubernetes({ kubeconfig: path });
    try {
      const operator = context.start({ watchNamespaces: [namespace, team] }, { connection: own });
      const scan = await context.submit({ ttlSecondsAfterFinished: 0 });
      const pod = await scan.pod();
      await scan.startPod(pod);
      // A pod whose node does not terminate it: the operator patches its status, its only write to pods.
      const of = connection.path(PODS, scan.namespace, pod.metadata.name);
      const finalizers = [...(pod.metadata.finalizers ?? []), 'curbcut.test/node'];
      const contentType = 'application/merge-patch+json';
      await connection.request('PATCH', of, { contentType, body: { metadata: { finalizers } } });
      await connection.request('DELETE', of, { body: { gracePeriodSeconds: 0 } });
      const second = await scan.pod(2);
      await connection.request('PATCH', of, { contentType, body: { metadata: { finalizers: [] } } }).catch(() => undefined);
      await scan.publish(await scan.upload(second, bytesOf(reportOf(await scan.input()))));
      await until('the scan is deleted', async () => (await scan.read()) === null);
      expect((await scan.row())?.phase).to.equal('done');
      const canceled = await context.submit();
      await canceled.pod();
      await canceled.patch({ spec: { cancel: true } });
      await canceled.settles();
      await until('its Job is gone', async () => (await canceled.job()) === null);
      await operator.stop();
      const refused = operator.lines.filter(
        ({ level, fields }) => level !== 'info' && /forbidden/i.test(String((fields as { err?: unknown }).err)),
      );
      expect(refused).to.deep.equal([]);
    } finally {
      await own.close();
      rmSync(path);
    }
  });
});
