import { expect } from 'chai';
import { faultCaveats, firstFault, outOfTime, requestCaveats, shortError } from './caveats.ts';

describe('caveats of a page', () => {
  it('are empty if all requests were answered', () => {
    expect(requestCaveats([], [])).to.deep.equal([]);
  });

  it('say what kept a page from ending in time', () => {
    const open = [{ url: 'https://example.org/a.js?v=1' }];
    expect(outOfTime('did not answer', 30_000, [])).to.equal('The page did not answer within 30 s.');
    expect(outOfTime('did not finish loading', 30_000, open)).to.include('No complete response arrived from https://example.org/a.js.');
    for (const stage of ['did not finish loading', 'was not tested'] as const)
      expect(outOfTime(stage, 120_000, [])).to.include('within 120 s. A script');
  });

  it('name each address once, without its query, and at most three', () => {
    const open = ['a?token=1', 'a?token=2', 'b#x', 'c', 'd', 'e'].map((path) => `https://example.org/${path}`);
    expect(requestCaveats(open, [])).to.deep.equal([
      {
        kind: 'requests_unanswered',
        message:
          'No complete response arrived in time from https://example.org/a, https://example.org/b, https://example.org/c and 2 more. The page was tested without what they show.',
      },
    ]);
  });

  it('tell requests that were not sent from those that were not answered', () => {
    const [caveat] = requestCaveats(['https://example.org/a'], ['https://cdn.example/b']);
    expect(caveat?.message).to.equal(
      'No complete response arrived in time from https://example.org/a. Not requested, because this scan has waited for the same host or file in vain before: https://cdn.example/b. The page was tested without what they show.',
    );
  });

  it('name what failed with its number, scripts before errors', () => {
    const none = { scripts: [], styles: [], data: [], errors: [], refused: [] };
    expect(faultCaveats(none)).to.deep.equal([]);
    expect(firstFault(none)).to.equal('');
    const faults = { ...none, scripts: ['https://example.org/a (status 404)'], errors: ['Error: a', 'Error: b', 'Error: c', 'Error: d'] };
    expect(faultCaveats(faults)).to.deep.equal([
      {
        kind: 'script_failed',
        message:
          '1 script did not load: https://example.org/a (status 404). 4 uncaught errors: Error: a, Error: b, Error: c and 1 more. The page was tested without what they would have shown.',
      },
    ]);
    expect(firstFault(faults)).to.equal('A script did not load: https://example.org/a (status 404).');
    expect(firstFault({ ...none, refused: ['https://example.org/b'] })).to.equal('A request was refused: https://example.org/b.');
    expect(firstFault({ ...faults, scripts: [] })).to.equal('An error was not caught: Error: a.');
  });

  it('name the first line of an error and its script without queries', () => {
    const stack = 'TypeError: cannot load https://example.org/x?token=1 now.\n  at https://example.org/app.js?token=1';
    expect(shortError(stack, 'https://example.org/app.js?token=1')).to.equal(
      'TypeError: cannot load https://example.org/x now (https://example.org/app.js)',
    );
    expect(shortError('x'.repeat(300), undefined)).to.have.length(161);
  });
});
