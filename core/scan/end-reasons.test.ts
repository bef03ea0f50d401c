import { expect } from 'chai';
import { END_REASONS, FAILURE_KINDS, failureKindOf, withoutCharge } from './phases.ts';

describe('why a scan failed', () => {
  it('is a fault of ours unless the page caused it, also for a reason that this version does not know', () => {
    const ours = END_REASONS.failed.filter((reason) => failureKindOf(reason) === 'ours');
    expect(ours).to.include.members(['ImagePull', 'PodsLost', 'StoreUnavailable', 'QueueDeadline']);
    expect(ours).to.not.include.members(['TargetUnreachable', 'Crashed', 'Stuck']);
    expect([failureKindOf(undefined), failureKindOf('New'), failureKindOf('toString')]).to.deep.equal(['ours', 'ours', 'ours']);
  });

  it('has every kind', () => {
    expect(new Set(END_REASONS.failed.map(failureKindOf))).to.deep.equal(new Set(FAILURE_KINDS));
  });

  it('says nothing about charges to users who never pay', () => {
    expect(withoutCharge('The page timed out. Nothing was charged.')).to.equal('The page timed out.');
  });
});
