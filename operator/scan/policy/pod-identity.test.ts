import { expect } from 'chai';
import { uploadSlotOf } from '../../../core/protocol/pod-messages.ts';
import { endedPod, podWith, runningPod } from '../../../test/support/scan-samples.ts';
import { byAttempt, hadPod, identityOf, uploadSlots } from './pods.ts';

describe('pod identity', () => {
  const annotated = (annotations: Record<string, string>) =>
    podWith(0, { phase: 'Running' }, 0, {
      annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`batch.kubernetes.io/job-${name}`, value])),
    });

  it('is the index and the number of earlier failures, including disruptions', () => {
    expect(identityOf(annotated({ 'completion-index': '0', 'index-failure-count': '0' }))).to.deep.equal({ attempt: 0, shard: 0 });
    const third = annotated({ 'completion-index': '3', 'index-failure-count': '1', 'index-ignored-failure-count': '1' });
    expect(identityOf(third)).to.deep.equal({ attempt: 2, shard: 3 });
  });

  it('orders pods independently of names and creation times', () => {
    const pods = [runningPod(10, 5), endedPod(9, 1, undefined, 5), endedPod(2, 1, undefined, 5)];
    expect(byAttempt(pods).map((pod) => identityOf(pod).attempt)).to.deep.equal([2, 9, 10]);
  });

  it('is unknown for an attempt that no pod has had', () => {
    const pods = [runningPod(1)];
    expect([0, 1, 2].map((attempt) => hadPod(pods, attempt))).to.deep.equal([true, true, false]);
    expect(hadPod([], 0)).to.equal(false);
  });
});

describe('upload slots', () => {
  it('exist for every retry and for three disruptions', () => {
    expect(uploadSlots(2).map(({ attempt }) => attempt)).to.deep.equal([0, 1, 2, 3, 4, 5]);
    expect(uploadSlots(0)).to.have.length(4);
  });

  it('are selected by attempt; later attempts share the last one', () => {
    const slots = uploadSlots(0);
    const picked = [0, 3, 4, 99].map((attempt) => uploadSlotOf(slots, { attempt, shard: 0 })?.attempt);
    expect(picked).to.deep.equal([0, 3, 3, 3]);
    expect(uploadSlotOf(slots, { attempt: 0, shard: 1 })).to.equal(undefined);
  });
});
