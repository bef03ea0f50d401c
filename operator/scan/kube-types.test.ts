import { expect } from 'chai';
import { describePodEnd, diagnosePendingPod, identityOf } from './policy/pods.ts';
import { essentialJob, essentialPod, isPodTerminal, isOwnedBy, isPending, jobEnd, scannerImage, scannerState } from './kube-types.ts';
import type { Job, Pod } from './kube-types.ts';
import { scanWith } from '../../test/support/scan-samples.ts';

/** Metadata as the API server returns it, with fields that the operator does not use. */
const meta = (name: string) => ({
  name,
  namespace: 'scans',
  uid: `uid-of-${name}`,
  resourceVersion: '7',
  generation: 1,
  creationTimestamp: '2026-03-02T09:50:00Z',
  labels: { 'curbcut.dev/scan-id': 'an-id' },
  annotations: { note: 'long', 'batch.kubernetes.io/job-index-failure-count': '1', 'curbcut.dev/scanner-image': 'scanner:1' },
  ownerReferences: [{ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', name: 's', uid: 'uid-of-s', controller: true }],
  managedFields: [{ manager: 'kube-controller-manager', fieldsV1: { 'f:status': {} } }],
});
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: meta('job'),
  spec: {
    activeDeadlineSeconds: 600,
    backoffLimitPerIndex: 2,
    template: { spec: { containers: [{ name: 'scanner' }] } },
  },
  status: {
    active: 0,
    failed: 3,
    conditions: [
      {
        type: 'Failed',
        status: 'True',
        reason: 'BackoffLimitExceeded',
        message: 'three times',
        lastTransitionTime: '2026-03-02T09:59:00Z',
      },
    ],
  },
} as unknown as Job;
const podIn = (state: object, phase: string) =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: meta('pod'),
    spec: { containers: [{ name: 'scanner', image: 'scanner:1' }], nodeName: 'node' },
    status: {
      phase,
      hostIP: '10.0.0.1',
      conditions: [{ type: 'PodScheduled', status: 'True' }],
      containerStatuses: [{ name: 'scanner', image: 'scanner:1', imageID: 'sha256:1', restartCount: 0, ready: false, state }],
    },
  }) as unknown as Pod;
const pods = [
  podIn({ waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }, 'Pending'),
  podIn({ waiting: { reason: 'ContainerCreating' } }, 'Pending'),
  podIn({ running: { startedAt: '2026-03-02T09:51:00Z' } }, 'Running'),
  podIn({ terminated: { exitCode: 137, reason: 'OOMKilled', message: '{}', finishedAt: '2026-03-02T09:52:00Z' } }, 'Failed'),
];

describe('cached Jobs and pods', () => {
  it('keep every field that the operator reads', () => {
    const held = essentialJob(job);
    expect(jobEnd(held)).to.deep.equal(jobEnd(job));
    expect(jobEnd(held)).to.include({ succeeded: false, reason: 'BackoffLimitExceeded' });
    expect(held.spec).to.deep.equal({ activeDeadlineSeconds: 600, backoffLimitPerIndex: 2 });
    expect(held.metadata.annotations).to.deep.equal({ 'curbcut.dev/scanner-image': 'scanner:1' });
    expect(isOwnedBy(held, 'uid-of-s')).to.equal(true);
    for (const pod of pods) {
      const slim = essentialPod(pod);
      for (const read of [isPodTerminal, isPending, scannerState, scannerImage, describePodEnd])
        expect(read(slim)).to.deep.equal(read(pod));
      expect(diagnosePendingPod(slim, scanWith())).to.deep.equal(diagnosePendingPod(pod, scanWith()));
      expect(isOwnedBy(slim, 'uid-of-s')).to.equal(true);
      expect(identityOf(slim)).to.deep.equal({ attempt: 1, shard: 0 });
    }
  });

  it('keep identity, labels and deletionTimestamp', () => {
    for (const slim of [essentialJob(job), essentialPod(pods[0]!), essentialPod({ ...pods[0]!, status: undefined })]) {
      expect(slim.metadata).to.include({ namespace: 'scans', resourceVersion: '7', creationTimestamp: '2026-03-02T09:50:00Z' });
      expect(slim.metadata.labels).to.deep.equal({ 'curbcut.dev/scan-id': 'an-id' });
      expect(slim.metadata).to.not.have.property('deletionTimestamp');
    }
    const leaving = { ...job, metadata: { ...job.metadata, deletionTimestamp: '2026-03-02T10:00:00Z' } };
    expect(essentialJob(leaving).metadata.deletionTimestamp).to.equal('2026-03-02T10:00:00Z');
  });

  it('drop all other fields', () => {
    expect(JSON.stringify([essentialJob(job), ...pods.map(essentialPod)])).to.not.match(/template|managedFields|note|imageID|hostIP/);
  });
});
