/** A Node without a kubelet, which a test can mark as not ready without affecting other pods. */
import { randomUUID } from 'node:crypto';

type Kubectl = (args: string[], input?: string) => Promise<string>;

export interface GhostNode {
  name: string;
  /** The `podTemplate` of a pod that prefers this node and tolerates its taint. */
  podTemplate: object;
  /** Sets the pod's status as a kubelet would: its container runs. */
  run(pod: string): Promise<void>;
  /** Sets the node's Ready condition to False. */
  fail(): Promise<void>;
  remove(): Promise<void>;
}

/** Adds the node, ready and with free capacity. Its taint keeps all other pods away. */
export async function addGhostNode(kubectl: Kubectl): Promise<GhostNode> {
  const name = `ghost-${randomUUID().slice(0, 8)}`;
  const taint = { key: 'curbcut.test/ghost', value: name, effect: 'NoSchedule' };
  const room = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '20Gi', pods: '10' };
  const patch = (kind: string, of: string, status: object): Promise<string> =>
    kubectl(['patch', kind, of, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]);
  const ready = (status: 'True' | 'False', reason: string): object => {
    const now = new Date().toISOString().replace(/\.\d+/, '');
    return { type: 'Ready', status, reason, message: reason, lastHeartbeatTime: now, lastTransitionTime: now };
  };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'curbcut.test/ghost': name } }, spec: { taints: [taint] } };
  await kubectl(['create', '-f', '-'], JSON.stringify(node));
  await patch('node', name, { capacity: room, allocatable: room, conditions: [ready('True', 'KubeletReady')] });
  return {
    name,
    podTemplate: {
      tolerations: [{ key: taint.key, operator: 'Equal', value: name, effect: taint.effect }],
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 100, preference: { matchExpressions: [{ key: 'curbcut.test/ghost', operator: 'In', values: [name] }] } },
          ],
        },
      },
    },
    async run(pod) {
      const startedAt = new Date().toISOString().replace(/\.\d+/, '');
      const container = { name: 'scanner', image: 'scanner', imageID: '', ready: true, restartCount: 0, state: { running: { startedAt } } };
      await patch('pod', pod, { phase: 'Running', startTime: startedAt, containerStatuses: [container] });
    },
    async fail() {
      await patch('node', name, { conditions: [ready('False', 'KubeletNotReady')] });
    },
    async remove() {
      await kubectl(['delete', 'node', name, '--ignore-not-found', '--wait=false']);
    },
  };
}
