import { expect } from 'chai';
import { amountOf } from './quantity.ts';

describe('quantities', () => {
  it('are read as Kubernetes reads them', () => {
    const read = ['1', '0.5', '.5', '250m', '2k', '1Ki', '3Gi', '1e3', '1E3', '1E', '2.', '-1Ki', '+2'].map(amountOf);
    expect(read).to.deep.equal([1, 0.5, 0.5, 0.25, 2000, 1024, 3 * 2 ** 30, 1000, 1000, 1e18, 2, -1024, 2]);
    expect(['', 'Gi', '1 Gi', '1gb', '0x10', 'NaN', 'Infinity', '-', '1e', '.'].map(amountOf)).to.deep.equal(Array(10).fill(null));
  });
});
