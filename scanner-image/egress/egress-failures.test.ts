import { expect } from 'chai';
import { createEgressFailures } from './egress-failures.ts';

describe('failures of the egress proxy', () => {
  const url = (path: string): URL => new URL(path, 'http://a.test');

  it('are kept for a URL while other requests to the same host succeed', () => {
    const failures = createEgressFailures();
    failures.add(url('/reset'), 'unreachable', 'The connection was closed.');
    failures.reached(url('/other'));
    expect(failures.failureOf(url('/reset'))).to.deep.equal({ kind: 'unreachable', message: 'The connection was closed.' });
    expect(failures.failureOf(url('/other'))).to.equal(undefined);
  });

  it('are those of the host for its other URLs, until it is reached', () => {
    const failures = createEgressFailures();
    failures.add(url('/one'), 'refused', 'Refused.');
    expect(failures.failureOf(url('/two'))?.kind).to.equal('refused');
    failures.reached(url('/one'));
    expect([failures.failureOf(url('/one')), failures.failureOf(url('/two'))]).to.deep.equal([undefined, undefined]);
  });

  it('are new once for each kind and host', () => {
    const failures = createEgressFailures();
    expect([
      failures.add(url('/1'), 'refused', 'R'),
      failures.add(url('/2'), 'refused', 'R'),
      failures.add(url('/2'), 'cut', 'C'),
    ]).to.deep.equal([true, false, true]);
  });
});
