import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { FIELD_MANAGER } from '../../operator/operator.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import type { KubernetesConnection, SocketUse } from '../../platform/kubernetes/kubernetes.ts';
import { showCount } from '../support/counts.ts';
import { openContext, until, type OperatorContext } from './context.ts';

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };
const COUNT = 50;
/** AccessibilityScans, ScanSchedules, KnownIssues, ScanQueues, Jobs, pods and three reasons of Events in each namespace; Organisations once. */
const WATCHES = 9 * COUNT + 1;

describe(`operator: ${COUNT} watched namespaces`, function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let connection: KubernetesConnection;
  let namespaces: string[];
  const open: Partial<Record<SocketUse, number>> = {};
  const most: Partial<Record<SocketUse, number>> = {};
  /** How often each watch was opened. */
  const opened = new Map<string, number>();

  before(async () => {
    context = await openContext();
    await context.grant(1000);
    namespaces = Array.from({ length: COUNT - 2 }, () => `curbcut-many-${randomUUID().slice(0, 8)}`);
    for (const name of namespaces)
      await context.connection.request('POST', context.connection.path(NAMESPACES), {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      });
    const { kubeconfig } = context;
    connection = connectKubernetes({
      kubeconfig,
      fieldManager: FIELD_MANAGER,
      onSockets(use, number) {
        open[use] = number;
        most[use] = Math.max(most[use] ?? 0, number);
      },
    });
  });
  after(async () => {
    await context.rest();
    await connection.close();
    for (const name of namespaces) await context.connection.request('DELETE', context.connection.path(NAMESPACES, undefined, name));
    await context.close();
  });

  it('keep their watches, and no request waits for the socket of one', async () => {
    const counting: KubernetesConnection = {
      ...connection,
      watch(path, options) {
        const key = `${path} ${options.query.fieldSelector ?? ''}`;
        opened.set(key, (opened.get(key) ?? 0) + 1);
        return connection.watch(path, options);
      },
    };
    const watchNamespaces = [...namespaces, context.team, context.namespace];
    const operator = context.start({ watchNamespaces }, { connection: counting });
    await until('every watch is open', () => opened.size === WATCHES && (open.watches ?? 0) > WATCHES, 60_000);
    for (let round = 0; round < 10; round++) {
      const scan = await context.submit();
      await scan.pod();
      await scan.patch({ spec: { cancel: true } });
      await scan.settles();
    }
    expect(new Set(opened.values())).to.deep.equal(new Set([1]));
    // The lease has its own socket, or two if a renewal followed at once.
    expect(most.watches).to.be.within(WATCHES + 1, WATCHES + 2);
    expect(most.lists).to.be.at.most(16);
    expect(most.requests).to.be.at.most(64);
    expect(operator.lines.filter(({ level }) => level === 'warn' || level === 'error')).to.deep.equal([]);
    const sockets = Object.values(most).reduce((sum, number) => sum + number, 0);
    showCount(sockets, `sockets of the operator with ${COUNT} watched namespaces, at most`);
  });
});
