import { expect } from 'chai';
import {
  TIMEOUTS,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  pendingPod,
  podWith,
  runningFacts,
  scanWith,
} from '../../../test/support/scan-samples.ts';
import { plan, type Facts } from './plan.ts';

const endOf = (facts: Facts) => plan(facts, TIMEOUTS).actions.find((action) => action.do === 'end')?.end;

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
      runningFacts({ job: over, scan: scanWith(launched({ attempts: 3 })), pods: [podWith(0, { phase: 'Failed', ...pod })] });
    expect(
      endOf(status({ containerStatuses: [{ name: 'scanner', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }))?.message,
    ).to.match(/3 times \(last: exit code 137, out of memory\)/);
    expect(endOf(status({ reason: 'Evicted', message: 'low on disk' }))?.message).to.match(/last: Evicted: low on disk/);
    expect(
      endOf(status({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }))?.message,
    ).to.match(/pod disrupted: PreemptionByScheduler/);
    expect(endOf(runningFacts({ job: over, pods: [] }))?.message).to.match(/once \(last: pod deleted\)/);
  });

  it('reduce text from a pod to one line without control characters', () => {
    const failed = { ...failedBy(0), message: `bad\n\u001b[31mred\u202e ${'x'.repeat(2000)}` };
    const { message } = endOf(runningFacts({ podMessages: messagesOf({ final: [failed] }) }))!;
    expect(message).not.to.match(/[\u0000-\u001f\u202e]/);
    expect(message.length).to.be.at.most(1000);
  });
});
