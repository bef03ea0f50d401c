import { expect } from 'chai';
import { eventLine, type TestEvent } from './reporter.ts';
import { closingLines, exitCodeOf, forbiddenSkips, resultOf, skipRules, type SuiteResult } from './summary.ts';

const passed = (title: string): TestEvent => ({ event: 'passed', title, ms: 1 });
const ended: TestEvent = { event: 'ended' };
const NO_CI = skipRules({});
const CI = skipRules({ CI: 'true', LEAVE_OUT: 'chart,verapdf' });
const result = (of: Partial<SuiteResult> = {}): SuiteResult => ({ passed: 1, failures: [], skipped: [], ...of });

describe('result of a mocha run', () => {
  it('counts a crash as a failure that names the running test and shows the end of the output', () => {
    const crashed = resultOf([passed('a'), { event: 'started', title: 'b' }], null, 'line\nlast line\n');
    expect(crashed.passed).to.equal(1);
    expect(crashed.failures).to.have.length(1);
    expect(crashed.failures[0]!.title).to.match(/unexpectedly during "b" \(by a signal\)/);
    expect(crashed.failures[0]!.detail).to.match(/last line$/);
  });

  it('counts a file that cannot be loaded as a failure', () => {
    expect(resultOf([], 1, 'SyntaxError').failures.map(({ detail }) => detail)).to.deep.equal(['SyntaxError']);
    expect(resultOf([passed('a'), ended], 1, '').failures).to.have.length(1);
  });

  it('is written in one line for each test, whatever its title', () => {
    const event = passed('a\u2028b\u2029c\nd');
    expect(eventLine(event)).to.match(/^[^\n\r\u2028\u2029]+\n$/);
    expect(JSON.parse(eventLine(event))).to.deep.equal(event);
  });

  it('counts a process that exits early with code 0 as a failure', () => {
    expect(resultOf([passed('a')], 0, '').failures).to.have.length(1);
    expect(resultOf([passed('a'), ended], 0, '').failures).to.deep.equal([]);
  });
});

describe('summary of a test run', () => {
  it('fails and names the skipped tests if CI is set', () => {
    const runs = new Map([['api', result({ skipped: ['later'] })]]);
    expect(closingLines(runs, CI)).to.equal(
      '\n── skipped, which fails the run because CI is set\n    api: later\n\n1 passed, 0 failed, 1 skipped\n',
    );
    expect(exitCodeOf(runs, CI)).to.equal(1);
  });

  it('accepts skips of the suites and titles in LEAVE_OUT', () => {
    const runs = new Map([
      ['chart', result({ skipped: ['renders'] })],
      ['report', result({ skipped: ['conforms to PDF/UA-1 in veraPDF', 'other'] })],
    ]);
    expect(forbiddenSkips(runs, CI)).to.deep.equal(['report: other']);
    expect(exitCodeOf(new Map([['chart', result({ skipped: ['renders'] })]]), CI)).to.equal(0);
  });

  it('fails if a test failed or nothing passed', () => {
    expect(exitCodeOf(new Map([['api', result()]]), NO_CI)).to.equal(0);
    expect(
      exitCodeOf(
        new Map([
          ['api', result()],
          ['core', result({ failures: [{ title: 'a', detail: '' }] })],
        ]),
        NO_CI,
      ),
    ).to.equal(1);
    expect(exitCodeOf(new Map([['api', result({ passed: 0 })]]), NO_CI)).to.equal(1);
  });
});
