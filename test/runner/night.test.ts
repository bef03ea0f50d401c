import { expect } from 'chai';
import { nightLines } from './night.ts';

describe('the last night', () => {
  it('is that of each command, if it passed', () => {
    expect(nightLines({ 'make test': { at: '2026-11-29T02:30:00.000Z', commit: 'abc1234' } })).to.equal(
      'NIGHTLY=1 make test last passed on 2026-11-29 (commit abc1234).\nNIGHTLY=1 make test-cluster has not passed on this machine.',
    );
  });
});
