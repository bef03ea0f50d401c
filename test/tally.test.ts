import { expect } from 'chai';
import { tally } from './tally.ts';

describe('the count of a test run', () => {
  it('is read from the closing lines', () => {
    expect(tally('\n  12 passing (3s)\n  1 pending\n  2 failing\n', 2)).to.deep.equal({ passed: 12, failed: 2, skipped: 1 });
  });

  it('sees through colours', () => {
    expect(tally('\u001b[92m \u001b[0m\u001b[32m 7 passing\u001b[0m', 0)).to.deep.equal({ passed: 7, failed: 0, skipped: 0 });
  });

  it('counts a crash as a failure', () => {
    expect(tally('SyntaxError: nothing was run', 1).failed).to.equal(1);
    expect(tally('  3 passing', null).failed).to.equal(1);
  });
});
