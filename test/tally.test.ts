import { expect } from 'chai';
import { closing, exitCodeOf, tally } from './tally.ts';

describe('the count of a test run', () => {
  it('is read from the closing lines', () => {
    expect(tally('\n  12 passing (3s)\n  1 pending\n  2 failing\n', 2)).to.include({ passed: 12, failed: 2, skipped: 1 });
  });

  it('sees through colours', () => {
    expect(tally('\u001b[92m \u001b[0m\u001b[32m 7 passing\u001b[0m', 0)).to.deep.equal({ passed: 7, failed: 0, skipped: 0, told: '' });
  });

  it('counts a crash as a failure', () => {
    expect(tally('SyntaxError: nothing was run', 1).failed).to.equal(1);
    expect(tally('  3 passing', null).failed).to.equal(1);
  });

  it('tells of every failure once more at the end', () => {
    const runs = new Map([
      ['api', tally('  ✔ serves\n  9 passing (1s)\n', 0)],
      ['core', tally('  1) adds\n\n  4 passing (1s)\n  1 failing\n\n  1) adds:\n     expected 2 to equal 3\n', 1)],
      ['cli', tally('SyntaxError: nothing was run', 1)],
    ]);
    expect(closing(runs)).to.equal(
      '\n── failed in core\n1 failing\n\n  1) adds:\n     expected 2 to equal 3\n' +
        '\n── failed in cli\nSyntaxError: nothing was run\n' +
        '\n13 passed, 2 failed\n',
    );
  });

  it('is green only where something passed and nothing failed', () => {
    const passed = tally('  3 passing', 0);
    expect(exitCodeOf(new Map([['api', passed]]))).to.equal(0);
    expect(
      exitCodeOf(
        new Map([
          ['api', passed],
          ['core', tally('  1 failing', 1)],
        ]),
      ),
    ).to.equal(1);
    expect(exitCodeOf(new Map([['api', tally('  0 passing', 0)]]))).to.equal(1);
  });
});
