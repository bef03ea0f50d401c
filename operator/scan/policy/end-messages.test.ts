import { expect } from 'chai';
import {
  TIMEOUTS,
  ago,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  podWith,
  progress,
  runningFacts,
  scanWith,
  searched,
} from '../../../test/support/scan-samples.ts';
import { TEST_LABEL } from '../../../core/protocol/custom-resources.ts';
import { plan, type Facts } from './plan.ts';

const endOf = (facts: Facts) => plan(facts, TIMEOUTS).actions.flatMap((action) => ('end' in action ? action.end : []) ?? [])[0];

describe('messages of failed scans', () => {
  it('state why a pod does not start', () => {
    const waiting = (reason: string, message: string) => [
      podWith(
        0,
        {
          phase: 'Pending',
          containerStatuses: [{ name: 'scanner', image: 'curbcut.dev/scanner:1', state: { waiting: { reason, message } } }],
        },
        300,
      ),
    ];
    expect(endOf(runningFacts({ pods: waiting('ErrImagePull', 'no such image') }))).to.deep.include({ reason: 'ImagePull' });
    expect(endOf(runningFacts({ pods: waiting('ErrImagePull', 'no such image') }))?.message).to.match(
      /within 300 s.*ErrImagePull: no such image\./,
    );
    expect(endOf(runningFacts({ pods: waiting('CreateContainerConfigError', 'runAsNonRoot') }))?.reason).to.equal('ContainerConfig');
    const auth = scanWith(launched(), { spec: { auth: { secretRef: { name: 'sign-in' } } } });
    expect(endOf(runningFacts({ scan: auth, pods: waiting('ContainerCreating', '') }))).to.deep.include({ reason: 'PodPending' });
    expect(endOf(runningFacts({ scan: auth, pods: waiting('ContainerCreating', '') }))?.message).to.match(
      /pulling the image curbcut\.dev\/scanner:1\)\. Check that the Secret sign-in exists in namespace curbcut/,
    );
    expect(endOf(runningFacts({ pods: [pendingPod(0, 300)] }))?.message).to.match(/unschedulable \(0\/1 nodes are available\.\)/);
  });

  it('state how the scanner crashed', () => {
    const over = jobWith({ type: 'Failed', reason: 'FailedIndexes' });
    const status = (pod: object) =>
      runningFacts({
        job: over,
        scan: scanWith(launched({ attempts: 3 })),
        pods: [podWith(0, { phase: 'Failed', ...pod })],
        state: { search: searched() },
      });
    expect(
      endOf(status({ containerStatuses: [{ name: 'scanner', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }))?.message,
    ).to.match(/3 times \(last: exit code 137, out of memory\)/);
    expect(endOf(status({ reason: 'Evicted', message: 'low on disk' }))?.message).to.match(/last: Evicted: low on disk/);
    expect(
      endOf(status({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }))?.message,
    ).to.match(/pod disrupted: PreemptionByScheduler/);
    expect(endOf(runningFacts({ job: over, pods: [], state: { search: searched() } }))?.message).to.match(/once \(last: pod deleted\)/);
  });

  it('state what is charged for a canceled or deleted scan: the most that its status or its pods reported', () => {
    const reported = (scanned: number) => messagesOf({ progress: progress(0, { pages: { scanned, failed: 0, total: 9 } }) });
    const counted = launched({ pages: { requested: 5, reserved: 5, scanned: 2, failed: 0 } });
    const canceled = scanWith(counted, { spec: { cancel: true } });
    const deleted = scanWith(counted, { metadata: { deletionTimestamp: ago(1) } });
    for (const [scan, reason] of [
      [canceled, 'Canceled'],
      [deleted, 'Deleted'],
    ] as const) {
      expect(endOf(runningFacts({ scan, podMessages: reported(4) }))).to.deep.include({
        reason,
        pages: { scanned: 4, failed: 0, total: 9 },
      });
      expect(endOf(runningFacts({ scan, podMessages: reported(1) }))?.message).to.match(/The 2 pages tested until then were charged\.$/);
      // More than the reserved pages is not plausible.
      expect(endOf(runningFacts({ scan, podMessages: reported(6) }))?.message).to.match(/The 2 pages/);
    }
    const fresh = scanWith(launched(), { spec: { cancel: true } });
    expect(endOf(runningFacts({ scan: fresh, podMessages: reported(1) }))?.message).to.match(/The page tested until then was charged\.$/);
    expect(endOf(runningFacts({ scan: fresh }))?.message).to.match(/Nothing was charged\.$/);
    const test = scanWith(launched(), { spec: { cancel: true }, metadata: { labels: { [TEST_LABEL]: 'true' } } });
    expect(endOf(runningFacts({ scan: test, podMessages: reported(2) }))?.message).to.match(/Nothing was charged\.$/);
  });

  it('reduce text from a pod to one line without control characters', () => {
    const failed = { ...failedBy(0), message: `bad\n\u001b[31mred\u202e ${'x'.repeat(2000)}` };
    const { message } = endOf(runningFacts({ podMessages: messagesOf({ final: [failed] }) }))!;
    expect(message).not.to.match(/[\u0000-\u001f\u202e]/);
    expect(message.length).to.be.at.most(1000);
  });
});
