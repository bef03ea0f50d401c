import { expect } from 'chai';
import {
  TIMEOUTS,
  ago,
  endedPod,
  failedBy,
  jobWith,
  launched,
  messagesOf,
  podWith,
  progress,
  runningFacts,
  scanWith,
  searched,
} from '../../../test/support/scan-samples.ts';
import { TEST_LABEL } from '../../../core/protocol/custom-resources.ts';
import { plan } from './plan.ts';
import type { Facts } from './facts.ts';

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
  });

  it('prefer what the container waits for now to an Event that is over', () => {
    const idmap = 'failed to create containerd task: failed to set MOUNT_ATTR_IDMAP on /var/lib/kubelet/x: invalid argument';
    const waitingFor = (reason: string, message: string) => {
      const state = { waiting: { reason, message } };
      const containerStatuses = [{ name: 'scanner', image: 'curbcut.dev/scanner:1', state }];
      const startFailure = 'MountVolume.SetUp failed for volume "input": secret "scan-input" not found';
      return endOf(runningFacts({ pods: [podWith(0, { phase: 'Pending', containerStatuses }, 30)], startFailure }))?.reason;
    };
    expect(waitingFor('RunContainerError', idmap)).to.equal('UserNamespacesUnavailable');
    expect(waitingFor('ContainerCreating', ''), 'not hopeless').to.equal(undefined);
  });

  const IDMAP =
    "Failed to create pod sandbox: rpc error: failed to set MOUNT_ATTR_IDMAP on /var/lib/kubelet/x: invalid argument (maybe the filesystem used doesn't support idmap mounts on this kernel?)";
  for (const message of [
    IDMAP,
    "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    'Failed to create pod sandbox: OCI runtime create failed: runc: unshare: user.max_user_namespaces is 0',
  ])
    it(`state within a minute that a node lacks user namespaces: ${message.slice(0, 90)}`, () => {
      const at = (seconds: number) => runningFacts({ pods: [podWith(0, { phase: 'Pending' }, seconds)], startFailure: message });
      expect(endOf(at(29))).to.equal(undefined);
      expect(endOf(at(30))?.reason).to.equal('UserNamespacesUnavailable');
      expect(endOf(at(30))?.message).to.match(
        /within 30 s: the node cannot start pods with user namespaces .*Linux 6\.3.*scanner\.hostUsers: true/,
      );
    });

  it('tell the Secret of a scan that is missing from mistakes of the installation', () => {
    const scan = scanWith(launched(), { spec: { auth: { secretRef: { name: 'shop' } } } });
    const pods = [podWith(0, { phase: 'Pending' }, 300)];
    const reasonOf = (startFailure: string) => endOf(runningFacts({ scan, pods, startFailure }))?.reason;
    expect(reasonOf('MountVolume.SetUp failed for volume "auth" : secret "shop" not found')).to.equal('SignInSecretMissing');
    expect(reasonOf('MountVolume.SetUp failed for volume "ca" : secret "shop-ca" not found')).to.equal('PodPending');
  });

  it('do not mistake a name that authors choose for a node without user namespaces', () => {
    const scan = scanWith(launched(), { spec: { auth: { secretRef: { name: 'userns' } } } });
    const waiting = (reason: string, message: string) => ({ containerStatuses: [{ name: 'scanner', image: 'x', state: { waiting: { reason, message } } }] }); // prettier-ignore
    const reasonOf = (startFailure: string | null, status: object = {}) =>
      endOf(runningFacts({ scan, pods: [podWith(0, { phase: 'Pending', ...status }, 300)], startFailure }))?.reason;
    expect(reasonOf('MountVolume.SetUp failed for volume "auth" : secret "userns" not found')).to.equal('SignInSecretMissing');
    expect(reasonOf('MountVolume.SetUp failed for volume "auth" : secrets userns is forbidden')).to.equal('PodPending');
    expect(reasonOf('Failed to create pod sandbox: name "scan-userns-x_a_0" is reserved')).to.equal('PodPending');
    expect(reasonOf(null, waiting('CreateContainerConfigError', "couldn't find key userns in Secret a/b"))).to.equal('ContainerConfig');
  });

  it('state how the scanner crashed', () => {
    const over = jobWith({ type: 'Failed', reason: 'FailedIndexes' });
    const status = (pod: object) =>
      runningFacts({
        job: over,
        scan: scanWith(launched({ attempts: 3 })),
        pods: [0, 1, 2].map((attempt) => podWith(attempt, { phase: 'Failed', ...pod })),
        state: { search: searched() },
      });
    expect(
      endOf(status({ containerStatuses: [{ name: 'scanner', state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] }))?.message,
    ).to.match(/3 times \(last: exit code 137, out of memory\)/);
    expect(endOf(status({ reason: 'Evicted', message: 'low on disk' }))?.message).to.match(/last: Evicted: low on disk/);
    expect(
      endOf(status({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] }))?.message,
    ).to.match(/pod disrupted: PreemptionByScheduler/);
    expect(endOf(runningFacts({ job: over, pods: [], state: { search: searched() } }))?.message).to.match(
      /lost once \(last: pod deleted\)/,
    );
  });

  it('state what is charged for a canceled or deleted scan: the most that its status or its pods reported', () => {
    const reported = (scanned: number) => messagesOf({ progress: progress(0, { pages: { scanned, failed: 0, total: 9 } }) });
    const counted = launched({ pages: { requested: 5, reserved: 5, scanned: 2, failed: 0 } });
    const canceled = scanWith(counted, { spec: { cancel: true } });
    const deleted = scanWith(counted, { metadata: { deletionTimestamp: ago(1) } });
    // Without a pod that could store them, there is no report.
    const pods = [endedPod(0, 1)];
    for (const [scan, reason] of [
      [canceled, 'Canceled'],
      [deleted, 'Deleted'],
    ] as const) {
      expect(endOf(runningFacts({ scan, pods, podMessages: reported(4) }))).to.deep.include({
        reason,
        pages: { scanned: 4, failed: 0, total: 9 },
      });
      expect(endOf(runningFacts({ scan, pods, podMessages: reported(1) }))?.message).to.match(
        /The 2 pages tested until then were charged\./,
      );
      // More than the reserved pages is not plausible.
      expect(endOf(runningFacts({ scan, pods, podMessages: reported(6) }))?.message).to.match(/The 2 pages/);
    }
    const fresh = scanWith(launched(), { spec: { cancel: true } });
    expect(endOf(runningFacts({ scan: fresh, pods, podMessages: reported(1) }))?.message).to.match(
      /The page tested until then was charged\./,
    );
    expect(endOf(runningFacts({ scan: fresh, pods }))?.message).to.match(/Nothing was charged\.$/);
    const test = scanWith(launched(), { spec: { cancel: true }, metadata: { labels: { [TEST_LABEL]: 'true' } } });
    expect(endOf(runningFacts({ scan: test, pods, podMessages: reported(2) }))?.message).to.match(/Nothing was charged\./);
  });

  it('reduce text from a pod to one line without control characters', () => {
    const failed = { ...failedBy(0), message: `bad\n\u001b[31mred\u202e ${'x'.repeat(2000)}` };
    const { message } = endOf(runningFacts({ podMessages: messagesOf({ final: [failed] }) }))!;
    expect(message).not.to.match(/[\u0000-\u001f\u202e]/);
    expect(message.length).to.be.at.most(1000);
  });
});
